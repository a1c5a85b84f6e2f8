#pragma once
// Faults by their short names.

#include <string>

#include "sim/config/parse.h"

namespace pinfold::sim {

/// The option that `--fault NAME[=VALUE]` stands for. Throws UsageError.
FlagValue fault_of(const std::string& text);

}  // namespace pinfold::sim
