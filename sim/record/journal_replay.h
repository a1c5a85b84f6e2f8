#pragma once
// Performs a recorded journal again on the real pools: each event is applied, each id that was issued must be
// the one that the pool issues now, and the records written on the way have the recorded digest.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/record/journal_file.h"
#include "sim/record/reuse_bound.h"

namespace pinfold::sim {

/// What a replay of a journal came to.
struct JournalReplay {
  JournalHeader header;
  std::uint64_t events = 0;
  std::string digest;                        // of what was performed
  std::vector<std::uint64_t> count_by_verb;  // in the order of all_verbs()
  std::uint64_t blocks_acquired = 0;
  std::uint64_t blocks_owned = 0;  // when it was over
  std::uint64_t peak_owned = 0;
  std::optional<ReuseBound> reuse;  // where prefixes are reused
};

/// A recorded event that did not happen again: the file's line, and what happened instead.
struct Difference {
  std::uint64_t line = 0;
  std::uint64_t event = 0;
  std::string text;
};

/// Either both agree, or the first difference.
struct JournalOutcome {
  JournalReplay replay;
  bool agrees = true;
  Difference difference;
};

/// `text` is the whole file. A mistake in the file is an error; a difference is an outcome.
Outcome<JournalOutcome> replay_journal(std::string_view text, const std::string& path);

/// The file as a person or a program reads about it.
std::string journal_text(const JournalOutcome& outcome);
std::string journal_json(const JournalOutcome& outcome);

}  // namespace pinfold::sim
