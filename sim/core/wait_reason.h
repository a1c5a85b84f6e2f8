#pragma once
// What a waiting request's time is booked on.

#include <cstddef>
#include <cstdint>

#include "engine/scheduler.h"

namespace pinfold::sim {

/// Waiting time by reason, in the order of RunResult's fields.
enum class Wait : std::uint8_t { kBlocks, kSlot, kFence, kFork, kRunLimit, kBudget, kStep };
inline constexpr std::size_t kWaits = 7;

/// The reason behind what the scheduler says of the head of its queue. A pass that preempted or in which
/// a sequence sat out admits nobody: that is want of blocks.
constexpr Wait wait_of(Cause cause) {
  switch (cause) {
    case Cause::kBlocks:
    case Cause::kPressure: return Wait::kBlocks;
    case Cause::kSlot: return Wait::kSlot;
    case Cause::kLoad:
    case Cause::kFence: return Wait::kFence;
    case Cause::kFork: return Wait::kFork;
    case Cause::kRunLimit: return Wait::kRunLimit;
    case Cause::kBudget: return Wait::kBudget;
    case Cause::kNone: return Wait::kStep;
  }
  return Wait::kStep;
}

/// As in wait_ns_by_reason.
constexpr const char* name_of(Wait wait) {
  switch (wait) {
    case Wait::kBlocks: return "blocks";
    case Wait::kSlot: return "slot";
    case Wait::kFence: return "fence";
    case Wait::kFork: return "fork";
    case Wait::kRunLimit: return "run_limit";
    case Wait::kBudget: return "budget";
    case Wait::kStep: return "step";
  }
  return "?";
}

}  // namespace pinfold::sim
