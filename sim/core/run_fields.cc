#include "sim/core/run_fields.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "sim/config/decimal.h"

namespace pinfold::sim {
namespace {

constexpr std::uint64_t kNanoseconds = 1'000'000'000;
constexpr std::uint32_t kDecimals = 6;  // of rates and means; of milliseconds: whole nanoseconds

class FieldList {
 public:
  void integer(std::string name, std::uint64_t value) {
    add(std::move(name), ReportField::Kind::kNumber, fmt::format("{}", value));
  }
  void nanoseconds(std::string name, std::int64_t value_ns) {
    integer(std::move(name), static_cast<std::uint64_t>(value_ns));
  }
  void text(std::string name, std::string value) {
    add(std::move(name), ReportField::Kind::kText, std::move(value));
  }
  /// numerator / denominator, or no value where the denominator is 0.
  void ratio(std::string name, Unsigned128 numerator, Unsigned128 denominator) {
    if (denominator == 0) return none(std::move(name));
    number(std::move(name), decimal(numerator, denominator, kDecimals));
  }
  void number(std::string name, std::string decimal_text) {
    add(std::move(name), ReportField::Kind::kNumber, std::move(decimal_text));
  }
  /// An integer that no number of JSON is wide enough for: as text. Null: no value.
  void big(std::string name, const Unsigned128* value) {
    if (value == nullptr) return none(std::move(name));
    text(std::move(name), decimal(*value, 1, 0));
  }
  /// Millionths of a whole, rounded half up; no value where there is no whole.
  void millionths(std::string name, Unsigned128 part, Unsigned128 whole) {
    if (whole == 0) return none(std::move(name));
    number(std::move(name), decimal(part * 1'000'000, whole, 0));
  }
  void boolean(std::string name, bool value) { number(std::move(name), value ? "true" : "false"); }
  void none(std::string name) { add(std::move(name), ReportField::Kind::kNone, {}); }

  void latency(std::string_view metric, const LatencyStats& stats) {
    const auto figure = [&](std::string_view statistic, std::int64_t value_ns) {
      std::string name = fmt::format("{}_{}_ms", statistic, metric);
      if (stats.samples == 0) return none(std::move(name));
      number(std::move(name), milliseconds(value_ns, kDecimals));
    };
    figure("mean", stats.mean_ns);
    figure("p50", stats.p50_ns);
    figure("p90", stats.p90_ns);
    figure("p99", stats.p99_ns);
  }

  std::vector<ReportField> take() { return std::move(fields_); }

 private:
  void add(std::string name, ReportField::Kind kind, std::string value) {
    fields_.push_back(ReportField{std::move(name), kind, std::move(value)});
  }

  std::vector<ReportField> fields_;
};

void add_requests(FieldList& list, const RunResult& result) {
  const auto duration_ns = static_cast<std::uint64_t>(result.duration_ns);
  const auto per_second = [&](std::string name, std::uint64_t count) {
    list.ratio(std::move(name), Unsigned128{count} * kNanoseconds, duration_ns);
  };
  list.integer("requests", result.requests);
  list.integer("completed", result.completed);
  list.integer("rejected_never", result.rejected_never);
  list.integer("aborted", result.aborted);
  list.integer("unfinished", result.unfinished);
  list.text("verdict", name_of(result.verdict));
  if (result.verdict != Verdict::kOk) list.text("verdict_detail", result.verdict_detail);
  list.number("duration_s", seconds(result.duration_ns, 9));
  list.integer("total_input_tokens", result.total_input_tokens);
  list.integer("total_output_tokens", result.total_output_tokens);
  per_second("request_throughput", result.completed);
  per_second("output_throughput", result.total_output_tokens);
  per_second("total_token_throughput", result.total_input_tokens + result.total_output_tokens);
  result.goodput.any() ? per_second("request_goodput", result.good) : list.none("request_goodput");
  const auto objective = [&](std::string name, const std::optional<std::int64_t>& most_ns) {
    if (most_ns) list.number(std::move(name), milliseconds(*most_ns, kDecimals));
  };
  objective("goodput.ttft_ms", result.goodput.ttft_ns);
  objective("goodput.tpot_ms", result.goodput.tpot_ns);
  objective("goodput.e2el_ms", result.goodput.e2el_ns);
  if (result.goodput.any()) list.integer("goodput.requests", result.good);
}

/// The window, where not all requests count.
void add_window(FieldList& list, const RunResult& result) {
  if (!result.measured_to_ns) return;
  list.number("measured.from_s", seconds(result.measured_from_ns, 9));
  if (*result.measured_to_ns == Measurement::kForever) {
    list.none("measured.to_s");
  } else {
    list.number("measured.to_s", seconds(*result.measured_to_ns, 9));
  }
  list.integer("measured.trace_requests", result.trace_requests);
}

void add_saturation(FieldList& list, const RunResult& result) {
  const ArrivalQueue& queue = result.arrival_queue;
  list.boolean("saturated", queue.saturated());
  list.ratio("queue_at_arrival.mean_early", queue.early_waiting, queue.early_arrivals);
  list.ratio("queue_at_arrival.mean_late", queue.late_waiting, queue.late_arrivals);
  list.integer("queue_at_arrival.last", queue.at_last_arrival);
}

void add_latencies(FieldList& list, const RunResult& result) {
  list.latency("ttft", result.ttft);
  list.latency("tpot", result.tpot);
  list.latency("itl", result.itl);
  list.latency("e2el", result.e2el);
  list.latency("queue", result.queue);
  // Beyond 2^20 different durations percentiles are off by at most one part in LatencySamples::kBound.
  list.boolean("percentiles_exact", result.ttft.exact && result.tpot.exact && result.itl.exact &&
                                        result.e2el.exact && result.queue.exact);
}

void add_waiting(FieldList& list, const RunResult& result) {
  list.integer("preemptions", result.preemptions);
  list.integer("recomputed_tokens", result.recomputed_tokens);
  list.integer("sat_out", result.sat_out);
  list.nanoseconds("wait_ns_by_reason.blocks", result.wait_blocks_ns);
  list.nanoseconds("wait_ns_by_reason.slot", result.wait_slot_ns);
  list.nanoseconds("wait_ns_by_reason.fence", result.wait_fence_ns);
  list.nanoseconds("wait_ns_by_reason.fork", result.wait_fork_ns);
  list.nanoseconds("wait_ns_by_reason.run_limit", result.wait_run_limit_ns);
  list.nanoseconds("wait_ns_by_reason.budget", result.wait_budget_ns);
  list.nanoseconds("wait_ns_by_reason.step", result.wait_step_ns);
  list.nanoseconds("wait_ns_total", result.wait_total_ns);
  list.integer("admission.ok", result.answers_ok);
  list.integer("admission.later", result.answers_later);
  list.integer("admission.never", result.answers_never);
  list.integer("later_by_reason.blocks", result.later_blocks);
  list.integer("later_by_reason.slot", result.later_slot);
  list.integer("later_by_reason.fence", result.later_fence);
  list.integer("later_by_reason.fork", result.later_fork);
}

void add_memory(FieldList& list, const RunResult& result) {
  list.integer("forks", result.forks);
  list.integer("forks_missed", result.forks_missed);
  list.integer("forks_demoted", result.forks_demoted);
  list.integer("cow_copies", result.cow_copies);
  list.integer("copies.count", result.copies);
  const bool bytes_known = result.block_bytes > 0 || result.copies == 0;
  bytes_known ? list.integer("copies.bytes", result.copy_bytes) : list.none("copies.bytes");
  list.integer("drafts.proposed", result.drafts_proposed);
  list.integer("drafts.accepted", result.drafts_accepted);
  list.integer("blocks.usable", result.blocks_usable);
  result.block_bytes > 0 ? list.integer("blocks.bytes_each", result.block_bytes)
                         : list.none("blocks.bytes_each");
  list.integer("blocks.acquired", result.blocks_acquired);
  list.integer("blocks.released", result.blocks_released);
  list.integer("blocks.peak_owned", result.blocks_peak_owned);
  list.ratio("blocks.mean_owned",
             (Unsigned128{result.blocks_owned_ns_high} << 64) | result.blocks_owned_ns_low,
             static_cast<std::uint64_t>(result.run_ns));
  list.integer("slots.usable", result.slots_usable);
  list.integer("slots.peak_owned", result.slots_peak_owned);
}

/// Zero, and no more than that, where prefixes are not reused.
void add_prefix_cache(FieldList& list, const RunResult& result) {
  const PrefixCounts& ids = result.prefix_ids;
  list.integer("prefix_cache.queries", result.prefix_queries);
  list.integer("prefix_cache.hits", result.prefix_hits);
  if (!result.prefix_reuse) return;
  list.integer("prefix_cache.blocks", result.prefix_blocks);
  list.integer("prefix_cache.block_hits", result.prefix_block_hits);
  list.integer("prefix_cache.tail_copies", result.prefix_tail_copies);
  list.integer("prefix_cache.resume_queries", result.resume_queries);
  list.integer("prefix_cache.resume_hits", result.resume_hits);
  list.integer("prefix_cache.published", result.blocks_published);
  list.integer("prefix_cache.evicted", result.blocks_evicted);
  list.integer("prefix_cache.idle_at_end", result.blocks_idle);
  list.ratio("prefix_cache.hit_percent.token", Unsigned128{100} * result.prefix_hits,
             result.prefix_queries);
  list.ratio("prefix_cache.hit_percent.block", Unsigned128{100} * result.prefix_block_hits,
             result.prefix_blocks);
  list.ratio("prefix_cache.hit_percent.leading", Unsigned128{100} * ids.leading, ids.ids);
  list.integer("prefix_cache.ids.total", ids.ids);
  list.integer("prefix_cache.ids.hit", ids.hit);
  list.integer("prefix_cache.ids.writer_not_finished", ids.unfinished);
  list.integer("prefix_cache.ids.behind_a_miss", ids.behind_miss);
  list.integer("prefix_cache.ids.evicted", ids.evicted);
  list.integer("prefix_cache.ids.cut", ids.cut);
  list.integer("prefix_cache.ids.partial_tail", ids.tail);
  list.integer("prefix_cache.ids.new", ids.fresh);
}

/// Nothing where there is no external store.
void add_store(FieldList& list, const RunResult& result) {
  if (!result.store) return;
  list.integer("store.loads", result.store_loads);
  list.integer("store.loaded_blocks", result.store_loaded_blocks);
  list.integer("store.loaded_states", result.store_loaded_states);
  list.integer("store.hits", result.store_hits);
  list.integer("store.load_ns", result.store_load_ns);
  list.integer("store.loads_aborted", result.store_loads_aborted);
  list.integer("store.loads_lost", result.store_loads_lost);
  list.integer("store.recovered_tokens", result.store_recovered_tokens);
  list.integer("store.saved_blocks", result.store_saved_blocks);
  list.integer("store.saved_states", result.store_saved_states);
  list.integer("store.saves_refused", result.store_saves_refused);
  list.integer("store.saves_lost", result.store_saves_lost);
  list.integer("store.evicted", result.store_evicted);
  list.integer("store.bytes_to_device", result.store_bytes_in);
  list.integer("store.bytes_to_host", result.store_bytes_out);
}

/// Slot-time by owner, and who owned the slots when the most were owned.
void add_slots(FieldList& list, std::string_view name, const SlotTotals* slots) {
  const auto time = [&](std::string_view part, PositionNs value_ns) {
    list.big(fmt::format("{}_ns.{}", name, part), slots == nullptr ? nullptr : &value_ns);
  };
  for (std::size_t n = 0; n < kSlotClasses; ++n) {
    time(kSlotClassNames[n], slots == nullptr ? 0 : slots->slot_ns[n]);
  }
  time("capacity", slots == nullptr ? 0 : slots->capacity_ns);
  for (std::size_t n = 0; n + 1 < kSlotClasses; ++n) {
    std::string part = fmt::format("{}_at_peak.{}", name, kSlotClassNames[n]);
    slots == nullptr ? list.none(std::move(part)) : list.integer(part, slots->at_peak[n]);
  }
}

/// Where the memory went. The same names without the ledger, and no values.
void add_ledger(FieldList& list, const LedgerTotals* ledger) {
  const LedgerTotals totals = ledger == nullptr ? LedgerTotals{} : *ledger;
  const auto time = [&](std::string name, PositionNs value_ns) {
    list.big(std::move(name), ledger == nullptr ? nullptr : &value_ns);
  };
  for (std::size_t n = 0; n < kPositionClasses; ++n) {
    time(fmt::format("ledger_position_ns.{}", kPositionClassNames[n]), totals.position_ns[n]);
  }
  time("ledger_position_ns.capacity", totals.capacity_ns);
  const PositionNs owned_ns = totals.owned_ns();  // 0 without the ledger: no value
  list.ratio("fragmentation_percent", totals.fragmented_ns() * 100, owned_ns);
  for (std::size_t n = 1; n <= static_cast<std::size_t>(PositionClass::kParked); ++n) {
    list.ratio(fmt::format("fragmentation.{}", kPositionClassNames[n]), totals.position_ns[n] * 100,
               owned_ns);
  }
  time("sharing.saved_position_ns", totals.saved_ns);
  list.ratio("sharing.mean_positions_saved", totals.saved_ns, totals.duration_ns);
  list.millionths("adjacency.ascending_ppm", totals.ascending_ns, totals.pair_ns);
  list.millionths("adjacency.descending_ppm", totals.descending_ns, totals.pair_ns);
  time("adjacency.pair_ns", totals.pair_ns);
  add_slots(list, "state_slots", ledger == nullptr ? nullptr : &totals.state_slots);
  add_slots(list, "draft_slots", ledger == nullptr ? nullptr : &totals.draft_slots);
}

void add_device(FieldList& list, const RunResult& result, const CostProvenance& cost) {
  list.text("device.name", cost.name);
  list.text("device.block_size_effect", cost.block_size_effect);
  list.integer("device.steps_out_of_range", result.out_of_range.steps);
  const auto text = [&](std::string name, const std::string DeviceProvenance::*field) {
    if (!cost.device) return list.none(std::move(name));
    list.text(std::move(name), (*cost.device).*field);
  };
  text("device.model", &DeviceProvenance::model);
  text("device.gpu", &DeviceProvenance::gpu);
  text("device.engine", &DeviceProvenance::engine);
  text("device.variant", &DeviceProvenance::variant);
  text("device.fit", &DeviceProvenance::fit);
  const auto error = [&](std::string name, const std::string HeldOutError::*field) {
    if (!cost.device || !cost.device->error) return list.none(std::move(name));
    list.number(std::move(name), (*cost.device->error).*field);
  };
  error("device.held_out_median_percent", &HeldOutError::median_percent);
  error("device.held_out_p90_percent", &HeldOutError::p90_percent);
  text("device.source", &DeviceProvenance::source);
  text("device.digest", &DeviceProvenance::digest);
  for (std::size_t limit = 0; limit < kLimits; ++limit) {
    list.integer(fmt::format("steps_out_of_range.{}", kLimitNames[limit]),
                 result.out_of_range.by_limit[limit]);
  }
}

void add_provenance(FieldList& list, const RunResult& result, const Provenance& provenance) {
  list.integer("steps", result.steps);
  list.integer("failed_steps", result.failed_steps);
  list.integer("events", result.events);
  list.text("digest", hexadecimal(result.digest));
  list.text("digest_timed", hexadecimal(result.digest_timed));
  list.text("version", provenance.version);
  list.text("trace", provenance.trace);
  list.text("trace_digest", provenance.trace_digest);
  list.text("config_digest", provenance.config_digest);
  list.integer("seed", provenance.seed);
}

}  // namespace

std::vector<ReportField> run_fields(const RunResult& result, const Provenance& provenance) {
  FieldList list;
  add_requests(list, result);
  add_window(list, result);
  add_latencies(list, result);
  add_saturation(list, result);
  add_waiting(list, result);
  add_memory(list, result);
  add_prefix_cache(list, result);
  add_store(list, result);
  add_ledger(list, result.ledger ? &*result.ledger : nullptr);
  add_device(list, result, provenance.cost);
  add_provenance(list, result, provenance);
  return list.take();
}

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk: return "ok";
    case Verdict::kStall: return "stall";
    case Verdict::kViolation: return "violation";
  }
  return "?";
}

std::string hexadecimal(std::uint64_t digest) { return fmt::format("{:016x}", digest); }

}  // namespace pinfold::sim
