// Rule O8, prompt path: the child's prompt goes on beyond the parent's C rows. It shares the complete
// blocks, copies the tail only when C ends inside a block, clones the state slot, and computes the rest
// of its prompt. Chapter 4.2 and 4.3.6.
#include <doctest/doctest.h>

#include "tests/unit/scheduler/harness.h"

namespace pinfold::test {
namespace {

/// A(prompt) with its prompt processed: C = prompt, H = prompt + 1.
Engine with_parent(const SchedulerOptions& options, std::uint32_t prompt,
                   std::uint32_t output = 9) {
  Engine engine(options);
  engine.add(kA, known(prompt, output));
  engine.plan();
  engine.finish_step();
  return engine;
}

TEST_CASE("prompt fork (O8): chapter 4.2's fork at ten processed rows") {
  // Parent [1, 2, 3], child [1, 2, 4], copy 3>4; blocks 1, 2 and 3 have two owners, block 4 one.
  Engine engine = with_parent(engine_with(4, 4), 10, 2);
  engine.fork(kA, kB, known(11, 2));
  engine.plan();
  CHECK(engine.table(kA) == "[1, 2, 3]");
  CHECK(engine.table(kB) == "[1, 2, 4]");
  CHECK(engine.copies() == "block 3>4:4");
  for (const std::uint32_t block : {1u, 2u, 3u}) CHECK(engine.owners(block) == 2);
  CHECK(engine.owners(4) == 1);
  // The parent finishes: 1 and 2 stay with the child, and 3 is free since the copy has run.
  engine.finish_step();
  CHECK(engine.ends() == "0 limit 2");
  CHECK(engine.free_blocks() == "[3]");
  CHECK(engine.owners(1) == 1);
}

TEST_CASE(
    "prompt fork (O8): C inside a block: complete blocks shared, tail copied, rest computed") {
  // C = 6 of a prompt of 10: block 1 shared; ceil(10 / 4) - 1 = 2 blocks of its own, the first one
  // receives the tail; rows 6..9 are the chunk.
  Engine engine = with_parent(engine_with(10, 4), 6);
  engine.fork(kA, kB, known(10, 2));
  engine.plan();
  CHECK(engine.copies() == "block 2>3:4");
  CHECK(engine.table(kB) == "[1, 3, 4]");
  CHECK(engine.chunks() == "1[6,10)!");
  CHECK(engine.counts(kB) == "H 10 C 6 F 4");
  engine.finish_step();
  CHECK(engine.counts(kB) == "H 11 C 10 F 0");
  CHECK(engine.emitted(kB) == 1);
  CHECK(engine.stats().recomputed_rows == 0);
}

TEST_CASE(
    "prompt fork (O8): C at the end of a block: nothing is copied and nothing waits for a copy") {
  Engine engine = with_parent(engine_with(10, 4), 8);
  engine.fork(kA, kB, known(10, 2));
  engine.plan();
  CHECK(engine.copies() == "");
  CHECK(engine.last_plan().copy_ticket == Ticket{});
  CHECK(engine.scheduler().holds().empty());
  CHECK(engine.table(kA) == "[1, 2, 3]");
  CHECK(engine.table(kB) == "[1, 2, 4]");
  CHECK(engine.chunks() == "1[8,10)!");
  CHECK(engine.stats().block_copies == 0);
  CHECK(engine.stats().forks == 1);
}

TEST_CASE(
    "prompt fork (O8): the two paths part at C: a prompt of C rows decodes, of C + 1 prefills") {
  for (const std::uint32_t prompt : {8u, 9u}) {
    Engine engine = with_parent(engine_with(10, 4), 8);
    engine.fork(kA, kB, known(prompt, 2));
    engine.plan();
    if (prompt == 8) {
      CHECK(engine.copies() == "block 2>4:4");
      CHECK(engine.chunks() == "");
    } else {
      CHECK(engine.copies() == "");
      CHECK(engine.chunks() == "1[8,9)!");
    }
  }
}

TEST_CASE(
    "prompt fork (O8): demand is the need less the blocks that stay shared, one less is LATER") {
  // C = 6, prompt 14: ceil(14 / 4) - 1 = 3 blocks. The parent's two and three more make five.
  for (const std::uint32_t usable : {5u, 4u}) {
    Engine engine = with_parent(engine_with(usable, 4), 6, 2);
    engine.fork(kA, kB, known(14, 1));
    engine.plan();
    if (usable == 5) {
      CHECK(engine.table(kB) == "[1, 3, 4, 5]");
    } else {
      CHECK(engine.forks() == "[1]");
      CHECK(engine.free_blocks() == "[3, 4]");
      CHECK(engine.why(kB) == "blocks, lacking 1, held by 0");
    }
    engine.finish_step();
    engine.drain();
    CHECK(engine.ends() == "0 limit 2; 1 limit 1");
    CHECK(engine.is_drained());
  }
}

TEST_CASE("prompt fork (O8): with state the slot is cloned, at a block's end as well") {
  for (const std::uint32_t prompt : {6u, 8u}) {
    Engine engine = with_parent(stateful_with(10, 4, 2), prompt);
    engine.fork(kA, kB, known(10, 2));
    engine.plan();
    CHECK(engine.copies() == (prompt == 6 ? "slot 1>2 block 2>3:4" : "slot 1>2"));
    CHECK(engine.slot(kB) == 2);
    CHECK(engine.slot_owners(1) == 2);
    CHECK_FALSE(engine.in_step(kA));
    engine.finish_step();
    CHECK(engine.slot_owners(1) == 1);
  }
}

TEST_CASE("prompt fork (O8): the parent's later blocks go with destination 0") {
  // Overlap 1: row 8 of A is in flight in block 3 when the fork comes at C = 8.
  SchedulerOptions options = engine_with(10, 4);
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, known(8, 9));
  engine.step();
  engine.step();
  CHECK(engine.counts(kA) == "H 9 C 8 F 1");
  engine.fork(kA, kB, known(10, 2));
  engine.plan();
  CHECK(engine.copies() == "block 3>0");
  CHECK(engine.table(kB) == "[1, 2, 4]");
  CHECK(engine.owners(3) == 2);
  CHECK(engine.stats().block_copies == 0);
  engine.pass_copies();
  CHECK(engine.owners(3) == 1);
}

TEST_CASE("prompt fork (decision 6): valid rows only, on demand") {
  SchedulerOptions options = engine_with(10, 4);
  options.tail_copy = TailCopy::kValidRows;
  Engine engine = with_parent(options, 7);
  engine.fork(kA, kB, known(10, 2));
  engine.plan();
  CHECK(engine.copies() == "block 2>3:3");  // rows 4, 5, 6
}

TEST_CASE("prompt fork (O5): a long rest is chunked, its blocks are claimed with the fork") {
  SchedulerOptions options = engine_with(10, 4);
  options.max_sequences = 4;
  options.token_budget = TokenCount(6);
  Engine engine = with_parent(options, 6);
  engine.fork(kA, kB, known(18, 1));
  engine.plan();
  CHECK(engine.chunks() == "1[6,11)");  // 6 rows less A's own
  CHECK(engine.table(kB) == "[1, 3, 4, 5, 6]");
  engine.finish_step();
  engine.step();
  CHECK(engine.chunks() == "1[11,16)");
  engine.step();
  CHECK(engine.chunks() == "1[16,18)!");
  CHECK(engine.ends() == "1 limit 1");
}

TEST_CASE("prompt fork (O8): of a parent inside its own prompt, at the rows it has") {
  // A(10) in chunks of four: C = 4 after the first; B(6) shares block 1 and computes rows 4 and 5.
  SchedulerOptions options = engine_with(10, 4);
  options.max_sequences = 2;
  options.token_budget = TokenCount(4);
  Engine engine(options);
  engine.add(kA, known(10, 1));
  engine.step();
  engine.fork(kA, kB, known(6, 1));
  CHECK(engine.table(kB) == "[1, 2, 3]");
  engine.plan();
  CHECK(engine.chunks() == "1[4,6)! 0[4,6)");
  CHECK(engine.copies() == "block 2>0 block 3>0");
  CHECK(engine.table(kB) == "[1, 4]");
  engine.finish_step();
  CHECK(engine.ends() == "1 limit 1");
  CHECK(engine.owners(2) == 1);
  engine.drain();
  CHECK(engine.ends() == "1 limit 1; 0 limit 1");
  CHECK(engine.is_drained());
}

TEST_CASE(
    "prompt fork (decision 7): with state a parent inside its prompt settles chunk by chunk") {
  SchedulerOptions options = stateful_with(10, 4, 2);
  options.max_sequences = 2;
  options.token_budget = TokenCount(4);
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, known(12, 1));
  engine.step();
  engine.step();
  CHECK(engine.counts(kA) == "H 12 C 4 F 4");
  engine.fork(kA, kB, known(10, 1));
  CHECK(engine.plan().empty);  // A's last chunk waits for its fork
  engine.finish_step();
  engine.plan();
  CHECK(engine.copies() == "slot 1>2 block 3>0");
  // The clone runs ahead of the forward, and prompts come after forks: A goes on in this very step.
  CHECK(engine.chunks() == "1[8,10)! 0[8,10)");
  engine.plan();
  CHECK(engine.chunks() == "0[10,12)!");
  engine.drain();
  CHECK(engine.is_drained());
}

TEST_CASE(
    "prompt fork (decision 7): a refused fork waits with its pins and holds the queue behind it") {
  // U = 4: A [1, 2], B(14) lacks a block. C(4) would fit, but comes after a refused fork.
  Engine engine = with_parent(engine_with(4, 4), 6, 3);
  engine.fork(kA, kB, known(14, 1));
  engine.add(kC, known(4, 1));
  CHECK(engine.plan().cause == Cause::kFork);
  CHECK(engine.waiting() == "[2]");
  CHECK(engine.why(kC) == "fork, held by 1");
  CHECK(engine.stats().later_fork == 1);
  CHECK(engine.owners(1) == 2);
  CHECK(engine.owners(2) == 2);
  CHECK(engine.stats().preemptions == 0);
  CHECK(engine.in_step(kA));
  engine.finish_step();
  engine.drain();
  CHECK(engine.is_drained());
}

TEST_CASE("prompt fork (decision 7): a refused fork stops later forks of that pass") {
  // The first wants three blocks, the second, of the decode path, one; two are free.
  Engine engine = with_parent(engine_with(4, 4), 6, 3);
  engine.fork(kA, kB, known(14, 1));
  engine.fork(kA, kC, known(1, 1));
  engine.plan();
  CHECK(engine.forks() == "[1, 2]");
  CHECK(engine.why(kC) == "fork, held by 1");
  engine.finish_step();
  engine.drain();
  CHECK(engine.is_drained());
}

TEST_CASE("prompt fork (decision 7): a refused fork preempts nobody, however long it waits") {
  Engine engine = with_parent(engine_with(3, 4), 6, 4);
  engine.fork(kA, kB, known(10, 1));  // two blocks of one
  for (int pass = 0; pass < 2; ++pass) {
    engine.step();
    CHECK(engine.forks() == "[1]");
    CHECK(engine.stats().preemptions == 0);
  }
}

TEST_CASE("prompt fork (decision 4): no fork in a pass that preempted") {
  // U = 6: A(8) [1, 2], C(4) [3], D(8) [4, 5]. E, forked from A at C = 8 with a prompt of 9, needs one
  // block. A takes the last free one for row 8; C preempts D for row 4 and leaves one for E.
  Engine engine(engine_with(6, 4));
  engine.add(kA, known(8, 9));
  engine.add(kC, known(4, 5));
  engine.add(kD, known(8, 5));
  engine.step();
  CHECK(engine.free_blocks() == "[6]");
  engine.fork(kA, kE, known(9, 1));
  engine.plan();
  CHECK(engine.running() == "[0, 2]");
  CHECK(engine.forks() == "[4]");
  CHECK(engine.free_blocks() == "[4]");
  engine.finish_step();
  engine.plan();
  CHECK(engine.running() == "[0, 2, 4]");
  CHECK(engine.table(kE) == "[1, 2, 4]");
}

TEST_CASE("prompt fork: the run limit makes a fork wait without a LATER") {
  SchedulerOptions options = engine_with(10, 4);
  options.max_sequences = 1;
  Engine engine = with_parent(options, 6, 2);
  engine.fork(kA, kB, known(10, 1));
  engine.plan();
  CHECK(engine.forks() == "[1]");
  CHECK(engine.last_plan().cause == Cause::kFork);  // nobody waits behind it, but it waits
  CHECK(engine.why(kB) == "run limit");
  CHECK(engine.stats().answered_later == 0);
  engine.finish_step();
  CHECK(engine.ends() == "0 limit 2");
  engine.plan();
  CHECK(engine.running() == "[1]");
}

TEST_CASE("prompt fork (decision 7): demotion gives a fork its whole prompt back") {
  // U = 4. B(16), forked at C = 8, has pins on [1, 2] and wants two more blocks; A has the third one
  // for row 8 until it ends. Nothing is lost by waiting.
  Engine engine = with_parent(engine_with(4, 4), 8, 3);
  engine.fork(kA, kB, known(16, 1));
  engine.step();
  CHECK(engine.forks() == "[1]");  // A's row 8 took block 3
  engine.step();
  CHECK(engine.ends() == "0 limit 3");
  engine.plan();
  CHECK(engine.table(kB) == "[1, 2, 4, 3]");
  CHECK(engine.chunks() == "1[8,16)!");
  CHECK(engine.stats().sharing_lost == 0);

  // At C = 6 its tail copy needs a third block beside the pins on [1, 2]: 3 of 2, for ever.
  Engine stuck = with_parent(engine_with(4, 4), 6, 3);
  stuck.fork(kA, kB, known(16, 1));
  stuck.steps(2);
  CHECK(stuck.ends() == "0 limit 3");
  CHECK(stuck.forks() == "[1]");
  stuck.plan();
  CHECK(stuck.stats().sharing_lost == 1);
  CHECK(stuck.chunks() == "1[0,16)!");
  stuck.finish_step();
  CHECK(stuck.ends() == "0 limit 3; 1 limit 1");
  CHECK(stuck.is_drained());
}

TEST_CASE("prompt fork (decision 7): under adopt a tail that nobody else owns is not copied") {
  // As above: the third block is not needed, and the fork keeps its rows.
  SchedulerOptions options = engine_with(4, 4);
  options.sole_owner = SoleOwner::kAdopt;
  Engine engine = with_parent(options, 6, 3);
  engine.fork(kA, kB, known(16, 1));
  engine.steps(2);
  CHECK(engine.ends() == "0 limit 3");
  engine.plan();
  CHECK(engine.copies() == "");
  CHECK(engine.table(kB) == "[1, 2, 3, 4]");
  CHECK(engine.chunks() == "1[6,16)!");
}

TEST_CASE("prompt fork (decision 1): max_model_len clips a fork's limit") {
  // Prompt 10, max_model_len 12: positions 10 and 11 are left, so three tokens.
  SchedulerOptions options = engine_with(10, 4);
  options.max_model_len = TokenCount(12);
  Engine engine = with_parent(options, 6, 2);
  engine.fork(kA, kB, hidden(10, 100));
  engine.drain();
  CHECK(engine.ends() == "0 limit 2; 1 limit 3");
  // A known output is clipped before it is measured: up to position 12, the thirteenth, it takes four blocks.
  options.max_model_len = TokenCount(13);
  options.block_ids = 4;
  Engine small = with_parent(options, 6, 2);
  CHECK(small.fork(kA, kB, known(10, 100)) == Answer::kNever);
}

TEST_CASE("prompt fork (O3): a prompt that exceeds the pool or the model is NEVER") {
  SchedulerOptions options = engine_with(4, 4);
  options.max_model_len = TokenCount(15);
  Engine engine = with_parent(options, 6, 3);
  CHECK(engine.fork(kA, kB, known(16, 1)) == Answer::kNever);
  CHECK(engine.fork(kA, kC, known(15, 1)) == Answer::kOk);
  Engine other = with_parent(engine_with(4, 4), 6, 3);
  CHECK(other.fork(kA, kB, known(17, 1)) == Answer::kNever);
  CHECK(other.fork(kA, kC, known(16, 1)) == Answer::kOk);
}

TEST_CASE(
    "prompt fork (decision 7): a fork that outgrew the pool while it settled frees its parent at "
    "once") {
  // U = 3, B = 4, overlap 1. B asks for eight tokens more at C = 4: 5 + 8 - 1 = 12 positions, three blocks.
  // A's row in flight settles C at 5: 13 positions, NEVER. Nothing is pending then, so an empty plan would
  // be a stall; but A runs again.
  SchedulerOptions options = stateful_with(3, 4, 2);
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, known(4, 5));
  engine.step();
  engine.step();
  CHECK(engine.counts(kA) == "H 5 C 4 F 1");
  engine.fork(kA, kB, known(1, 8));
  CHECK(engine.plan().empty);
  CHECK(engine.phase(kB) == "settling");
  engine.finish_step();
  engine.plan();
  CHECK(engine.ends() == "1 never 0");
  CHECK_FALSE(engine.last_plan().empty);
  CHECK(engine.in_step(kA));
  engine.drain();
  CHECK(engine.ends() == "1 never 0; 0 limit 5");
}

TEST_CASE("prompt fork: a parent whose settled state has no owner's count to spare runs again") {
  // With A 65,534 forks make 65,535 owners of its one block and its slot, as many as 16 bits count. All are
  // asked for before any of them pins; the 65,535th cannot share, and is nobody's reason to wait.
  SchedulerOptions options = stateful_with(4, 4, 2);
  options.overlap = 1;
  constexpr std::uint32_t kForks = 65'534;
  Scheduler scheduler(options);
  StepPlan plan;
  scheduler.add(kA, known(2, 9));
  scheduler.plan_step(plan);
  scheduler.on_step_complete({plan.step, false, nullptr, 0});
  scheduler.plan_step(plan);
  for (std::uint32_t id = 1; id <= kForks + 1; ++id)
    scheduler.fork(kA, SequenceId{id}, known(9, 1));
  scheduler.on_step_complete({plan.step, false, nullptr, 0});
  scheduler.plan_step(plan);
  CHECK(scheduler.stats().forks_missed == 1);
  CHECK(scheduler.waiting() == std::vector{SequenceId{kForks + 1}});
  for (std::uint32_t id = 1; id <= kForks; ++id) scheduler.abort(SequenceId{id});
  CHECK_FALSE(scheduler.view(kA).frozen);
  scheduler.audit();
}

}  // namespace
}  // namespace pinfold::test
