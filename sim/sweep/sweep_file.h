#pragma once
// A sweep from its JSON file.

#include <string>
#include <vector>

#include "sim/sweep/sweep_spec.h"

namespace pinfold::sim {

struct SweepFile {
  SweepSpec spec;
  std::vector<InputError> errors;  // none: the spec is complete and has passed check_spec
};

/// Reads a sweep file (docs/sweeps.md); paths in it are relative to it. All mistakes that can be seen in
/// the file alone come at once, each with line, column and JSON path.
SweepFile read_sweep_file(const std::string& path);

}  // namespace pinfold::sim
