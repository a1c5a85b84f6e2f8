#pragma once
// The words of a recorded journal: verbs and pools.

#include <optional>
#include <span>
#include <string_view>

#include "base/ids.h"
#include "base/journal.h"

namespace pinfold::sim {

/// The word of a verb in such a file: "acquire", "pin", ...
std::string_view word_of(Verb verb);
std::optional<Verb> verb_of(std::string_view word);
/// All verbs in the order of their numbers.
std::span<const Verb> all_verbs();

/// "block", "state_slot", ...
std::string_view word_of(PoolKind pool);
std::optional<PoolKind> pool_of(std::string_view word);
/// All words of pools, in the order of their numbers.
std::span<const std::string_view> pool_words();

/// What stands in Record::sequence: a sequence, or for these the step.
constexpr bool names_step(Verb verb) { return verb == Verb::kStep || verb == Verb::kResult; }

/// Whether ids follow a record of this verb.
constexpr bool takes_ids(Verb verb) {
  Record record{};
  record.verb = verb;
  record.count = 1;
  return ids_after(record) == 1;
}

}  // namespace pinfold::sim
