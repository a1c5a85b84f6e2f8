#pragma once
// A suite of checks from its JSON file.

#include <string>
#include <vector>

#include "sim/gate/check.h"

namespace pinfold::sim {

struct Suite {
  std::vector<CheckSpec> checks;
  std::vector<InputError> errors;  // none: every check is complete
};

/// Reads a suite (docs/ci.md): JSON with comments, paths relative to it. All mistakes that can be seen in the
/// file and in the configurations it names come at once, each with line, column and JSON path.
Suite read_suite(const std::string& path);

}  // namespace pinfold::sim
