#pragma once
// From a run's configuration to the library's options.

#include "engine/scheduler.h"
#include "sim/config/run_config.h"

namespace pinfold::sim {

/// Slots of a pool sized by the slot factor: floor(factor * max_num_seqs) + 1 ids, id 0 counted (O13).
std::uint32_t slot_ids(const EngineConfig& engine);

/// `config` has been checked (sim/config/parse.h).
SchedulerOptions engine_options(const RunConfig& config, bool fast_path);

}  // namespace pinfold::sim
