#include "sim/report/text_report.h"

#include <string_view>

#include "sim/config/decimal.h"
#include "sim/core/run_fields.h"
#include "sim/report/text_page.h"

namespace pinfold::sim {
namespace {

constexpr std::uint64_t kNanoseconds = 1'000'000'000;
constexpr std::uint32_t kDecimals = TextPage::kDecimals;

void add_benchmark_block(TextPage& page, const RunResult& result) {
  const auto duration_ns = static_cast<std::uint64_t>(result.duration_ns);
  const auto per_second = [&](std::string_view label, std::uint64_t count) {
    page.ratio(label, Unsigned128{count} * kNanoseconds, duration_ns);
  };
  page.title(" Serving Benchmark Result ");
  if (result.measured_to_ns) {
    page.line("Measured arrivals from (s):", seconds(result.measured_from_ns, 3));
    page.line("Measured arrivals before (s):", *result.measured_to_ns == Measurement::kForever
                                                   ? "the end"
                                                   : seconds(*result.measured_to_ns, 3));
    page.line("Requests that arrived then:", result.requests);
  }
  page.line("Successful requests:", result.completed);
  page.line("Failed requests:", result.rejected_never + result.aborted + result.unfinished);
  page.line("Benchmark duration (s):", seconds(result.duration_ns, kDecimals));
  page.line("Total input tokens:", result.total_input_tokens);
  page.line("Total generated tokens:", result.total_output_tokens);
  per_second("Request throughput (req/s):", result.completed);
  if (result.goodput.any()) per_second("Request goodput (req/s):", result.good);
  per_second("Output token throughput (tok/s):", result.total_output_tokens);
  per_second("Total token throughput (tok/s):",
             result.total_input_tokens + result.total_output_tokens);
  page.latency("Time to First Token", "TTFT", result.ttft);
  page.latency("Time per Output Token (excl. 1st token)", "TPOT", result.tpot);
  page.latency("Inter-token Latency", "ITL", result.itl);
  page.latency("End-to-end Latency", "E2EL", result.e2el);
  const bool exact = result.ttft.exact && result.tpot.exact && result.itl.exact &&
                     result.e2el.exact && result.queue.exact;
  if (!exact) page.line("Percentiles are off by at most (%):", "0.1");
}

void add_pool(TextPage& page, const RunResult& result) {
  page.section("Pool");
  page.line("Usable blocks:", result.blocks_usable);
  if (result.block_bytes > 0) {
    page.ratio("Memory of one GPU in them (GiB):",
               Unsigned128{result.block_bytes} * result.blocks_usable, std::uint64_t{1} << 30);
  }
  page.line("Peak owned blocks:", result.blocks_peak_owned);
  page.ratio("Mean owned blocks:",
             (Unsigned128{result.blocks_owned_ns_high} << 64) | result.blocks_owned_ns_low,
             static_cast<std::uint64_t>(result.run_ns));
  page.ratio("Peak owned (% of usable):", Unsigned128{result.blocks_peak_owned} * 100,
             result.blocks_usable);
  page.line("Blocks acquired:", result.blocks_acquired);
  page.line("Blocks released:", result.blocks_released);
}

void add_ledger(TextPage& page, const LedgerTotals& ledger) {
  page.section("Where the Memory Went");
  const auto share = [](PositionNs part, PositionNs whole) {
    return whole == 0 ? std::string("-") : decimal(part * 100, whole, kDecimals);
  };
  const auto row = [&](std::string_view label, std::string_view percent, std::string_view mean) {
    page.line(label, fmt::format("{:<10} {}", percent, mean));
  };
  row("Position", "% of all", "mean positions");
  for (std::size_t n = 0; n < kPositionClasses; ++n) {
    const bool cached = static_cast<PositionClass>(n) == PositionClass::kCachedIdle;
    if (cached && ledger.position_ns[n] == 0) continue;  // without prefix reuse nothing is
    row(fmt::format("  {}", kPositionClassNames[n]),
        share(ledger.position_ns[n], ledger.capacity_ns),
        ledger.duration_ns == 0 ? "-" : decimal(ledger.position_ns[n], ledger.duration_ns, 1));
  }
  page.line("Fragmentation (% of owned):", share(ledger.fragmented_ns(), ledger.owned_ns()));
  if (ledger.saved_ns > 0) {
    page.ratio("Mean positions saved by sharing:", ledger.saved_ns, ledger.duration_ns);
  }
  page.line("Neighbours in tables with ids + 1 (%):", share(ledger.ascending_ns, ledger.pair_ns));
  page.line("  with ids - 1 (%):", share(ledger.descending_ns, ledger.pair_ns));
}

void add_waiting(TextPage& page, const RunResult& result) {
  page.section("Admission and Waiting");
  page.line("Requests admitted (OK):", result.answers_ok);
  page.line("Requests ever refused (LATER):", result.answers_later);
  page.line("  for blocks:", result.later_blocks);
  page.line("  for a state slot:", result.later_slot);
  page.line("  for a fence:", result.later_fence);
  page.line("  for a fork:", result.later_fork);
  page.line("Requests that can never run (NEVER):", result.answers_never);
  if (result.unfinished > 0) page.line("Unfinished requests:", result.unfinished);
  if (result.aborted > 0) page.line("Aborted requests:", result.aborted);
  const auto statistic = [&](std::string_view label, std::int64_t value_ns) {
    page.line(label,
              result.queue.samples == 0 ? std::string("-") : milliseconds(value_ns, kDecimals));
  };
  statistic("Mean queue time (ms):", result.queue.mean_ns);
  statistic("Median queue time (ms):", result.queue.p50_ns);
  statistic("P90 queue time (ms):", result.queue.p90_ns);
  statistic("P99 queue time (ms):", result.queue.p99_ns);
  page.ratio("Mean queue at an arrival:",
             result.arrival_queue.early_waiting + result.arrival_queue.late_waiting,
             result.arrival_queue.early_arrivals + result.arrival_queue.late_arrivals);
  page.line("Queue at the last arrival:", result.arrival_queue.at_last_arrival);
  page.waited("All requests waited for blocks (s):", result.wait_blocks_ns);
  page.waited("  for a state slot (s):", result.wait_slot_ns);
  page.waited("  for a fence (s):", result.wait_fence_ns);
  page.waited("  for a fork (s):", result.wait_fork_ns);
  page.waited("  for the run limit (s):", result.wait_run_limit_ns);
  page.waited("  for the token budget (s):", result.wait_budget_ns);
  page.waited("  for the running step's end (s):", result.wait_step_ns);
}

void add_slots(TextPage& page, const LedgerTotals& ledger) {
  const SlotTotals& slots = ledger.state_slots;
  const auto owned = [&](auto print) {
    for (std::size_t n = 0; n + 1 < kSlotClasses; ++n) print(kSlotClassNames[n], n);
  };
  owned([&](std::string_view owner, std::size_t n) {
    page.line(fmt::format("  {}:", owner), slots.at_peak[n]);
  });
  page.ratio("Mean owned slots:", slots.slot_ns[0] + slots.slot_ns[1] + slots.slot_ns[2],
             ledger.duration_ns);
  owned([&](std::string_view owner, std::size_t n) {
    page.ratio(fmt::format("  {}:", owner), slots.slot_ns[n], ledger.duration_ns);
  });
}

void add_movement(TextPage& page, const RunResult& result) {
  page.section("Preemption");
  page.line("Preemptions:", result.preemptions);
  page.line("Recomputed tokens:", result.recomputed_tokens);
  page.line("Steps sat out:", result.sat_out);
  page.section("Copies");
  page.line("Copies:", result.copies);
  if (result.block_bytes > 0) {
    page.ratio("Copied on one GPU (MiB):", result.copy_bytes, std::uint64_t{1} << 20);
  }
  page.line("Copy-on-write copies:", result.cow_copies);
  page.line("Forks:", result.forks);
  page.line("Forks run as ordinary requests:", result.forks_missed);
  page.line("Forks demoted (sharing lost):", result.forks_demoted);
  if (result.prefix_reuse) {
    page.line("Prompt tokens looked up:", result.prefix_queries);
    page.line("Prompt tokens found:", result.prefix_hits);
    page.ratio("Prefix hit rate (%):", Unsigned128{result.prefix_hits} * 100,
               result.prefix_queries);
    page.line("Kept blocks evicted:", result.blocks_evicted);
  }
  if (result.store) {
    page.section("External store");
    page.line("Loads:", result.store_loads);
    page.line("Tokens loaded:", result.store_hits);
    page.ratio("Mean time of a load (ms):", result.store_load_ns, result.store_loads * 1'000'000);
    page.line("Blocks saved:", result.store_saved_blocks);
    if (result.slots_usable > 0) {
      page.line("States saved:", result.store_saved_states);
      page.line("Tokens recovered:", result.store_recovered_tokens);
    }
    page.line("Not saved for want of room:", result.store_saves_refused);
    page.line("Evicted from the host:", result.store_evicted);
    if (result.store_loads_lost > 0) page.line("Loads given up:", result.store_loads_lost);
  }
  if (result.drafts_proposed > 0) {
    page.section("Drafts");
    page.line("Draft tokens proposed:", result.drafts_proposed);
    page.line("Draft tokens accepted:", result.drafts_accepted);
    page.ratio("Acceptance rate (%):", Unsigned128{result.drafts_accepted} * 100,
               result.drafts_proposed);
  }
  if (result.slots_usable > 0) {
    page.section("Slots");
    page.line("Usable slots:", result.slots_usable);
    page.line("Peak owned slots:", result.slots_peak_owned);
    if (result.ledger) add_slots(page, *result.ledger);
  }
}

void add_device(TextPage& page, const RunResult& result, const CostProvenance& cost) {
  page.section("Device");
  page.line("Device:", cost.name);
  if (cost.device) {
    const DeviceProvenance& device = *cost.device;
    page.line("Model, GPU:",
              fmt::format("{}, {} x {}", device.model, device.tensor_parallel_size, device.gpu));
    page.line("Engine:", device.engine);
    page.line("Variant, fit:", fmt::format("{}, {}", device.variant, device.fit));
    page.line("Held-out error, median / p90 (%):",
              device.error
                  ? fmt::format("{} / {}", device.error->median_percent, device.error->p90_percent)
                  : std::string("not known"));
    page.line("Steps out of its range:", result.out_of_range.steps);
    for (std::size_t limit = 0; limit < kLimits; ++limit) {
      const std::uint64_t steps = result.out_of_range.by_limit[limit];
      if (steps > 0) page.line(fmt::format("  by {}:", kLimitNames[limit]), steps);
    }
  }
  page.line("Time effect of block size:", cost.block_size_effect);
}

void add_run(TextPage& page, const RunResult& result, const Provenance& provenance) {
  page.section("Run");
  page.line("Verdict:", name_of(result.verdict));
  page.line("Saturated:", result.arrival_queue.saturated() ? "yes, see below" : "no");
  page.line("Steps:", result.steps);
  page.line("Events:", result.events);
  page.line("Version:", provenance.version);
  page.line("Trace:", provenance.trace);
  page.line("Trace digest:", provenance.trace_digest);
  page.line("Configuration digest:", provenance.config_digest);
  page.line("Seed:", provenance.seed);
  page.line("Digest:", hexadecimal(result.digest));
  page.line("Digest with times:", hexadecimal(result.digest_timed));
}

}  // namespace

std::string describe(const ArrivalQueue& queue) {
  return fmt::format(
      "Saturated: the last request to arrive found {} waiting, {} % of the trace. On average {}\n"
      "waited when one of the first three quarters arrived, {} when one of the last quarter did.\n"
      "Latencies measure the backlog and depend on the length of the trace.",
      queue.at_last_arrival, decimal(Unsigned128{queue.at_last_arrival} * 100, queue.arrivals(), 1),
      decimal(queue.early_waiting, queue.early_arrivals, 1),
      queue.late_arrivals == 0 ? "-" : decimal(queue.late_waiting, queue.late_arrivals, 1));
}

std::string text_report(const RunResult& result, const Provenance& provenance) {
  TextPage page;
  add_benchmark_block(page, result);
  add_pool(page, result);
  if (result.ledger) add_ledger(page, *result.ledger);
  add_waiting(page, result);
  add_movement(page, result);
  add_device(page, result, provenance.cost);
  add_run(page, result, provenance);
  page.end();
  if (result.verdict != Verdict::kOk) page.paragraph(result.verdict_detail);
  if (result.arrival_queue.saturated()) page.paragraph(describe(result.arrival_queue));
  return page.take();
}

}  // namespace pinfold::sim
