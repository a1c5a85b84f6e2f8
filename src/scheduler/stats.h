#pragma once
// What a scheduler counts. Counts are logical: the same on every path.

#include <cstdint>

namespace pinfold {

struct SchedulerStats {
  std::uint64_t answered_ok = 0;     // requests admitted at least once
  std::uint64_t answered_later = 0;  // requests answered LATER at least once
  std::uint64_t answered_never = 0;
  std::uint64_t later_blocks = 0;  // of those, by cause; a request may count under several
  std::uint64_t later_slot = 0;
  std::uint64_t later_fence = 0;
  std::uint64_t later_fork = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t self_preemptions =
      0;                              // of those: the sequence that needed the block was the victim
  std::uint64_t recomputed_rows = 0;  // prompt rows computed before, by high-water mark
  std::uint64_t sat_out = 0;          // a running sequence skipped a step for want of blocks
  std::uint64_t drafts_cut = 0;       // drafts not reserved for want of blocks
  std::uint64_t forks = 0;            // forks whose rows were shared
  std::uint64_t forks_missed = 0;     // forks that became ordinary requests at the call or before
  std::uint64_t sharing_lost = 0;     // waiting forks demoted before a stall
  std::uint64_t block_copies = 0;     // copy-on-write copies of blocks
  std::uint64_t state_copies = 0;
  std::uint64_t parked = 0;  // releases that had to wait for a fence
  // Prefix reuse. Booked once an admission (never at a try that was refused): the first one of each
  // request that has keys; those after a preemption count apart.
  std::uint64_t prefix_queries = 0;     // known tokens at admission
  std::uint64_t prefix_hits = 0;        // of them, rows that need not be computed
  std::uint64_t prefix_blocks = 0;      // blocks that the tokens need
  std::uint64_t prefix_block_hits = 0;  // of them, shared ones
  std::uint64_t prefix_tail_hits = 0;   // admissions that copied a block's first rows
  std::uint64_t resume_queries = 0;
  std::uint64_t resume_hits = 0;
  std::uint64_t published = 0;  // blocks made findable
  std::uint64_t evicted = 0;
  // External store.
  std::uint64_t saved_blocks = 0;  // that became findable
  std::uint64_t saved_states = 0;
  std::uint64_t saves_refused =
      0;                         // blocks and states not saved: no room, or the copy buffer in use
  std::uint64_t saves_lost = 0;  // queued ones that never became findable
  std::uint64_t loads = 0;       // admissions that load
  std::uint64_t loaded_blocks = 0;
  std::uint64_t loaded_states = 0;
  std::uint64_t loaded_rows = 0;     // rows that need not be computed beside those of prefix_hits
  std::uint64_t loads_aborted = 0;   // requests that ended while they were loaded
  std::uint64_t loads_lost = 0;      // requests requeued because their load never came
  std::uint64_t recovered_rows = 0;  // computed again behind loaded states
  std::uint64_t host_evicted = 0;
  std::uint64_t drafts_planned = 0;
  std::uint64_t drafts_accepted = 0;
};

}  // namespace pinfold
