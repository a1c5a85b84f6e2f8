#include "sim/core/engine_options.h"

#include "engine/sizing.h"

namespace pinfold::sim {

namespace {

// The option table bounds the factor (1 to 16, six decimals) and max_num_seqs, so nothing is cut off.
std::uint32_t slot_ids_of(const EngineConfig& engine) {
  const SlotFactor factor{static_cast<std::uint32_t>(engine.slot_factor.numerator),
                          static_cast<std::uint32_t>(engine.slot_factor.denominator)};
  return static_cast<std::uint32_t>(slot_ids(factor, engine.max_num_seqs));
}

}  // namespace

SchedulerOptions engine_options(const RunConfig& config, bool fast_path) {
  const EngineConfig& engine = config.engine;
  SchedulerOptions options;
  options.block_size = TokenCount(engine.block_size);
  options.block_ids = engine.num_blocks;
  options.state = config.model.state_slots ? Switch::kOn : Switch::kOff;
  options.state_ids = config.model.state_slots ? slot_ids_of(engine) : 1;
  options.draft_ids = config.workload.drafts > 0 ? slot_ids_of(engine) : 1;  // decision 8
  options.max_sequences = engine.max_num_seqs;
  options.token_budget = TokenCount(engine.max_num_batched_tokens);
  options.max_model_len = TokenCount(engine.max_model_len);
  options.overlap = engine.overlap;
  options.release_order = engine.release_order;
  options.free_order = engine.free_order;
  options.fence = engine.fence;
  options.growth_check = engine.growth_check;
  options.reuse = config.prefix.reuse ? Switch::kOn : Switch::kOff;
  options.eviction = config.prefix.eviction;
  if (config.prefix.reuse && config.store.host_blocks > 0) {
    options.host_block_ids = config.store.host_blocks + 1;
    options.host_state_ids = config.model.state_slots ? config.store.host_states + 1 : 1;
    options.store_interval = TokenCount(config.store.interval);
    options.recovered_rows = TokenCount(config.store.recover_tokens);
  }
  options.sole_owner = config.fork.sole_owner;
  options.copy_lane = config.fork.copy_lane;
  options.demote = config.fork.demote ? Switch::kOn : Switch::kOff;
  options.fast_path = fast_path ? Switch::kOn : Switch::kOff;
  return options;
}

}  // namespace pinfold::sim
