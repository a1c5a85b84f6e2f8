#pragma once
// What a sweep varies, from the command line.

#include <string>
#include <vector>

#include "sim/sweep/sweep_spec.h"

namespace pinfold::sim {

/// An axis from `KEY=a,b,c`, the text behind -L; commas inside brackets belong to a value.
Outcome<SweepAxis> parse_list_axis(const std::string& text);

/// An axis from `KEY=LO:HI:*F` or `KEY=LO:HI:+S`, the text behind -P: LO, then each value times F or plus
/// S, up to HI. Exact decimals.
Outcome<SweepAxis> parse_range_axis(const std::string& text);

/// Figures separated by commas; `flag` stands in errors.
Outcome<std::vector<std::string>> parse_figures(const std::string& flag, const std::string& text);

/// Seeds separated by commas, none twice.
Outcome<std::vector<std::string>> parse_seeds(const std::string& text);

}  // namespace pinfold::sim
