#include "sim/core/engine_options.h"

namespace pinfold::sim {

std::uint32_t slot_ids(const EngineConfig& engine) {
  const std::uint64_t scaled = engine.slot_factor.numerator * engine.max_num_seqs;
  return static_cast<std::uint32_t>(scaled / engine.slot_factor.denominator) + 1;
}

SchedulerOptions engine_options(const RunConfig& config, bool fast_path) {
  const EngineConfig& engine = config.engine;
  SchedulerOptions options;
  options.block_size = TokenCount(engine.block_size);
  options.block_ids = engine.num_blocks;
  options.state = config.model.state_slots ? Switch::kOn : Switch::kOff;
  options.state_ids = config.model.state_slots ? slot_ids(engine) : 1;
  options.draft_ids = config.workload.drafts > 0 ? slot_ids(engine) : 1;  // decision 8
  options.max_sequences = engine.max_num_seqs;
  options.token_budget = TokenCount(engine.max_num_batched_tokens);
  options.max_model_len = TokenCount(engine.max_model_len);
  options.overlap = engine.overlap;
  options.release_order = engine.release_order;
  options.free_order = engine.free_order;
  options.fence = engine.fence;
  options.growth_check = engine.growth_check;
  options.sole_owner = config.fork.sole_owner;
  options.demote = config.fork.demote ? Switch::kOn : Switch::kOff;
  options.fast_path = fast_path ? Switch::kOn : Switch::kOff;
  return options;
}

}  // namespace pinfold::sim
