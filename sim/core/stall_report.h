#pragma once
// Why a run cannot go on: the wait-for graph. Who waits for what, and who holds what.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/scheduler.h"

namespace pinfold::sim {

/// One edge: an unfinished sequence that does not run, and what it waits for.
struct StallWaiter {
  std::uint32_t sequence = 0;
  Cause cause = Cause::kNone;
  PoolKind pool = PoolKind::kBlocks;  // for kBlocks and kSlot ...
  std::uint32_t lacking = 0;          // ... ids beyond what is available
  bool has_holder = false;
  std::uint32_t holder = 0;    // the sequence that holds it
  Lane lane = Lane::kCompute;  // for a fence: what has to pass
  std::uint64_t ticket = 0;    // 0: no fence
};

/// Somebody who holds storage: a sequence, or a fence behind which it is parked.
struct StallHolder {
  enum class Kind : std::uint8_t { kRunning, kWaitingFork, kFence, kLoading };
  Kind kind = Kind::kRunning;
  std::uint32_t sequence = 0;  // whose it is, or was
  std::uint32_t blocks = 0;
  std::uint32_t state_slots = 0;
  std::uint32_t draft_slots = 0;
  Lane lane = Lane::kCompute;  // of the fence
  std::uint64_t ticket = 0;
  /// Only what runs can be preempted; a waiting fork's pins and a fence's ids cannot.
  bool preemptible() const { return kind == Kind::kRunning; }
};

struct StallReport {
  std::string what;
  std::vector<StallWaiter> waiters;
  std::vector<StallHolder> holders;
};

/// The graph of a scheduler that stands still. O(unfinished + holds).
StallReport stall_report(const Scheduler& scheduler, std::string what);

/// `what`, then a line for each waiter and each holder, at most `most` of either and "and N more".
std::string describe(const StallReport& report, std::size_t most = 12);

/// "blocks", "a slot", "a fence", ...
const char* word_of(Cause cause);
const char* name_of(Lane lane);

}  // namespace pinfold::sim
