// explain_wait(): every unfinished sequence that does not run names what it waits for (rule O3: LATER
// names the holder, fence or limit), and a stall can be told from waiting (decision 12).
#include <doctest/doctest.h>

#include "tests/unit/scheduler/harness.h"

namespace pinfold::test {
namespace {

SchedulerOptions overlapped(SchedulerOptions options, std::uint32_t overlap) {
  options.overlap = overlap;
  return options;
}

TEST_CASE("wait reasons: none where everybody runs") {
  Engine engine(engine_with(10, 4));
  engine.add(kA, known(4, 9));
  engine.add(kB, known(4, 9));
  engine.step();
  CHECK(engine.scheduler().explain_wait().empty());
  CHECK(engine.why(kA) == "nothing");
}

TEST_CASE("wait reasons (O3): blocks, with the amount and the oldest holder") {
  Engine engine(engine_with(4, 4));
  engine.add(kA, known(12, 3));
  engine.add(kB, known(12, 1));
  engine.step();
  CHECK(engine.why(kB) == "blocks, lacking 2, held by 0");
}

TEST_CASE("wait reasons (O3): a slot, where blocks are free") {
  Engine engine(stateful_with(40, 4, 1));
  engine.add(kA, known(4, 3));
  engine.add(kB, known(4, 1));
  engine.step();
  CHECK(engine.why(kB) == "slot, lacking 1, held by 0");
}

TEST_CASE("wait reasons (O3): the fence that parked blocks wait for, before any holder") {
  Engine engine(overlapped(engine_with(4, 4), 1));
  engine.add(kA, known(8, 9));
  engine.add(kB, known(4, 9));
  engine.plan();
  engine.abort(kA);
  engine.add(kC, known(8, 1));
  engine.plan();
  CHECK(engine.why(kC) == "blocks, lacking 2, held by 0, until step 1");
}

TEST_CASE("wait reasons (decision 4): its own last step, for a preempted request") {
  Engine engine(overlapped(engine_with(4, 4), 1));
  engine.add(kA, known(4, 8));
  engine.add(kB, known(4, 8));
  engine.steps(5);
  engine.plan();
  CHECK(engine.why(kB) == "fence, until step 5");
}

TEST_CASE("wait reasons (O6): a sequence that sits out names the fence that keeps its block") {
  Engine engine(overlapped(engine_with(4, 4), 1));
  engine.add(kA, known(4, 8));
  engine.add(kB, known(4, 8));
  engine.steps(5);
  engine.plan();
  CHECK(engine.why(kA) == "blocks, lacking 1, held by 1, until step 5");
}

TEST_CASE("wait reasons: the run limit; behind it, the head of the queue") {
  SchedulerOptions options = engine_with(10, 4);
  options.max_sequences = 1;
  Engine engine(options);
  for (const SequenceId id : {kA, kB, kC}) engine.add(id, known(4, 3));
  engine.step();
  CHECK(engine.why(kB) == "run limit");
  CHECK(engine.why(kC) == "run limit");
}

TEST_CASE("wait reasons: a request that would fit names the head that goes first") {
  Engine engine(engine_with(4, 4));
  engine.add(kA, known(8, 3));
  engine.add(kB, known(12, 1));
  engine.add(kC, known(4, 1));
  engine.step();
  CHECK(engine.why(kC) == "pressure, held by 1");
}

TEST_CASE("wait reasons (case B58): whoever is refused names a holder, a fence or a limit") {
  // A full pool and its slots, over a whole run: in no pass does anybody wait for nothing.
  Engine engine(overlapped(stateful_with(4, 4, 2), 1));
  engine.add(kA, known(8, 3));
  engine.add(kB, known(4, 3));
  engine.add(kC, known(8, 1));
  engine.step();
  for (int pass = 0; pass < 12 && engine.scheduler().unfinished() > 0; ++pass) {
    engine.step();
    for (const WaitReason& reason : engine.scheduler().explain_wait()) {
      const bool names = reason.has_holder || reason.fence != Fence{} ||
                         reason.cause == Cause::kRunLimit || reason.cause == Cause::kNone;
      CHECK(names);
    }
  }
  CHECK(engine.scheduler().explain_wait().empty());
  engine.drain();
  CHECK(engine.is_drained());
}

TEST_CASE(
    "wait reasons (decision 7): a settling fork names its parent's last step, not the newest one") {
  // Overlap 2: A sits out from step 3 on, B goes on in steps 3 and 4.
  Engine engine(overlapped(stateful_with(40, 4, 3), 2));
  engine.add(kA, known(6, 9));
  engine.add(kB, known(6, 9));
  engine.plan();
  engine.plan();
  engine.finish_step();
  engine.fork(kA, kC, known(1, 3));
  engine.plan();
  CHECK_FALSE(engine.in_step(kA));
  CHECK(engine.why(kC) == "fence, held by 0, until step 2");
  CHECK(engine.why(kA) == "fork, held by 2");
}

TEST_CASE("wait reasons (decision 6): a fork behind another one's copies names their fence") {
  Engine engine(overlapped(engine_with(10, 4), 1));
  engine.add(kA, known(6, 9));
  engine.plan();
  engine.finish_step();
  engine.fork(kA, kB, known(1, 5));
  engine.plan();
  engine.fork(kA, kC, known(1, 5));
  engine.plan();
  CHECK(engine.why(kC) == "fence, held by 1, until the copies of step 2");
}

TEST_CASE("wait reasons (decision 12): an empty engine is no stall, and nobody waits in it") {
  Engine engine(engine_with(4, 4));
  CHECK(engine.plan().empty);
  CHECK(engine.last_plan().cause == Cause::kNone);
  CHECK(engine.scheduler().nothing_pending());
  CHECK(engine.scheduler().unfinished() == 0);
  CHECK(engine.scheduler().explain_wait().empty());
}

TEST_CASE("wait reasons (decision 7): every fork of a stall names what is really missing") {
  // Two parents with one slot each, both frozen, and two forks without one. Nothing is in flight.
  SchedulerOptions options = stateful_with(40, 4, 2);
  options.demote = Switch::kOff;
  Engine engine(overlapped(options, 1));
  engine.add(kA, known(6, 4));
  engine.add(kB, known(6, 4));
  engine.step();
  engine.step();
  engine.fork(kA, kC, known(1, 3));
  engine.fork(kB, kD, known(1, 3));
  engine.plan();
  engine.finish_step();
  CHECK(engine.plan().empty);
  CHECK(engine.scheduler().nothing_pending());
  CHECK(engine.why(kA) == "fork, held by 2");
  CHECK(engine.why(kB) == "fork, held by 3");
  CHECK(engine.why(kC) == "slot, lacking 1, held by 0");
  CHECK(engine.why(kD) == "fork, held by 2");
}

}  // namespace
}  // namespace pinfold::test
