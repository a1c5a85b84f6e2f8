// Rule O8, decode path: the child's prompt does not go on beyond the parent's C rows. It inherits C + 1
// known tokens, takes its first row in the step that queues its copies, and yields `limit` tokens.
// Chapter 4.3.6, listings 4.7 and 4.8.
#include <doctest/doctest.h>

#include "tests/unit/scheduler/harness.h"

namespace pinfold::test {
namespace {

constexpr std::uint32_t kAnyPrompt = 1;  // below C: the decode path

/// A(prompt) with its prompt processed: C = prompt, H = prompt + 1.
Engine with_parent(const SchedulerOptions& options, std::uint32_t prompt,
                   std::uint32_t output = 9) {
  Engine engine(options);
  engine.add(kA, known(prompt, output));
  engine.plan();
  engine.finish_step();
  return engine;
}

// --- Demand -----------------------------------------------------------------------------------------

TEST_CASE("decode fork (O8): one block where C ends inside a block, by the chapter's count") {
  // C = 6, B = 4: block 2 holds rows 4 and 5 and is copied; ceil(7 / 4) = 2 blocks, one of them shared.
  Engine engine = with_parent(engine_with(3, 4), 6, 3);
  engine.fork(kA, kB, known(kAnyPrompt, 3));
  engine.plan();
  CHECK(engine.copies() == "block 2>3:4");
  CHECK(engine.table(kA) == "[1, 2]");
  CHECK(engine.table(kB) == "[1, 3]");
  CHECK(engine.owners(1) == 2);
  CHECK(engine.owners(2) == 2);  // A and the copy's pin
  CHECK(engine.owners(3) == 1);
  CHECK(engine.stats().forks == 1);
  CHECK(engine.stats().block_copies == 1);
}

TEST_CASE("decode fork (O8): two blocks where C is a multiple of B, and the full block is copied") {
  // C = 8: the last block with processed rows is 2, full, copied all the same (listing 4.8); row 8
  // opens a block of its own: ceil(9 / 4) - 1 shared = 2. The parent takes one for its own row 8.
  Engine engine = with_parent(engine_with(5, 4), 8);
  engine.fork(kA, kB, known(kAnyPrompt, 3));
  engine.plan();
  CHECK(engine.table(kA) == "[1, 2, 3]");
  CHECK(engine.copies() == "block 2>4:4");
  CHECK(engine.table(kB) == "[1, 4, 5]");
  CHECK(engine.owners(1) == 2);
}

TEST_CASE("decode fork (O8): one block less than the demand is LATER, and the fork takes nothing") {
  for (const std::uint32_t prompt : {6u, 8u}) {
    CAPTURE(prompt);
    // Parent 2 blocks (3 with row 8); demand 1 (2): two (four) usable blocks are one short.
    Engine engine = with_parent(engine_with(prompt == 6 ? 2 : 4, 4), prompt, prompt == 6 ? 3 : 4);
    engine.fork(kA, kB, known(kAnyPrompt, 1));
    engine.plan();
    CHECK(engine.forks() == "[1]");
    CHECK(engine.phase(kB) == "pinned");
    CHECK(engine.table(kB) == "[1, 2]");
    CHECK(engine.copies() == "");
    CHECK(engine.in_step(kA));
    CHECK(engine.why(kB) == "blocks, lacking 1, held by 0");
    engine.finish_step();
    engine.drain();
    CHECK(engine.stats().preemptions == 0);
    CHECK(engine.is_drained());
  }
}

TEST_CASE("decode fork (O8): the first row is in the step that queues the copies") {
  Engine engine = with_parent(engine_with(10, 4), 6);
  engine.fork(kA, kB, known(kAnyPrompt, 3));
  engine.plan();
  CHECK(engine.in_step(kB));
  CHECK(engine.joined() == "[0, 1]");
  CHECK(engine.counts(kB) == "H 7 C 6 F 1");
  CHECK(engine.last_plan().prompt_rows == 0);
  CHECK(engine.phase(kB) == "decode");
  engine.finish_step();
  CHECK(engine.counts(kB) == "H 8 C 7 F 0");
  CHECK(engine.emitted(kB) == 1);
}

TEST_CASE(
    "decode fork (O8): limit counts new tokens: C + 1 known ones and positions to C + limit") {
  // C = 6: three new tokens need positions 6, 7, 8: nine in all, three blocks, two of its own.
  Engine engine = with_parent(engine_with(10, 4), 6, 2);
  engine.fork(kA, kB, known(kAnyPrompt, 3));
  engine.step();
  CHECK(engine.ends() == "0 limit 2");
  engine.step();
  engine.step();
  CHECK(engine.ends() == "0 limit 2; 1 limit 3");
  CHECK(engine.last_end().prompt == TokenCount(7));
  CHECK(engine.acquired() == 2 + 2);
  CHECK(engine.is_drained());
}

TEST_CASE("decode fork (O8): the parent's later blocks go with destination 0") {
  // Overlap 1: while row 8 is in flight the parent holds block 3 for it; at C = 8 the child pins it
  // and does not need it. Listing 4.8: recorded with destination 0, released without copying.
  SchedulerOptions options = engine_with(10, 4);
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, known(8, 9));
  engine.step();
  engine.step();
  CHECK(engine.counts(kA) == "H 9 C 8 F 1");
  engine.fork(kA, kB, known(kAnyPrompt, 3));
  CHECK(engine.table(kB) == "[1, 2, 3]");
  CHECK(engine.owners(3) == 2);
  engine.plan();
  CHECK(engine.copies() == "block 2>4:4 block 3>0");
  CHECK(engine.table(kB) == "[1, 4, 5]");
  CHECK(engine.stats().block_copies == 1);
  CHECK(engine.owners(3) == 2);  // until the copies have passed
  engine.pass_copies();
  CHECK(engine.owners(3) == 1);
  CHECK(engine.owners(2) == 1);
}

TEST_CASE(
    "decode fork (decision 6): a tail copy moves the whole block, or its valid rows on demand") {
  for (const std::uint32_t prompt : {6u, 8u}) {
    SchedulerOptions options = engine_with(10, 4);
    options.tail_copy = TailCopy::kValidRows;
    Engine engine = with_parent(options, prompt);
    engine.fork(kA, kB, known(kAnyPrompt, 3));
    engine.plan();
    CHECK(engine.copies() == (prompt == 6 ? "block 2>3:2" : "block 2>4:4"));
  }
}

TEST_CASE(
    "decode fork (decision 13): while the fork waits the parent writes on in the shared tail") {
  // U = 2: B waits with pins on [1, 2]; rows 6 and 7 of A go into block 2, which B does not count
  // beyond C = 6. No copy is made for A.
  Engine engine = with_parent(engine_with(2, 4), 6, 3);
  engine.fork(kA, kB, known(kAnyPrompt, 1));
  engine.step();
  engine.step();
  CHECK(engine.ends() == "0 limit 3");
  CHECK(engine.stats().block_copies == 0);
  CHECK(engine.table(kB) == "[1, 2]");
  CHECK(engine.counts(kB) == "H 7 C 6 F 0");
  // Alone now, and still no block for its copy: only its own pins are in the way (decision 7).
  engine.drain();
  CHECK(engine.stats().sharing_lost == 1);
  CHECK(engine.ends() == "0 limit 3; 1 limit 1");
  CHECK(engine.is_drained());
}

// --- State ------------------------------------------------------------------------------------------

TEST_CASE("decode fork (O8): the child pins the state slot, then clones it into one of its own") {
  Engine engine = with_parent(stateful_with(10, 4, 2), 6);
  engine.fork(kA, kB, known(kAnyPrompt, 3));
  CHECK(engine.slot(kB) == 1);
  CHECK(engine.slot_owners(1) == 2);
  engine.plan();
  CHECK(engine.copies() == "slot 1>2 block 2>3:4");
  CHECK(engine.slot(kB) == 2);
  CHECK(engine.slot_owners(1) == 2);  // A and the copy's pin
  CHECK(engine.stats().state_copies == 1);
  engine.finish_step();
  CHECK(engine.slot_owners(1) == 1);
}

TEST_CASE(
    "decode fork (decision 7): the parent sits out until its clone is queued, and no longer") {
  Engine engine = with_parent(stateful_with(10, 4, 2), 6);
  engine.fork(kA, kB, known(kAnyPrompt, 3));
  CHECK(engine.view(kA).frozen);
  engine.plan();
  CHECK_FALSE(engine.in_step(kA));
  CHECK(engine.in_step(kB));
  CHECK_FALSE(engine.view(kA).frozen);
  engine.finish_step();
  engine.plan();
  CHECK(engine.in_step(kA));
  CHECK(engine.counts(kA) == "H 7 C 6 F 1");
}

TEST_CASE(
    "decode fork (decision 7): with steps in flight the fork settles first, at the later count") {
  // Overlap 1: row 6 of A is in flight in step 2 when the fork comes at C = 6: it is forked at C = 7.
  SchedulerOptions options = stateful_with(10, 4, 2);
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, known(6, 9));
  engine.step();
  engine.step();
  CHECK(engine.counts(kA) == "H 7 C 6 F 1");
  engine.fork(kA, kB, known(kAnyPrompt, 3));
  CHECK(engine.phase(kB) == "settling");
  CHECK(engine.held(kB) == 0);
  CHECK(engine.slot_owners(1) == 1);
  CHECK(engine.plan().empty);  // A sits out, B is not there yet
  CHECK(engine.left() == "[0]");
  CHECK(engine.why(kB) == "fence, held by 0, until step 2");
  CHECK(engine.why(kA) == "fork, held by 1");
  engine.finish_step();
  engine.plan();
  CHECK(engine.counts(kB) == "H 8 C 7 F 1");
  CHECK(engine.copies() == "slot 1>2 block 2>3:4");
  CHECK_FALSE(engine.in_step(kA));
  engine.plan();
  CHECK(engine.joined() == "[0]");
}

TEST_CASE("decode fork (O8): blocks free but no slot is LATER, and no block is taken") {
  Engine engine = with_parent(stateful_with(10, 4, 1), 6, 3);
  engine.fork(kA, kB, known(kAnyPrompt, 3));
  SchedulerOptions options = stateful_with(10, 4, 1);
  options.demote = Switch::kOff;
  Engine stuck = with_parent(options, 6, 3);
  stuck.fork(kA, kB, known(kAnyPrompt, 3));
  stuck.plan();
  CHECK(stuck.free_blocks() == "[3, 4, 5, 6, 7, 8, 9, 10]");
  CHECK(stuck.stats().later_slot == 1);
  CHECK(stuck.stats().later_blocks == 0);
  engine.drain();
  CHECK(engine.is_drained());
}

TEST_CASE("decode fork (decision 7, decision 12): one usable slot is the chapter's deadlock") {
  // A holds the only slot and sits out for its fork; the fork needs a second slot. Nothing runs and
  // nothing is pending: a stall, and the report names both.
  SchedulerOptions options = stateful_with(10, 4, 1);
  options.demote = Switch::kOff;
  Engine stuck = with_parent(options, 6);
  stuck.fork(kA, kB, known(kAnyPrompt, 3));
  CHECK(stuck.plan().empty);
  const std::uint64_t before = stuck.hash();
  CHECK(stuck.plan().empty);
  CHECK(stuck.hash() == before);
  CHECK(stuck.scheduler().nothing_pending());
  CHECK(stuck.scheduler().unfinished() == 2);
  CHECK(stuck.why(kA) == "fork, held by 1");
  CHECK(stuck.why(kB) == "slot, lacking 1, held by 0");

  // Demotion: the fork drops its pins and comes back with its whole prompt, C + 1 = 7 tokens.
  options.demote = Switch::kOn;
  Engine engine = with_parent(options, 6);
  engine.fork(kA, kB, known(kAnyPrompt, 3));
  engine.plan();
  CHECK(engine.stats().sharing_lost == 1);
  CHECK(engine.in_step(kA));
  CHECK(engine.waiting() == "[1]");
  CHECK(engine.counts(kB) == "H 7 C 0 F 0");
  CHECK(engine.slot_owners(1) == 1);
  engine.finish_step();
  engine.drain();
  CHECK(engine.ends() == "0 limit 9; 1 limit 3");
  CHECK(engine.stats().recomputed_rows == 6);
  CHECK(engine.is_drained());
}

TEST_CASE("decode fork (decision 7, case B82): groups get their slots one by one, not as a gang") {
  // Four slots, two parents with two children each. A's two children take slots 3 and 4, those of B
  // wait with B frozen; as A's side ends they follow. Nobody is demoted, nobody is preempted.
  SchedulerOptions options = stateful_with(40, 4, 4);
  Engine engine(options);
  engine.add(kA, known(6, 4));
  engine.add(kB, known(6, 4));
  engine.step();
  engine.fork(kA, SequenceId{2}, known(kAnyPrompt, 3));
  engine.fork(kB, SequenceId{3}, known(kAnyPrompt, 3));
  engine.fork(kA, SequenceId{4}, known(kAnyPrompt, 3));
  engine.fork(kB, SequenceId{5}, known(kAnyPrompt, 3));
  engine.plan();
  CHECK(engine.forks() == "[4, 5]");  // slots 3 and 4 went to 2 and 3, in fork order
  CHECK(engine.free_slots() == "[]");
  engine.finish_step();
  engine.drain();
  CHECK(engine.stats().forks == 4);
  CHECK(engine.stats().sharing_lost == 0);
  CHECK(engine.stats().preemptions == 0);
  CHECK(engine.is_drained());
}

TEST_CASE(
    "decode fork (decision 7): where every slot is a frozen parent's, the youngest fork yields") {
  Engine engine(stateful_with(40, 4, 2));
  engine.add(kA, known(6, 4));
  engine.add(kB, known(6, 4));
  engine.step();
  engine.fork(kA, kC, known(kAnyPrompt, 3));
  engine.fork(kB, kD, known(kAnyPrompt, 3));
  engine.plan();
  CHECK(engine.stats().sharing_lost == 1);
  CHECK(engine.waiting() == "[3]");
  CHECK(engine.forks() == "[2]");
  CHECK(engine.in_step(kB));
  CHECK_FALSE(engine.in_step(kA));
  engine.finish_step();
  engine.drain();
  CHECK(engine.ends().substr(0, 9) == "1 limit 4");
  CHECK(engine.stats().sharing_lost == 1);
  CHECK(engine.is_drained());
}

// --- Whose fork -------------------------------------------------------------------------------------

TEST_CASE("decode fork: of a fork") {
  Engine engine = with_parent(engine_with(10, 4), 6);
  engine.fork(kA, kB, known(kAnyPrompt, 9));
  engine.step();
  CHECK(engine.table(kB) == "[1, 3]");
  engine.fork(kB, kC, known(kAnyPrompt, 2));
  engine.plan();
  // C = 7 rows of B: block 1, which A owns as well, and a copy of B's block 3.
  CHECK(engine.copies() == "block 3>4:4");
  CHECK(engine.table(kC) == "[1, 4]");
  CHECK(engine.owners(1) == 3);
  CHECK(engine.counts(kC) == "H 8 C 7 F 1");
  engine.finish_step();
  engine.drain();
  CHECK(engine.ends() == "2 limit 2; 0 limit 9; 1 limit 9");
  CHECK(engine.is_drained());
}

TEST_CASE("decode fork (case B64): three samples of one prefix share it and compute it once") {
  // A prefix of two blocks and a tail of three rows: 11 rows, computed once. Each child copies the
  // tail; all copies are one list, in one step.
  Engine engine = with_parent(engine_with(20, 4), 11);
  for (const SequenceId id : {kB, kC, kD}) engine.fork(kA, id, known(kAnyPrompt, 4));
  engine.plan();
  CHECK(engine.copies() == "block 3>4:4 block 3>5:4 block 3>6:4");
  CHECK(engine.table(kD) == "[1, 2, 6]");
  CHECK(engine.owners(1) == 4);
  CHECK(engine.owners(3) == 4);  // A and three copies
  CHECK(engine.owned() == 3 + 3);
  CHECK(engine.last_plan().prompt_rows == 0);
  engine.finish_step();
  CHECK(engine.owners(3) == 1);
  engine.drain();
  CHECK(engine.stats().recomputed_rows == 0);
  CHECK(engine.is_drained());
}

TEST_CASE("decode fork (case B64): a preempted sample is recomputed alone") {
  // U = 7: A [1, 2, 3], B [1, 2, 4], C [1, 2, 5]. At 12 + 1 tokens A takes block 6, B 7, and C goes: it
  // gives back block 5, the prefix stays with the others, and it returns with its 13 tokens.
  Engine engine = with_parent(engine_with(7, 4), 11, 5);
  engine.fork(kA, kB, known(kAnyPrompt, 4));
  engine.fork(kA, kC, known(kAnyPrompt, 4));
  engine.step();
  CHECK(engine.counts(kC) == "H 13 C 12 F 0");
  engine.plan();
  CHECK(engine.table(kA) == "[1, 2, 3, 6]");
  CHECK(engine.table(kB) == "[1, 2, 4, 7]");
  CHECK(engine.waiting() == "[2]");
  CHECK(engine.free_blocks() == "[5]");
  CHECK(engine.owners(1) == 2);
  engine.finish_step();
  engine.drain();
  CHECK(engine.ends() == "0 limit 5; 1 limit 4; 2 limit 4");
  CHECK(engine.stats().recomputed_rows == 12);
  CHECK(engine.is_drained());
}

TEST_CASE(
    "decode fork (decision 7): of a parent with nothing processed it is an ordinary request") {
  Engine engine(engine_with(10, 4));
  engine.add(kA, known(6, 9));
  engine.fork(kA, kB, known(4, 2));  // A waits
  engine.plan();
  engine.fork(kA, kC, known(4, 2));  // A runs, C = 0
  CHECK(engine.stats().forks_missed == 2);
  CHECK(engine.waiting() == "[2]");
  CHECK(engine.table(kB) == "[3]");
  CHECK(engine.counts(kC) == "H 4 C 0 F 0");
  engine.finish_step();
  engine.drain();
  CHECK(engine.stats().forks == 0);
  CHECK(engine.is_drained());
}

TEST_CASE("decode fork (decision 7): of an ended or unknown parent it is an ordinary request") {
  Engine engine = with_parent(engine_with(10, 4), 6, 1);
  CHECK(engine.ends() == "0 limit 1");
  engine.fork(kA, kB, known(4, 2));
  engine.fork(SequenceId{7}, SequenceId{8}, known(4, 2));
  CHECK(engine.stats().forks_missed == 2);
  engine.drain();
  CHECK(engine.ends() == "0 limit 1; 1 limit 2; 8 limit 2");
}

TEST_CASE("decode fork (decision 7): a parent that ends while the fork settles is missed") {
  SchedulerOptions options = stateful_with(10, 4, 2);
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, hidden(6, 100));
  engine.step();
  engine.step();
  engine.fork(kA, kB, known(4, 2));
  CHECK(engine.phase(kB) == "settling");
  engine.finish_step({stops(kA)});
  CHECK(engine.ends() == "0 stop 2");
  CHECK(engine.phase(kB) == "waiting");
  CHECK(engine.stats().forks_missed == 1);
  engine.plan();
  CHECK(engine.chunks() == "1[0,4)!");
}

TEST_CASE(
    "decode fork (decision 7): a parent that goes after it was pinned leaves the fork its rows") {
  // With state and without; the parent is aborted before the fork gets its blocks.
  for (const bool state : {false, true}) {
    Engine engine = with_parent(state ? stateful_with(10, 4, 2) : engine_with(10, 4), 6);
    engine.fork(kA, kB, known(kAnyPrompt, 3));
    engine.abort(kA);
    CHECK(engine.owners(1) == 1);
    CHECK(engine.owners(2) == 1);
    engine.plan();
    CHECK(engine.copies() == (state ? "slot 1>2 block 2>3:4" : "block 2>3:4"));
    CHECK(engine.counts(kB) == "H 7 C 6 F 1");
    engine.finish_step();
    CHECK(engine.owners(2) == 0);
    engine.drain();
    CHECK(engine.ends() == "0 aborted 1; 1 limit 3");
    CHECK(engine.is_drained());
  }
}

TEST_CASE("decode fork (decision 7): a preempted parent leaves its fork pinned, and thaws") {
  // U = 3, two slots: A(4) [1], B(6) [2, 3] with C forked from it and waiting: no slot. A wants a
  // second block at position 4: B, frozen and newest, goes, but its blocks are C's as well; then A
  // goes. That leaves slot 1 to the fork, which asks in the next pass of the same call: it needs one
  // block, and block 1 is free.
  Engine engine(stateful_with(3, 4, 2));
  engine.add(kA, known(4, 5));
  engine.add(kB, known(6, 5));
  engine.step();
  engine.fork(kB, kC, known(kAnyPrompt, 2));
  engine.plan();
  CHECK(engine.stats().preemptions == 2);
  CHECK(engine.running() == "[2]");
  CHECK(engine.waiting() == "[0, 1]");
  CHECK(engine.copies() == "slot 2>1 block 3>1:4");
  CHECK(engine.table(kC) == "[2, 1]");
  engine.finish_step();
  engine.drain();
  CHECK(engine.ends() == "2 limit 2; 0 limit 5; 1 limit 5");
  CHECK(engine.is_drained());
}

// --- Aborted forks ----------------------------------------------------------------------------------

TEST_CASE("decode fork (O10): aborted while it settles, the parent goes on") {
  SchedulerOptions options = stateful_with(10, 4, 2);
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, known(6, 9));
  engine.step();
  engine.step();
  engine.fork(kA, kB, known(kAnyPrompt, 3));
  CHECK(engine.abort(kB));
  CHECK_FALSE(engine.view(kA).frozen);
  CHECK(engine.slot_owners(1) == 1);
  engine.plan();
  CHECK(engine.in_step(kA));
  engine.drain();
  CHECK(engine.ends() == "1 aborted 0; 0 limit 9");
}

TEST_CASE(
    "decode fork (O10): aborted while pinned, every pin is dropped once and the parent goes on") {
  Engine engine = with_parent(stateful_with(10, 4, 1), 6);
  engine.fork(kA, kB, known(kAnyPrompt, 3));
  CHECK(engine.owners(1) == 2);
  CHECK(engine.abort(kB));
  CHECK(engine.owners(1) == 1);
  CHECK(engine.owners(2) == 1);
  CHECK(engine.slot_owners(1) == 1);
  CHECK(engine.parked() == 0);
  engine.plan();
  CHECK(engine.in_step(kA));
  engine.finish_step();
  engine.drain();
  CHECK(engine.is_drained());
}

TEST_CASE("decode fork (decision 7): two forks freeze a parent until both clones are queued") {
  Engine engine = with_parent(stateful_with(20, 4, 2), 6, 4);
  engine.fork(kA, kB, known(kAnyPrompt, 2));
  engine.fork(kA, kC, known(kAnyPrompt, 2));
  engine.plan();  // B has the second slot, C none
  CHECK(engine.forks() == "[2]");
  CHECK(engine.view(kA).frozen);
  engine.finish_step();
  engine.plan();
  CHECK_FALSE(engine.in_step(kA));
  engine.finish_step();
  CHECK(engine.ends() == "1 limit 2");
  engine.plan();
  CHECK(engine.copies() == "slot 1>2 block 2>4:4");
  CHECK_FALSE(engine.view(kA).frozen);
  engine.finish_step();
  engine.plan();
  CHECK(engine.in_step(kA));
  CHECK(engine.counts(kA) == "H 7 C 6 F 1");
}

// --- Sole owners ------------------------------------------------------------------------------------

TEST_CASE("decode fork (decision 7): sole_owner decides about a tail that nobody else owns") {
  // The parent is gone. `copy` is the chapter's: listing 4.8 does not ask. `adopt` keeps block and slot.
  for (const SoleOwner sole_owner : {SoleOwner::kCopy, SoleOwner::kAdopt}) {
    SchedulerOptions options = stateful_with(10, 4, 2);
    options.sole_owner = sole_owner;
    Engine engine = with_parent(options, 6);
    engine.fork(kA, kB, known(kAnyPrompt, 3));
    engine.abort(kA);
    engine.plan();
    if (sole_owner == SoleOwner::kCopy) {
      CHECK(engine.copies() == "slot 1>2 block 2>3:4");
      CHECK(engine.table(kB) == "[1, 3]");
    } else {
      CHECK(engine.copies() == "");
      CHECK(engine.table(kB) == "[1, 2]");
      CHECK(engine.slot(kB) == 1);
      CHECK(engine.available() == 8);
    }
    engine.finish_step();
    engine.drain();
    CHECK(engine.is_drained());
  }
}

TEST_CASE("decode fork (decision 7): adopt at the end of a block asks for one block, not two") {
  SchedulerOptions options = engine_with(3, 4);
  options.sole_owner = SoleOwner::kAdopt;
  Engine engine = with_parent(options, 8, 4);
  engine.fork(kA, kB, known(kAnyPrompt, 3));
  engine.abort(kA);
  engine.plan();
  CHECK(engine.copies() == "");
  CHECK(engine.table(kB) == "[1, 2, 3]");
}

TEST_CASE("decode fork (case B81): under adopt two children make one copy, one child none") {
  SchedulerOptions options = engine_with(10, 4);
  options.sole_owner = SoleOwner::kAdopt;
  Engine one = with_parent(options, 6);
  one.fork(kA, kB, known(kAnyPrompt, 3));
  one.abort(kA);
  one.step();
  CHECK(one.stats().block_copies == 0);

  Engine two = with_parent(options, 6);
  two.fork(kA, kB, known(kAnyPrompt, 3));
  two.fork(kA, kC, known(kAnyPrompt, 3));
  two.abort(kA);
  two.step();
  CHECK(two.stats().block_copies == 1);
  two.drain();
  CHECK(two.is_drained());
}

TEST_CASE("decode fork (case B81): under adopt a tail that the parent still owns is copied") {
  SchedulerOptions options = engine_with(10, 4);
  options.sole_owner = SoleOwner::kAdopt;
  Engine engine = with_parent(options, 6);
  engine.fork(kA, kB, known(kAnyPrompt, 3));
  engine.plan();
  CHECK(engine.copies() == "block 2>3:4");
}

// --- A fork that cannot be --------------------------------------------------------------------------

TEST_CASE("decode fork (O3): known outputs count at arrival, with C + 1 known tokens") {
  // U = 4: sixteen positions. C = 6: a limit of 10 ends at position 15, one of 11 at 16.
  Engine engine = with_parent(engine_with(4, 4), 6);
  CHECK(engine.fork(kA, kB, known(kAnyPrompt, 10)) == Answer::kOk);
  CHECK(engine.fork(kA, kC, known(kAnyPrompt, 11)) == Answer::kNever);
  CHECK(engine.forks() == "[1]");
  CHECK_FALSE(engine.knows(kC));
}

TEST_CASE(
    "decode fork (O3): a fork that needs more than the pool has is NEVER, not a shorter request") {
  // U = 2, C = 8: the ninth known token has no block. Its own prompt of one token would have fitted.
  Engine engine(engine_with(2, 4));
  engine.add(kA, hidden(8, 100));
  engine.step();
  CHECK(engine.fork(kA, kB, hidden(kAnyPrompt, 5)) == Answer::kNever);
  CHECK_FALSE(engine.knows(kB));
  CHECK(engine.stats().answered_never == 1);
}

TEST_CASE(
    "decode fork (O3): a known output that no longer fits at the settled count is NEVER at once") {
  // U = 4: sixteen positions. Asked for at C = 6, ten new tokens fit; the fork settles at C = 7, where
  // they end at position 16. It does not start a run that it cannot finish.
  SchedulerOptions options = stateful_with(4, 4, 2);
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, known(6, 3));
  engine.step();
  engine.step();
  CHECK(engine.counts(kA) == "H 7 C 6 F 1");
  CHECK(engine.fork(kA, kB, known(kAnyPrompt, 10)) == Answer::kOk);
  engine.plan();
  engine.finish_step();
  engine.plan();
  CHECK(engine.ends() == "1 never 0");
  CHECK_FALSE(engine.view(kA).frozen);
  engine.drain();
  CHECK(engine.ends() == "1 never 0; 0 limit 3");
  CHECK(engine.is_drained());
}

TEST_CASE("decode fork (decision 1): max_model_len clips a fork's new tokens") {
  // C = 6, max_model_len 8: positions 6 and 7 are left: two new tokens.
  SchedulerOptions options = engine_with(10, 4);
  options.max_model_len = TokenCount(8);
  Engine engine(options);
  engine.add(kA, hidden(6, 100));
  engine.step();
  engine.fork(kA, kB, hidden(kAnyPrompt, 100));
  engine.drain();
  CHECK(engine.ends() == "0 limit 3; 1 limit 2");
}

TEST_CASE("decode fork: of no tokens computes one row, as a prompt, and ends") {
  Engine engine = with_parent(engine_with(10, 4), 6);
  engine.fork(kA, kB, known(kAnyPrompt, 0));
  engine.plan();
  CHECK(engine.chunks() == "1[6,7)!");
  engine.finish_step();
  CHECK(engine.ends() == "1 limit 0");
}

// Rules O2 and O8: an id counts at most 65,535 owners. The parent is one, so 65,534 forks share its block
// and the others are ordinary requests; nothing throws and every law holds.
TEST_CASE("forks beyond the owners that a block can count become ordinary requests") {
  SchedulerOptions options;
  options.block_size = TokenCount(4);
  options.block_ids = 8;
  options.max_sequences = 1;
  options.token_budget = TokenCount(8);
  options.max_model_len = TokenCount(16);
  Scheduler scheduler(options);
  RequestSpec spec;
  spec.prompt = TokenCount(2);
  spec.limit = TokenCount(5);
  scheduler.add(SequenceId{0}, spec);
  StepPlan plan;
  scheduler.plan_step(plan);
  scheduler.on_step_complete({plan.step, false, nullptr, 0});
  for (std::uint32_t id = 1; id <= 65'600; ++id) {
    CHECK(scheduler.fork(SequenceId{0}, SequenceId{id}, spec) == Answer::kOk);
  }
  CHECK(scheduler.waiting_forks().size() == 65'534);
  CHECK(scheduler.stats().forks_missed == 66);
  scheduler.audit();
}

}  // namespace
}  // namespace pinfold::test
