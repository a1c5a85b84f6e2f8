#pragma once
// Replays an ownership-event file on the real pools. The file says what happens, the pools say which
// ids it takes, and rows and copies say what a reader then finds. A fork that releases too early is
// replayed and reads what it reads; what was wrong with that is listed for `replay --verify`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/record/broken_rule.h"
#include "sim/record/event_file.h"

namespace pinfold::sim {

/// One admission check.
struct CheckResult {
  std::uint32_t blocks = 0;
  std::uint32_t state_slots = 0;
  Answer answer = Answer::kOk;
};

/// What a sequence read, position by position, and what it should hold there.
struct ReadResult {
  std::string sequence;
  std::vector<std::optional<RowValue>> rows;  // none: never written
  std::vector<RowValue> expected;
  bool correct = false;
};

struct TableResult {
  std::string sequence;
  std::vector<BlockId> blocks;
  std::optional<BlockId> slot;  // none without state
};

/// One pool when the last event is over.
struct PoolResult {
  std::vector<BlockId> free;  // in the order in which they would be issued
  std::vector<BlockId> held;  // owned, but in no table; rising
};

struct ReplayOutput {
  std::vector<std::string> lines;  // the text output, title first
  std::vector<TableResult>
      tables;  // of live sequences and waiting forks, in the order of first use
  PoolResult blocks;
  std::optional<PoolResult> slots;  // none without state
  std::vector<CheckResult> checks;
  std::vector<ReadResult> reads;
  std::uint64_t copies_not_run = 0;
  /// A copy whose source was written before it ran, and reads that were not correct, in the order of the
  /// file.
  std::vector<BrokenRule> broken;
};

/// Replays all events and audits after each. An event that cannot happen is an error with its place in
/// the file; a broken invariant is thrown, its message names the event's line.
Outcome<ReplayOutput> replay(const EventFile& file);

/// One JSON object and a line end; `judged`: with the broken rules.
std::string replay_json(const EventFile& file, const ReplayOutput& output, bool judged);

}  // namespace pinfold::sim
