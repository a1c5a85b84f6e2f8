#pragma once
// Two runs' figures, side by side and judged.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/run_fields.h"
#include "sim/gate/figure_direction.h"
#include "sim/gate/figure_tolerance.h"

namespace pinfold::sim {

enum class ChangeVerdict : std::uint8_t {
  kSame,
  kBetter,   // in the figure's direction
  kWithin,   // worse, and no more than the tolerance allows
  kWorse,    // the only one that fails
  kChanged,  // not judged
  kNew,      // the old run does not have the figure: not judged
  kGone,     // the new run does not: not judged
};

std::string_view name_of(ChangeVerdict verdict);

struct FigureChange {
  std::string figure;
  std::string old;     // empty: no value
  std::string now;     // likewise
  std::string change;  // "+0.5 (+12.5%)"; empty where there is none to say
  std::string tolerance;
  Better better = Better::kNeither;
  ChangeVerdict verdict = ChangeVerdict::kSame;
};

/// Every figure of either run, in the new run's order. A figure is judged by its direction
/// (better_of); one that has none is judged, both ways, where a tolerance names it in full. A value that is lost
/// is worse, as far as it is judged.
std::vector<FigureChange> compare_figures(std::span<const ReportField> old,
                                          std::span<const ReportField> now,
                                          std::span<const FigureTolerance> tolerances);

/// Whether one of them is kWorse.
bool any_worse(std::span<const FigureChange> changes);

}  // namespace pinfold::sim
