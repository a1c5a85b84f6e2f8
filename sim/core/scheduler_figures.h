#pragma once
// What the scheduler and its pools counted, as figures of a run.

#include "engine/scheduler.h"
#include "sim/config/run_config.h"
#include "sim/core/run_result.h"

namespace pinfold::sim {

/// Of the whole run until now.
void put_scheduler_figures(const Scheduler& scheduler, const RunConfig& config, RunResult& result);

}  // namespace pinfold::sim
