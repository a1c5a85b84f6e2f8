// Deferred release (rules O9 and O10, decisions 5 and 6): what queued work may still touch changes hands
// only when its fence has passed. Chapter 4.2 and 4.3.7.
#include <doctest/doctest.h>

#include "tests/unit/broken_rule.h"
#include "tests/unit/scheduler/harness.h"

namespace pinfold::test {
namespace {

SchedulerOptions fenced(std::uint32_t usable_blocks, FenceMode fence, std::uint32_t overlap = 1) {
  SchedulerOptions options = engine_with(usable_blocks, 4);
  options.fence = fence;
  options.overlap = overlap;
  return options;
}

// --- Steps ------------------------------------------------------------------------------------------

/// Case B22: A(4) writes row 4 in step 2 and, as an overrun, row 5 in step 3, both into block 2; the
/// result of step 2 ends it. R(8) wants two blocks of three.
Engine overrun(FenceMode fence) {
  Engine engine(fenced(3, fence));
  engine.add(kA, hidden(4, 100));
  engine.step();
  engine.step();
  engine.plan();
  engine.finish_step({stops(kA)});
  engine.add(kB, known(8, 1));
  return engine;
}

TEST_CASE("fences (O9, case B22): blocks of an overrun row park until its step has run") {
  Engine engine = overrun(FenceMode::kAlways);
  CHECK(engine.ends() == "0 stop 2");
  CHECK(engine.free_blocks() == "[3]");
  CHECK(engine.parked() == 2);
  CHECK(engine.plan().empty);
  CHECK(engine.why(kB) == "blocks, lacking 1, held by 0, until step 3");
  CHECK(engine.parked() == 2);
  engine.finish_step();
  CHECK(engine.free_blocks() == "[3, 2, 1]");
  engine.plan();
  CHECK(engine.table(kB) == "[3, 2]");
}

TEST_CASE(
    "fences (decision 5, case B22): unordered_writers releases at once, as the chapter does") {
  Engine engine = overrun(FenceMode::kUnorderedWriters);
  CHECK(engine.free_blocks() == "[3, 2, 1]");
  CHECK(engine.parked() == 0);
  engine.plan();
  CHECK(engine.table(kB) == "[3, 2]");
}

TEST_CASE("fences (O9): parking does not change an owner count") {
  Engine engine(fenced(3, FenceMode::kAlways));
  engine.add(kA, known(4, 9));
  engine.plan();
  CHECK(engine.owners(1) == 1);
  engine.abort(kA);
  CHECK(engine.owners(1) == 1);
  CHECK(engine.owned() == 1);
  CHECK(engine.scheduler().pools().blocks().holds(BlockId{1}) == 1);
  engine.finish_step();
  CHECK(engine.owners(1) == 0);
}

TEST_CASE("fences (O9): a ticket of the step passes before its result, and releases already") {
  // The device may report a lane's progress ahead of the step's tokens.
  Scheduler scheduler(fenced(3, FenceMode::kAlways));
  scheduler.add(kA, known(4, 9));
  StepPlan plan;
  scheduler.plan_step(plan);
  scheduler.abort(kA);
  CHECK(scheduler.pools().blocks().parked() == BlockCount(1));
  scheduler.on_passed(Lane::kCompute, plan.step_ticket);
  CHECK(scheduler.pools().blocks().available() == BlockCount(3));
  CHECK(scheduler.planned() != scheduler.done());
  CHECK(broken_rule([&] { scheduler.on_step_complete({plan.step, false, nullptr, 0}); }) == "none");
  scheduler.audit();
}

TEST_CASE("fences (O9): tickets only grow, and none passes that was never issued") {
  Scheduler scheduler(fenced(10, FenceMode::kAlways, 2));
  scheduler.add(kA, known(4, 9));
  StepPlan first;
  StepPlan second;
  scheduler.plan_step(first);
  scheduler.plan_step(second);
  CHECK(first.step_ticket < second.step_ticket);
  Scheduler other = scheduler;
  CHECK(broken_rule([&] {
          other.on_passed(Lane::kCompute, Ticket{value_of(second.step_ticket) + 1});
        }) == "O9");
  scheduler.on_passed(Lane::kCompute, second.step_ticket);
  CHECK(broken_rule([&] { scheduler.on_passed(Lane::kCompute, second.step_ticket); }) == "none");
  CHECK(broken_rule([&] { scheduler.on_passed(Lane::kCompute, first.step_ticket); }) == "O9");
}

TEST_CASE("fences (O9): a stale ticket releases nothing of a later step") {
  Scheduler scheduler(fenced(10, FenceMode::kAlways, 1));
  scheduler.add(kA, known(4, 9));
  StepPlan first;
  StepPlan second;
  scheduler.plan_step(first);
  scheduler.plan_step(second);
  scheduler.abort(kA);
  scheduler.on_passed(Lane::kCompute, first.step_ticket);
  CHECK(scheduler.pools().blocks().parked() == BlockCount(2));
  scheduler.on_passed(Lane::kCompute, second.step_ticket);
  CHECK(scheduler.pools().blocks().parked() == BlockCount(0));
}

// --- Copies -----------------------------------------------------------------------------------------

TEST_CASE("fences (decision 6): copies run ahead of the forward of their step") {
  Engine engine(fenced(10, FenceMode::kAlways));
  engine.add(kA, known(6, 9));
  engine.step();
  engine.finish_step();
  engine.fork(kA, kB, known(1, 5));
  const StepPlan& plan = engine.plan();
  CHECK(engine.copies() == "block 2>3:4");
  CHECK(plan.copy_ticket > Ticket{2});  // step 1's
  CHECK(plan.copy_ticket < plan.step_ticket);
}

/// A(6) forked at C = 6 in step 2: B holds [1, 3], the copy 2>3 is queued. Chapter 4.2's situation.
Engine copy_queued(FenceMode fence, std::uint32_t usable_blocks = 3) {
  Engine engine(fenced(usable_blocks, fence));
  engine.add(kA, known(6, 2));
  engine.plan();
  engine.finish_step();
  engine.fork(kA, kB, known(1, 2));
  engine.plan();
  REQUIRE(engine.copies() == "block 2>3:4");
  return engine;
}

TEST_CASE("fences (O9, case B38): a copy's source is kept by its pin after its owner has gone") {
  // Without the step fence only the copy holds block 2, and X finds no other block.
  Engine engine = copy_queued(FenceMode::kUnorderedWriters);
  engine.abort(kA);
  engine.add(kC, known(4, 1));
  CHECK(engine.owners(1) == 1);
  CHECK(engine.owners(2) == 1);
  CHECK(engine.parked() == 1);
  engine.plan();
  CHECK(engine.waiting() == "[2]");
  CHECK(engine.why(kC) == "blocks, lacking 1, held by 1, until the copies of step 2");
  CHECK(engine.free_blocks() == "[]");
  engine.pass_copies();
  CHECK(engine.free_blocks() == "[2]");
  engine.finish_step();
  engine.plan();
  CHECK(engine.table(kC) == "[2]");
}

TEST_CASE("fences (O9): with step fences the source waits for both its readers") {
  // The aborted parent's row is in step 2 as well: the copies' fence alone does not free block 2.
  Engine engine = copy_queued(FenceMode::kAlways);
  engine.abort(kA);
  CHECK(engine.parked() == 1);  // block 1 is in B's table
  engine.pass_copies();
  CHECK(engine.parked() == 1);
  engine.finish_step();
  CHECK(engine.free_blocks() == "[2]");
}

TEST_CASE("fences (O9): a source whose owner lives on only loses its pin") {
  Engine engine = copy_queued(FenceMode::kAlways);
  CHECK(engine.owners(2) == 2);
  engine.pass_copies();
  CHECK(engine.owners(2) == 1);
  CHECK(engine.table(kA) == "[1, 2]");
}

TEST_CASE("fences (O9): completing the step passes its copies") {
  Engine engine = copy_queued(FenceMode::kAlways);
  engine.finish_step();
  CHECK(engine.owners(2) == 0);  // A has its second token and ended, the pin is gone
  CHECK(engine.ends() == "0 limit 2");
  CHECK(engine.scheduler().holds().empty());
}

TEST_CASE("fences (O9): a copy's destination parks if its owner goes first") {
  // B is aborted while 2>3 is queued: block 3 will still be written.
  Engine plain = copy_queued(FenceMode::kUnorderedWriters);
  plain.abort(kB);
  CHECK(plain.scheduler().pools().blocks().holds(BlockId{3}) == 1);
  CHECK(plain.available() == 0);
  plain.pass_copies();
  CHECK(plain.free_blocks() == "[3]");
  CHECK(plain.owners(1) == 1);

  Engine fenced_too = copy_queued(FenceMode::kAlways);
  fenced_too.abort(kB);
  fenced_too.pass_copies();
  CHECK(fenced_too.available() == 0);  // B's own row of step 2 writes into it
  fenced_too.finish_step();
  CHECK(fenced_too.free_blocks() == "[3, 2, 1]");  // then A's end: 2, 1
}

TEST_CASE("fences (O9): a cloned slot parks as well, source and destination") {
  SchedulerOptions options = stateful_with(10, 4, 3);
  options.fence = FenceMode::kUnorderedWriters;
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, known(6, 9));
  engine.plan();
  engine.finish_step();
  engine.fork(kA, kB, known(1, 5));
  engine.plan();
  CHECK(engine.copies() == "slot 1>2 block 2>3:4");
  engine.abort(kB);
  engine.abort(kA);
  CHECK(engine.scheduler().pools().of(PoolKind::kStateSlots).parked() == BlockCount(2));
  CHECK(engine.free_slots() == "[3]");
  engine.pass_copies();
  CHECK(engine.scheduler().pools().of(PoolKind::kStateSlots).parked() == BlockCount(0));
  engine.finish_step();
  CHECK(engine.is_drained());
}

TEST_CASE("fences (O9): a cloned slot parks behind its copy also where no block is copied") {
  // As above, but at a block's end: the clone is the step's only copy, and it writes into slot 2.
  SchedulerOptions options = stateful_with(10, 4, 3);
  options.fence = FenceMode::kUnorderedWriters;
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, known(8, 9));
  engine.plan();
  engine.finish_step();
  engine.fork(kA, kB, known(10, 5));
  engine.plan();
  CHECK(engine.copies() == "slot 1>2");
  engine.abort(kB);
  CHECK(engine.free_slots() == "[3]");
  engine.pass_copies();
  CHECK(engine.free_slots() == "[3, 2]");
  engine.drain();
}

TEST_CASE("fences (O9): a release list is walked in release order, states first, then blocks") {
  // A(4) with five drafts reserves max(5, 5) + 5 = 10 positions, [1, 2, 3]; all are rejected: C = 5.
  // Its fork keeps block 1, copies 2>4 and needs 3 no longer: the list is slot 1 and blocks 2 and 3.
  // A goes first, so they come free with the list.
  for (const ReleaseOrder order : {ReleaseOrder::kReverse, ReleaseOrder::kForward}) {
    SchedulerOptions options = stateful_with(6, 4, 3);
    options.draft_ids = 2;
    options.fence = FenceMode::kUnorderedWriters;
    options.release_order = order;
    Engine engine(options);
    engine.add(kA, hidden(4, 100, 5));
    engine.step();
    engine.step();
    CHECK(engine.table(kA) == "[1, 2, 3]");
    engine.fork(kA, kB, known(1, 5));
    engine.plan();
    CHECK(engine.copies() == "slot 1>2 block 2>4:4 block 3>0");
    engine.abort(kA);
    CHECK(engine.free_blocks() == "[5, 6]");
    engine.pass_copies();
    std::vector<PoolKind> order_of_pools;
    for (const Record& record : engine.records()) {
      if (record.verb == Verb::kUnpark) order_of_pools.push_back(record.pool);
    }
    CHECK(order_of_pools == std::vector{PoolKind::kStateSlots, PoolKind::kBlocks});
    CHECK(engine.free_blocks() ==
          (order == ReleaseOrder::kReverse ? "[5, 6, 3, 2]" : "[5, 6, 2, 3]"));
  }
}

TEST_CASE("fences (O9): slots cloned by one step are let go in release order") {
  // A and B are forked in one step, slots 1 and 2 are the sources; once both have gone, only the list has them.
  for (const ReleaseOrder order : {ReleaseOrder::kReverse, ReleaseOrder::kForward}) {
    SchedulerOptions options = stateful_with(10, 4, 5);
    options.fence = FenceMode::kUnorderedWriters;
    options.release_order = order;
    Engine engine(options);
    engine.add(kA, known(4, 9));
    engine.add(kB, known(4, 9));
    engine.step();
    engine.fork(kA, kC, known(5, 5));
    engine.fork(kB, kD, known(5, 5));
    engine.plan();
    CHECK(engine.copies() == "slot 1>3 slot 2>4");
    engine.abort(kA);
    engine.abort(kB);
    engine.pass_copies();
    CHECK(engine.free_slots() == (order == ReleaseOrder::kReverse ? "[5, 2, 1]" : "[5, 1, 2]"));
    engine.drain();
  }
}

TEST_CASE("fences (decision 6): one list of copy sources is outstanding at a time") {
  // Overlap 1: the copies of the first fork are not done when the second one is asked for.
  Engine engine(fenced(10, FenceMode::kAlways));
  engine.add(kA, known(6, 9));
  engine.plan();
  engine.finish_step();
  engine.fork(kA, kB, known(1, 5));
  engine.plan();
  engine.fork(kA, kC, known(1, 5));
  engine.plan();
  CHECK(engine.forks() == "[2]");
  CHECK(engine.stats().later_fence == 1);
  engine.pass_copies();
  engine.finish_step();
  engine.plan();
  CHECK(engine.forks() == "[]");
  CHECK(engine.running() == "[0, 1, 2]");
}

TEST_CASE(
    "fences (O9): nothing is pending only if no step is in flight and no fence holds anything") {
  Engine engine(fenced(3, FenceMode::kAlways));
  CHECK(engine.scheduler().nothing_pending());
  engine.add(kA, known(4, 1));
  engine.plan();
  CHECK_FALSE(engine.scheduler().nothing_pending());
  engine.finish_step();
  CHECK(engine.scheduler().nothing_pending());
}

TEST_CASE("fences (O9): more slots than max_sequences are held at once") {
  // Experiment 4 of chapter 4.6, with room for one sequence: an ended request whose step still runs, or
  // a parent that went while its slot is being cloned, keeps a slot beside the running one.
  SchedulerOptions options = stateful_with(10, 4, 2);
  options.max_sequences = 1;
  options.overlap = 1;
  Engine ended(options);
  ended.add(kA, hidden(4, 100));
  ended.plan();
  ended.plan();
  ended.finish_step({stops(kA)});
  ended.add(kB, known(4, 1));
  ended.plan();
  CHECK(ended.running() == "[1]");
  CHECK(ended.scheduler().pools().of(PoolKind::kStateSlots).owned() == BlockCount(2));

  Engine cloned(options);
  cloned.add(kA, known(6, 9));
  cloned.step();
  cloned.finish_step();
  cloned.fork(kA, kB, known(1, 5));
  cloned.abort(kA);
  cloned.plan();
  CHECK(cloned.running() == "[1]");
  CHECK(cloned.copies() == "slot 1>2 block 2>3:4");
  CHECK(cloned.scheduler().pools().of(PoolKind::kStateSlots).owned() == BlockCount(2));
}

// --- Who goes last ----------------------------------------------------------------------------------

TEST_CASE("fences (O10): the parent's end leaves shared blocks to the child") {
  // Chapter 4.2: one owner's end is not the data's. A's second token ends it in step 2.
  Engine engine = copy_queued(FenceMode::kAlways);
  CHECK(engine.owners(1) == 2);
  engine.finish_step();
  CHECK(engine.ends() == "0 limit 2");
  CHECK(engine.table(kB) == "[1, 3]");
  CHECK(engine.owners(1) == 1);
  CHECK(engine.free_blocks() == "[2]");
  engine.drain();
  CHECK(engine.is_drained());
}

TEST_CASE("fences (O10): the child's end leaves shared blocks to the parent") {
  Engine engine(fenced(10, FenceMode::kAlways));
  engine.add(kA, known(6, 9));
  engine.plan();
  engine.finish_step();
  engine.fork(kA, kB, known(1, 1));
  engine.plan();
  engine.finish_step();
  CHECK(engine.ends() == "1 limit 1");
  CHECK(engine.owners(1) == 1);
  CHECK(engine.table(kA) == "[1, 2]");
  engine.drain();
  CHECK(engine.is_drained());
}

}  // namespace
}  // namespace pinfold::test
