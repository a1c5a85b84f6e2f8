// Aborts in every phase (rules O9 and O10): everything is let go once; what a dispatched step or a
// queued copy may still touch parks behind it; later results are ignored.
#include <doctest/doctest.h>

#include "tests/unit/scheduler/harness.h"

namespace pinfold::test {
namespace {

SchedulerOptions overlapped(std::uint32_t usable_blocks, std::uint32_t overlap) {
  SchedulerOptions options = engine_with(usable_blocks, 4);
  options.overlap = overlap;
  return options;
}

TEST_CASE("abort: of an unknown or ended request says so and does nothing") {
  Engine engine(engine_with(4, 4));
  CHECK_FALSE(engine.abort(kA));
  engine.add(kA, known(4, 1));
  engine.step();
  const std::uint64_t before = engine.hash();
  CHECK_FALSE(engine.abort(kA));
  CHECK(engine.hash() == before);
}

TEST_CASE("abort (O10): of a waiting request leaves the queue and holds nothing") {
  Engine engine(engine_with(4, 4));
  engine.add(kA, known(16, 1));
  engine.add(kB, known(4, 1));
  CHECK(engine.abort(kA));
  CHECK(engine.ends() == "0 aborted 0");
  CHECK(engine.waiting() == "[1]");
  engine.step();
  CHECK(engine.ends() == "0 aborted 0; 1 limit 1");
}

TEST_CASE("abort (O10): between two steps everything is free at once, in reverse") {
  Engine engine(stateful_with(6, 4, 2));
  engine.add(kA, known(10, 9));
  engine.step();
  CHECK(engine.abort(kA));
  CHECK(engine.free_blocks() == "[4, 5, 6, 3, 2, 1]");
  CHECK(engine.free_slots() == "[2, 1]");
  CHECK(engine.parked() == 0);
  CHECK(engine.is_drained());
}

TEST_CASE("abort (O9): with a step in flight blocks and slots park until it has completed") {
  SchedulerOptions options = stateful_with(6, 4, 2);
  options.draft_ids = 2;
  Engine engine(options);
  engine.add(kA, hidden(4, 100, 2));
  engine.step();
  engine.plan();
  CHECK(engine.drafted() == "0:2");
  CHECK(engine.abort(kA));
  CHECK(engine.parked() == 2);
  CHECK(engine.free_slots() == "[2]");
  CHECK(engine.scheduler().pools().of(PoolKind::kDraftSlots).parked() == BlockCount(1));
  CHECK(engine.ends() == "0 aborted 1");
  engine.finish_step({yields(kA, 2)});  // named or not: ignored
  CHECK(engine.ends() == "0 aborted 1");
  CHECK(engine.free_blocks() == "[3, 4, 5, 6, 2, 1]");
  CHECK(engine.free_slots() == "[2, 1]");
  CHECK(engine.is_drained());
}

TEST_CASE(
    "abort (O9): parks behind the last step that names the request, not behind all in flight") {
  // Overlap 2: A(4, 1) is in step 1 only, B goes on in steps 2 and 3.
  Engine engine(overlapped(10, 2));
  engine.add(kA, known(4, 1));
  engine.add(kB, known(4, 9));
  engine.plan();
  engine.plan();
  engine.plan();
  engine.abort(kA);
  CHECK(engine.parked() == 1);
  engine.finish_step();
  CHECK(engine.parked() == 0);
  CHECK(engine.in_flight() == 2);
}

TEST_CASE("abort (decision 4): of a preempted request whose late token is in flight") {
  // The setting of case B24; see preemption_test.cc. B's blocks are parked once, by the preemption.
  Engine engine(overlapped(4, 1));
  engine.add(kA, known(4, 8));
  engine.add(kB, known(4, 8));
  engine.steps(5);
  engine.plan();
  CHECK(engine.waiting() == "[1]");
  CHECK(engine.abort(kB));
  CHECK(engine.ends() == "1 aborted 4");
  CHECK(engine.parked() == 2);
  engine.finish_step();
  CHECK(engine.ends() == "1 aborted 4");
  CHECK(engine.parked() == 0);
  engine.drain();
  CHECK(engine.ends() == "1 aborted 4; 0 limit 8");
  CHECK(engine.is_drained());
}

TEST_CASE("abort: an aborted row leaves the batch by its end, not by the next plan's `left`") {
  Engine engine(overlapped(10, 1));
  engine.add(kA, known(4, 9));
  engine.add(kB, known(4, 9));
  engine.step();
  engine.step();
  engine.abort(kA);
  engine.plan();
  CHECK(engine.left() == "[]");
  CHECK(engine.last_plan().decode_rows == 1);
}

TEST_CASE("abort: makes room for whoever waits in the next pass") {
  Engine engine(engine_with(4, 4));
  engine.add(kA, known(12, 2));
  engine.add(kB, known(8, 1));
  engine.step();
  CHECK(engine.waiting() == "[1]");
  engine.abort(kA);
  engine.plan();
  CHECK(engine.table(kB) == "[4, 3]");
}

TEST_CASE("abort (O10): of everything in flight leaves empty pools") {
  for (const std::uint32_t overlap : {0u, 1u, 2u}) {
    SchedulerOptions options = stateful_with(12, 4, 4);
    options.overlap = overlap;
    Engine engine(options);
    for (const SequenceId id : {kA, kB, kC, kD}) engine.add(id, known(5, 9));
    for (std::uint32_t n = 0; n <= overlap; ++n) engine.plan();
    for (const SequenceId id : {kA, kB, kC, kD}) CHECK(engine.abort(id));
    CHECK(engine.available() == 4);
    while (engine.in_flight() > 0) engine.finish_step();
    CHECK(engine.is_drained());
  }
}

}  // namespace
}  // namespace pinfold::test
