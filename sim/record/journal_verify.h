#pragma once
// Judges a recorded journal: whose ids they are does not matter, only whether the ownership rules hold.
// Two judges read every event: shadow memory (what each row holds) and the invariants' journal books (who
// owns what, and until when). What needs the scheduler itself is not judged: the order of free lists,
// who is preempted, which answer a request gets. docs/recording.md lists the rules.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/record/broken_rule.h"
#include "sim/record/journal_file.h"

namespace pinfold::sim {

/// What judging a journal came to.
struct JournalVerdict {
  JournalHeader header;
  std::uint64_t events = 0;
  std::uint64_t sequences = 0;   // that arrived
  std::uint64_t unfinished = 0;  // of those, when the file ends
  std::uint64_t rows_read = 0;   // reads checked by shadow memory
  std::uint64_t broken_count = 0;
  bool stopped = false;            // an event after which nothing can be judged
  std::vector<BrokenRule> broken;  // the first ones, in the order of the file
};

/// `text` is the whole file. A mistake in the file is an error; a broken rule is an outcome. Needs memory
/// for every sequence and every id, not for every event.
Outcome<JournalVerdict> verify_journal(std::string_view text, const std::string& path);

}  // namespace pinfold::sim
