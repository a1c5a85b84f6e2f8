// Preemption by recompute: rule O6 (whom, and how many), decision 4 (late tokens, re-admission) and the
// counts. Passes are counted from zero, steps from one.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/scheduler/harness.h"

namespace pinfold::test {
namespace {

TEST_CASE("preemption (O6, case B45): of two that each hold half, the older wins and both finish") {
  // U = 4, B = 4: A and B have prompt 8 and 8 tokens, 15 positions or four blocks each. By hand:
  // pass 0 both prefill; pass 1 both want a third block, B goes; A yields its 8th token in pass 7;
  // B comes back in pass 8 with 9 known tokens, of which 8 were computed before, and yields tokens
  // 2..8 in passes 8..14.
  Engine engine(engine_with(4, 4));
  engine.add(kA, known(8, 8));
  engine.add(kB, known(8, 8));
  engine.step();
  CHECK(engine.table(kA) == "[1, 2]");
  CHECK(engine.table(kB) == "[3, 4]");
  engine.step();
  CHECK(engine.running() == "[0]");
  CHECK(engine.table(kA) == "[1, 2, 4]");  // B's table came back in reverse: 4, 3
  CHECK(engine.counts(kB) == "H 9 C 0 F 0");
  CHECK(engine.held(kB) == 0);
  engine.steps(5);  // passes 2..6
  CHECK(engine.ends() == "");
  engine.step();  // pass 7
  CHECK(engine.ends() == "0 limit 8");
  engine.step();  // pass 8
  CHECK(engine.chunks() == "1[0,9)!");
  engine.steps(5);  // passes 9..13
  CHECK(engine.ends() == "0 limit 8");
  engine.step();  // pass 14
  CHECK(engine.ends() == "0 limit 8; 1 limit 8");
  CHECK(engine.steps_planned() == 15);
  CHECK(engine.stats().preemptions == 1);
  CHECK(engine.stats().self_preemptions == 0);
  CHECK(engine.stats().recomputed_rows == 8);
  CHECK(engine.stats().answered_ok == 2);  // of requests: B's second admission is no further one
  CHECK(engine.last_end().preemptions == 1);
  CHECK(engine.is_drained());
}

TEST_CASE("preemption (O6, case B59): one missing block preempts one and ends nobody") {
  // U = 4, four sequences of one block; only A, with 3 + 2 tokens, wants a second one.
  Engine engine(engine_with(4, 4));
  engine.add(kA, known(3, 3));
  for (const SequenceId id : {kB, kC, kD}) engine.add(id, known(1, 3));
  engine.step();
  engine.step();
  CHECK(engine.stats().preemptions == 0);
  engine.plan();
  CHECK(engine.running() == "[0, 1, 2]");
  CHECK(engine.waiting() == "[3]");
  CHECK(engine.stats().preemptions == 1);
  CHECK(engine.table(kA) == "[1, 4]");
  engine.finish_step();
  engine.drain();
  CHECK(engine.stats().preemptions == 1);
  CHECK(engine.ends() == "0 limit 3; 1 limit 3; 2 limit 3; 3 limit 3");
  CHECK(engine.is_drained());
}

TEST_CASE("preemption (O6): the newest is the victim even where it is the one that needs a block") {
  // U = 3: A [1, 2] with room to position 7; B [3] wants a second block at position 4.
  Engine engine(engine_with(3, 4));
  engine.add(kA, known(5, 3));
  engine.add(kB, known(4, 4));
  engine.step();
  engine.plan();
  CHECK(engine.running() == "[0]");
  CHECK(engine.waiting() == "[1]");
  CHECK(engine.stats().self_preemptions == 1);
  CHECK(engine.table(kA) == "[1, 2]");
  engine.finish_step();
  engine.drain();
  CHECK(engine.ends() == "0 limit 3; 1 limit 4");
  CHECK(engine.is_drained());
}

TEST_CASE("preemption (O6): a victim whose blocks are all shared makes no room, so the next goes") {
  // U = 3, B = 4: A(4) [1], B(8) [2, 3], and C, a decode fork of B at C = 8, waits with pins on both:
  // it needs two blocks (O8). A wants a second block at position 4. B, the newest, frees nothing; then
  // A itself goes. Nothing runs, so the fork is demoted (decision 7): 3 and 2 follow 1 on the free
  // list, and A, at the head with 5 known tokens, comes back in the same call.
  Engine engine(engine_with(3, 4));
  engine.add(kA, known(4, 9));
  engine.add(kB, known(8, 4));
  engine.step();
  engine.fork(kB, kC, known(1, 3));
  CHECK(engine.table(kC) == "[2, 3]");
  engine.plan();
  CHECK(engine.stats().preemptions == 2);
  CHECK(engine.stats().self_preemptions == 1);
  CHECK(engine.stats().sharing_lost == 1);
  CHECK(engine.running() == "[0]");
  CHECK(engine.table(kA) == "[1, 3]");
  CHECK(engine.waiting() == "[1, 2]");
  engine.finish_step();
  engine.drain();
  CHECK(engine.ends() == "0 limit 9; 1 limit 4; 2 limit 3");
  CHECK(engine.is_drained());
}

TEST_CASE(
    "preemption (case B62): a restart prefills prompt and output, then emits the next token") {
  // B(3) is preempted after 5 tokens: 8 known, 7 computed (the fifth was never written). A(4) takes
  // its third block at position 8, in pass 5. U = 4: two blocks each until then.
  Engine engine(engine_with(4, 4));
  engine.add(kA, known(4, 8));
  engine.add(kB, known(3, 10));
  engine.steps(5);
  CHECK(engine.counts(kB) == "H 8 C 7 F 0");
  CHECK(engine.emitted(kB) == 5);
  engine.step();
  CHECK(engine.waiting() == "[1]");
  CHECK(engine.counts(kB) == "H 8 C 0 F 0");
  engine.steps(2);
  CHECK(engine.ends() == "0 limit 8");
  engine.plan();
  CHECK(engine.chunks() == "1[0,8)!");
  CHECK(engine.last_plan().chunks[0].tokens_before == TokenCount(5));
  CHECK(engine.stats().recomputed_rows == 7);  // by high-water mark: row 7 is new
  engine.finish_step();
  CHECK(engine.emitted(kB) == 6);
  CHECK(engine.counts(kB) == "H 9 C 8 F 0");
  engine.drain();
  CHECK(engine.ends() == "0 limit 8; 1 limit 10");
}

TEST_CASE("preemption (decision 4): the same request twice, and no token twice or lost") {
  // U = 5, B = 2. A(2, 7) and B(2, 7): 8 positions, 4 blocks each. At pass n a sequence that started
  // in pass 0 needs ceil((2 + n) / 2) blocks. Pass 3: A takes the fifth, B has none and goes with
  // H = 5, C = 4. A ends in pass 6. C(2, 7), of better priority, joins in pass 7 ahead of B.
  Engine engine(engine_with(5, 2));
  engine.add(kA, with_priority(known(2, 7), 1));
  engine.add(kB, with_priority(known(2, 7), 1));
  engine.steps(4);
  CHECK(engine.waiting() == "[1]");
  CHECK(engine.emitted(kB) == 3);
  CHECK(engine.stats().self_preemptions == 1);
  engine.steps(3);
  CHECK(engine.ends() == "0 limit 7");
  engine.add(kC, with_priority(known(2, 7), 0));
  engine.step();  // pass 7: C one block, B three; B yields its fourth token
  CHECK(engine.running() == "[2, 1]");
  CHECK(engine.emitted(kB) == 4);
  CHECK(engine.stats().recomputed_rows == 4);
  engine.step();  // pass 8: C's second block is the last one
  CHECK(engine.counts(kB) == "H 7 C 6 F 0");
  engine.plan();  // pass 9: B wants a fourth block
  CHECK(engine.running() == "[2]");
  CHECK(engine.counts(kB) == "H 7 C 0 F 0");
  CHECK(engine.view(kB).epoch == 2);
  engine.finish_step();
  engine.drain();
  CHECK(engine.ends() == "0 limit 7; 2 limit 7; 1 limit 7");
  CHECK(engine.last_end().preemptions == 2);
  CHECK(engine.stats().preemptions == 2);
  CHECK(engine.stats().recomputed_rows == 4 + 6);
  CHECK(engine.is_drained());
}

// --- With steps in flight ---------------------------------------------------------------------------

/// Case B24's setting: U = 4, B = 4, overlap 1, A(4) and B(4) in lock step; the pass that plans row 8
/// finds no third block while row 7 of both is in flight in step 5.
Engine two_at_the_brink(RequestSpec of_a, RequestSpec of_b) {
  SchedulerOptions options = engine_with(4, 4);
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, of_a);
  engine.add(kB, of_b);
  engine.steps(5);
  return engine;
}

TEST_CASE("preemption (O6, O9): a victim in flight parks, and one victim is enough") {
  Engine engine = two_at_the_brink(known(4, 8), known(4, 8));
  CHECK(engine.counts(kA) == "H 8 C 7 F 1");
  CHECK(engine.counts(kB) == "H 8 C 7 F 1");
  CHECK(engine.table(kB) == "[2, 4]");
  CHECK(engine.plan().empty);
  CHECK(engine.waiting() == "[1]");
  CHECK(engine.stats().preemptions == 1);
  CHECK(engine.stats().sat_out == 1);  // A: the two parked blocks cover the one it lacks
  CHECK(engine.parked() == 2);
  CHECK(engine.available() == 0);
  CHECK(engine.scheduler().stats().parked == 1);
  engine.finish_step();
  CHECK(engine.parked() == 0);
  CHECK(engine.free_blocks() == "[4, 2]");
  engine.plan();
  CHECK(engine.table(kA) == "[1, 3, 4]");
  CHECK(engine.joined() == "[0]");
}

TEST_CASE(
    "preemption (decision 4, case B24): the late token counts once and touches no reset count") {
  Engine engine = two_at_the_brink(known(4, 8), known(4, 8));
  engine.plan();
  CHECK(engine.emitted(kB) == 4);
  CHECK(engine.counts(kB) == "H 8 C 0 F 0");
  CHECK(engine.view(kB).epoch == 1);
  engine.finish_step();
  CHECK(engine.emitted(kB) == 5);
  CHECK(engine.counts(kB) == "H 9 C 0 F 0");
  engine.drain();
  CHECK(engine.ends() == "0 limit 8; 1 limit 8");
  // Rows 0..7 were computed before; row 8, the fifth token's, is new in the restart's nine.
  CHECK(engine.stats().recomputed_rows == 8);
  CHECK(engine.stats().preemptions == 1);
  CHECK(engine.is_drained());
}

TEST_CASE("preemption (decision 4): re-admission waits for the victim's last planned step") {
  // A is aborted after B was preempted, so nothing runs; step 5 of both is still in flight.
  Engine engine = two_at_the_brink(known(4, 8), known(4, 8));
  engine.plan();
  engine.abort(kA);
  CHECK(engine.plan().cause == Cause::kFence);
  CHECK(engine.why(kB) == "fence, until step 5");
  CHECK(engine.stats().later_fence == 1);
  engine.finish_step();
  engine.plan();
  CHECK(engine.chunks() == "1[0,9)!");
}

TEST_CASE("preemption (decision 4): a late result may end a request that waits") {
  Engine engine = two_at_the_brink(hidden(4, 100), hidden(4, 100));
  engine.plan();
  CHECK(engine.waiting() == "[1]");
  engine.finish_step({stops(kB)});
  CHECK(engine.ends() == "1 stop 5");
  CHECK(engine.waiting() == "[]");
  CHECK_FALSE(engine.knows(kB));
  CHECK(engine.last_end().preemptions == 1);
  engine.abort(kA);
  CHECK(engine.is_drained());
}

TEST_CASE("preemption (decision 4): a limit reached by a late token ends a request that waits") {
  // B's fifth and last token is in flight when it is preempted.
  Engine engine = two_at_the_brink(known(4, 8), known(4, 5));
  engine.plan();
  CHECK(engine.waiting() == "[1]");
  engine.finish_step();
  CHECK(engine.ends() == "1 limit 5");
  engine.drain();
  CHECK(engine.ends() == "1 limit 5; 0 limit 8");
  CHECK(engine.stats().recomputed_rows == 0);
  CHECK(engine.is_drained());
}

TEST_CASE("preemption (decision 2): whoever ends by a late token ends ahead of those that run") {
  // Ends go in join order; B, preempted, has none any more: its blocks are the older release.
  Engine engine = two_at_the_brink(hidden(4, 100), hidden(4, 100));
  engine.plan();
  CHECK(engine.running() == "[0]");
  CHECK(engine.waiting() == "[1]");
  engine.finish_step({stops(kA), stops(kB)});
  CHECK(engine.ends() == "1 stop 5; 0 stop 5");
  CHECK(engine.is_drained());
}

TEST_CASE("preemption (decision 4): both late tokens of overlap 2 count, then it comes back") {
  // As above with overlap 2, one step later: rows 6 and 7 of both are in flight in steps 4 and 5.
  SchedulerOptions options = engine_with(4, 4);
  options.overlap = 2;
  Engine engine(options);
  engine.add(kA, known(4, 8));
  engine.add(kB, known(4, 8));
  engine.steps(5);
  CHECK(engine.counts(kB) == "H 7 C 6 F 2");
  CHECK(engine.plan().empty);
  CHECK(engine.counts(kB) == "H 7 C 0 F 0");
  CHECK(engine.parked() == 2);
  engine.finish_step();
  CHECK(engine.counts(kB) == "H 8 C 0 F 0");
  CHECK(engine.parked() == 2);  // behind step 5
  engine.plan();
  CHECK(engine.why(kB) == "fence, until step 5");
  engine.finish_step();
  CHECK(engine.counts(kB) == "H 9 C 0 F 0");
  CHECK(engine.parked() == 0);
  engine.drain();
  CHECK(engine.ends() == "0 limit 8; 1 limit 8");
  CHECK(engine.is_drained());
}

TEST_CASE("preemption (O6, case B51): a fenced victim is not followed by the rest of the batch") {
  // U = 4, overlap 1, four sequences of one block each, row 3 in flight; all want a second block for
  // row 4. D goes and parks; its one block covers what each of the others lacks, so they sit out. In
  // the next pass A takes it; B lacks one, nothing is parked, C goes and frees its block at once.
  SchedulerOptions options = engine_with(4, 4);
  options.overlap = 1;
  Engine engine(options);
  for (const SequenceId id : {kA, kB, kC, kD}) engine.add(id, known(3, 5));
  engine.steps(2);
  CHECK(engine.plan().empty);
  CHECK(engine.running() == "[0, 1, 2]");
  CHECK(engine.stats().preemptions == 1);
  CHECK(engine.stats().sat_out == 3);
  engine.finish_step();
  engine.plan();
  CHECK(engine.running() == "[0, 1]");
  CHECK(engine.stats().preemptions == 2);
  CHECK(engine.stats().sat_out == 3);
  CHECK(engine.in_step(kA));
  CHECK(engine.in_step(kB));
  engine.drain();
  CHECK(engine.ends() == "0 limit 5; 1 limit 5; 2 limit 5; 3 limit 5");
  CHECK(engine.is_drained());
}

TEST_CASE("preemption (O6): those who need no block neither sit out nor go") {
  // Case B51 where only A wants a block: the others have room, so nobody else even sits out.
  SchedulerOptions options = engine_with(4, 4);
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, known(3, 5));
  for (const SequenceId id : {kB, kC, kD}) engine.add(id, known(1, 3));
  engine.steps(2);
  engine.plan();
  CHECK(engine.stats().preemptions == 1);
  CHECK(engine.stats().sat_out == 1);
  CHECK_FALSE(engine.in_step(kA));
  CHECK(engine.in_step(kB));
  CHECK(engine.in_step(kC));
  engine.finish_step();
  engine.plan();
  CHECK(engine.table(kA) == "[1, 4]");
  engine.drain();
  CHECK(engine.is_drained());
}

TEST_CASE("preemption (decision 5): without fences a victim's blocks are free at once") {
  SchedulerOptions options = engine_with(4, 4);
  options.overlap = 1;
  options.fence = FenceMode::kUnorderedWriters;
  Engine engine(options);
  engine.add(kA, known(4, 8));
  engine.add(kB, known(4, 8));
  engine.steps(5);
  engine.plan();
  CHECK(engine.parked() == 0);
  CHECK(engine.table(kA) == "[1, 3, 4]");
  CHECK(engine.stats().sat_out == 0);
  CHECK(engine.counts(kB) == "H 8 C 0 F 0");
  engine.finish_step();  // step 5: B's late token still counts
  CHECK(engine.counts(kB) == "H 9 C 0 F 0");
  engine.drain();
  CHECK(engine.ends() == "0 limit 8; 1 limit 8");
}

TEST_CASE("preemption (case B50): the whole prompt is claimed, so growth never takes it back") {
  // U = 6, B = 4, four rows a step: A(14, 11), X(20, 2). A prefills in passes 0..3 and ends in pass 13;
  // X needs 5 blocks, prefills in passes 14..18 and ends in pass 19. Nothing is preempted or redone.
  SchedulerOptions options = engine_with(6, 4);
  options.max_sequences = 4;
  options.token_budget = TokenCount(4);
  Engine engine(options);
  engine.add(kA, known(14, 11));
  engine.add(kB, known(20, 2));
  engine.steps(4);
  CHECK(engine.held(kB) == 0);
  CHECK(engine.why(kB) == "blocks, lacking 3, held by 0");
  engine.steps(9);
  CHECK(engine.ends() == "");
  engine.step();
  CHECK(engine.ends() == "0 limit 11");
  engine.steps(5);
  CHECK(engine.ends() == "0 limit 11");
  engine.step();
  CHECK(engine.ends() == "0 limit 11; 1 limit 2");
  CHECK(engine.steps_planned() == 20);
  CHECK(engine.stats().preemptions == 0);
  CHECK(engine.stats().recomputed_rows == 0);
}

TEST_CASE("preemption: a victim inside its prompt starts over with the same prompt") {
  // U = 4, four rows a step: A(3) [1], B(12) [2, 3, 4] has 4 rows when A, at position 4, wants a second
  // block in pass 2. B starts over in pass 3.
  SchedulerOptions options = engine_with(4, 4);
  options.max_sequences = 2;
  options.token_budget = TokenCount(4);
  Engine engine(options);
  engine.add(kA, known(3, 3));
  engine.add(kB, known(12, 1));
  engine.step();
  CHECK(engine.chunks() == "0[0,3)! 1[0,1)");
  engine.step();
  CHECK(engine.chunks() == "1[1,4)");
  engine.plan();
  CHECK(engine.running() == "[0]");
  CHECK(engine.table(kA) == "[1, 4]");
  CHECK(engine.counts(kB) == "H 12 C 0 F 0");
  engine.finish_step();
  CHECK(engine.ends() == "0 limit 3");
  engine.step();
  CHECK(engine.chunks() == "1[0,4)");
  engine.drain();
  CHECK(engine.ends() == "0 limit 3; 1 limit 1");
  CHECK(engine.stats().recomputed_rows == 4);
  CHECK(engine.steps_planned() == 6);
}

TEST_CASE("preemption: a request that waits for blocks in two of its lives is told so in both") {
  // U = 4, B = 4: A(4) and B(12) take all blocks in step 1, and C(4) is refused. B ends; C joins in step 2
  // and is preempted in step 6 by A's row 8, with 8 known tokens: two blocks, of which one is free in
  // steps 7 and 8. The journal says so once a life: the cause changed in between.
  Engine engine(engine_with(4, 4));
  engine.add(kA, known(4, 8));
  engine.add(kB, known(12, 1));
  engine.add(kC, known(4, 8));
  engine.steps(8);
  CHECK(engine.ends() == "1 limit 1; 0 limit 8");
  CHECK(engine.stats().preemptions == 1);
  const std::vector<Record> records = engine.records();
  const unsigned refused =
      static_cast<unsigned>(Answer::kLater) | static_cast<unsigned>(Cause::kBlocks) << 8;
  CHECK(std::count_if(records.begin(), records.end(), [&](const Record& record) {
          return record.verb == Verb::kAnswer && record.detail == refused;
        }) == 2);
  CHECK(engine.stats().later_blocks == 1);  // of requests
}

}  // namespace
}  // namespace pinfold::test
