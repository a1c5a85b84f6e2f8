// How a request ends (decision 1): p + max(o, 1) - 1 positions, hidden and known stops, the limit, the
// model's length, NEVER.
#include <doctest/doctest.h>

#include "tests/unit/broken_rule.h"
#include "tests/unit/scheduler/harness.h"

namespace pinfold::test {
namespace {

TEST_CASE("limits (decision 1): prefill yields the first token, each decode row one more") {
  Engine engine(engine_with(10, 4));
  engine.add(kA, known(4, 3));
  engine.step();
  CHECK(engine.emitted(kA) == 1);
  engine.step();
  CHECK(engine.emitted(kA) == 2);
  engine.step();
  CHECK(engine.ends() == "0 limit 3");
  CHECK(engine.steps_planned() == 3);
}

TEST_CASE("limits (decision 1): outputs of 0 and 1 take one step, of 2 two") {
  for (const std::uint32_t output : {0u, 1u, 2u}) {
    Engine engine(engine_with(10, 4));
    engine.add(kA, known(4, output));
    engine.drain();
    CHECK(engine.last_end().emitted.value == output);
    CHECK(engine.steps_planned() == (output < 2 ? 1 : 2));
  }
}

TEST_CASE("limits (decision 1): a hidden stop comes with the result, the limit without one") {
  Engine engine(engine_with(10, 4));
  engine.add(kA, hidden(4, 3));
  engine.add(kB, hidden(4, 3));
  engine.step();
  engine.step({stops(kA)});
  CHECK(engine.ends() == "0 stop 2");
  engine.step();
  CHECK(engine.ends() == "0 stop 2; 1 limit 3");
}

TEST_CASE("limits (decision 1): a stop with the limit's token is a stop") {
  Engine engine(engine_with(10, 4));
  engine.add(kA, hidden(4, 2));
  engine.step();
  engine.step({stops(kA)});
  CHECK(engine.ends() == "0 stop 2");
}

TEST_CASE("limits (decision 1): planning never passes the limit, hidden or not") {
  for (const std::uint32_t overlap : {0u, 1u, 2u}) {
    for (const StopMode stop : {StopMode::kHidden, StopMode::kKnown}) {
      SchedulerOptions options = engine_with(10, 4);
      options.overlap = overlap;
      Engine engine(options);
      RequestSpec spec = known(4, 5);
      spec.stop = stop;
      engine.add(kA, spec);
      engine.drain();
      CHECK(engine.ends() == "0 limit 5");
      CHECK(engine.steps_planned() == 5);
      CHECK(engine.acquired() == 2);  // 4 + 5 - 1 = 8 positions
    }
  }
}

TEST_CASE(
    "limits (decision 1): max_model_len bounds positions, so the output may pass it by one token") {
  // Prompt 10, max_model_len 12: rows 10 and 11 may be written: tokens 1, 2, 3, the last one unwritten.
  SchedulerOptions options = engine_with(10, 4);
  options.max_model_len = TokenCount(12);
  for (const std::uint32_t limit : {2u, 3u, 4u, 100u}) {
    CAPTURE(limit);
    Engine engine(options);
    engine.add(kA, hidden(10, limit));
    engine.drain();
    CHECK(engine.last_end().reason == EndReason::kLimit);
    CHECK(engine.last_end().emitted.value == (limit == 2 ? 2 : 3));
    CHECK(engine.acquired() == 3);
  }
}

TEST_CASE("limits (case B69): a request of exactly the model's length gets all its tokens") {
  SchedulerOptions options = engine_with(10, 4);
  options.max_model_len = TokenCount(16);
  for (const std::uint32_t overlap : {0u, 1u, 2u}) {
    options.overlap = overlap;
    Engine engine(options);
    engine.add(kA, known(12, 5));  // 12 + 5 - 1 = 16
    engine.drain();
    CHECK(engine.ends() == "0 limit 5");
    CHECK(engine.acquired() == 4);
  }
}

TEST_CASE("limits (case B44): whoever waits behind a request that ends NEVER goes on") {
  Engine engine(engine_with(4, 4));
  engine.add(kA, hidden(16, 100));
  engine.add(kB, known(4, 1));
  engine.step();
  CHECK(engine.running() == "[0]");
  engine.plan();
  // A's row 16 has no block; what it would come back with, ceil(17 / 4) = 5, exceeds the pool.
  CHECK(engine.ends() == "0 never 1");
  CHECK(engine.running() == "[1]");
  CHECK(engine.chunks() == "1[0,4)!");
  engine.finish_step();
  CHECK(engine.ends() == "0 never 1; 1 limit 1");
  CHECK(engine.is_drained());
}

TEST_CASE("limits: a hidden request that would just fit ends by its stop") {
  // Sixteen positions are there; the fifth token of a prompt of 12 needs no seventeenth.
  Engine engine(engine_with(4, 4));
  engine.add(kA, hidden(12, 100));
  engine.steps(4);
  CHECK(engine.counts(kA) == "H 16 C 15 F 0");
  engine.step({stops(kA)});
  CHECK(engine.ends() == "0 stop 5");
  CHECK(engine.stats().preemptions == 0);
}

TEST_CASE("limits: a request needs a prompt, and ids increase") {
  Scheduler scheduler(engine_with(10, 4));
  Scheduler other = scheduler;
  CHECK(broken_rule([&] { other.add(kA, known(0, 1)); }) == "O3");
  scheduler.add(kB, known(1, 1));
  other = scheduler;
  CHECK(broken_rule([&] { other.add(kB, known(1, 1)); }) == "ids");
  other = scheduler;
  CHECK(broken_rule([&] { other.add(kA, known(1, 1)); }) == "ids");
  CHECK(broken_rule([&] { scheduler.add(kD, known(1, 1)); }) == "none");
}

TEST_CASE("limits: options that no engine can run with are refused") {
  SchedulerOptions options = engine_with(10, 4);
  options.token_budget = TokenCount(options.max_sequences - 1);
  CHECK(broken_rule([&] { Scheduler scheduler(options); }) == "options");
  options.token_budget = TokenCount(options.max_sequences);
  CHECK(broken_rule([&] { Scheduler scheduler(options); }) == "none");
  options.max_sequences = 0;
  CHECK(broken_rule([&] { Scheduler scheduler(options); }) == "options");
}

TEST_CASE("limits: an id that was refused is used up and unknown") {
  Engine engine(engine_with(4, 4));
  CHECK(engine.add(kA, known(99, 1)) == Answer::kNever);
  CHECK_FALSE(engine.knows(kA));
  CHECK_FALSE(engine.abort(kA));
  Scheduler scheduler(engine_with(4, 4));
  scheduler.add(kA, known(99, 1));
  CHECK(broken_rule([&] { scheduler.add(kA, known(1, 1)); }) == "ids");
}

TEST_CASE("limits: are kept by rows that outlive many which leave early") {
  // The fast path keeps a heap of last rows, and thins it out once it has more than 64 + 4 * rows entries. Six
  // rows stay; 40 times four leave after three steps, long before their limits, which lie ahead of those of
  // the six or behind them. A prompt of one token yields its n-th token in step n.
  const std::uint32_t limits[] = {230, 220, 260, 250, 200, 270};
  for (const std::uint32_t further : {0u, 300u}) {
    SchedulerOptions options = engine_with(100, 16);
    options.max_sequences = 10;
    Engine engine(options);
    std::uint32_t id = 0;
    for (const std::uint32_t limit : limits) engine.add(SequenceId{id++}, known(1, limit));
    for (std::uint32_t round = 0; round < 40; ++round) {
      for (const std::uint32_t limit : {110u, 187u, 165u, 95u}) {
        engine.add(SequenceId{id++}, hidden(1, limit + further));
      }
      engine.steps(3);
      for (std::uint32_t n = 1; n <= 4; ++n) engine.abort(SequenceId{id - n});
    }
    for (std::uint32_t step = 121; step <= 270; ++step) {
      engine.step();
      for (std::uint32_t n = 0; n < 6; ++n) {
        REQUIRE(engine.knows(SequenceId{n}) == (limits[n] > step));
      }
    }
    CHECK(engine.is_drained());
  }
}

}  // namespace
}  // namespace pinfold::test
