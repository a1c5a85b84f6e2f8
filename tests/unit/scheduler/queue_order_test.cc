// Who comes first (decisions 2, 4 and 7): priority, then arrival; running sequences in join order, then
// forks, unfinished prompts, new admissions; and whom a refusal or a preemption holds back.
#include <doctest/doctest.h>

#include "tests/unit/scheduler/harness.h"

namespace pinfold::test {
namespace {

TEST_CASE("queue order (decision 4): lower priority numbers first, then arrival") {
  Engine engine(engine_with(100, 4));
  engine.add(kA, with_priority(known(4, 2), 1));
  engine.add(kB, with_priority(known(4, 2), 0));
  engine.add(kC, with_priority(known(4, 2), 0));
  engine.add(kD, with_priority(known(4, 2), 1));
  CHECK(engine.waiting() == "[1, 2, 0, 3]");
  engine.plan();
  CHECK(engine.running() == "[1, 2, 0, 3]");
  CHECK(engine.table(kB) == "[1]");
  CHECK(engine.table(kA) == "[3]");
}

TEST_CASE("queue order: a refused head is not overtaken by one that would fit") {
  // A holds 3 of 4 blocks; B needs 2; C needs the one that is free.
  Engine engine(engine_with(4, 4));
  engine.add(kA, known(12, 1));
  engine.add(kB, known(8, 1));
  engine.add(kC, known(4, 1));
  engine.plan();
  CHECK(engine.running() == "[0]");
  CHECK(engine.waiting() == "[1, 2]");
  CHECK(engine.why(kB) == "blocks, lacking 1, held by 0");
  CHECK(engine.why(kC) == "pressure, held by 1");
  CHECK(engine.stats().answered_later == 1);  // C was not asked
}

TEST_CASE("queue order (decision 4): a preempted request comes back to its old place") {
  // A and B hold 2 of 4 blocks each and want a third at 8 + 1 tokens: B, who joined last, goes.
  Engine engine(engine_with(4, 4));
  engine.add(kA, known(8, 8));
  engine.add(kB, known(8, 8));
  engine.step();
  engine.add(kC, known(4, 1));
  engine.plan();
  CHECK(engine.running() == "[0]");
  CHECK(engine.waiting() == "[1, 2]");  // by arrival, not behind C
}

TEST_CASE("queue order (decision 4): no admission in the pass that preempted, but in the next") {
  // As before, with C ahead of B by priority: after B went, one block is free and C needs one.
  Engine engine(engine_with(4, 4));
  engine.add(kA, with_priority(known(8, 8), 1));
  engine.add(kB, with_priority(known(8, 8), 1));
  engine.step();
  engine.add(kC, with_priority(known(4, 1), 0));
  engine.plan();
  CHECK(engine.running() == "[0]");
  CHECK(engine.waiting() == "[2, 1]");
  CHECK(engine.available() == 1);
  CHECK(engine.scheduler().stats().preemptions == 1);
  engine.finish_step();
  engine.plan();
  CHECK(engine.running() == "[0, 2]");
}

TEST_CASE("queue order (decision 4): no admission in a pass with a victim and with sit-outs") {
  // U = 4, B = 4, overlap 1. A, B, C, D hold a block each with row 3 in flight and want a second one
  // for row 4: D goes, its block is parked, the others sit out, and E (one block) waits, whatever its
  // priority.
  SchedulerOptions options = engine_with(4, 4);
  options.overlap = 1;
  Engine engine(options);
  for (const SequenceId id : {kA, kB, kC, kD}) engine.add(id, with_priority(known(3, 3), 1));
  engine.plan();
  engine.plan();
  engine.finish_step();
  engine.add(kE, with_priority(known(1, 1), 0));
  CHECK(engine.plan().cause == Cause::kPressure);
  CHECK(engine.stats().sat_out == 3);
  CHECK(engine.waiting() == "[4, 3]");
}

TEST_CASE("queue order (decision 4): a sit-out alone holds admissions back as well") {
  // U = 3, overlap 1: A(4) with four drafts [1], C [2], block 3 free. C is aborted in flight: parked.
  // A's row 4 and its drafts want two blocks: one free and one parked cover them, so A sits out; B(1)
  // could have the free one, but A comes first.
  SchedulerOptions options = engine_with(3, 4);
  options.overlap = 1;
  options.draft_ids = 2;
  Engine engine(options);
  engine.add(kA, hidden(4, 100, 4));
  engine.add(kC, hidden(1, 100));
  engine.plan();
  engine.abort(kC);
  engine.add(kD, known(1, 1));
  CHECK(engine.plan().cause == Cause::kPressure);
  CHECK(engine.last_plan().empty);
  CHECK(engine.stats().sat_out == 1);
  CHECK(engine.stats().preemptions == 0);
  CHECK(engine.available() == 1);
  CHECK(engine.waiting() == "[3]");
  engine.finish_step();
  engine.plan();
  CHECK(engine.table(kA) == "[1, 3, 2]");
  CHECK(engine.waiting() == "[3]");  // now for want of a block
}

TEST_CASE(
    "queue order (decision 4): nor is a fork that would fit admitted while somebody sits out") {
  // U = 9, overlap 1. Step 1: A(8) [1, 2], B(4) [3]. Step 2: A row 8 [1, 2, 4]; B row 4 and eight drafts,
  // 13 positions [3, 5, 6, 7]; C(1) [8], aborted in flight. D, forked from A at C = 8 with a prompt of 9,
  // needs one block, and block 9 is free. Step 3: B wants max(5, 4 + 9 + 1) + 8 = 22 positions, two
  // blocks more: one free and one parked cover them, so it sits out.
  SchedulerOptions options = engine_with(9, 4);
  options.overlap = 1;
  options.draft_ids = 2;
  Engine engine(options);
  engine.add(kA, known(8, 9));
  engine.add(kB, hidden(4, 100, 8));
  engine.plan();
  engine.finish_step();
  engine.add(kC, hidden(1, 100));
  engine.plan();
  CHECK(engine.table(kB) == "[3, 5, 6, 7]");
  engine.abort(kC);
  engine.fork(kA, kD, known(9, 1));
  engine.plan();
  CHECK(engine.stats().sat_out == 1);
  CHECK(engine.stats().preemptions == 0);
  CHECK(engine.available() == 1);
  CHECK(engine.forks() == "[3]");
  CHECK(engine.in_step(kA));
  engine.finish_step();  // step 2: all drafts rejected, block 8 is back
  engine.plan();
  CHECK(engine.forks() == "[]");
  CHECK(engine.in_step(kB));
}

TEST_CASE("queue order (decision 2): running rows, then unfinished prompts, then new admissions") {
  SchedulerOptions options = engine_with(100, 4);
  options.max_sequences = 4;
  options.token_budget = TokenCount(4);
  Engine engine(options);
  engine.add(kA, known(3, 9));
  engine.add(kB, known(9, 1));
  engine.add(kC, known(1, 1));
  engine.step();
  CHECK(engine.chunks() == "0[0,3)! 1[0,1)");
  engine.step();  // A's row costs 1, B gets the remaining 3, C none
  CHECK(engine.chunks() == "1[1,4)");
  CHECK(engine.in_step(kA));
  engine.step();
  CHECK(engine.chunks() == "1[4,7)");
  CHECK(engine.waiting() == "[2]");
  engine.step();
  CHECK(engine.chunks() == "1[7,9)! 2[0,1)!");
}

TEST_CASE("queue order (decision 2): a waiting fork goes before unfinished prompts") {
  SchedulerOptions options = engine_with(100, 4);
  options.max_sequences = 4;
  options.token_budget = TokenCount(4);
  Engine engine(options);
  engine.add(kA, known(3, 9));
  engine.step();
  engine.add(kB, known(9, 1));
  engine.step();
  CHECK(engine.chunks() == "1[0,3)");
  // C continues A's five tokens (3 + 2 rows' tokens known, C = 4): one decode row in the next step.
  engine.fork(kA, kC, known(1, 2));
  engine.step();
  CHECK(engine.chunks() == "1[3,5)");  // 4 - A's row - C's row = 2
  CHECK(engine.in_step(kC));
  CHECK(engine.running() == "[0, 1, 2]");
}

TEST_CASE("queue order (decision 2): batch, growth and victim follow the order of joining") {
  // B has the better priority and joins first, so A is the newest and the victim.
  Engine engine(engine_with(4, 4));
  engine.add(kA, with_priority(known(8, 8), 1));
  engine.add(kB, with_priority(known(8, 8), 0));
  engine.step();
  CHECK(engine.running() == "[1, 0]");
  engine.plan();
  CHECK(engine.running() == "[1]");
  CHECK(engine.waiting() == "[0]");
}

TEST_CASE("queue order (decision 2): two ends of one result come in join order") {
  Engine engine(engine_with(100, 4));
  engine.add(kA, with_priority(hidden(4, 9), 1));
  engine.add(kB, with_priority(hidden(4, 9), 0));
  engine.plan();
  engine.finish_step({stops(kA), stops(kB)});
  CHECK(engine.ends() == "1 stop 1; 0 stop 1");
  // B's block 1 goes back first, then A's block 2.
  CHECK(engine.scheduler().pools().blocks().free_list().back() == BlockId{2});
}

TEST_CASE("queue order: ids are found by number after thousands have come and gone") {
  // Always one that lives, so that the window of ids moves on rather than starting anew.
  Scheduler scheduler(engine_with(10, 4));
  StepPlan plan;
  scheduler.add(SequenceId{0}, known(1, 3));
  for (std::uint32_t id = 1; id <= 3000; ++id) {
    scheduler.add(SequenceId{id}, known(id % 4 + 1, 3));
    scheduler.plan_step(plan);
    scheduler.on_step_complete({plan.step, false, nullptr, 0});
    REQUIRE(scheduler.unfinished() > 0);
    REQUIRE(scheduler.view(SequenceId{id}).prompt_end == TokenCount(id % 4 + 1));
  }
  CHECK_FALSE(scheduler.knows(SequenceId{2990}));
  scheduler.audit();
}

}  // namespace
}  // namespace pinfold::test
