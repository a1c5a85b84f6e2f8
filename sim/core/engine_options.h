#pragma once
// From a run's configuration to the library's options.

#include "engine/scheduler.h"
#include "sim/config/run_config.h"

namespace pinfold::sim {

/// `config` has been checked (sim/config/parse.h).
SchedulerOptions engine_options(const RunConfig& config, bool fast_path);

}  // namespace pinfold::sim
