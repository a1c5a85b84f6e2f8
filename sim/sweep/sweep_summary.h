#pragma once
// What a sweep says as a whole: intervals over seeds, the best settings, the Pareto front, and how much
// each axis moves each figure. Exact: figures are decimals of at most 9 digits behind the point.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/decimal.h"
#include "sim/sweep/sweep_result.h"

namespace pinfold::sim {

/// Units of a figure's values below: 10^-9 of its own.
inline constexpr std::uint64_t kFigureUnit = 1'000'000'000;

/// A figure over the seeds of a point; the mean is sum / seeds.
struct SeedInterval {
  Unsigned128 low = 0;
  Unsigned128 sum = 0;
  Unsigned128 high = 0;
};

/// One trace and one step of each axis, with all seeds.
struct SweepPoint {
  std::size_t first_cell = 0;
  std::size_t trace = 0;
  RunStatus status = RunStatus::kOk;  // the worst of its cells
  /// Of the shown figures, in order; nothing where a seed has no value.
  std::vector<std::optional<SeedInterval>> values;
};

struct BestPoint {
  std::size_t figure = 0;  // of the shown ones
  std::size_t trace = 0;
  std::size_t point = 0;
  std::size_t ties = 0;  // other points with the same mean
};

/// Points of one trace that no other one beats in every figure of the front.
struct ParetoFront {
  std::size_t trace = 0;
  std::vector<std::size_t> points;  // in order
};

/// How far a figure's mean over seeds moves when one axis moves and nothing else does.
struct Sensitivity {
  std::size_t axis = 0;
  std::size_t figure = 0;
  std::size_t groups = 0;       // of points that differ in this axis alone, two or more each
  Unsigned128 spread_sum = 0;   // highest - lowest of each group, times the seeds
  Unsigned128 spread_most = 0;  // the largest of them
  Unsigned128 value_sum = 0;    // of the points in these groups ...
  std::size_t points = 0;       // ... and how many there are
};

struct SweepSummary {
  std::vector<std::string> figures;        // shown
  std::vector<std::string> front_figures;  // what the front is about
  std::vector<SweepPoint> points;
  std::vector<BestPoint> best;
  std::vector<ParetoFront> fronts;
  std::vector<Sensitivity> sensitivities;
  std::size_t ok = 0, failed = 0, invalid = 0;  // cells
};

/// Whether more of it is better: throughputs, what was completed, adjacency; everything else is a cost.
bool more_is_better(const std::string& figure);

/// Cells that failed or are invalid count in nothing but their number.
SweepSummary summarize(const SweepResult& result);

}  // namespace pinfold::sim
