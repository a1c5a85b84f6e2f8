#include "sim/core/scheduler_figures.h"

#include "sim/config/pool_size.h"

namespace pinfold::sim {
namespace {

void put_answers(const SchedulerStats& stats, RunResult& r) {
  r.answers_ok = stats.answered_ok;
  r.answers_later = stats.answered_later;
  r.answers_never = stats.answered_never;
  r.later_blocks = stats.later_blocks;
  r.later_slot = stats.later_slot;
  r.later_fence = stats.later_fence;
  r.later_fork = stats.later_fork;
}

void put_copies(const SchedulerStats& stats, const RunConfig& config, RunResult& r) {
  r.forks = stats.forks;
  r.forks_missed = stats.forks_missed;
  r.forks_demoted = stats.sharing_lost;
  r.cow_copies = stats.block_copies;
  r.copies = stats.block_copies + stats.state_copies;
  r.copy_bytes =
      (block_bytes_of(config) * stats.block_copies + slot_bytes_of(config) * stats.state_copies)
          .value;
}

void put_reuse(const SchedulerStats& stats, RunResult& r) {
  r.prefix_queries = stats.prefix_queries;
  r.prefix_hits = stats.prefix_hits;
  r.prefix_blocks = stats.prefix_blocks;
  r.prefix_block_hits = stats.prefix_block_hits;
  r.prefix_tail_copies = stats.prefix_tail_hits;
  r.resume_queries = stats.resume_queries;
  r.resume_hits = stats.resume_hits;
  r.blocks_published = stats.published;
  r.blocks_evicted = stats.evicted;
}

void put_store(const SchedulerStats& stats, RunResult& r) {
  r.store_loads = stats.loads;
  r.store_loaded_blocks = stats.loaded_blocks;
  r.store_loaded_states = stats.loaded_states;
  r.store_hits = stats.loaded_rows;
  r.store_loads_aborted = stats.loads_aborted;
  r.store_loads_lost = stats.loads_lost;
  r.store_recovered_tokens = stats.recovered_rows;
  r.store_saved_blocks = stats.saved_blocks;
  r.store_saved_states = stats.saved_states;
  r.store_saves_refused = stats.saves_refused;
  r.store_saves_lost = stats.saves_lost;
  r.store_evicted = stats.host_evicted;
}

void put_pools(const Pools& pools, RunResult& r) {
  const Pool& blocks = pools.blocks();
  r.blocks_idle = blocks.idle().value;
  r.blocks_usable = blocks.usable().value;
  r.blocks_acquired = blocks.acquired();
  r.blocks_released = blocks.freed();
  r.blocks_peak_owned = blocks.peak_owned().value;
  const Pool& slots = pools.of(PoolKind::kStateSlots);
  r.slots_usable = slots.usable().value;
  r.slots_peak_owned = slots.peak_owned().value;
}

}  // namespace

void put_scheduler_figures(const Scheduler& scheduler, const RunConfig& config, RunResult& result) {
  const SchedulerStats& stats = scheduler.stats();
  result.preemptions = stats.preemptions;
  result.recomputed_tokens = stats.recomputed_rows;
  result.sat_out = stats.sat_out;
  put_answers(stats, result);
  put_copies(stats, config, result);
  put_reuse(stats, result);
  put_store(stats, result);
  result.drafts_proposed = stats.drafts_planned;
  result.drafts_accepted = stats.drafts_accepted;
  result.block_bytes = block_bytes_of(config).value;
  put_pools(scheduler.pools(), result);
}

}  // namespace pinfold::sim
