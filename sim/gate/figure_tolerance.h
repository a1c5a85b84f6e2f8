#pragma once
// How far a figure may be from its baseline.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/input_error.h"

namespace pinfold::sim {

struct FigureTolerance {
  enum class Kind : std::uint8_t { kExact, kPercent, kAbsolute };

  std::string pattern;  // of figures, `*` stands for any characters
  Kind kind = Kind::kExact;
  std::string value = "0";  // percent of the baseline's value, or in the figure's unit

  /// "exact", "1%" or "0.5"
  std::string text() const;
};

/// Reads `p99_*=1%,preemptions=3`, separated by commas: a figure of `pinfold run --format json` or a pattern that
/// matches one or more; and `P%` of the baseline's value, a number in the figure's unit, or `exact`. An
/// error stands at `source`, its key says the column from 1.
Outcome<std::vector<FigureTolerance>> parse_tolerances(std::string_view text,
                                                       const std::string& source);

/// The one for this figure: the last whose pattern matches; nothing where none does.
const FigureTolerance* tolerance_for(std::string_view figure,
                                     std::span<const FigureTolerance> tolerances);

/// Whether two decimals are no further apart than the tolerance allows; exact arithmetic.
bool within(std::string_view old, std::string_view now, const FigureTolerance& tolerance);

}  // namespace pinfold::sim
