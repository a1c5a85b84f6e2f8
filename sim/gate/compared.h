#pragma once
// One side of a comparison: what an earlier run left.

#include <optional>
#include <string>
#include <vector>

#include "sim/config/run_config.h"
#include "sim/core/run_fields.h"
#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// Either figures, with the configuration where it was kept, or a recorded journal.
struct Compared {
  std::string path;
  std::vector<ReportField> figures;
  std::optional<RunConfig> config{};
  std::optional<std::string> journal{};  // the whole file

  /// A figure's value; empty where there is none.
  std::string figure(std::string_view name) const;
};

/// Reads a directory of `run -o`, a file of `run --format json`, a baseline, or a file of `run --record`.
Outcome<Compared> read_compared(const std::string& path);

}  // namespace pinfold::sim
