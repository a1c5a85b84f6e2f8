// Reuse of prefixes: what is found, when, and what it costs. Expected values are worked out by hand; cases
// (B75, ...) are faults seen in real engines. Keys are small numbers: 10, 11, ... name the blocks of one
// text, 20, 21, ... those of another.
#include <doctest/doctest.h>

#include "tests/unit/broken_rule.h"
#include "tests/unit/scheduler/harness.h"
#include "tests/unit/scheduler/text_keys.h"

namespace pinfold::test {
namespace {

SchedulerOptions reuse_with(std::uint32_t usable_blocks, std::uint32_t block_size) {
  SchedulerOptions options = engine_with(usable_blocks, block_size);
  options.reuse = Switch::kOn;
  return options;
}

TEST_CASE(
    "prefix (B75, decision 14): nothing is found before the step that wrote it has completed") {
  Engine engine(reuse_with(12, 4));
  engine.add(kA, known(9, 4), Text(1, 2, 9));
  engine.add(kB, known(9, 4), Text(1, 2, 9));
  engine.plan();
  CHECK(engine.chunks() == "0[0,9)! 1[0,9)!");
  CHECK(engine.table(kB) == "[4, 5, 6]");
  engine.finish_step();
  CHECK(engine.ids_with(Verb::kPublish) == "[1, 2]");  // the first one's, in join order
  engine.add(kC, known(9, 4), Text(1, 2, 9));
  engine.plan();
  CHECK(engine.table(kC) == "[1, 2, 7]");  // the tail's one row is the last token: computed
  CHECK(engine.chunks() == "2[8,9)!");
  CHECK(engine.copies().empty());
  CHECK(engine.owners(1) == 2);
  CHECK(engine.stats().prefix_queries == 27);
  CHECK(engine.stats().prefix_hits == 8);
  CHECK(engine.stats().prefix_blocks == 9);
  CHECK(engine.stats().prefix_block_hits == 2);
  engine.finish_step();
  engine.drain();
  CHECK(engine.is_drained());
}

TEST_CASE(
    "prefix (B75): a request that is withdrawn publishes nothing, whatever the device still does") {
  SchedulerOptions options = reuse_with(12, 4);
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, known(8, 4), Text(1, 2));
  engine.plan();
  engine.abort(kA);
  engine.finish_step();
  engine.add(kB, known(8, 4), Text(1, 2));
  engine.plan();
  CHECK(engine.chunks() == "1[0,8)!");
  engine.drain();
  CHECK(engine.stats().prefix_hits == 0);
}

TEST_CASE("prefix (B109): free, idle and owned are told apart, and idle blocks are available") {
  Engine engine(reuse_with(10, 4));
  for (std::uint32_t n = 0; n < 4; ++n) engine.add(SequenceId{n}, known(8, 1), Text(n + 1, 2));
  engine.drain();
  CHECK(engine.owned() == 0);
  CHECK(engine.free_blocks() == "[9, 10]");
  CHECK(engine.idle_blocks() == "[2, 1, 4, 3, 6, 5, 8, 7]");  // the tail of each first
  CHECK(engine.available() == 10);
  engine.add(kE, known(36, 1));
  engine.plan();
  CHECK(engine.table(kE) == "[9, 10, 2, 1, 4, 3, 6, 5, 8]");
  CHECK(engine.ids_with(Verb::kEvict) == "[2, 1, 4, 3, 6, 5, 8]");
  CHECK(engine.idle_blocks() == "[7]");
  CHECK(engine.stats().evicted == 7);
  engine.finish_step();
  engine.drain();
}

TEST_CASE(
    "prefix: of a prompt that is found to its end, the last block is copied and one row computed") {
  for (const TailCopy copy : {TailCopy::kWholeBlock, TailCopy::kValidRows}) {
    SchedulerOptions options = reuse_with(8, 4);
    options.tail_copy = copy;
    Engine engine(options);
    engine.add(kA, known(8, 1), Text(1, 2));
    engine.drain();
    engine.add(kB, known(8, 3), Text(1, 2));
    engine.plan();
    CHECK(engine.table(kB) == "[1, 3]");
    CHECK(engine.copies() == (copy == TailCopy::kWholeBlock ? "block 2>3:4" : "block 2>3:3"));
    CHECK(engine.chunks() == "1[7,8)!");
    CHECK(engine.owners(2) == 1);  // the copy's
    CHECK(engine.parked() == 1);
    CHECK(engine.idle_blocks() == "[]");
    engine.pass_copies();
    CHECK(engine.idle_blocks() == "[2]");
    CHECK(engine.stats().prefix_hits == 7);
    CHECK(engine.stats().prefix_tail_hits == 1);
    CHECK(engine.stats().block_copies == 1);
    engine.finish_step();
    engine.drain();
    // Its copy of block 2's content was not published: the first one stays.
    CHECK(engine.stats().published == 2);
    CHECK(engine.idle_blocks() == "[2, 1]");
  }
}

TEST_CASE("prefix: the first rows of a block are found by the key of the prompt's tail") {
  Engine engine(reuse_with(20, 4));
  engine.add(kA, known(10, 4), Text(1, 2, 10));
  engine.steps(2);  // it goes on writing in block 3 behind the tail
  CHECK(engine.ids_with(Verb::kPublish) == "[1, 2]");
  engine.add(kB, known(10, 1), Text(1, 2, 10));
  engine.plan();
  CHECK(engine.table(kB) == "[1, 2, 4]");
  CHECK(engine.copies() == "block 3>4:4");
  CHECK(engine.chunks() == "1[9,10)!");
  engine.pass_copies();
  engine.finish_step();
  engine.add(kC, known(12, 1), Text(1, 2, 10));  // goes on behind the same tail
  engine.plan();
  CHECK(engine.chunks() == "2[10,12)!");
  engine.pass_copies();
  engine.finish_step();
  engine.add(kD, known(12, 1), Text(1, 3, 0));  // a whole third block: no tail of this name
  engine.plan();
  CHECK(engine.chunks() == "3[8,12)!");
  CHECK(engine.stats().prefix_tail_hits == 2);
  engine.finish_step();
  engine.drain();
}

TEST_CASE("prefix: a tail whose source would be one block too many is computed instead") {
  Engine engine(reuse_with(3, 4));
  engine.add(kA, known(10, 1), Text(1, 2, 10));
  engine.drain();
  CHECK(engine.idle_blocks() == "[3, 2, 1]");
  engine.add(kB, known(10, 1), Text(1, 2, 10));
  engine.plan();
  CHECK(engine.table(kB) == "[1, 2, 3]");
  CHECK(engine.ids_with(Verb::kEvict) == "[3]");
  CHECK(engine.chunks() == "1[8,10)!");
  engine.finish_step();
  engine.drain();
}

TEST_CASE(
    "prefix (B108, I11): a refusal pins nothing and books nothing, however often it is tried") {
  Engine engine(reuse_with(6, 4));
  engine.add(kA, known(8, 1), Text(1, 2));
  engine.drain();
  engine.add(kB, known(13, 4));  // 16 positions: 4 blocks to its end
  engine.step();
  engine.add(kC, known(12, 1), Text(1, 2));
  engine.step();
  CHECK(engine.why(kC) ==
        "blocks, lacking 1, held by 1");  // one fresh and two idle of two available
  CHECK(engine.idle_blocks() == "[2, 1]");
  CHECK(engine.stats().prefix_hits == 0);
  engine.step();
  CHECK(engine.idle_blocks() == "[2, 1]");
  engine.step();
  engine.plan();
  CHECK(engine.table(kC) == "[1, 2, 6]");
  CHECK(engine.chunks() == "2[8,12)!");
  CHECK(engine.stats().prefix_queries == 8 + 12);
  CHECK(engine.stats().prefix_hits == 8);
  CHECK(engine.stats().answered_later == 1);
  engine.finish_step();
}

TEST_CASE("prefix: blocks that others own cost nothing, idle ones no longer count as available") {
  Engine engine(reuse_with(6, 4));
  engine.add(kA, known(8, 8), Text(1, 2));  // 15 positions: 4 blocks
  engine.step();
  engine.add(kB, known(12, 1), Text(1, 2));
  engine.plan();  // A takes its third block; B shares two and takes one
  CHECK(engine.table(kB) == "[1, 2, 4]");
  CHECK(engine.available() == 2);
  engine.finish_step();
  CHECK(engine.owners(1) == 1);
  engine.drain();
}

TEST_CASE("prefix (B65): a preempted request finds its own blocks when it comes back") {
  Engine engine(reuse_with(5, 4));
  engine.add(kA, known(4, 8));
  engine.add(kB, known(8, 12), Text(2, 2));
  engine.steps(5);
  CHECK(engine.table(kA) == "[1, 4]");
  CHECK(engine.table(kB) == "[2, 3, 5]");
  engine.step();  // A's ninth position: B goes
  CHECK(engine.stats().preemptions == 1);
  CHECK(engine.table(kA) == "[1, 4, 5]");
  CHECK(engine.idle_blocks() == "[3, 2]");
  while (engine.knows(kA)) engine.step();
  engine.plan();
  CHECK(engine.chunks() == "1[8,13)!");  // 8 + 5 tokens known
  CHECK(engine.table(kB) == "[2, 3, 5, 4]");
  CHECK(engine.stats().resume_hits == 8);
  CHECK(engine.stats().prefix_hits == 0);
  CHECK(engine.stats().recomputed_rows == 4);  // positions 8 to 11
  engine.finish_step();
  engine.drain();
  CHECK(engine.ends() == "0 limit 8; 1 limit 12");
}

TEST_CASE(
    "prefix (B65): what was evicted meanwhile is computed again, and what follows is found again") {
  Engine engine(reuse_with(4, 4));
  engine.add(kA, known(13, 1), Text(1, 3));
  engine.drain();
  CHECK(engine.idle_blocks() == "[3, 2, 1]");
  engine.add(kB, known(8, 1));  // takes 4, which is free, and 3
  engine.drain();
  engine.add(kC, known(13, 1), Text(1, 3));
  engine.plan();
  CHECK(engine.chunks() == "2[8,13)!");
  engine.finish_step();
  engine.drain();
  CHECK(engine.stats().published == 4);
}

TEST_CASE(
    "prefix: FIFO evicts the head of a text, whose rest is found once the head is there again") {
  SchedulerOptions options = reuse_with(4, 4);
  options.eviction = Eviction::kFifo;
  Engine engine(options);
  engine.add(kA, known(13, 1), Text(1, 3));
  engine.drain();
  CHECK(engine.idle_blocks() == "[1, 2, 3]");
  engine.add(kB, known(8, 1));
  engine.drain();
  CHECK(engine.idle_blocks() == "[2, 3]");
  engine.add(kC, known(5, 1), Text(1, 1));
  engine.drain();
  engine.add(kD, known(13, 1), Text(1, 3));
  engine.plan();
  CHECK(engine.chunks() == "3[12,13)!");
  engine.finish_step();
  engine.drain();
}

TEST_CASE("prefix (B78): a running request never looks again") {
  SchedulerOptions options = reuse_with(20, 4);
  options.token_budget = TokenCount(12);
  Engine engine(options);
  engine.add(kA, known(16, 1), Text(1, 4));
  engine.step();
  engine.add(kB, known(21, 1), Text(1, 4));
  engine.plan();
  CHECK(engine.chunks() == "0[12,16)! 1[12,20)");
  CHECK(engine.table(kB) == "[1, 2, 3, 5, 6, 7]");
  engine.finish_step();
  engine.plan();
  CHECK(engine.chunks() == "1[20,21)!");
  CHECK(engine.table(kB) == "[1, 2, 3, 5, 6, 7]");
  CHECK(engine.stats().published == 4);  // B's own fourth block is a second one
  engine.finish_step();
  engine.drain();
}

TEST_CASE("prefix: output is found too where the caller names it, and its row stays steady") {
  for (std::uint32_t overlap = 0; overlap < 3; ++overlap) {
    SchedulerOptions options = reuse_with(20, 4);
    options.overlap = overlap;
    Engine engine(options);
    engine.add(kA, known(4, 20), Text(1, 3));
    while (engine.view(kA).rows.processed.value < 8) engine.step();
    engine.add(kB, known(13, 1), Text(1, 3));
    engine.plan();
    CHECK(engine.chunks() == "1[8,13)!");
    engine.finish_step();
    while (engine.knows(kA) && engine.view(kA).rows.processed.value < 12) engine.step();
    CHECK(engine.stats().published == 3);
    engine.drain();
    CHECK(engine.is_drained());
  }
}

TEST_CASE("prefix (decision 9): a failed step publishes nothing") {
  Engine engine(reuse_with(12, 4));
  engine.add(kA, known(8, 3), Text(1, 2));
  engine.plan();
  engine.fail_step();
  CHECK(engine.stats().published == 0);
  engine.add(kB, known(8, 1), Text(1, 2));
  engine.plan();
  CHECK(engine.chunks() == "0[0,8)! 1[0,8)!");
  engine.finish_step();
  CHECK(engine.stats().published == 2);
  engine.drain();
}

TEST_CASE("prefix (decision 9): a request whose copy was in a failed step starts over") {
  Engine engine(reuse_with(12, 4));
  engine.add(kA, known(8, 1), Text(1, 2));
  engine.drain();
  engine.add(kB, known(8, 3), Text(1, 2));
  engine.plan();
  CHECK(engine.copies() == "block 2>3:4");
  engine.fail_step();
  CHECK(engine.waiting() == "[1]");
  CHECK(engine.stats().preemptions == 1);
  engine.plan();
  CHECK(engine.chunks() == "1[7,8)!");
  engine.finish_step();
  engine.drain();
}

TEST_CASE("prefix (O9): source and destination of a tail's copy wait for its fence") {
  Engine engine(reuse_with(4, 4));
  engine.add(kA, known(7, 1), Text(1, 1, 7));
  engine.drain();
  CHECK(engine.idle_blocks() == "[2, 1]");
  engine.add(kB, known(7, 4), Text(1, 1, 7));
  engine.plan();
  CHECK(engine.copies() == "block 2>3:4");
  engine.abort(kB);
  CHECK(engine.parked() == 3);  // 2 by the copy; 1 and 3 by the step that reads and writes them
  CHECK(engine.available() == 1);
  engine.add(kC, known(8, 1));
  engine.finish_step();
  engine.plan();
  CHECK(engine.table(kC) == "[4, 3]");
  engine.finish_step();
  engine.drain();
}

TEST_CASE(
    "prefix (O8): a fork of a request with hits shares them, and publishes what it is told to") {
  Engine engine(reuse_with(20, 4));
  engine.add(kA, known(9, 8), Text(1, 2));
  engine.step();
  engine.fork(kA, kB, known(13, 1), Text(1, 3));
  engine.plan();
  CHECK(engine.table(kB) == "[1, 2, 4, 5]");
  engine.finish_step();
  engine.add(kC, known(14, 1), Text(1, 3));
  engine.plan();
  CHECK(engine.table(kC) == "[1, 2, 4, 6]");
  CHECK(engine.chunks() == "2[12,14)!");
  engine.finish_step();
  engine.drain();
}

TEST_CASE("prefix (B77): with state slots no boundary has a state, so nothing is found or kept") {
  SchedulerOptions options = stateful_with(12, 4, 4);
  options.reuse = Switch::kOn;
  Engine engine(options);
  engine.add(kA, known(8, 1), Text(1, 2));
  engine.drain();
  engine.add(kB, known(8, 1), Text(1, 2));
  engine.plan();
  CHECK(engine.chunks() == "1[0,8)!");
  CHECK(engine.idle_blocks() == "[]");
  engine.finish_step();
}

TEST_CASE("prefix (decision 6): no tail is copied while an earlier copy's source is still held") {
  SchedulerOptions options = reuse_with(12, 4);
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, known(7, 1), Text(1, 1, 6));
  engine.drain();
  engine.add(kB, known(7, 1), Text(1, 1, 6));
  engine.plan();
  CHECK(engine.chunks() == "1[6,7)!");
  engine.add(kC, known(7, 1), Text(1, 1, 6));
  engine.plan();
  CHECK(engine.chunks() == "2[4,7)!");
  CHECK(engine.copies().empty());
  engine.drain();
}

TEST_CASE("prefix: blocks become findable in join order, steady rows and prompts alike") {
  Engine engine(reuse_with(12, 4));
  engine.add(kA, known(4, 8), Text(1, 2));
  engine.steps(4);
  CHECK(engine.counts(kA) == "H 8 C 7 F 0");
  engine.add(kB, known(4, 2), Text(2, 1));
  engine.plan();
  const std::size_t before = engine.records().size();
  engine.finish_step();  // A's C is 8, B's is 4
  CHECK(engine.ids_with(Verb::kPublish, before) == "[2]");
  engine.drain();
}

TEST_CASE("prefix: keys say nothing where reuse is off: same bytes as without") {
  std::vector<std::byte> journals[2];
  for (const bool keys : {false, true}) {
    Engine engine(engine_with(6, 4));
    for (std::uint32_t n = 0; n < 4; ++n) {
      engine.add(SequenceId{n}, known(9, 5), keys ? PromptKeys(Text(1, 3)) : PromptKeys());
    }
    engine.drain();
    journals[keys ? 1 : 0] = engine.journal_bytes();
  }
  CHECK(journals[0] == journals[1]);
}

TEST_CASE("prefix: keys that do not reach the tail, or a tail at a block's end, are refused") {
  const auto add = [](std::uint32_t blocks, std::uint32_t end) {
    return broken_rule([&] {
      Scheduler scheduler(reuse_with(6, 4));
      const Text keys(1, blocks, end);
      scheduler.add(kA, known(9, 1), keys);
    });
  };
  CHECK(add(2, 9) == "none");
  CHECK(add(1, 9) == "prefix");
  CHECK(add(2, 8) == "prefix");
}

TEST_CASE("prefix: a tail is found behind all of its blocks, not behind fewer") {
  // A's tail, positions 4 and 5, has the key that B gives its positions 12 and 13; B shares A's first block
  // and no more.
  SchedulerOptions options = engine_with(10, 4);
  options.reuse = Switch::kOn;
  Engine engine(options);
  Text of_a(1, 1, 6);
  Text of_b(1, 3, 14);
  of_b.tail = of_a.tail;
  engine.add(kA, known(6, 1), of_a);
  engine.drain();
  engine.add(kB, known(15, 1), of_b);
  engine.plan();
  CHECK(engine.chunks() == "1[4,15)!");
  CHECK(engine.copies() == "");
  engine.finish_step();
  CHECK(engine.is_drained());
}

}  // namespace
}  // namespace pinfold::test
