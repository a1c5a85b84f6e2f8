#pragma once
// How long a step takes, in integer picoseconds: its copies, then its forward pass.

#include <cstdint>

#include "engine/scheduler.h"
#include "sim/config/run_config.h"

namespace pinfold::sim {

/// A step's parts, in picoseconds: its copies run first, in the same lane.
struct StepCost {
  std::uint64_t copies_ps = 0;
  std::uint64_t stages_ps = 0;      // states staged for their saves, in the compute lane
  std::uint64_t forward_ps = 0;     // forward, host and block-table entries
  std::uint32_t limits_passed = 0;  // sim/device/fitted_range.h
};

/// The cost of a plan: scale * the model's forward time + host + entries of the block tables that are
/// read, and its copies. O(1) and O(chunks + copies). Pure; the same on every machine.
StepCost step_cost(const CostConfig& cost, std::uint32_t block_size, const StepPlan& plan);

/// Adds picoseconds up to whole nanoseconds and carries the rest, so that no part of a cost is lost.
class PicosecondClock {
 public:
  /// Whole nanoseconds of `picoseconds` and what was carried so far.
  std::int64_t take_ns(std::uint64_t picoseconds) {
    carried_ += picoseconds;
    const std::uint64_t ns = carried_ / 1000;
    carried_ %= 1000;
    return static_cast<std::int64_t>(ns);
  }

 private:
  std::uint64_t carried_ = 0;
};

}  // namespace pinfold::sim
