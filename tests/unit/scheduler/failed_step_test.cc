// Decision 9: nothing of a failed step or of the steps dispatched behind it is committed; requests with
// state are preempted, the others run again.
#include <doctest/doctest.h>

#include "tests/unit/scheduler/harness.h"

namespace pinfold::test {
namespace {

SchedulerOptions overlapped(SchedulerOptions options, std::uint32_t overlap) {
  options.overlap = overlap;
  return options;
}

TEST_CASE("failed step (decision 9): without state the same rows run again") {
  Engine engine(engine_with(10, 4));
  engine.add(kA, known(4, 3));
  engine.step();
  engine.plan();
  engine.fail_step();
  CHECK(engine.counts(kA) == "H 5 C 4 F 0");
  CHECK(engine.emitted(kA) == 1);
  CHECK(engine.running() == "[0]");
  CHECK(engine.stats().preemptions == 0);
  engine.plan();
  CHECK(engine.left() == "[0]");
  CHECK(engine.joined() == "[0]");
  engine.finish_step();
  CHECK(engine.emitted(kA) == 2);
  engine.drain();
  CHECK(engine.ends() == "0 limit 3");
}

TEST_CASE("failed step (decision 9): a lost prompt is computed again from its first row") {
  SchedulerOptions options = engine_with(10, 4);
  options.token_budget = TokenCount(8);
  Engine engine(options);
  engine.add(kA, known(12, 1));
  engine.step();
  engine.plan();
  CHECK(engine.chunks() == "0[8,12)!");
  engine.fail_step();
  CHECK(engine.phase(kA) == "prefill");
  CHECK(engine.counts(kA) == "H 12 C 8 F 0");
  engine.plan();
  CHECK(engine.chunks() == "0[8,12)!");
  engine.finish_step();
  CHECK(engine.ends() == "0 limit 1");
}

TEST_CASE("failed step (decision 9): the steps behind it commit nothing either") {
  // Overlap 2: steps 2, 3 and 4 are in flight, 2 fails; 3 and 4 complete and are ignored.
  Engine engine(overlapped(engine_with(10, 4), 2));
  engine.add(kA, hidden(4, 100));
  engine.step();
  engine.step();
  engine.step();
  engine.plan();
  CHECK(engine.counts(kA) == "H 5 C 4 F 3");
  engine.fail_step();
  CHECK(engine.counts(kA) == "H 5 C 4 F 0");
  engine.finish_step({stops(kA)});
  CHECK(engine.ends() == "");
  CHECK(engine.counts(kA) == "H 5 C 4 F 0");
  engine.finish_step();
  CHECK(engine.counts(kA) == "H 5 C 4 F 0");
  engine.step();
  engine.plan();
  engine.finish_step();
  CHECK(engine.counts(kA).substr(0, 7) == "H 6 C 5");
}

TEST_CASE("failed step: a step planned after the failure commits as usual") {
  Engine engine(overlapped(engine_with(10, 4), 1));
  engine.add(kA, hidden(4, 100));
  engine.step();
  engine.step();
  engine.plan();  // step 3
  engine.fail_step();
  engine.plan();  // step 4, planned with step 3 still in flight
  CHECK(engine.counts(kA) == "H 5 C 4 F 1");
  engine.finish_step();  // step 3: behind the failed one
  CHECK(engine.counts(kA) == "H 5 C 4 F 1");
  engine.finish_step({stops(kA)});  // step 4
  CHECK(engine.ends() == "0 stop 2");
  CHECK(engine.is_drained());
}

TEST_CASE("failed step (O4, O9): a block that a step behind it still writes is not handed out") {
  // Overlap 1, B = 4, U = 3. Prompt 3: step 2 writes position 3, step 3 position 4, the first of
  // block 2. Step 2 fails: A needs max(4, 3 + 1) = 4 positions, one block, but step 3 is still on the
  // device and writes into block 2. B(8) wants two blocks and may have only block 3 before step 3 is
  // done.
  Engine engine(overlapped(engine_with(3, 4), 1));
  engine.add(kA, known(3, 6));
  engine.step();
  engine.step();
  engine.plan();
  CHECK(engine.table(kA) == "[1, 2]");
  engine.fail_step();
  engine.add(kB, known(8, 1));
  engine.plan();
  CHECK(engine.in_step(kA));
  CHECK(engine.waiting() == "[1]");
  CHECK(engine.free_blocks() == "[3]");
  engine.finish_step();
  engine.drain();
  CHECK(engine.is_drained());
}

TEST_CASE("failed step (O4, O9): the same for a prompt that starts over") {
  // Prompt 4 in step 1 and row 4 in step 2, block 2. Step 1 fails: prefill again needs block 1 only.
  Engine engine(overlapped(engine_with(3, 4), 1));
  engine.add(kA, known(4, 4));
  engine.plan();
  engine.plan();
  CHECK(engine.table(kA) == "[1, 2]");
  engine.fail_step();
  CHECK(engine.counts(kA) == "H 4 C 0 F 0");
  engine.add(kB, known(8, 1));
  engine.plan();
  CHECK(engine.chunks() == "0[0,4)!");
  CHECK(engine.waiting() == "[1]");
  CHECK(engine.free_blocks() == "[3]");
  engine.finish_step();
  engine.drain();
  CHECK(engine.ends() == "0 limit 4; 1 limit 1");
  CHECK(engine.is_drained());
}

TEST_CASE("failed step (decision 9): with state everybody who was in it is preempted") {
  // A slot that a lost step may have moved on belongs to no known row.
  SchedulerOptions options = stateful_with(10, 4, 3);
  options.max_sequences = 3;
  options.token_budget = TokenCount(8);
  Engine engine(options);
  engine.add(kA, known(4, 4));
  engine.add(kB, known(4, 4));
  engine.step();
  engine.plan();
  engine.fail_step();
  CHECK(engine.running() == "[]");
  CHECK(engine.waiting() == "[0, 1]");
  CHECK(engine.stats().preemptions == 2);
  CHECK(engine.counts(kA) == "H 5 C 0 F 0");
  CHECK(engine.owned() == 0);
  CHECK(engine.free_slots() == "[3, 2, 1]");  // B, the newest, went first
  engine.drain();
  CHECK(engine.ends() == "0 limit 4; 1 limit 4");
  CHECK(engine.last_end().preemptions == 1);
}

TEST_CASE(
    "failed step (decision 9): with state and overlap the victims park behind their last step") {
  Engine engine(overlapped(stateful_with(10, 4, 3), 1));
  engine.add(kA, known(4, 4));
  engine.step();
  engine.step();
  engine.plan();  // step 3
  engine.fail_step();
  CHECK(engine.waiting() == "[0]");
  CHECK(engine.parked() == 2);
  CHECK(engine.plan().cause == Cause::kFence);
  engine.finish_step();
  CHECK(engine.parked() == 0);
  CHECK(engine.counts(kA) == "H 5 C 0 F 0");  // step 3's token is not a late token
  engine.drain();
  CHECK(engine.ends() == "0 limit 4");
  CHECK(engine.is_drained());
}

TEST_CASE("failed step (decision 9): a sequence that was in no lost step goes on untouched") {
  // Four rows a step: A's verify row takes all of step 2, so B's prompt, three rows in, is not in it.
  SchedulerOptions options = stateful_with(20, 4, 3);
  options.max_sequences = 2;
  options.token_budget = TokenCount(4);
  options.draft_ids = 2;
  Engine engine(options);
  engine.add(kA, hidden(1, 100, 3));
  engine.add(kB, known(8, 1));
  engine.step();
  engine.plan();
  CHECK(engine.drafted() == "0:3");
  CHECK_FALSE(engine.in_step(kB));
  engine.fail_step();
  CHECK(engine.running() == "[1]");
  CHECK(engine.waiting() == "[0]");
  CHECK(engine.counts(kB) == "H 8 C 3 F 0");
  engine.plan();
  CHECK(engine.chunks() == "1[3,7)");
}

TEST_CASE("failed step (decision 9): a late token of a failed step does not count") {
  // The setting of case B24 (preemption_test.cc): B is preempted with step 5 in flight, which fails.
  Engine engine(overlapped(engine_with(4, 4), 1));
  engine.add(kA, known(4, 8));
  engine.add(kB, known(4, 8));
  engine.steps(5);
  engine.plan();
  CHECK(engine.waiting() == "[1]");
  engine.fail_step();
  CHECK(engine.emitted(kB) == 4);
  CHECK(engine.counts(kB) == "H 8 C 0 F 0");
  CHECK(engine.counts(kA) == "H 8 C 7 F 0");
  CHECK(engine.parked() == 0);
  engine.drain();
  CHECK(engine.ends() == "0 limit 8; 1 limit 8");
  CHECK(engine.is_drained());
}

TEST_CASE("failed step: a row that is aborted behind it is in no plan's list of those that left") {
  Engine engine(engine_with(8, 4));
  engine.add(kA, known(3, 6));
  engine.step();
  engine.plan();
  CHECK(engine.joined() == "[0]");
  engine.fail_step();
  engine.abort(kA);
  engine.add(kB, known(3, 1));
  engine.plan();
  CHECK(engine.left() == "[]");
  engine.finish_step();
  engine.drain();
}

TEST_CASE("failed step: twice in a row") {
  Engine engine(overlapped(engine_with(10, 4), 1));
  engine.add(kA, known(4, 4));
  engine.plan();
  engine.plan();
  engine.fail_step();
  engine.fail_step();
  CHECK(engine.counts(kA) == "H 4 C 0 F 0");
  std::string words;  // of the journal: 1 failed, 2 behind a failed one
  for (const Record& record : engine.records()) {
    if (record.verb == Verb::kResult) words += std::to_string(record.aux);
  }
  CHECK(words == "11");
  engine.drain();
  CHECK(engine.ends() == "0 limit 4");
  CHECK(engine.is_drained());
}

TEST_CASE(
    "failed step (decision 9): a fork whose copies were in it starts over, its parent goes on") {
  // A(6) forks at C = 6: B's tail copy 2>3 is queued in step 2, which fails: block 3 was never filled.
  Engine engine(engine_with(10, 4));
  engine.add(kA, known(6, 4));
  engine.step();
  engine.fork(kA, kB, known(1, 3));
  engine.plan();
  CHECK(engine.copies() == "block 2>3:4");
  engine.fail_step();
  CHECK(engine.running() == "[0]");
  CHECK(engine.waiting() == "[1]");
  CHECK(engine.counts(kA) == "H 7 C 6 F 0");
  CHECK(engine.counts(kB) == "H 7 C 0 F 0");
  engine.drain();
  CHECK(engine.ends() == "0 limit 4; 1 limit 3");
  CHECK(engine.is_drained());
}

TEST_CASE(
    "failed step (decision 9): a fork that waits with pins on what was never filled starts over") {
  // C is forked from B while B's own tail copy 2>3 is queued in step 2: it pins block 3. Step 2 fails:
  // B starts over, and what C pinned is nobody's row. It comes back with its whole prompt, C + 1 = 7.
  Engine engine(overlapped(engine_with(10, 4), 1));
  engine.add(kA, known(6, 9));
  engine.plan();
  engine.finish_step();
  engine.fork(kA, kB, known(1, 5));
  engine.plan();
  CHECK(engine.copies() == "block 2>3:4");
  engine.fork(kB, kC, known(1, 3));
  CHECK(engine.table(kC) == "[1, 3]");
  engine.fail_step();
  CHECK(engine.forks() == "[]");
  CHECK(engine.waiting() == "[1, 2]");
  CHECK(engine.counts(kC) == "H 7 C 0 F 0");
  CHECK(engine.owners(3) == 0);
  CHECK(engine.owners(1) == 1);
  engine.drain();
  CHECK(engine.ends() == "2 limit 3; 1 limit 5; 0 limit 9");
  CHECK(engine.is_drained());
}

TEST_CASE("failed step (decision 9): a fork whose copies ran in an earlier step runs again") {
  Engine engine(engine_with(10, 4));
  engine.add(kA, known(6, 9));
  engine.step();
  engine.fork(kA, kB, known(1, 5));
  engine.step();
  engine.plan();
  engine.fail_step();
  CHECK(engine.running() == "[0, 1]");
  CHECK(engine.stats().preemptions == 0);
  engine.drain();
  CHECK(engine.ends() == "1 limit 5; 0 limit 9");
}

TEST_CASE(
    "failed step (O2, O9): several surplus blocks of a step behind it park in release order") {
  // Prompt 4 in step 1, then rows of 1 + 5 in steps 2 and 3: max(5, 4 + 12) = 16 positions, [1, 2, 3, 4].
  // Step 2 fails: max(5, 4) = 5 positions, [1, 2]; 3 and 4 park behind step 3, the last table entry first.
  for (const ReleaseOrder order : {ReleaseOrder::kReverse, ReleaseOrder::kForward}) {
    SchedulerOptions options = overlapped(engine_with(5, 4), 1);
    options.draft_ids = 2;
    options.release_order = order;
    Engine engine(options);
    engine.add(kA, hidden(4, 100, 5));
    engine.step();
    engine.step();
    engine.plan();
    CHECK(engine.table(kA) == "[1, 2, 3, 4]");
    engine.fail_step();
    CHECK(engine.table(kA) == "[1, 2]");
    CHECK(engine.parked() == 2);
    CHECK(engine.free_blocks() == "[5]");
    engine.finish_step();
    CHECK(engine.free_blocks() == (order == ReleaseOrder::kReverse ? "[5, 4, 3]" : "[5, 3, 4]"));
    engine.abort(kA);
  }
}

TEST_CASE("failed step (decision 9): a victim of a lost step is a late row no more") {
  // B24 again: B is preempted with step 5 in flight, which fails. It comes back with eight rows in step 6,
  // whose token is its fifth and last, is preempted by A's row 8 with that step in flight, and aborted
  // there: it has ended, whatever step 6 yields.
  Engine engine(overlapped(engine_with(4, 4), 1));
  engine.add(kA, known(4, 8));
  engine.add(kB, known(4, 5));
  engine.steps(5);
  engine.plan();
  CHECK(engine.waiting() == "[1]");
  engine.fail_step();
  engine.plan();
  CHECK(engine.chunks() == "1[0,8)!");
  engine.plan();
  CHECK(engine.waiting() == "[1]");
  CHECK(engine.stats().preemptions == 2);
  engine.abort(kB);
  CHECK(engine.ends() == "1 aborted 4");
  engine.finish_step();
  CHECK(engine.ends() == "1 aborted 4");
  engine.drain();
  CHECK(engine.ends() == "1 aborted 4; 0 limit 8");
  CHECK(engine.is_drained());
}

TEST_CASE(
    "failed step (decision 5): without step fences surplus of a step behind it is free at once") {
  // As above with one block of surplus, [3]: whoever takes it is queued behind the step that still writes.
  SchedulerOptions options = overlapped(engine_with(4, 4), 1);
  options.fence = FenceMode::kUnorderedWriters;
  Engine engine(options);
  engine.add(kA, known(7, 6));
  engine.step();
  engine.step();
  engine.plan();
  CHECK(engine.counts(kA) == "H 8 C 7 F 2");
  CHECK(engine.table(kA) == "[1, 2, 3]");
  engine.fail_step();
  CHECK(engine.parked() == 0);
  CHECK(engine.free_blocks() == "[4, 3]");
  engine.drain();
  CHECK(engine.is_drained());
}

TEST_CASE("failed step (decision 9): a fork without copies runs again, like any other") {
  // C = 8, the end of a block, and no state: B shares [1, 2] and nothing of its own was to be filled.
  Engine engine(engine_with(10, 4));
  engine.add(kA, known(8, 4));
  engine.step();
  engine.fork(kA, kB, known(10, 3));
  engine.plan();
  CHECK(engine.copies() == "");
  engine.fail_step();
  CHECK(engine.running() == "[0, 1]");
  CHECK(engine.stats().preemptions == 0);
  CHECK(engine.counts(kB) == "H 10 C 8 F 0");
  engine.drain();
  CHECK(engine.is_drained());
}

}  // namespace
}  // namespace pinfold::test
