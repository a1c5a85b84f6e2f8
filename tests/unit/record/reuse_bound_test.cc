// Belady's bound against all that a cache could have done.
#include "sim/record/reuse_bound.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

namespace pinfold::sim {
namespace {

std::vector<ContentUse> uses_of(const std::string& letters) {
  std::vector<ContentUse> uses;
  for (const char letter : letters) {
    const bool counts = letter >= 'a';  // a capital is written, and nobody looks for it
    uses.push_back({static_cast<std::uint64_t>(counts ? letter : letter - 'A' + 'a'), counts});
  }
  return uses;
}

/// Tries every eviction, and leaving a content out.
std::uint64_t by_trying(const std::vector<ContentUse>& uses, std::size_t at,
                        const std::set<std::uint64_t>& kept, std::size_t capacity) {
  if (at == uses.size()) return 0;
  const std::uint64_t content = uses[at].content;
  if (kept.count(content) > 0) {
    return (uses[at].counts ? 1U : 0U) + by_trying(uses, at + 1, kept, capacity);
  }
  std::uint64_t best = by_trying(uses, at + 1, kept, capacity);
  std::set<std::uint64_t> with = kept;
  with.insert(content);
  if (with.size() <= capacity) return std::max(best, by_trying(uses, at + 1, with, capacity));
  for (const std::uint64_t gone : kept) {
    std::set<std::uint64_t> without = with;
    without.erase(gone);
    best = std::max(best, by_trying(uses, at + 1, without, capacity));
  }
  return best;
}

// The textbook's string: seven faults of twelve in three frames (Silberschatz, Galvin, Gagne; OPT).
TEST_CASE("reuse bound: the textbook's example") {
  CHECK(most_hits(uses_of("abcdabeabcde"), 3) == 5);
  CHECK(most_hits(uses_of("abcdabeabcde"), 5) == 7);
  CHECK(most_hits(uses_of("abcdabeabcde"), 0) == 0);
  CHECK(most_hits({}, 3) == 0);
}

TEST_CASE("reuse bound: what is only written can be found later, and is no hit itself") {
  CHECK(most_hits(uses_of("Aa"), 1) == 1);
  CHECK(most_hits(uses_of("aA"), 1) == 0);
  CHECK(most_hits(uses_of("aBa"), 1) == 1);  // b is left out
}

TEST_CASE("reuse bound: no choice of evictions does better, in all strings drawn") {
  std::uint64_t state = 7;
  const auto below = [&](std::uint64_t bound) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % bound;
  };
  for (int n = 0; n < 300; ++n) {
    std::string letters;
    for (std::uint64_t length = 1 + below(10); letters.size() < length;) {
      letters += static_cast<char>((below(4) == 0 ? 'A' : 'a') + static_cast<char>(below(5)));
    }
    const std::uint64_t capacity = 1 + below(3);
    CAPTURE(letters);
    CAPTURE(capacity);
    CHECK(most_hits(uses_of(letters), capacity) ==
          by_trying(uses_of(letters), 0, {}, static_cast<std::size_t>(capacity)));
  }
}

}  // namespace
}  // namespace pinfold::sim
