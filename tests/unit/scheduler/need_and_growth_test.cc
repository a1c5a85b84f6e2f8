// How many blocks a running sequence holds, and when they change hands: rules O1 (block size), O4 and
// O6. Written out: a further row is planned, ceil((max(H, C + F + 1) + d) / B); none is,
// ceil(max(H, C + F) / B).
#include <doctest/doctest.h>

#include "tests/unit/broken_rule.h"
#include "tests/unit/scheduler/harness.h"

namespace pinfold::test {
namespace {

// --- Need -------------------------------------------------------------------------------------------

TEST_CASE("need (O1): a block holds at least one position") {
  CHECK(broken_rule([] { Scheduler scheduler(engine_with(4, 0)); }) == "O1");
}

TEST_CASE(
    "need (O4, case B67): the block comes with the first row in it, not one row early or late") {
  // B = 4, prompt 3. Row 3 is the fourth of block 1; row 4 is the first of block 2.
  Engine engine(engine_with(10, 4));
  engine.add(kA, known(3, 9));
  engine.step();
  engine.plan();
  CHECK(engine.counts(kA) == "H 4 C 3 F 1");
  CHECK(engine.table(kA) == "[1]");
  engine.finish_step();
  engine.plan();
  CHECK(engine.counts(kA) == "H 5 C 4 F 1");
  CHECK(engine.table(kA) == "[1, 2]");
}

TEST_CASE("need (O4): a prompt in flight is not counted twice") {
  // H = 4 and F = 4 are the same four positions: the row planned behind them is position 4, so
  // ceil(5 / 4) = 2 blocks; history + in flight would be 9 positions, 3 blocks.
  SchedulerOptions options = engine_with(10, 4);
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, known(4, 9));
  engine.plan();
  CHECK(engine.counts(kA) == "H 4 C 0 F 4");
  CHECK(engine.table(kA) == "[1]");
  engine.plan();
  CHECK(engine.counts(kA) == "H 4 C 0 F 5");
  CHECK(engine.table(kA) == "[1, 2]");
}

TEST_CASE("need (O4): once the limit is reached in flight no further row is paid for") {
  // 3 + 2 - 1 = 4 positions: block 1 only, at any overlap.
  for (const std::uint32_t overlap : {0u, 1u, 2u}) {
    CAPTURE(overlap);
    SchedulerOptions options = engine_with(10, 4);
    options.overlap = overlap;
    Engine engine(options);
    engine.add(kA, known(3, 2));
    engine.drain();
    CHECK(engine.acquired() == 1);
    CHECK(engine.steps_planned() == 2);
  }
}

TEST_CASE("need (O4, decision 1): blocks of a whole request, by stop mode and overlap") {
  // Known: p + max(o, 1) - 1 positions. Hidden: up to `overlap` overrun rows are written as well,
  // because the stop comes with the result. B = 4, p = 4.
  struct Case {
    std::uint32_t output;
    std::uint32_t blocks_known;
    std::uint32_t blocks_hidden[3];  // by overlap
  };
  const Case cases[] = {
      {1, 1, {1, 2, 2}},  // 4 positions; with overrun rows 5, 6
      {2, 2, {2, 2, 2}},  // 5; 6, 7
      {4, 2, {2, 2, 3}},  // 7; 8, 9
      {5, 2, {2, 3, 3}},  // 8; 9, 10
      {6, 3, {3, 3, 3}},  // 9; 10, 11
  };
  for (const Case& expected : cases) {
    for (const std::uint32_t overlap : {0u, 1u, 2u}) {
      CAPTURE(expected.output);
      CAPTURE(overlap);
      SchedulerOptions options = engine_with(10, 4);
      options.overlap = overlap;
      Engine knows(options);
      knows.add(kA, known(4, expected.output));
      knows.drain();
      CHECK(knows.acquired() == expected.blocks_known);

      Engine hides(options);
      hides.add(kA, hidden(4, 100));
      while (hides.knows(kA)) {
        hides.plan();
        if (hides.in_flight() <= overlap) continue;
        if (hides.emitted(kA) + 1 == expected.output) {
          hides.finish_step({stops(kA)});
        } else {
          hides.finish_step();
        }
      }
      CHECK(hides.last_end().emitted.value == expected.output);
      CHECK(hides.acquired() == expected.blocks_hidden[overlap]);
    }
  }
}

TEST_CASE("need: an output of no tokens writes the prompt and nothing else") {
  Engine engine(engine_with(10, 4));
  engine.add(kA, known(4, 0));
  engine.add(kB, known(5, 0));
  engine.step();
  CHECK(engine.ends() == "0 limit 0; 1 limit 0");
  CHECK(engine.acquired() == 3);  // 1 + 2
}

TEST_CASE("need (O4, case B11): steps that do not count leave no reservation behind") {
  // A at four positions: the next row needs ceil(5 / 4) = 2 blocks, after 8 lost steps as well.
  Engine engine(engine_with(10, 4));
  engine.add(kA, known(4, 9));
  engine.step();
  for (int lost = 0; lost < 8; ++lost) {
    engine.plan();
    CHECK(engine.table(kA) == "[1, 2]");
    engine.fail_step();
    CHECK(engine.counts(kA) == "H 5 C 4 F 0");
  }
  CHECK(engine.held(kA) == 2);
}

// --- Growth and surplus -----------------------------------------------------------------------------

TEST_CASE("growth (O6, case B67): two blocks at once where seven drafts need them") {
  // Four rows in block 1; row 4 and seven drafts reach position 11: ceil(12 / 4) = 3 blocks.
  SchedulerOptions options = engine_with(10, 4);
  options.draft_ids = 2;
  Engine engine(options);
  engine.add(kA, hidden(4, 100, 7));
  engine.step();
  CHECK(engine.table(kA) == "[1]");
  engine.plan();
  CHECK(engine.drafted() == "0:7");
  CHECK(engine.table(kA) == "[1, 2, 3]");
}

TEST_CASE("surplus (O6): what a sit-out no longer needs goes back at once, free and not parked") {
  // B = 1, overlap 1, A with two drafts, B(1) beside it, ten blocks. Worked by hand:
  //   plan 1: A [1], B [2]
  //   plan 2: A max(1, 0 + 1 + 1) + 2 = 4 -> [1, 3, 4, 5]; B 2 -> [2, 6]
  //   result 1; plan 3: A max(2, 1 + 3 + 1) + 2 = 7 -> + [7, 8, 9]; B 3 -> + [10]; none free
  //   result 2 rejects both drafts: A is H 3 C 2 F 3. B is aborted with step 3 in flight: 3 parked.
  //   plan 4: A wants max(3, 2 + 3 + 1) + 2 = 8 of 7 held, parked blocks cover one: it sits out and
  //   keeps max(3, 2 + 3) = 5: blocks 8 and 9 go back in reverse.
  SchedulerOptions options = engine_with(10, 1);
  options.overlap = 1;
  options.draft_ids = 2;
  Engine engine(options);
  engine.add(kA, hidden(1, 100, 2));
  engine.add(kB, hidden(1, 100));
  engine.step();
  engine.plan();
  CHECK(engine.table(kA) == "[1, 3, 4, 5]");
  engine.finish_step();
  engine.plan();
  CHECK(engine.table(kA) == "[1, 3, 4, 5, 7, 8, 9]");
  CHECK(engine.table(kB) == "[2, 6, 10]");
  engine.finish_step({yields(kA, 1)});
  CHECK(engine.counts(kA) == "H 3 C 2 F 3");
  engine.abort(kB);
  CHECK(engine.parked() == 3);
  CHECK(engine.plan().empty);
  CHECK(engine.table(kA) == "[1, 3, 4, 5, 7]");
  CHECK(engine.free_blocks() == "[9, 8]");
  CHECK(engine.parked() == 3);
  CHECK(engine.stats().sat_out == 1);
  // Result 3 accepts all: A is C 5, H 6; B's blocks come back in reverse; A needs 6 + 2 = 8.
  engine.finish_step({yields(kA, 3)});
  CHECK(engine.counts(kA) == "H 6 C 5 F 0");
  CHECK(engine.free_blocks() == "[9, 8, 10, 6, 2]");
  engine.plan();
  CHECK(engine.table(kA) == "[1, 3, 4, 5, 7, 9, 8, 10]");
}

TEST_CASE("growth (O6): drafts are cut to what fits before anybody is preempted") {
  // U = 3, B beside A holds one block until it ends, so A has two: positions 0..7. Seven drafts are
  // wanted; 8 - 5 = 3 fit behind five known tokens, then 2, then 1.
  SchedulerOptions options = engine_with(3, 4);
  options.draft_ids = 2;
  Engine engine(options);
  engine.add(kA, hidden(4, 100, 7));
  engine.add(kB, known(1, 4));
  engine.step();
  engine.plan();
  CHECK(engine.drafted() == "0:3");
  CHECK(engine.table(kA) == "[1, 3]");
  CHECK(engine.stats().drafts_cut == 4);
  engine.finish_step();
  engine.step();
  CHECK(engine.drafted() == "0:2");
  engine.step();
  CHECK(engine.drafted() == "0:1");
  CHECK(engine.ends() == "1 limit 4");
  engine.step();  // B's block: 12 - 8 = 4
  CHECK(engine.drafted() == "0:4");
  CHECK(engine.stats().preemptions == 0);
}

TEST_CASE("growth (O6): a row whose drafts do not fit at all goes on without them") {
  // U = 2: at H = 8 the two blocks are full of known tokens and row 7; a ninth position is nowhere.
  SchedulerOptions options = engine_with(2, 4);
  options.draft_ids = 2;
  Engine engine(options);
  engine.add(kA, hidden(7, 100, 1));
  engine.step();
  engine.plan();
  CHECK(engine.counts(kA) == "H 8 C 7 F 1");
  CHECK(engine.drafted() == "");
  CHECK(engine.stats().drafts_cut == 1);
  CHECK(engine.stats().preemptions == 0);
}

TEST_CASE("growth (O6): drafts preempt nobody while parked blocks cover the row without them") {
  // U = 3, overlap 1: A [1], B [2], C [3]; C is aborted in flight, so block 3 is parked. A's row 4
  // needs one block, its four drafts a second one. One parked block covers the row: A sits out, and B,
  // the newest, goes on.
  SchedulerOptions options = engine_with(3, 4);
  options.overlap = 1;
  options.draft_ids = 2;
  Engine engine(options);
  engine.add(kA, hidden(4, 100, 4));
  engine.add(kB, hidden(1, 100));
  engine.add(kC, hidden(1, 100));
  engine.plan();
  engine.abort(kC);
  CHECK(engine.parked() == 1);
  engine.plan();
  CHECK(engine.stats().preemptions == 0);
  CHECK(engine.stats().sat_out == 1);
  CHECK_FALSE(engine.in_step(kA));
  CHECK(engine.in_step(kB));
  engine.finish_step();
  engine.plan();  // block 3 is back: row 4 and three drafts fit
  CHECK(engine.table(kA) == "[1, 3]");
  CHECK(engine.drafted() == "0:3");
}

TEST_CASE("growth (O6): growth_check one_free asks for a free block whether or not it grows") {
  // Chapter 4.3.4: the decode loop calls the adjustment only after checking that a block is free.
  // Three prompts of 2 fill U = 3; row 2 needs no block.
  for (const GrowthCheck check : {GrowthCheck::kShortfall, GrowthCheck::kOneFree}) {
    SchedulerOptions options = engine_with(3, 4);
    options.growth_check = check;
    Engine engine(options);
    for (const SequenceId id : {kA, kB, kC}) engine.add(id, known(2, 3));
    engine.step();
    engine.plan();
    if (check == GrowthCheck::kShortfall) {
      CHECK(engine.running() == "[0, 1, 2]");
      CHECK(engine.stats().preemptions == 0);
    } else {
      CHECK(engine.running() == "[0, 1]");  // C made room that nobody took
      CHECK(engine.stats().preemptions == 1);
      CHECK(engine.available() == 1);
    }
    engine.finish_step();
    engine.drain();
    CHECK(engine.is_drained());
  }
}

TEST_CASE("growth: release order forward gives a table back from its first block on") {
  for (const ReleaseOrder order : {ReleaseOrder::kReverse, ReleaseOrder::kForward}) {
    SchedulerOptions options = engine_with(5, 4);
    options.release_order = order;
    Engine engine(options);
    engine.add(kA, known(12, 1));
    engine.step();
    // Experiment 3 of chapter 4.6.
    CHECK(engine.free_blocks() ==
          (order == ReleaseOrder::kReverse ? "[4, 5, 3, 2, 1]" : "[4, 5, 1, 2, 3]"));
  }
}

TEST_CASE("growth: free order LIFO issues the block that came back last") {
  SchedulerOptions options = engine_with(5, 4);
  options.free_order = FreeOrder::kLifo;
  Engine engine(options);
  engine.add(kA, known(8, 1));
  engine.step();
  CHECK(engine.free_blocks() == "[1, 2, 3, 4, 5]");  // 2 came back, then 1
  engine.add(kB, known(4, 1));
  engine.plan();
  CHECK(engine.table(kB) == "[1]");
}

}  // namespace
}  // namespace pinfold::test
