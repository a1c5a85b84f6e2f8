#pragma once
// The first event at which two runs part, for people and for programs.

#include <string>

#include "sim/config/json_writer.h"
#include "sim/gate/first_difference.h"

namespace pinfold::sim {

/// Several lines, each ending in a newline. `a` and `b` say whose runs they are: "baseline", "now".
std::string difference_text(const FirstDifference& difference, const std::string& a,
                            const std::string& b);

/// Writes the same as an object.
void write_difference(JsonWriter& json, const FirstDifference& difference);

}  // namespace pinfold::sim
