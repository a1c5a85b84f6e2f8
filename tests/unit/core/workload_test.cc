// What clients and faults do to a run: samples, forks, aborts, sessions, drafts from the trace, failed steps
// and lost events. Blocks hold 4 positions and a step takes 1 ms, so every figure is worked out by hand
// beside it.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/config/parse.h"
#include "sim/core/simulate.h"
#include "sim/core/trace_span.h"

namespace pinfold::sim {
namespace {

constexpr std::int64_t kMs = 1'000'000;

RunConfig config_of(std::vector<std::string> settings) {
  for (const char* const setting :
       {"engine.block_size=4", "engine.num_blocks=64", "engine.max_num_seqs=8",
        "engine.max_num_batched_tokens=64", "engine.max_model_len=128", "cost.step_base_us=1000",
        "cost.row_us=0", "cost.prompt_token_us=0", "cost.block_copy_us=0"}) {
    const std::string key = std::string(setting).substr(0, std::string(setting).find('='));
    const bool given = std::any_of(settings.begin(), settings.end(), [&](const std::string& other) {
      return other.starts_with(key);
    });
    if (!given) settings.emplace_back(setting);
  }
  const auto config = load_config(std::nullopt, settings);
  REQUIRE_MESSAGE(bool(config), (config ? "" : describe(config.error())));
  return config.value();
}

TraceRequest request(std::int64_t arrival_ms, std::uint32_t prompt, std::uint32_t output) {
  TraceRequest asked;
  asked.arrival_ns = arrival_ms * kMs;
  asked.prompt = prompt;
  asked.output = output;
  return asked;
}

RunResult run(const std::vector<TraceRequest>& requests, const std::vector<std::string>& settings) {
  Trace trace;
  trace.name = "by hand";
  trace.requests = requests;
  const RunConfig config = config_of(settings);
  RunOptions options;
  options.shadow = true;
  options.audit_every = 1;
  const RunResult result = simulate(trace, config, options);
  options.fast_path = false;
  const RunResult slow = simulate(trace, config, options);
  CHECK(slow.digest == result.digest);
  CHECK(slow.digest_timed == result.digest_timed);
  CHECK(result.completed + result.aborted + result.rejected_never + result.unfinished ==
        requests.size());
  std::int64_t waits = result.wait_blocks_ns + result.wait_slot_ns + result.wait_fence_ns +
                       result.wait_fork_ns + result.wait_run_limit_ns + result.wait_budget_ns +
                       result.wait_step_ns;
  CHECK(waits == result.wait_total_ns);
  return result;
}

// Step 1 computes the prompt and yields both samples' first tokens. The second sample forks at C = 4, a
// multiple of B: it copies the full block and takes another for position 4, as the first one does. Steps 2
// and 3 yield two tokens each.
TEST_CASE("samples: the others are forks of the first, taken when the prompt is computed") {
  TraceRequest asked = request(0, 4, 3);
  asked.samples = 2;
  for (const char* const stop : {"workload.stop=hidden", "workload.stop=known"}) {
    const RunResult result = run({asked}, {"engine.overlap=0", stop});
    CHECK(result.verdict == Verdict::kOk);
    CHECK(result.completed == 1);
    CHECK(result.forks == 1);
    CHECK(result.cow_copies == 1);
    CHECK(result.blocks_acquired == 4);
    CHECK(result.blocks_released == 4);
    CHECK(result.steps == 3);
    CHECK(result.total_output_tokens == 6);
    CHECK(result.duration_ns == 3 * kMs);
    CHECK(result.ttft.mean_ns == 1 * kMs);
    CHECK(result.tpot.samples == 2);
    CHECK(result.tpot.mean_ns == 1 * kMs);
    CHECK(result.itl.samples == 4);
    CHECK(result.itl.p99_ns == 1 * kMs);
  }
}

TEST_CASE("samples: one token each needs no fork") {
  TraceRequest asked = request(0, 4, 1);
  asked.samples = 3;
  const RunResult result = run({asked}, {"engine.overlap=0"});
  CHECK(result.completed == 1);
  CHECK(result.forks == 0);
  CHECK(result.steps == 1);
  CHECK(result.total_output_tokens == 3);
}

// All samples, overlaps and state slots: the tokens are the same whatever the engine does.
TEST_CASE("samples: every engine delivers all tokens of all samples") {
  std::vector<TraceRequest> requests;
  std::uint64_t tokens = 0;
  for (std::uint32_t n = 0; n < 12; ++n) {
    requests.push_back(request(n / 3, 3 + n, 1 + n % 5));
    requests.back().samples = 1 + n % 4;
    tokens += std::uint64_t{requests.back().samples} * requests.back().output;
  }
  for (const char* const overlap : {"engine.overlap=0", "engine.overlap=1", "engine.overlap=2"}) {
    for (const char* const state : {"model.state_slots=false", "model.state_slots=true"}) {
      for (const char* const blocks : {"engine.num_blocks=12", "engine.num_blocks=64"}) {
        for (const char* const drafts : {"workload.drafts=0", "workload.drafts=3"}) {
          for (const char* const lane : {"fork.copy_lane=compute", "fork.copy_lane=separate"}) {
            CAPTURE(overlap);
            CAPTURE(state);
            CAPTURE(blocks);
            CAPTURE(drafts);
            CAPTURE(lane);
            const RunResult result = run(requests, {overlap, state, blocks, drafts, lane});
            CHECK(result.verdict_detail == "");
            CHECK(result.completed == requests.size());
            CHECK(result.total_output_tokens == tokens);
            const RunResult polled =
                run(requests, {overlap, state, blocks, drafts, lane, "fork.wait=poll"});
            CHECK(polled.verdict_detail == "");
            CHECK(polled.total_output_tokens == tokens);
          }
        }
      }
    }
  }
}

// C is 6 after step 1, 7 after step 2, 8 after step 3. The fork shares two full blocks and copies nothing;
// its rows 8 and 9 are a chunk of step 4, which yields its first token 4 ms after it arrived.
TEST_CASE("forks: a live request is forked once it has processed so much") {
  TraceRequest fork = request(0, 10, 2);
  fork.fork_of = 0;
  fork.fork_at = 8;
  const RunResult result =
      run({request(0, 6, 20), fork}, {"engine.overlap=0", "workload.stop=known"});
  CHECK(result.verdict == Verdict::kOk);
  CHECK(result.completed == 2);
  CHECK(result.forks == 1);
  CHECK(result.forks_missed == 0);
  CHECK(result.cow_copies == 0);
  CHECK(result.ttft.p50_ns == (1 * kMs + 4 * kMs) / 2);  // of two samples
  // The parent's 25 positions are 7 blocks; the fork's 11 are 3, of which it owns one.
  CHECK(result.blocks_acquired == 7 + 1);
}

TEST_CASE("forks: of a request that has ended, or of a fork of it, are ordinary requests") {
  TraceRequest late = request(5, 4, 2);
  late.fork_of = 0;
  late.fork_at = 4;
  TraceRequest again = late;
  again.fork_of = 1;
  again.fork_at = 1000;  // more than it ever has
  const RunResult result = run({request(0, 4, 1), late, again}, {"engine.overlap=0"});
  CHECK(result.verdict == Verdict::kOk);
  CHECK(result.completed == 3);
  CHECK(result.forks == 0);
  CHECK(result.forks_missed == 2);
}

TEST_CASE("aborts: in every phase, and nothing stays behind") {
  TraceRequest waits = request(0, 8, 4);
  waits.fork_of = 0;
  waits.fork_at = 100;
  waits.abort_ns = 2 * kMs + kMs / 2;
  for (std::int64_t half_ms = 0; half_ms < 24; ++half_ms) {
    TraceRequest asked = request(0, 9, 20);
    asked.samples = 3;
    asked.abort_ns = half_ms * kMs / 2;
    for (const char* const overlap : {"engine.overlap=0", "engine.overlap=1"}) {
      CAPTURE(half_ms);
      const RunResult result =
          run({asked, waits, request(1, 4, 4)}, {overlap, "engine.max_num_batched_tokens=8",
                                                 "model.state_slots=true", "engine.num_blocks=12"});
      CHECK(result.verdict_detail == "");
      CHECK(result.aborted == 2);  // the fork's client gives up after 2.5 ms, begun or not
      CHECK(result.blocks_acquired == result.blocks_released);
    }
  }
}

// Step 1 yields a token, the verify row of step 2 as many as were accepted and one more; the output ends
// inside the row.
TEST_CASE("drafts: acceptance from the trace, and a stop inside an accepted row") {
  TraceRequest asked = request(0, 4, 6);
  asked.accepted = {3, 3};
  const std::vector<std::string> drafts{"engine.overlap=0", "workload.drafts=3"};
  RunResult result = run({asked}, drafts);
  CHECK(result.steps == 3);
  CHECK(result.total_output_tokens == 6);
  CHECK(result.drafts_proposed == 6);
  CHECK(result.drafts_accepted == 3);  // of the second row nothing: one token was left
  asked.output = 3;
  result = run({asked}, drafts);
  CHECK(result.steps == 2);
  CHECK(result.total_output_tokens == 3);
  CHECK(result.drafts_accepted == 1);
  asked.output = 6;
  asked.accepted = {0, 1};  // and none for the rows behind them: 1 + 1 + 2 + 1 + 1
  result = run({asked}, drafts);
  CHECK(result.steps == 5);
  CHECK(result.drafts_accepted == 1);
}

// Position 0 always, position 1 never: two tokens a row, 1 + 3 * 2 = 7.
TEST_CASE("drafts: acceptance by position") {
  const RunResult result = run(
      {request(0, 4, 7)},
      {"engine.overlap=0", "workload.drafts=4", "workload.draft_acceptance_by_position=[1000, 0]"});
  CHECK(result.steps == 4);
  CHECK(result.drafts_accepted == 3);
}

// The first turn ends after 3 ms, the second arrives 2 ms later and takes 1 ms.
TEST_CASE("sessions: a turn waits for the one before it and its delay") {
  TraceRequest first = request(0, 4, 3);
  first.session = 9;
  TraceRequest second = request(0, 4, 1);
  second.session = 9;
  second.delay_ns = 2 * kMs;
  TraceRequest other = request(0, 4, 1);
  other.session = 8;
  const std::vector<TraceRequest> turns{first, second, other};
  const RunResult closed = run(turns, {"engine.overlap=0", "workload.sessions=closed"});
  CHECK(closed.completed == 3);
  CHECK(closed.duration_ns == 6 * kMs);
  const RunResult open = run(turns, {"engine.overlap=0"});
  CHECK(open.duration_ns == 3 * kMs);
}

TEST_CASE("faults: failed steps cost time and no token") {
  std::vector<TraceRequest> requests;
  for (std::uint32_t n = 0; n < 10; ++n) {
    requests.push_back(request(n, 3 + n, 2 + n));
    requests.back().samples = 1 + n % 2;
  }
  for (const char* const state : {"model.state_slots=false", "model.state_slots=true"}) {
    for (const char* const drafts : {"workload.drafts=0", "workload.drafts=2"}) {
      const RunResult whole = run(requests, {state, drafts});
      const RunResult failing = run(requests, {state, drafts, "fault.step_failed_permille=300"});
      CHECK(failing.verdict_detail == "");
      CHECK(failing.failed_steps > 0);
      CHECK(failing.completed == 10);
      CHECK(failing.total_output_tokens == whole.total_output_tokens);
      CHECK(failing.duration_ns > whole.duration_ns);
      CHECK(failing.ttft.samples == 10);
    }
  }
}

// The copy of the first sample's block runs ahead of step 2: ticket 2 * 2 - 1.
TEST_CASE("faults: a lost copy event stalls a host that waits, and is named by one that does not") {
  TraceRequest asked = request(0, 4, 3);
  asked.samples = 2;
  const std::vector<std::string> lost{"engine.overlap=0", "fault.copy_lost=1"};
  const RunResult waits = run({asked}, lost);
  CHECK(waits.verdict == Verdict::kStall);
  CHECK(waits.verdict_detail.find("the copies of step 2") != std::string::npos);
  CHECK(waits.verdict_detail.find("ticket 3 of the compute lane") != std::string::npos);
  // The step's own result proves it in the same lane.
  const RunResult polls = run({asked}, {lost[0], lost[1], "fork.wait=poll"});
  CHECK(polls.verdict_detail == "");
  // In a lane of its own nothing does: the copied block stays parked.
  const RunResult leaks =
      run({asked}, {lost[0], lost[1], "fork.wait=poll", "fork.copy_lane=separate"});
  CHECK(leaks.verdict == Verdict::kStall);
  CHECK(leaks.completed == 1);
  CHECK(leaks.verdict_detail.find("1 blocks and 0 state slots stay parked behind a lost event") !=
        std::string::npos);
  CHECK(leaks.verdict_detail.find("ticket 3 of the copy lane, step 2") != std::string::npos);
}

TEST_CASE("faults: an abort storm leaves nothing behind") {
  std::vector<TraceRequest> requests;
  for (std::uint32_t n = 0; n < 40; ++n) requests.push_back(request(n, 5, 20));
  const RunResult result =
      run(requests, {"fault.abort_storm_permille=500", "fault.abort_storm_steps=10"});
  CHECK(result.verdict_detail == "");
  CHECK(result.aborted >= 5);
  CHECK(result.completed >= 5);
}

// 5 ms more for the step that copies, once.
TEST_CASE("faults and costs: delays of copies, and the host's own time") {
  TraceRequest asked = request(0, 4, 3);
  asked.samples = 2;
  CHECK(run({asked}, {"engine.overlap=0", "fault.copy_delay_us=5000"}).duration_ns == 8 * kMs);
  CHECK(run({asked}, {"engine.overlap=0", "cost.copy_launch_us=100"}).duration_ns ==
        3 * kMs + kMs / 10);
  // Nothing hides the host's planning without overlap; with it, all but the first plan's.
  CHECK(run({request(0, 4, 10)}, {"engine.overlap=0", "cost.plan_us=200"}).duration_ns == 12 * kMs);
  CHECK(run({request(0, 4, 10)}, {"engine.overlap=1", "cost.plan_us=200"}).duration_ns ==
        10 * kMs + kMs / 5);
}

// Half of 2^63 ns are 4,611,686,018 s; a time scale of 1,000 brings 4,611,687 s beyond it.
TEST_CASE("simulated time: arrivals and aborts beyond half of 63 bits are refused") {
  const RunConfig config = config_of({"workload.time_scale=1000"});
  const auto span_of = [&](std::int64_t arrival_s, std::int64_t abort_s) {
    TraceRequest asked = request(arrival_s * 1000, 4, 1);
    if (abort_s > 0) asked.abort_ns = abort_s * 1000 * kMs;
    const auto error = check_span(Trace{.name = "t", .requests = {asked}}, config);
    return error ? error->found : std::string("fits");
  };
  CHECK(span_of(4'611'686, 0) == "fits");
  CHECK(span_of(4'611'687, 0) ==
        "an arrival 4611687 s after the first arrival, times workload.time_scale");
  CHECK(span_of(0, 4'611'686) == "fits");
  CHECK(span_of(1, 4'611'687) ==
        "an abort 4611687 s after the first arrival, times workload.time_scale");
  // What nobody refused fails loudly instead of wrapping around.
  const Trace trace{.name = "t", .requests = {request(0, 4, 1), request(5'000'000'000, 4, 1)}};
  CHECK(simulate(trace, config, {}).verdict == Verdict::kViolation);
}

}  // namespace
}  // namespace pinfold::sim
