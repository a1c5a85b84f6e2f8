#pragma once
// What a scenario expects against what a run found.

#include <span>
#include <string>
#include <vector>

#include "sim/core/run_fields.h"
#include "sim/core/scenario.h"

namespace pinfold::sim {

/// One sentence for each expected value that does not hold; numbers are compared as exact decimals. A
/// name that is no figure of `run --format json` is a difference too.
std::vector<std::string> differences(std::span<const ExpectedValue> expected,
                                     std::span<const ReportField> found);

}  // namespace pinfold::sim
