#pragma once
// Whether a step lies in what its cost model was fitted or measured for.

#include <array>
#include <cstdint>

#include "engine/scheduler.h"
#include "sim/config/device.h"
#include "sim/device/step_load.h"

namespace pinfold::sim {

/// The limits that a step goes beyond: bit `1 << Limit`. Positions are those that the step reads or
/// writes: the plan does not tell those of sequences that sit out.
std::uint32_t limits_passed(const FittedRange& range, const StepLoad& load, const StepPlan& plan);

/// Whether decode rows have more context than was measured for so many rows: the more rows, the less
/// context fitted the GPU.
bool beyond_decode_table(const TableModel& model, const StepLoad& load);

/// Steps beyond each limit, and beyond any.
struct RangeCounts {
  std::uint64_t steps = 0;
  std::array<std::uint64_t, kLimits> by_limit{};

  void note(std::uint32_t passed) {
    if (passed == 0) return;
    ++steps;
    for (std::size_t limit = 0; limit < kLimits; ++limit) by_limit[limit] += passed >> limit & 1;
  }
};

}  // namespace pinfold::sim
