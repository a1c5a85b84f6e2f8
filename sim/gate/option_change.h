#pragma once
// Two configurations, option by option.

#include <string>
#include <vector>

#include "sim/config/run_config.h"

namespace pinfold::sim {

struct OptionChange {
  std::string path;  // "engine.block_size"
  std::string old;   // JSON text; "-" where the option has no effect
  std::string now;   // likewise
  bool engine =
      true;  // false: it changes the workload, model or device, so that results do not compare
};

/// The options that differ, in the order of the option table. What is simulated is the same only where none
/// of model.*, workload.*, fault.*, cost.* and seed is among them; how the engine goes about it (engine.*,
/// memory.*, fork.* and the rest) may differ.
std::vector<OptionChange> option_changes(const RunConfig& old, const RunConfig& now);

}  // namespace pinfold::sim
