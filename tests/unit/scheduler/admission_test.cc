// Who is admitted, with what, and who is refused: rules O2, O3 and O5. Tables are those of a FIFO pool
// whose first ids are 1, 2, 3, ... (rule O2); needs are ceil(positions / B), worked out beside each
// test; "case Bn" is the scenario of that number among the faults of real allocators.
#include <doctest/doctest.h>

#include "tests/unit/scheduler/harness.h"

namespace pinfold::test {
namespace {

// --- What an admission takes ------------------------------------------------------------------------

TEST_CASE("admission (O5): the first chunk claims the whole prompt's blocks and one state slot") {
  SchedulerOptions options = stateful_with(7, 4, 2);
  options.max_sequences = 4;
  options.token_budget = TokenCount(4);
  Engine engine(options);
  engine.add(kA, known(10, 1));
  engine.plan();
  // Chapter 4.3.3: chunking divides the computation, not the memory claim. ceil(10 / 4) = 3.
  CHECK(engine.chunks() == "0[0,4)");
  CHECK(engine.table(kA) == "[1, 2, 3]");
  CHECK(engine.slot(kA) == 1);
  CHECK(engine.free_blocks() == "[4, 5, 6, 7]");
  CHECK(engine.free_slots() == "[2]");
}

TEST_CASE("admission (O2): blocks are issued from the front, released in reverse, reused last") {
  // Chapter 4.1: A(6) and B(9) in a pool of seven usable blocks of four positions.
  Engine engine(engine_with(7, 4));
  engine.add(kA, known(6, 5));
  engine.add(kB, known(9, 1));
  engine.plan();
  CHECK(engine.table(kA) == "[1, 2]");
  CHECK(engine.table(kB) == "[3, 4, 5]");
  CHECK(engine.free_blocks() == "[6, 7]");
  engine.finish_step();  // B has its one token
  CHECK(engine.ends() == "1 limit 1");
  CHECK(engine.free_blocks() == "[6, 7, 5, 4, 3]");
  // A holds 7 and 8 known tokens without growing, and takes block 6 with its ninth.
  engine.step();
  engine.step();
  CHECK(engine.counts(kA) == "H 9 C 8 F 0");
  CHECK(engine.table(kA) == "[1, 2]");
  engine.plan();
  CHECK(engine.table(kA) == "[1, 2, 6]");
}

TEST_CASE(
    "admission (O3): a prompt that fills the pool exactly is admitted, one block more is not") {
  Engine engine(engine_with(4, 4));
  CHECK(engine.add(kA, known(16, 1)) == Answer::kOk);
  CHECK(engine.add(kB, known(17, 1)) == Answer::kNever);
  engine.step();
  CHECK(engine.ends() == "0 limit 1");
  CHECK(engine.is_drained());
  CHECK(engine.stats().answered_never == 1);
}

TEST_CASE("admission (O3): LATER while the blocks are held, OK in the pass after they came back") {
  // B needs ceil(9 / 4) = 3 of 4 blocks, A holds 2 until its third token: 5 + 3 - 1 = 7 positions.
  Engine engine(engine_with(4, 4));
  engine.add(kA, known(5, 3));
  engine.add(kB, known(9, 1));
  engine.step();
  engine.step();
  CHECK(engine.waiting() == "[1]");
  CHECK(engine.stats().later_blocks == 1);
  engine.plan();  // A's last row is planned
  CHECK(engine.waiting() == "[1]");
  engine.finish_step();
  CHECK(engine.ends() == "0 limit 3");
  engine.plan();
  CHECK(engine.running() == "[1]");
  // The free list after A's end is 3, 4 and then A's blocks in reverse: 2, 1.
  CHECK(engine.table(kB) == "[3, 4, 2]");
}

// --- A refusal touches nothing ----------------------------------------------------------------------

TEST_CASE("admission (O3, case B8): a refused request holds nothing and changes no state") {
  // A's only token is in flight, so a pass can do nothing but refuse X: ceil(8 / 4) = 2 of 1 free.
  SchedulerOptions options = engine_with(2, 4);
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, known(4, 1));
  engine.plan();
  engine.add(kB, known(8, 1));
  const std::uint64_t before = engine.hash();
  for (int pass = 0; pass < 3; ++pass) {
    CHECK(engine.plan().empty);
    CHECK(engine.hash() == before);
    CHECK(engine.held(kB) == 0);
    CHECK(engine.free_blocks() == "[2]");
  }
  CHECK(engine.stats().answered_later == 1);  // one request, however often it asks
}

TEST_CASE("admission (O3, case B8): what a refused request did not get goes to one that grows") {
  // U = 5: A's prompt takes 3, X needs 4 of the 2 that are free. A's fourth block at position 12.
  Engine engine(engine_with(5, 4));
  engine.add(kA, known(12, 8));
  engine.add(kB, known(16, 1));
  engine.step();
  CHECK(engine.table(kA) == "[1, 2, 3]");
  CHECK(engine.held(kB) == 0);
  CHECK(engine.free_blocks() == "[4, 5]");
  engine.step();
  CHECK(engine.table(kA) == "[1, 2, 3, 4]");
  CHECK(engine.free_blocks() == "[5]");
  engine.drain();
  CHECK(engine.ends() == "0 limit 8; 1 limit 1");
  CHECK(engine.is_drained());
}

TEST_CASE("admission (O3, case B4): a state slot is not kept when the blocks are refused") {
  // U = 4, two slots. A holds 3 blocks and later 4 (12 + 5 - 1 = 16 positions); X needs 2.
  Engine engine(stateful_with(4, 4, 2));
  engine.add(kA, known(12, 5));
  engine.add(kB, known(8, 1));
  for (int pass = 0; pass < 5; ++pass) {
    engine.plan();
    CHECK(engine.free_slots() == "[2]");
    CHECK(engine.held(kB) == 0);
    engine.finish_step();
  }
  CHECK(engine.ends() == "0 limit 5");
  engine.plan();
  CHECK(engine.slot(kB) == 2);
  engine.drain();
  CHECK(engine.is_drained());
}

TEST_CASE("admission (O3, case B86): blocks free but no slot is LATER, for want of a slot") {
  SchedulerOptions options = stateful_with(100, 4, 3);
  options.max_sequences = 4;
  Engine engine(options);
  for (const SequenceId id : {kA, kB, kC, kD}) engine.add(id, known(4, 3));
  engine.plan();
  CHECK(engine.running() == "[0, 1, 2]");
  CHECK(engine.waiting() == "[3]");
  CHECK(engine.stats().later_slot == 1);
  CHECK(engine.stats().later_blocks == 0);
  CHECK(engine.why(kD) == "slot, lacking 1, held by 0");
  CHECK(engine.owned() == 3);
  engine.finish_step();
  engine.drain();
  CHECK(engine.ends() == "0 limit 3; 1 limit 3; 2 limit 3; 3 limit 3");
  CHECK(engine.is_drained());
}

TEST_CASE("admission (O3): a model with state and no usable slot refuses for ever, not for now") {
  Engine engine(stateful_with(4, 4, 0));
  CHECK(engine.add(kA, known(1, 1)) == Answer::kNever);
}

// --- NEVER at arrival -------------------------------------------------------------------------------

TEST_CASE("admission (O3, case B44): a known output counts at arrival, a hidden one does not") {
  // U = 4, B = 4: sixteen positions at most. A request needs prompt + max(output, 1) - 1.
  Engine engine(engine_with(4, 4));
  CHECK(engine.add(SequenceId{0}, known(17, 1)) == Answer::kNever);
  CHECK(engine.add(SequenceId{1}, known(16, 1)) == Answer::kOk);
  CHECK(engine.add(SequenceId{2}, known(16, 2)) == Answer::kNever);  // 17 positions
  CHECK(engine.add(SequenceId{3}, known(13, 4)) == Answer::kOk);     // 16
  CHECK(engine.add(SequenceId{4}, known(13, 5)) == Answer::kNever);  // 17
  CHECK(engine.add(SequenceId{5}, known(16, 0)) == Answer::kOk);     // 16: prefill only
  CHECK(engine.add(SequenceId{6}, known(17, 0)) == Answer::kNever);
  CHECK(engine.add(SequenceId{7}, hidden(16, 2)) == Answer::kOk);  // may stop at once
  CHECK(engine.add(SequenceId{8}, hidden(17, 1)) == Answer::kNever);
  CHECK(engine.add(SequenceId{9}, known(4, 1)) == Answer::kOk);
  CHECK(engine.waiting() == "[1, 3, 5, 7, 9]");
  CHECK_FALSE(engine.knows(SequenceId{2}));
  engine.abort(SequenceId{7});
  engine.drain();
  CHECK(engine.is_drained());
}

TEST_CASE("admission (O3): a prompt of the model's length is OK, one token more is NEVER") {
  SchedulerOptions options = engine_with(100, 4);
  options.max_model_len = TokenCount(16);
  Engine engine(options);
  CHECK(engine.add(kA, hidden(16, 5)) == Answer::kOk);
  CHECK(engine.add(kB, hidden(17, 1)) == Answer::kNever);
  // The limit is clipped to max_model_len - prompt + 1 = 1 token.
  engine.drain();
  CHECK(engine.ends() == "0 limit 1");
}

TEST_CASE("admission (O3, case B112): the last token asks for no block") {
  // 13 + 4 - 1 = 16 positions: four blocks, and the end of the request wants no fifth.
  Engine engine(engine_with(4, 4));
  engine.add(kA, known(13, 4));
  engine.drain();
  CHECK(engine.ends() == "0 limit 4");
  CHECK(engine.acquired() == 4);
  CHECK(engine.stats().preemptions == 0);
  CHECK(engine.stats().answered_later == 0);
}

TEST_CASE("admission (O3, case B44): a hidden output that outgrows the pool alone ends NEVER") {
  // Prompt 12 in a pool of 16 positions: tokens 1..5 come from rows 11..15; row 16 has no block. What
  // it would need after a restart, ceil(17 / 4) = 5 >= n, is NEVER. At most one restart (decision 1).
  // B, who needs two blocks, waits behind it and goes on.
  for (const std::uint32_t overlap : {0u, 1u, 2u}) {
    CAPTURE(overlap);
    SchedulerOptions options = engine_with(4, 4);
    options.overlap = overlap;
    Engine engine(options);
    engine.add(kA, hidden(12, 10));
    engine.add(kB, known(8, 1));
    engine.drain();
    CHECK(engine.ends() == "0 never 5; 1 limit 1");
    CHECK(engine.stats().self_preemptions == 1);
    CHECK(engine.stats().preemptions == 1);
    CHECK(engine.stats().recomputed_rows == 0);
    CHECK(engine.is_drained());
  }
}

TEST_CASE("admission: the run limit holds the head back without a LATER") {
  SchedulerOptions options = engine_with(100, 4);
  options.max_sequences = 2;
  Engine engine(options);
  for (const SequenceId id : {kA, kB, kC}) engine.add(id, known(4, 2));
  CHECK(engine.plan().cause == Cause::kRunLimit);
  CHECK(engine.running() == "[0, 1]");
  CHECK(engine.stats().answered_later == 0);
  CHECK(engine.why(kC) == "run limit");
}

TEST_CASE("admission: the token budget holds the head back without a LATER") {
  SchedulerOptions options = engine_with(100, 4);
  options.token_budget = TokenCount(8);
  Engine engine(options);
  engine.add(kA, known(8, 2));
  engine.add(kB, known(4, 2));
  CHECK(engine.plan().cause == Cause::kBudget);
  CHECK(engine.running() == "[0]");
  CHECK(engine.held(kB) == 0);
  CHECK(engine.stats().answered_later == 0);
}

}  // namespace
}  // namespace pinfold::test
