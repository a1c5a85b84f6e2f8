#pragma once
// What a run found: plain integers, from which every output format is printed.

#include <cstdint>
#include <optional>
#include <string>

#include "sim/core/stall_report.h"
#include "sim/device/fitted_range.h"
#include "sim/metrics/latency.h"
#include "sim/metrics/ledger_totals.h"
#include "sim/metrics/measurement.h"
#include "sim/metrics/prefix_classes.h"
#include "sim/metrics/saturation.h"

namespace pinfold::sim {

enum class Verdict : std::uint8_t { kOk, kStall, kViolation };

struct RunResult {
  Verdict verdict = Verdict::kOk;
  std::string verdict_detail;  // for stall and violation: who waits for what; rule and event
  std::optional<StallReport> stall{};

  // Of the requests that count (all, unless a window was measured): the benchmark's figures, up to and
  // with the latencies.
  std::uint64_t requests = 0;
  std::uint64_t completed = 0;
  std::uint64_t rejected_never = 0;
  std::uint64_t aborted = 0;
  std::uint64_t unfinished = 0;
  std::int64_t duration_ns = 0;  // first arrival to last end
  std::uint64_t total_input_tokens = 0;
  std::uint64_t total_output_tokens = 0;

  LatencyStats ttft, tpot, itl, e2el, queue;
  Goodput goodput;         // what was asked for ...
  std::uint64_t good = 0;  // ... and the completed requests that meet it

  // Of the whole run.
  std::uint64_t trace_requests = 0;
  std::optional<std::uint64_t>
      first_never{};                  // the number in the trace of the first that can never run
  std::int64_t measured_from_ns = 0;  // the window by arrival, ...
  std::optional<std::int64_t> measured_to_ns{};  // ... nothing where all requests count
  std::int64_t run_ns = 0;                       // first arrival to last end
  ArrivalQueue arrival_queue;

  std::uint64_t preemptions = 0;
  std::uint64_t recomputed_tokens = 0;
  std::uint64_t sat_out = 0;
  // Waiting time of all requests by what the head of the queue waited for; the sum is the queue time.
  std::int64_t wait_blocks_ns = 0;
  std::int64_t wait_slot_ns = 0;
  std::int64_t wait_fence_ns = 0;
  std::int64_t wait_fork_ns = 0;
  std::int64_t wait_run_limit_ns = 0;
  std::int64_t wait_budget_ns = 0;
  std::int64_t wait_step_ns = 0;   // for the running step to end: nothing refuses it
  std::int64_t wait_total_ns = 0;  // summed over requests instead: the same

  std::uint64_t answers_ok = 0, answers_later = 0, answers_never = 0;
  std::uint64_t later_blocks = 0, later_slot = 0, later_fence = 0, later_fork = 0;
  std::uint64_t forks = 0, forks_missed = 0, forks_demoted = 0;
  std::uint64_t cow_copies = 0;
  std::uint64_t copies = 0;
  std::uint64_t copy_bytes = 0;  // on one GPU; without the blocks' where block_bytes is 0
  std::uint64_t drafts_proposed = 0, drafts_accepted = 0;

  // Reuse of prefixes, in tokens and in blocks, of first admissions; then of those after a preemption.
  bool prefix_reuse = false;
  std::uint64_t prefix_queries = 0, prefix_hits = 0;
  std::uint64_t prefix_blocks = 0, prefix_block_hits = 0, prefix_tail_copies = 0;
  std::uint64_t resume_queries = 0, resume_hits = 0;
  std::uint64_t blocks_published = 0, blocks_evicted = 0, blocks_idle = 0;
  PrefixCounts prefix_ids;

  // External store.
  bool store = false;
  std::uint64_t store_loads = 0, store_loaded_blocks = 0, store_loaded_states = 0;
  std::uint64_t store_hits = 0;     // tokens that a load spared, beside prefix_hits and resume_hits
  std::uint64_t store_load_ns = 0;  // of all requests together, from their admission on
  std::uint64_t store_loads_aborted = 0, store_loads_lost = 0, store_recovered_tokens = 0;
  std::uint64_t store_saved_blocks = 0, store_saved_states = 0, store_saves_refused = 0;
  std::uint64_t store_saves_lost = 0, store_evicted = 0;
  std::uint64_t store_bytes_in = 0, store_bytes_out = 0;  // to the device, to the host

  std::uint64_t block_bytes = 0;  // of one, on one GPU; 0: the model's shape is not known
  std::uint64_t blocks_usable = 0, blocks_acquired = 0, blocks_released = 0, blocks_peak_owned = 0;
  // owned block-time over the duration, in block-ns; mean owned = this / duration
  std::uint64_t blocks_owned_ns_high = 0, blocks_owned_ns_low = 0;  // 128 bits
  std::uint64_t slots_usable = 0, slots_peak_owned = 0;
  std::optional<LedgerTotals> ledger{};  // where each position went; nothing if nobody asked

  std::uint64_t steps = 0;
  std::uint64_t failed_steps =
      0;                     // by fault.step_failed_permille; those behind one are not counted
  RangeCounts out_of_range;  // of them, those that the cost model was not made for
  std::uint64_t events = 0;
  std::uint64_t digest = 0;        // of the journal: no time in it
  std::uint64_t digest_timed = 0;  // of steps' and results' times too
};

}  // namespace pinfold::sim
