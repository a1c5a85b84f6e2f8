#include "sim/report/open_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "sim/config/decimal.h"
#include "sim/core/stall_report.h"
#include "sim/record/journal_records.h"

namespace pinfold::sim {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

/// Upper bounds as vLLM has them, in milliseconds.
constexpr std::array<std::int64_t, 22> kTtftMs{
    1,    5,    10,   20,   40,    60,    80,    100,   250,    500,    750,
    1000, 2500, 5000, 7500, 10000, 20000, 40000, 80000, 160000, 640000, 2560000};
constexpr std::array<std::int64_t, 19> kTpotMs{10,   25,    50,    75,    100,  150,  200,
                                               300,  400,   500,   750,   1000, 2500, 5000,
                                               7500, 10000, 20000, 40000, 80000};
constexpr std::array<std::int64_t, 21> kE2elMs{
    300,   500,   800,   1000,  1500,   2000,   2500,   5000,   10000,   15000,  20000,
    30000, 40000, 50000, 60000, 120000, 240000, 480000, 960000, 1920000, 7680000};

struct HistogramFamily {
  std::string_view name;
  std::string_view help;
  std::span<const std::int64_t> bounds_ms;
};
constexpr std::size_t kTtft = 0, kTpot = 1, kE2el = 2;
constexpr std::array kHistogramFamilies{
    HistogramFamily{"vllm:time_to_first_token_seconds", "Arrival to first token.", kTtftMs},
    HistogramFamily{"vllm:request_time_per_output_token_seconds",
                    "Time per output token behind the first one, of each completion.", kTpotMs},
    HistogramFamily{"vllm:e2e_request_latency_seconds", "Arrival to end.", kE2elMs},
};

std::string label_value(std::string_view text) {
  std::string value;
  for (const char letter : text) {
    if (letter == '\\' || letter == '"') value += '\\';
    letter == '\n' ? value += "\\n" : value += letter;
  }
  return value;
}

/// Seconds as OpenMetrics wants a bound: 1.0, 0.025.
std::string bound_text(std::int64_t bound_ms) {
  std::string text = seconds(bound_ms * kMillisecond, 3);
  text.erase(text.find_last_not_of('0') + 1);
  return text.back() == '.' ? text + '0' : text;
}

}  // namespace

OpenMetrics::OpenMetrics(MetricsOptions options)
    : options_(std::move(options)),
      owners_(options_.block_ids),
      bytes_(options_.copy_sizes, options_.copy_lane) {
  for (std::size_t n = 0; n < kHistograms; ++n) {
    now_.histograms[n].counts.resize(kHistogramFamilies[n].bounds_ms.size() + 1);
  }
}

// ---- what the run tells ----------------------------------------------------------------------------

void OpenMetrics::on_arrival(std::uint32_t request, std::int64_t arrival_ns) {
  requests_[request].arrival_ns = arrival_ns;
}

void OpenMetrics::on_sequence(SequenceId id, std::uint32_t request, std::uint32_t sample) {
  Life& life = lives_[value_of(id)];
  life.request = request;
  life.sample = sample;
  ++requests_[request].live;
}

void OpenMetrics::on_first_token(std::uint32_t request, std::int64_t now_ns) {
  sample_until(now_ns);
  Request& asked = requests_[request];
  asked.first_token_ns = now_ns;
  value(Series::kPromptTokens) += asked.prompt;
  observe(kTtft, now_ns - asked.arrival_ns);
}

void OpenMetrics::on_records(std::span<const std::byte> records, std::int64_t now_ns) {
  sample_until(now_ns);
  last_ns_ = now_ns;
  for_each_record(records, ids_, [this](const Record& record, std::span<const BlockId> ids) {
    bytes_.take(record, ids);
    if (const StoreLoad* const loading = loads_.take(record, last_ns_)) {
      load(lives_.find(record.sequence)->second, *loading);
    }
    take(record, ids);
  });
  value(Series::kLoading) = loads_.pending().size();
  value(Series::kCopyBytes) = bytes_.on(options_.copy_lane);
  value(Series::kLoadBytes) = bytes_.on(Lane::kHostToDevice);
  value(Series::kSaveBytes) = bytes_.on(Lane::kDeviceToHost);
  value(Series::kGenerationTokens) = std::max(value(Series::kGenerationTokens), tokens_);
}

void OpenMetrics::take(const Record& record, std::span<const BlockId> ids) {
  if (ids_after(record) > 0) return take_blocks(record, ids);
  if (record.verb == Verb::kStep) {
    ++steps_planned_;
    return;
  }
  if (record.verb == Verb::kResult) return take_result(record);
  const auto found = lives_.find(record.sequence);
  if (found == lives_.end()) return;
  Life& life = found->second;
  switch (record.verb) {
    case Verb::kArrive:
      life.prompt = record.count;
      ++value(Series::kWaiting);
      if (life.sample == 0) {
        requests_[life.request].prompt = record.count;
      } else {
        known(life, 1);  // it came out of the prompt's step
      }
      return;
    case Verb::kAnswer: {
      const auto answer = static_cast<Answer>(record.detail & 0xFFU);
      if (answer == Answer::kOk) admit(life);
      if (answer == Answer::kNever) end(record.sequence, EndReason::kNever, 0);
      return;
    }
    case Verb::kFork: life.shares = true; return;
    case Verb::kForkMissed: life.shares = false; return;
    case Verb::kChunk: return run(life);
    case Verb::kJoin:
      run(life);
      rows_[{record.sequence, steps_planned_ + 1}] = UINT32_MAX;
      if (life.sample == 0) known(life, record.count - life.prompt);
      return;
    case Verb::kLeave:
    case Verb::kSitOut: return leave(record.sequence);
    case Verb::kCommit:
      // One token was counted with the step's result.
      if (life.delivered) known(life, life.emitted + record.count - 1);
      return;
    case Verb::kPreempt:
      leave(record.sequence);
      ++value(Series::kPreemptions);
      return wait(life);
    case Verb::kDemote: life.shares = false; return wait(life);
    case Verb::kEnd:
      return end(record.sequence, static_cast<EndReason>(record.detail), record.count);
    default: return;
  }
}

// Every row of the step delivers a token, unless a record says otherwise.
void OpenMetrics::take_result(const Record& record) {
  const std::uint32_t step = record.sequence;
  const bool counts = record.aux == 0;
  for (auto row = rows_.begin(); row != rows_.end();) {
    const auto& [sequence, first] = row->first;
    Life& life = lives_.find(sequence)->second;
    life.delivered = counts && step >= first && step < row->second;
    if (life.delivered) {
      ++life.emitted;
      ++tokens_;
    }
    row = step + 1 >= row->second ? rows_.erase(row) : std::next(row);
  }
}

/// Steps that are planned from now on do not have its row.
void OpenMetrics::leave(std::uint32_t sequence) {
  const auto behind = rows_.upper_bound({sequence, UINT32_MAX});
  if (behind == rows_.begin()) return;
  const auto row = std::prev(behind);
  if (row->first.first != sequence || row->second != UINT32_MAX) return;
  row->second = steps_planned_ + 1;
}

void OpenMetrics::take_blocks(const Record& record, std::span<const BlockId> ids) {
  if (record.pool != PoolKind::kBlocks) return;
  for (const BlockId id : ids) {
    switch (record.verb) {
      case Verb::kAcquire:
      case Verb::kHit:
      case Verb::kPin:
        if (owners_[index_of(id)]++ == 0) ++value(Series::kOwned);
        break;
      case Verb::kRelease:
      case Verb::kUnpark:
        if (--owners_[index_of(id)] == 0) --value(Series::kOwned);
        break;
      default: return;  // what is parked has its owner still: a fence
    }
  }
  if (record.verb != Verb::kHit) return;
  const auto life = lives_.find(record.sequence);
  if (life == lives_.end() || !life->second.looked_up) return;
  value(Series::kPrefixHits) += record.aux - life->second.rows_found;
  value(Series::kStoreQueries) -= record.aux - life->second.rows_found;
  life->second.rows_found = record.aux;
}

// A prefix is looked for at every admission, and counts at the first.
void OpenMetrics::admit(Life& life) {
  run(life);
  life.looked_up = options_.prefix_reuse && !life.admitted && !life.shares;
  life.admitted = true;
  if (!life.looked_up) return;
  value(Series::kPrefixQueries) += life.prompt;
  value(Series::kStoreQueries) += life.prompt;
}

// As vLLM has it: a request that waits for its load waits, and looks up in the store what it did not find on
// the device.
void OpenMetrics::load(Life& life, const StoreLoad& load) {
  if (load.state == StoreLoad::State::kQueued) {
    if (life.loading) return;  // its state, behind its blocks
    life.loading = true;
    ++value(Series::kLoads);
    return wait(life);
  }
  life.loading = false;
  value(Series::kLoadingNs) += static_cast<std::uint64_t>(load.time_ns());
  if (load.state == StoreLoad::State::kLost) ++value(Series::kLoadsLost);
  if (load.state != StoreLoad::State::kPassed) return;
  run(life);
  if (life.looked_up) value(Series::kStoreHits) += load.tokens;
  value(Series::kLoadedBlocks) += load.blocks;
  value(Series::kLoadedStates) += load.states;
}

void OpenMetrics::run(Life& life) {
  if (life.running) return;
  life.running = true;
  ++value(Series::kRunning);
  --value(Series::kWaiting);
}

void OpenMetrics::wait(Life& life) {
  if (!life.running) return;
  life.running = false;
  --value(Series::kRunning);
  ++value(Series::kWaiting);
}

/// A record says how many tokens the sequence has.
void OpenMetrics::known(Life& life, std::uint64_t emitted) {
  tokens_ += emitted - life.emitted;  // modulo 2^64: it may be less
  life.emitted = emitted;
}

void OpenMetrics::end(std::uint32_t sequence, EndReason reason, std::uint64_t emitted) {
  const auto found = lives_.find(sequence);
  Life& life = found->second;
  Request& asked = requests_[life.request];
  known(life, emitted + (life.sample > 0 ? 1 : 0));
  --value(life.running ? Series::kRunning : Series::kWaiting);
  if (reason == EndReason::kStop) ++value(Series::kStopped);
  if (reason == EndReason::kLimit) ++value(Series::kLimited);
  if (reason == EndReason::kAborted) ++value(Series::kAborted);
  const bool whole = reason == EndReason::kStop || reason == EndReason::kLimit;
  asked.completes = asked.completes && whole;
  if (whole && life.emitted > 1 && asked.first_token_ns >= 0) {
    const auto others = static_cast<std::int64_t>(life.emitted - 1);
    observe(kTpot, (2 * (last_ns_ - asked.first_token_ns) + others) / (2 * others));
  }
  const std::uint32_t request = life.request;
  lives_.erase(found);
  rows_.erase(rows_.lower_bound({sequence, 0}), rows_.upper_bound({sequence, UINT32_MAX}));
  if (--asked.live > 0) return;
  if (asked.completes) observe(kE2el, last_ns_ - asked.arrival_ns);
  requests_.erase(request);
}

void OpenMetrics::observe(std::size_t histogram, std::int64_t value_ns) {
  Histogram& values = now_.histograms[histogram];
  const std::span<const std::int64_t> bounds = kHistogramFamilies[histogram].bounds_ms;
  const auto bound = std::find_if(bounds.begin(), bounds.end(), [value_ns](std::int64_t ms) {
    return value_ns <= ms * kMillisecond;
  });
  ++values.counts[static_cast<std::size_t>(bound - bounds.begin())];
  ++values.count;
  values.sum_ns += static_cast<std::uint64_t>(value_ns);
}

// ---- samples ---------------------------------------------------------------------------------------

// What happens at an instant of the grid is in its sample.
void OpenMetrics::sample_until(std::int64_t now_ns) {
  while (next_ns_ < now_ns) {
    push(next_ns_);
    next_ns_ += interval_ns_;
  }
}

void OpenMetrics::push(std::int64_t at_ns) {
  if (samples_.size() == kSamplesMost) thin_out();
  samples_.push_back(now_);
  samples_.back().at_ns = at_ns;
}

// Sample n is at n intervals: the even ones stay. With an even number of them, the next one is at an even
// place too.
void OpenMetrics::thin_out() {
  for (std::size_t n = 1; 2 * n < samples_.size(); ++n) samples_[n] = std::move(samples_[2 * n]);
  samples_.resize((samples_.size() + 1) / 2);
  interval_ns_ *= 2;
}

std::string OpenMetrics::finish() {
  // Prometheus keeps milliseconds: the end comes behind the sample before it.
  const std::int64_t end_ns = (last_ns_ + kMillisecond - 1) / kMillisecond * kMillisecond;
  samples_.push_back(now_);
  samples_.back().at_ns = std::max(
      end_ns, samples_.size() > 1 ? samples_[samples_.size() - 2].at_ns + kMillisecond : 0);

  const std::string labels =
      fmt::format(R"(engine="0",model_name="{}")", label_value(options_.model_name));
  std::string text;
  auto out = std::back_inserter(text);
  const auto head = [&](std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(out, "# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
    if (name.ends_with("_seconds")) fmt::format_to(out, "# UNIT {} seconds\n", name);
  };
  const auto series = [&](std::string_view name, std::string_view more, Series which) {
    for (const Sample& sample : samples_) {
      fmt::format_to(out, "{}{{{}{}}} {} {}\n", name, labels, more,
                     sample.values[static_cast<std::size_t>(which)], seconds(sample.at_ns, 3));
    }
  };
  head("vllm:num_requests_running", "gauge", "Sequences that run.");
  series("vllm:num_requests_running", "", Series::kRunning);
  head("vllm:num_requests_waiting", "gauge", "Sequences that wait for admission.");
  series("vllm:num_requests_waiting", "", Series::kWaiting);
  head("vllm:kv_cache_usage_perc", "gauge",
       "Blocks that have an owner, of all usable ones: 0 to 1.");
  for (const Sample& sample : samples_) {
    const std::uint64_t owned = sample.values[static_cast<std::size_t>(Series::kOwned)];
    fmt::format_to(out, "vllm:kv_cache_usage_perc{{{}}} {} {}\n", labels,
                   decimal(owned, std::max(options_.block_ids, 2U) - 1, 6),
                   seconds(sample.at_ns, 3));
  }
  head("vllm:num_preemptions", "counter", "Preemptions.");
  series("vllm:num_preemptions_total", "", Series::kPreemptions);
  head("vllm:prompt_tokens", "counter", "Prompt tokens of requests that have their first token.");
  series("vllm:prompt_tokens_total", "", Series::kPromptTokens);
  head("vllm:generation_tokens", "counter", "Tokens delivered.");
  series("vllm:generation_tokens_total", "", Series::kGenerationTokens);
  if (options_.prefix_reuse) {
    head("vllm:prefix_cache_queries", "counter", "Tokens looked up at first admissions.");
    series("vllm:prefix_cache_queries_total", "", Series::kPrefixQueries);
    head("vllm:prefix_cache_hits", "counter", "Of them, those that were found.");
    series("vllm:prefix_cache_hits_total", "", Series::kPrefixHits);
  }
  if (options_.store) {
    head("vllm:external_prefix_cache_queries", "counter",
         "Tokens not found on the device at first admissions, looked up in the external store.");
    series("vllm:external_prefix_cache_queries_total", "", Series::kStoreQueries);
    head("vllm:external_prefix_cache_hits", "counter", "Of them, those that were loaded.");
    series("vllm:external_prefix_cache_hits_total", "", Series::kStoreHits);
    head("pinfold:num_requests_loading", "gauge",
         "Of the sequences that wait, those that wait for their load.");
    series("pinfold:num_requests_loading", "", Series::kLoading);
    const std::array<std::tuple<std::string_view, std::string_view, Series>, 4> counters{
        {{"pinfold:store_loads", "Loads that were queued.", Series::kLoads},
         {"pinfold:store_loads_lost", "Of them, those that were given up.", Series::kLoadsLost},
         {"pinfold:store_loaded_blocks", "Blocks loaded.", Series::kLoadedBlocks},
         {"pinfold:store_loaded_states", "States loaded.", Series::kLoadedStates}}};
    for (const auto& [name, help, which] : counters) {
      head(name, "counter", help);
      series(fmt::format("{}_total", name), "", which);
    }
    head("pinfold:store_loading_seconds", "counter",
         "Time that sequences waited for loads that have ended.");
    for (const Sample& sample : samples_) {
      const std::uint64_t ns = sample.values[static_cast<std::size_t>(Series::kLoadingNs)];
      fmt::format_to(out, "pinfold:store_loading_seconds_total{{{}}} {} {}\n", labels,
                     seconds(static_cast<std::int64_t>(ns), 9), seconds(sample.at_ns, 3));
    }
  }
  head("pinfold:copy_bytes_in_flight", "gauge",
       "Bytes of copies that were queued and have not ended.");
  const std::array lanes{std::pair{options_.copy_lane, Series::kCopyBytes},
                         std::pair{Lane::kHostToDevice, Series::kLoadBytes},
                         std::pair{Lane::kDeviceToHost, Series::kSaveBytes}};
  for (const auto& [lane, which] : lanes) {
    const bool of_store = lane == Lane::kHostToDevice || lane == Lane::kDeviceToHost;
    if (of_store && !options_.store) continue;
    series("pinfold:copy_bytes_in_flight", fmt::format(R"(,lane="{}")", name_of(lane)), which);
  }
  head("vllm:request_success", "counter", "Sequences that have ended, by reason.");
  const std::array ends{std::pair{"stop", Series::kStopped}, std::pair{"length", Series::kLimited},
                        std::pair{"abort", Series::kAborted}};
  for (const auto& [reason, which] : ends) {
    series("vllm:request_success_total", fmt::format(R"(,finished_reason="{}")", reason), which);
  }
  for (std::size_t n = 0; n < kHistograms; ++n) {
    const HistogramFamily& family = kHistogramFamilies[n];
    head(family.name, "histogram", family.help);
    for (const Sample& sample : samples_) {
      const Histogram& values = sample.histograms[n];
      const std::string at = seconds(sample.at_ns, 3);
      std::uint64_t below = 0;
      for (std::size_t bound = 0; bound < values.counts.size(); ++bound) {
        below += values.counts[bound];
        const bool last = bound == family.bounds_ms.size();
        fmt::format_to(out, "{}_bucket{{{},le=\"{}\"}} {} {}\n", family.name, labels,
                       last ? "+Inf" : bound_text(family.bounds_ms[bound]), below, at);
      }
      fmt::format_to(out, "{0}_count{{{1}}} {2} {3}\n{0}_sum{{{1}}} {4} {3}\n", family.name, labels,
                     values.count, at, seconds(static_cast<std::int64_t>(values.sum_ns), 9));
    }
  }
  head("pinfold:sample_interval_seconds", "gauge", "Simulated time between two samples.");
  fmt::format_to(out, "pinfold:sample_interval_seconds{{{}}} {} {}\n", labels,
                 seconds(interval_ns_, 0), seconds(samples_.back().at_ns, 3));
  return text + "# EOF\n";
}

}  // namespace pinfold::sim
