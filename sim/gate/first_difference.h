#pragma once
// Where two runs part: the first event of their journals that is not the same.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/scheduler.h"
#include "sim/config/run_config.h"
#include "sim/record/journal_file.h"
#include "sim/trace/input_error.h"
#include "sim/trace/request.h"

namespace pinfold::sim {

/// One record with its ids.
struct JournalEntry {
  Record record{};
  std::vector<BlockId> ids;

  bool operator==(const JournalEntry& other) const;
};

/// A sequence's block table around the event.
struct TableAround {
  std::uint32_t sequence = 0;
  std::vector<BlockId> before;  // in both runs: up to here they are the same
  std::vector<BlockId> after_a;
  std::vector<BlockId> after_b;
};

struct FirstDifference {
  std::uint64_t event = 0;          // from 1
  std::vector<std::string> common;  // the last events before it, oldest first, in words
  std::optional<std::string> a;     // nothing: that run's journal ends here
  std::optional<std::string> b;
  std::vector<TableAround> tables;  // of the sequences that the two events are about
};

/// Runs both configurations on the trace and compares their journals. Nothing if all events are the same.
/// Costs up to two runs of each; memory is bounded.
std::optional<FirstDifference> first_difference(const Trace& trace, const RunConfig& a,
                                                const RunConfig& b);

/// The same of a recorded journal (a whole file's text) and a run.
Outcome<std::optional<FirstDifference>> first_difference(std::string_view recorded,
                                                         const std::string& path,
                                                         const Trace& trace, const RunConfig& now);

/// The same of two recorded journals (`run --record`), read side by side. The texts are whole files.
Outcome<std::optional<FirstDifference>> first_difference(std::string_view a,
                                                         const std::string& path_a,
                                                         std::string_view b,
                                                         const std::string& path_b);

}  // namespace pinfold::sim
