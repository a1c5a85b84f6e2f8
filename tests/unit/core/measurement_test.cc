// What is measured of a run, and by whom: windows, objectives, one request's timeline. None of it may
// reach the run.
#include "sim/metrics/measurement.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/parse.h"
#include "sim/core/simulate.h"
#include "sim/report/request_timeline.h"
#include "sim/trace/azure_csv.h"

namespace pinfold::sim {
namespace {

constexpr std::size_t kRequests = 1000;

Trace slice() {
  const char* root = std::getenv("PINFOLD_SOURCE_ROOT");
  REQUIRE(root != nullptr);
  auto read = read_azure_csv(
      (std::filesystem::path(root) / "traces/azure/AzureLLMInferenceTrace_conv.csv").string());
  REQUIRE_MESSAGE(bool(read), (read ? "" : describe(read.error())));
  Trace trace = std::move(read.value());
  trace.requests.resize(kRequests);
  return trace;
}

struct Engine {
  std::string name;
  std::vector<std::string> settings;
};

// Steps of 60 ms in a pool of 14,000 positions: preemption, waiting for blocks, and for each other.
const std::vector<Engine> kEngines{
    {"roomy", {}},
    {"tight", {"engine.num_blocks=900", "cost.step_base_us=60000"}},
    {"tight, no overlap", {"engine.num_blocks=900", "cost.step_base_us=60000", "engine.overlap=0"}},
    {"tight, drafts and slots",
     {"engine.num_blocks=900", "cost.step_base_us=60000", "workload.drafts=3",
      "model.state_slots=true", "engine.max_num_seqs=24", "engine.slot_factor=1"}},
    {"tight, known stops",
     {"engine.num_blocks=900", "cost.step_base_us=60000", "workload.stop=known",
      "engine.overlap=2"}}};

RunConfig config_of(const Engine& engine) {
  const auto config = load_config(std::nullopt, engine.settings);
  REQUIRE_MESSAGE(bool(config), (config ? "" : describe(config.error())));
  return config.value();
}

RunResult measured(const Trace& trace, const RunConfig& config, std::int64_t from_ns,
                   std::int64_t to_ns, bool fast_path = true) {
  RunOptions options;
  options.fast_path = fast_path;
  options.measure = {.from_ns = from_ns, .to_ns = to_ns};
  return simulate(trace, config, options);
}

TEST_CASE("windows: the parts of a run sum to the whole, and leave it as it is") {
  const Trace trace = slice();
  const std::int64_t end_ns = trace.requests.back().arrival_ns + 1;
  for (const Engine& engine : kEngines) {
    CAPTURE(engine.name);
    const RunConfig config = config_of(engine);
    const RunResult whole = simulate(trace, config, {});
    REQUIRE(whole.verdict == Verdict::kOk);
    RunResult sum;
    for (const auto& [from_ns, to_ns] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {0, end_ns / 3}, {end_ns / 3, end_ns / 2}, {end_ns / 2, end_ns}}) {
      const RunResult part = measured(trace, config, from_ns, to_ns);
      CHECK(part.digest_timed == whole.digest_timed);
      CHECK(part.run_ns == whole.run_ns);
      CHECK(part.wait_total_ns == whole.wait_total_ns);
      CHECK(part.trace_requests == kRequests);
      sum.requests += part.requests;
      sum.completed += part.completed;
      sum.total_input_tokens += part.total_input_tokens;
      sum.total_output_tokens += part.total_output_tokens;
      sum.ttft.samples += part.ttft.samples;
      sum.tpot.samples += part.tpot.samples;
      sum.itl.samples += part.itl.samples;
      sum.queue.samples += part.queue.samples;
    }
    CHECK(sum.requests == whole.requests);
    CHECK(sum.completed == whole.completed);
    CHECK(sum.total_input_tokens == whole.total_input_tokens);
    CHECK(sum.total_output_tokens == whole.total_output_tokens);
    CHECK(sum.ttft.samples == whole.ttft.samples);
    CHECK(sum.tpot.samples == whole.tpot.samples);
    CHECK(sum.itl.samples == whole.itl.samples);
    CHECK(sum.queue.samples == whole.queue.samples);
  }
}

TEST_CASE("windows: one that holds every request measures what no window measures") {
  const Trace trace = slice();
  for (const Engine& engine : kEngines) {
    CAPTURE(engine.name);
    const RunConfig config = config_of(engine);
    const RunResult whole = simulate(trace, config, {});
    const RunResult all = measured(trace, config, 0, trace.requests.back().arrival_ns + 1);
    CHECK(all.duration_ns == whole.duration_ns);
    CHECK(all.requests == whole.requests);
    CHECK(all.itl.mean_ns == whole.itl.mean_ns);
    CHECK(all.itl.p99_ns == whole.itl.p99_ns);
    CHECK(all.ttft.p99_ns == whole.ttft.p99_ns);
    CHECK(all.tpot.mean_ns == whole.tpot.mean_ns);
  }
}

TEST_CASE("windows: the path does not show") {
  const Trace trace = slice();
  const std::int64_t from_ns = trace.requests[300].arrival_ns;
  const std::int64_t to_ns = trace.requests[700].arrival_ns;
  for (const Engine& engine : kEngines) {
    CAPTURE(engine.name);
    const RunConfig config = config_of(engine);
    const RunResult fast = measured(trace, config, from_ns, to_ns, true);
    const RunResult slow = measured(trace, config, from_ns, to_ns, false);
    CHECK(fast.requests > 300);
    CHECK(fast.itl.samples == slow.itl.samples);
    CHECK(fast.itl.mean_ns == slow.itl.mean_ns);
    CHECK(fast.duration_ns == slow.duration_ns);
    CHECK(fast.digest_timed == slow.digest_timed);
  }
}

TEST_CASE("waiting: reasons and requests sum to the same nanosecond") {
  const Trace trace = slice();
  for (const Engine& engine : kEngines) {
    CAPTURE(engine.name);
    const RunResult r = simulate(trace, config_of(engine), {});
    CHECK(r.wait_total_ns > 0);
    CHECK(r.wait_total_ns == r.wait_blocks_ns + r.wait_slot_ns + r.wait_fence_ns + r.wait_fork_ns +
                                 r.wait_run_limit_ns + r.wait_budget_ns + r.wait_step_ns);
  }
}

TEST_CASE("goodput: every completed request meets generous objectives, none meets a hopeless one") {
  const Trace trace = slice();
  const RunConfig config = config_of(kEngines[1]);
  const auto good = [&](const Goodput& goodput) {
    RunOptions options;
    options.measure.goodput = goodput;
    return simulate(trace, config, options);
  };
  const std::int64_t forever = Measurement::kForever;
  const RunResult all = good({.ttft_ns = forever, .tpot_ns = forever, .e2el_ns = forever});
  CHECK(all.good == all.completed);
  CHECK(good({.ttft_ns = 0}).good == 0);
  // At most half of all are below the median, or at it.
  const RunResult half = good({.ttft_ns = all.ttft.p50_ns});
  CHECK(half.good == kRequests / 2);
  CHECK(good({.e2el_ns = all.e2el.p50_ns}).good == kRequests / 2);
  CHECK(good({.ttft_ns = all.ttft.p50_ns, .e2el_ns = all.e2el.p50_ns}).good <= kRequests / 2);
  CHECK(half.digest_timed == all.digest_timed);
}

TEST_CASE("goodput: what a request without tokens, or with one, meets") {
  const Goodput ttft{.ttft_ns = 5};
  CHECK(ttft.met(5, 9, 9));
  CHECK_FALSE(ttft.met(6, 0, 0));
  CHECK_FALSE(ttft.met(std::nullopt, 0, 0));
  const Goodput tpot{.tpot_ns = 5};
  CHECK(tpot.met(std::nullopt, 0, 99));
  CHECK_FALSE(tpot.met(1, 6, 7));
  CHECK_FALSE(Goodput{}.any());
}

// A window that holds one request alone reports that request's latencies.
TEST_CASE("timeline: waits, first token and end are the request's own figures") {
  const Trace trace = slice();
  for (const Engine& engine : kEngines) {
    CAPTURE(engine.name);
    const RunConfig config = config_of(engine);
    const std::uint64_t digest = simulate(trace, config, {}).digest_timed;
    for (std::uint32_t request = 7; request < kRequests; request += 71) {
      CAPTURE(request);
      const std::int64_t arrival_ns = trace.requests[request].arrival_ns;
      RequestTimeline timeline(request, trace.requests[request]);
      RunOptions options;
      options.observer = &timeline;
      options.measure = {.from_ns = arrival_ns, .to_ns = arrival_ns + 1};
      const RunResult result = simulate(trace, config, options);
      CHECK(result.digest_timed == digest);
      if (result.completed != 1) continue;  // two arrive at once

      std::int64_t waited_ns = 0;
      for (const std::int64_t part_ns : timeline.waited_ns()) waited_ns += part_ns;
      CHECK(waited_ns == result.queue.mean_ns);
      const std::vector<TimelineEvent>& events = timeline.events();
      REQUIRE(events.size() >= 4);
      CHECK(events.front().kind == TimelineEvent::Kind::kArrive);
      CHECK(events.front().at_ns == arrival_ns);
      CHECK(events.back().kind == TimelineEvent::Kind::kEnd);
      CHECK(events.back().at_ns == arrival_ns + result.e2el.mean_ns);
      CHECK(events.back().a == trace.requests[request].output);
      std::uint64_t prompt_rows = 0;
      std::int64_t last_ns = 0;
      for (const TimelineEvent& event : events) {
        CHECK(event.at_ns >= last_ns);
        last_ns = event.at_ns;
        if (event.kind == TimelineEvent::Kind::kFirstToken) {
          CHECK(event.at_ns == arrival_ns + result.ttft.mean_ns);
        }
        if (event.kind == TimelineEvent::Kind::kChunk) prompt_rows += event.b;
      }
      CHECK(prompt_rows >= trace.requests[request].prompt);
    }
  }
}

TEST_CASE("timeline: a request that can never run says so, one that never arrives says nothing") {
  Trace trace = slice();
  trace.requests.resize(2);
  RunConfig config = config_of(kEngines[0]);
  config.engine.num_blocks = 10;
  RequestTimeline never(1, trace.requests[1]);
  RunOptions options;
  options.observer = &never;
  CHECK(simulate(trace, config, options).rejected_never == 2);
  REQUIRE(never.events().size() == 2);
  CHECK(never.events()[1].kind == TimelineEvent::Kind::kNever);
  const std::string text = timeline_text(never, Provenance{});
  CHECK(text.find(
            "NEVER: this pool or engine.max_model_len is too small for it\nWaited 0.000000 s\n") !=
        std::string::npos);
}

}  // namespace
}  // namespace pinfold::sim
