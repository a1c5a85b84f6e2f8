// Draft rows: reserved before they are written, an upper bound while in flight, cut before anybody is
// preempted, given back with their request (rules O4 and O6, decisions 3 and 8). A verify row with d
// drafts writes 1 + d rows.
#include <doctest/doctest.h>

#include "tests/unit/scheduler/harness.h"

namespace pinfold::test {
namespace {

SchedulerOptions with_slots(std::uint32_t usable_blocks, std::uint32_t usable_drafts,
                            std::uint32_t overlap = 0) {
  SchedulerOptions options = engine_with(usable_blocks, 4);
  options.draft_ids = usable_drafts + 1;
  options.overlap = overlap;
  return options;
}

std::uint32_t draft_slots_free(const Engine& engine) {
  return engine.scheduler().pools().of(PoolKind::kDraftSlots).available().value;
}

TEST_CASE("drafts (decision 3): none are planned unless the request wants them") {
  Engine engine(with_slots(10, 3));
  engine.add(kA, hidden(4, 100));
  engine.step();
  engine.step();
  CHECK(engine.drafted() == "");
  CHECK(draft_slots_free(engine) == 3);
}

TEST_CASE("drafts (O4, case B67): rows beyond the table are reserved before dispatch") {
  // Three processed rows; row 3 and three drafts reach position 6: ceil(7 / 4) = 2 blocks.
  Engine engine(with_slots(10, 1));
  engine.add(kA, hidden(3, 100, 3));
  engine.step();
  CHECK(engine.table(kA) == "[1]");
  engine.plan();
  CHECK(engine.counts(kA) == "H 4 C 3 F 4");
  CHECK(engine.table(kA) == "[1, 2]");
  CHECK(engine.last_plan().draft_rows == 3);
  CHECK(engine.last_plan().decode_rows == 1);
}

TEST_CASE("drafts (O4): the edge of a block, one draft apart") {
  // H = 5 in B = 4: three drafts end at position 7, in block 2; a fourth opens block 3.
  for (const std::uint32_t drafts : {3u, 4u}) {
    Engine engine(with_slots(10, 1));
    engine.add(kA, hidden(4, 100, drafts));
    engine.step();
    engine.plan();
    CHECK(engine.held(kA) == (drafts == 3 ? 2 : 3));
  }
}

TEST_CASE("drafts (decision 3, case B70): with overlap the plan carries the upper bound") {
  // B = 4, d = 3, overlap 1. Plan 3 at four settled rows with a verify row in flight: max(5, 4 + 4 + 1)
  // + 3 = 12, three blocks. Result 2 accepts two rows (C = 6); plan 4: max(7, 6 + 4 + 1) + 3 = 14.
  Engine engine(with_slots(10, 1, 1));
  engine.add(kA, hidden(4, 100, 3));
  engine.plan();
  CHECK(engine.held(kA) == 1);
  engine.plan();  // max(4, 0 + 4 + 1) + 3 = 8
  CHECK(engine.held(kA) == 2);
  engine.finish_step();
  engine.plan();
  CHECK(engine.held(kA) == 3);
  engine.finish_step({yields(kA, 2)});
  CHECK(engine.counts(kA) == "H 7 C 6 F 4");
  CHECK(engine.held(kA) == 3);
  engine.plan();
  CHECK(engine.held(kA) == 4);
}

TEST_CASE("drafts (case B5): three rejected verify rows in sequence lose no block") {
  // U = 3, d = 3: A(4) writes 4..7 and stops with its second token, all drafts rejected.
  Engine engine(with_slots(3, 1));
  for (std::uint32_t n = 0; n < 3; ++n) {
    const SequenceId id{n};
    engine.add(id, hidden(4, 100, 3));
    engine.step();
    engine.plan();
    CHECK(engine.held(id) == 2);
    engine.finish_step({stops(id, 1)});
    CHECK(engine.available() == 3);
    CHECK(draft_slots_free(engine) == 1);
    CHECK(engine.is_drained());
  }
}

TEST_CASE("drafts (decision 8): none free means no drafts, not no row") {
  // One slot: A takes it with its first verify row and keeps it to its end; B runs without.
  Engine engine(with_slots(20, 1));
  engine.add(kA, hidden(4, 3, 3));
  engine.add(kB, hidden(4, 100, 3));
  engine.step();
  CHECK(draft_slots_free(engine) == 1);
  engine.plan();
  CHECK(engine.drafted() == "0:1");  // one of the two tokens that A may yield is its own
  CHECK(engine.in_step(kB));
  CHECK(index_of(engine.view(kA).draft) == 1);
  CHECK(engine.view(kB).draft == kNoBlock);
  engine.finish_step();
  engine.plan();  // A has one token left, so no draft, and keeps the slot
  CHECK(engine.drafted() == "");
  CHECK(index_of(engine.view(kA).draft) == 1);
  engine.finish_step();
  CHECK(engine.ends() == "0 limit 3");
  engine.plan();
  CHECK(engine.drafted() == "1:3");
}

TEST_CASE("drafts (decision 8): an engine without draft slots drafts nothing") {
  Engine engine(with_slots(20, 0));
  engine.add(kA, hidden(4, 100, 3));
  engine.step();
  engine.plan();
  CHECK(engine.drafted() == "");
  CHECK(engine.in_step(kA));
}

TEST_CASE("drafts (decision 8, O10): preemption and abort give the draft slot back") {
  // U = 2: A(3) and B(1), one block each; A wants a second one for row 4, and B, with a draft slot, goes.
  Engine engine(with_slots(2, 2));
  engine.add(kA, known(3, 6));
  engine.add(kB, hidden(1, 100, 1));
  engine.step();
  engine.step();
  CHECK(index_of(engine.view(kB).draft) == 1);
  CHECK(draft_slots_free(engine) == 1);
  engine.plan();
  CHECK(engine.waiting() == "[1]");
  CHECK(draft_slots_free(engine) == 2);
  CHECK(engine.view(kB).draft == kNoBlock);

  Engine other(with_slots(9, 2));
  other.add(kA, hidden(1, 100, 1));
  other.step();
  other.step();
  CHECK(draft_slots_free(other) == 1);
  other.abort(kA);
  CHECK(other.is_drained());
}

TEST_CASE("drafts (decision 1): a known stop clips them, so nothing overruns it") {
  // Output 4: after the first token three are left; a verify row may yield 1 + 2. Positions: 4 + 4 - 1.
  Engine engine(with_slots(10, 1));
  engine.add(kA, known(4, 4, 5));
  engine.step();
  engine.plan();
  CHECK(engine.drafted() == "0:2");
  CHECK(engine.counts(kA) == "H 5 C 4 F 3");
  engine.finish_step({yields(kA, 3)});
  CHECK(engine.ends() == "0 limit 4");
  CHECK(engine.acquired() == 2);
}

TEST_CASE(
    "drafts (decision 1): rows that may reach the limit stop the planning, a rejection resumes "
    "it") {
  // Overlap 1, limit 5: the prompt may yield 1, the verify row 4; then nothing more is planned until
  // it turns out that only 2 were yielded.
  Engine engine(with_slots(10, 1, 1));
  engine.add(kA, known(4, 5, 3));
  engine.step();
  engine.step();
  CHECK(engine.drafted() == "0:3");
  CHECK(engine.plan().empty);
  CHECK(engine.left() == "[0]");
  CHECK(engine.held(kA) == 2);  // max(5, 4 + 4) = 8 positions
  engine.finish_step({yields(kA, 1)});
  engine.plan();
  CHECK(engine.joined() == "[0]");
  CHECK(engine.drafted() == "0:2");
  engine.finish_step({yields(kA, 3)});
  CHECK(engine.ends() == "0 limit 5");
}

TEST_CASE("drafts (case B69): at the model's length one row is left, and no draft") {
  // max_model_len 16 bounds positions. Prompt 12: at 15 processed rows only position 15 is left.
  SchedulerOptions options = with_slots(10, 1);
  options.max_model_len = TokenCount(16);
  Engine engine(options);
  engine.add(kA, hidden(12, 100, 3));
  engine.step();
  engine.plan();
  CHECK(engine.drafted() == "0:3");  // positions 12..15
  engine.finish_step({yields(kA, 2)});
  engine.plan();
  CHECK(engine.drafted() == "0:1");  // 14, 15
  engine.finish_step({yields(kA, 1)});
  CHECK(engine.counts(kA) == "H 16 C 15 F 0");
  engine.plan();
  CHECK(engine.drafted() == "");
  CHECK(engine.counts(kA) == "H 16 C 15 F 1");
  engine.finish_step();
  CHECK(engine.ends() == "0 limit 5");  // 16 - 12 + 1
  CHECK(engine.acquired() == 4);
}

TEST_CASE(
    "drafts (decision 2): a verify row costs 1 + d of the budget, and every row keeps its own") {
  // Five rows a step for A and B, who both want three drafts: A gets 5 - 2 = 3, B none.
  SchedulerOptions options = with_slots(20, 2);
  options.max_sequences = 2;
  options.token_budget = TokenCount(5);
  Engine engine(options);
  engine.add(kA, hidden(2, 100, 3));
  engine.add(kB, hidden(2, 100, 3));
  engine.step();
  engine.plan();
  CHECK(engine.drafted() == "0:3");
  CHECK(engine.last_plan().decode_rows == 2);
  CHECK(engine.last_plan().draft_rows == 3);
  // One more row of budget is one draft for B.
  options.token_budget = TokenCount(6);
  Engine wider(options);
  wider.add(kA, hidden(2, 100, 3));
  wider.add(kB, hidden(2, 100, 3));
  wider.step();
  wider.plan();
  CHECK(wider.drafted() == "0:3 1:1");
}

TEST_CASE(
    "drafts (O6): a sequence alone waits for the result of its draft rows, not for a restart") {
  // U = 2, B = 4, overlap 1, alone. Plan 2: max(4, 0 + 4 + 1) + 3 = 8 positions. Plan 3 counts that
  // verify row as 4 rows: row 4 + 4 = position 8 has no block and A is the newest. Its need is an upper
  // bound: after one accepted row it is position 5, with two drafts to spare.
  Engine engine(with_slots(2, 1, 1));
  engine.add(kA, hidden(4, 100, 3));
  engine.step();
  engine.step();
  CHECK(engine.counts(kA) == "H 5 C 4 F 4");
  CHECK(engine.plan().empty);
  CHECK(engine.stats().sat_out == 1);
  CHECK(engine.stats().preemptions == 0);
  engine.finish_step({yields(kA, 1)});
  engine.plan();
  CHECK(engine.drafted() == "0:2");
  CHECK(engine.counts(kA) == "H 6 C 5 F 3");
}

}  // namespace
}  // namespace pinfold::test
