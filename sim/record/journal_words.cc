#include "sim/record/journal_words.h"

#include <algorithm>
#include <array>

namespace pinfold::sim {
namespace {

// By number, the first verb is 1.
constexpr std::array<std::string_view, 30> kVerbs{
    "arrive",  "answer",      "acquire", "pin",    "release", "park",   "unpark", "copy",
    "fork",    "fork_missed", "join",    "leave",  "drafts",  "chunk",  "step",   "result",
    "commit",  "sit_out",     "preempt", "demote", "end",     "passed", "keys",   "hit",
    "publish", "evict",       "save",    "load",   "stored",  "loaded"};
static_assert(static_cast<std::size_t>(Verb::kLoaded) == kVerbs.size());

constexpr std::array<std::string_view, kPoolKinds> kPools{"block", "state_slot", "draft_slot",
                                                          "host_block", "host_state"};

constexpr std::array<Verb, kVerbs.size()> kAllVerbs = [] {
  std::array<Verb, kVerbs.size()> all{};
  for (std::size_t n = 0; n < all.size(); ++n) all[n] = static_cast<Verb>(n + 1);
  return all;
}();

}  // namespace

std::string_view word_of(Verb verb) {
  const auto number = static_cast<std::size_t>(verb);
  return number >= 1 && number <= kVerbs.size() ? kVerbs[number - 1] : "?";
}

std::optional<Verb> verb_of(std::string_view word) {
  const auto found = std::find(kVerbs.begin(), kVerbs.end(), word);
  if (found == kVerbs.end()) return std::nullopt;
  return static_cast<Verb>(found - kVerbs.begin() + 1);
}

std::span<const Verb> all_verbs() { return kAllVerbs; }

std::string_view word_of(PoolKind pool) { return kPools[index_of(pool)]; }

std::optional<PoolKind> pool_of(std::string_view word) {
  const auto found = std::find(kPools.begin(), kPools.end(), word);
  if (found == kPools.end()) return std::nullopt;
  return static_cast<PoolKind>(found - kPools.begin());
}

std::span<const std::string_view> pool_words() { return kPools; }

}  // namespace pinfold::sim
