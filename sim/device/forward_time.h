#pragma once
// How long the forward pass of a step takes: a function for each cost model, all in integer arithmetic.
// Sums are kept in 128 bits and femtoseconds and rounded down to picoseconds once.

#include <cstdint>

#include "engine/scheduler.h"
#include "sim/config/device.h"
#include "sim/device/step_load.h"

namespace pinfold::sim {

/// No part of a step counts for more: 10^18 ps are eleven days.
inline constexpr std::uint64_t kLongestPartPs = 1'000'000'000'000'000'000;

/// Monotone in every count of the load.
std::uint64_t linear_ps(const LinearModel& model, const StepLoad& load);

/// Monotone in every count of the load.
std::uint64_t roofline_ps(const RooflineModel& model, const StepLoad& load);

/// Monotone where its curves are.
std::uint64_t knots_ps(const KnotsModel& model, const StepLoad& load);

/// Monotone where its curves are. Attention of a chunk of c rows behind a past of p counts as the part
/// ((c + p)^2 - p^2) / (c + p)^2 of attention over c + p rows, which is how many of its query-key pairs it has.
std::uint64_t table_ps(const TableModel& model, const StepLoad& load, const StepPlan& plan);

/// Whichever model it is.
std::uint64_t forward_ps(const ForwardModel& model, const StepLoad& load, const StepPlan& plan);

}  // namespace pinfold::sim
