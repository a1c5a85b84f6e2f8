#pragma once
// How long a step takes: the linear cost model, in integer picoseconds.

#include <cstdint>

#include "engine/scheduler.h"
#include "sim/config/run_config.h"

namespace pinfold::sim {

/// A step's parts, in picoseconds: its copies run first, in the same lane.
struct StepCost {
  std::uint64_t copies_ps = 0;
  std::uint64_t forward_ps = 0;
};

/// The cost of a plan from its totals: base + rows, prompt tokens and context, and one price a copy.
/// Pure; the same on every machine.
StepCost step_cost(const CostConfig& cost, const StepPlan& plan);

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
