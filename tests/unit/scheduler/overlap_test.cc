// Rule O15: step k + 1 is planned once result k - D has been processed; D = 0, 1 or 2. An empty plan is
// no step. And what overlap does to stops (decision 1) and releases.
#include <doctest/doctest.h>

#include "tests/unit/broken_rule.h"
#include "tests/unit/scheduler/harness.h"

namespace pinfold::test {
namespace {

SchedulerOptions overlapped(std::uint32_t usable_blocks, std::uint32_t block_size,
                            std::uint32_t overlap) {
  SchedulerOptions options = engine_with(usable_blocks, block_size);
  options.overlap = overlap;
  return options;
}

TEST_CASE("overlap (O15): at most D + 1 steps are in flight") {
  for (const std::uint32_t overlap : {0u, 1u, 2u}) {
    CAPTURE(overlap);
    Scheduler scheduler(overlapped(100, 4, overlap));
    scheduler.add(kA, known(4, 50));
    StepPlan plan;
    for (std::uint32_t n = 0; n <= overlap; ++n) {
      CHECK(broken_rule([&] { scheduler.plan_step(plan); }) == "none");
      CHECK(value_of(plan.step) == n + 1);
    }
    Scheduler too_far = scheduler;
    CHECK(broken_rule([&] { too_far.plan_step(plan); }) == "O15");
    scheduler.on_step_complete({StepNumber{1}, false, nullptr, 0});
    CHECK(broken_rule([&] { scheduler.plan_step(plan); }) == "none");
    CHECK(value_of(plan.step) == overlap + 2);
  }
}

TEST_CASE("overlap (O15): 3 is refused") {
  CHECK(broken_rule([] { Scheduler scheduler(overlapped(4, 4, 3)); }) == "O15");
}

TEST_CASE("overlap (O15): an empty plan is no step and takes no number") {
  Engine engine(overlapped(4, 4, 1));
  CHECK(engine.plan().empty);
  CHECK(engine.plan().empty);
  CHECK(engine.steps_planned() == 0);
  engine.add(kA, known(4, 1));
  CHECK(value_of(engine.plan().step) == 1);
  CHECK(engine.plan().empty);  // its only token is in flight
  CHECK(engine.steps_planned() == 1);
  CHECK(engine.scheduler().done() == StepNumber{0});
}

TEST_CASE("overlap (O15): the row behind a prompt in flight is planned without its token") {
  Engine engine(overlapped(10, 4, 2));
  engine.add(kA, known(4, 9));
  engine.plan();
  CHECK(engine.chunks() == "0[0,4)!");
  engine.plan();
  CHECK(engine.joined() == "[0]");
  CHECK(engine.last_plan().joined.front().tokens_before == TokenCount(1));
  engine.plan();
  CHECK(engine.joined() == "[]");
  CHECK(engine.counts(kA) == "H 4 C 0 F 6");
  CHECK(engine.emitted(kA) == 0);
}

TEST_CASE("overlap (decision 1): a hidden stop is overrun by D rows, a known one by none") {
  for (const std::uint32_t overlap : {0u, 1u, 2u}) {
    CAPTURE(overlap);
    Engine hides(overlapped(10, 4, overlap));
    hides.add(kA, hidden(4, 100));
    for (std::uint32_t n = 0; n <= overlap; ++n) hides.plan();
    hides.finish_step({stops(kA)});
    CHECK(hides.ends() == "0 stop 1");
    CHECK(hides.in_flight() == overlap);

    Engine knows(overlapped(10, 4, overlap));
    knows.add(kA, known(4, 1));
    for (std::uint32_t n = 0; n <= overlap; ++n) knows.plan();
    CHECK(knows.in_flight() == 1);
  }
}

TEST_CASE("overlap (O9): what an overrun row may write comes back with the last of them") {
  // Overlap 2: steps 2 and 3 wrote positions 4 and 5 into block 2 when step 1 brings the stop.
  Engine engine(overlapped(3, 4, 2));
  engine.add(kA, hidden(4, 100));
  engine.plan();
  engine.plan();
  engine.plan();
  engine.finish_step({stops(kA)});
  CHECK(engine.parked() == 2);
  engine.finish_step();
  CHECK(engine.parked() == 2);
  CHECK(engine.free_blocks() == "[3]");
  engine.finish_step();
  CHECK(engine.parked() == 0);
  CHECK(engine.free_blocks() == "[3, 2, 1]");
}

TEST_CASE("overlap (O10, case B17): an overrun row is released once") {
  // B = 1, overlap 1, A(2) yields two tokens: rows 0, 1, then row 2, and row 3 as an overrun.
  Engine engine(overlapped(6, 1, 1));
  engine.add(kA, hidden(2, 100));
  engine.step();
  engine.step();
  engine.plan();
  CHECK(engine.held(kA) == 4);
  engine.finish_step({stops(kA)});
  CHECK(engine.ends() == "0 stop 2");
  CHECK(engine.available() == 2);
  CHECK(engine.parked() == 4);
  engine.finish_step();
  CHECK(engine.available() == 6);
  CHECK(engine.is_drained());
}

TEST_CASE("overlap: an arrival between two plans joins the next step, whatever is in flight") {
  Engine engine(overlapped(10, 4, 2));
  engine.add(kA, known(4, 9));
  engine.plan();
  engine.add(kB, known(4, 9));
  engine.plan();
  CHECK(engine.chunks() == "1[0,4)!");
  CHECK(engine.in_step(kA));
}

TEST_CASE("overlap: the same tokens and blocks at any overlap where the output is known") {
  // Three requests, room for all: 5 + 6 - 1 = 10, 4 + 5 - 1 = 8, 9 + 1 - 1 = 9 positions: 3 + 2 + 3.
  for (const std::uint32_t overlap : {0u, 1u, 2u}) {
    CAPTURE(overlap);
    Engine engine(overlapped(10, 4, overlap));
    engine.add(kA, known(5, 6));
    engine.add(kB, known(4, 5));
    engine.add(kC, known(9, 1));
    engine.drain();
    CHECK(engine.ends() == "2 limit 1; 1 limit 5; 0 limit 6");
    CHECK(engine.acquired() == 8);
    CHECK(engine.steps_planned() == 6);
    CHECK(engine.is_drained());
  }
}

TEST_CASE("overlap: a view names the last step planned, also of a row that no step visits") {
  SchedulerOptions options = engine_with(10, 16);
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, known(1, 9));
  for (std::uint64_t step = 1; step <= 6; ++step) {
    engine.plan();
    CHECK(engine.view(kA).last_step == StepNumber{step});
    if (engine.in_flight() > 1) engine.finish_step();
  }
}

}  // namespace
}  // namespace pinfold::test
