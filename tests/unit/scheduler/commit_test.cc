// Rule O7: rows are in flight from dispatch until the result is processed; then, in one call, C
// advances by all rows and is corrected to what was accepted. Chapter 4.3.5.
#include <doctest/doctest.h>

#include "tests/unit/broken_rule.h"
#include "tests/unit/scheduler/harness.h"

namespace pinfold::test {
namespace {

SchedulerOptions with_drafts(std::uint32_t usable_blocks, std::uint32_t overlap) {
  SchedulerOptions options = engine_with(usable_blocks, 4);
  options.draft_ids = 9;
  options.overlap = overlap;
  return options;
}

TEST_CASE("commit (O7): a prompt is in flight until its result, then processed") {
  Engine engine(engine_with(10, 4));
  engine.add(kA, known(5, 3));
  CHECK(engine.counts(kA) == "H 5 C 0 F 0");
  engine.plan();
  CHECK(engine.counts(kA) == "H 5 C 0 F 5");
  CHECK(engine.emitted(kA) == 0);
  engine.finish_step();
  CHECK(engine.counts(kA) == "H 6 C 5 F 0");
  CHECK(engine.emitted(kA) == 1);
}

TEST_CASE("commit (O7): the last token has no row yet: H = C + 1 between steps") {
  Engine engine(engine_with(10, 4));
  engine.add(kA, known(5, 4));
  engine.step();
  for (std::uint32_t token = 2; token <= 3; ++token) {
    engine.plan();
    CHECK(engine.view(kA).rows.in_flight == TokenCount(1));
    engine.finish_step();
    CHECK(engine.view(kA).rows.history == engine.view(kA).rows.processed + TokenCount(1));
    CHECK(engine.emitted(kA) == token);
  }
}

TEST_CASE("commit (O7): C advances by the accepted rows, not by the evaluated ones") {
  // A verify row of three drafts evaluates four rows; two tokens are accepted: C = 4 + 2, H = 5 + 2.
  Engine engine(with_drafts(10, 0));
  engine.add(kA, hidden(4, 100, 3));
  engine.step();
  engine.plan();
  CHECK(engine.counts(kA) == "H 5 C 4 F 4");
  engine.finish_step({yields(kA, 2)});
  CHECK(engine.counts(kA) == "H 7 C 6 F 0");
  CHECK(engine.emitted(kA) == 3);
  CHECK(engine.stats().drafts_planned == 3);
  CHECK(engine.stats().drafts_accepted == 1);
}

TEST_CASE("commit (O7): all drafts accepted, and none") {
  Engine engine(with_drafts(10, 0));
  engine.add(kA, hidden(4, 100, 3));
  engine.step();
  engine.step({yields(kA, 4)});
  CHECK(engine.counts(kA) == "H 9 C 8 F 0");
  engine.step({yields(kA, 1)});
  CHECK(engine.counts(kA) == "H 10 C 9 F 0");
}

TEST_CASE("commit (O7): a rejection under the next step's upper bound corrects C and keeps F") {
  // Overlap 1: step 3 is dispatched on the bound C + F = 4 + 4; step 2 then accepts one row.
  Engine engine(with_drafts(20, 1));
  engine.add(kA, hidden(4, 100, 3));
  engine.step();
  engine.step();
  engine.plan();
  CHECK(engine.counts(kA) == "H 5 C 4 F 8");
  engine.finish_step({yields(kA, 1)});
  CHECK(engine.counts(kA) == "H 6 C 5 F 4");
  engine.finish_step({yields(kA, 3)});
  CHECK(engine.counts(kA) == "H 9 C 8 F 0");
}

TEST_CASE("commit (O7): chunks advance C without yielding a token") {
  SchedulerOptions options = engine_with(10, 4);
  options.token_budget = TokenCount(8);
  Engine engine(options);
  engine.add(kA, known(10, 2));
  engine.step();
  CHECK(engine.counts(kA) == "H 10 C 8 F 0");
  CHECK(engine.emitted(kA) == 0);
  engine.step();
  CHECK(engine.counts(kA) == "H 11 C 10 F 0");
  CHECK(engine.emitted(kA) == 1);
}

TEST_CASE("commit (case B74): a stop inside an accepted row ends the request with that token") {
  // Three drafts, four rows; the output stops with the second token of the row.
  Engine engine(with_drafts(10, 0));
  engine.add(kA, hidden(4, 100, 3));
  engine.step();
  engine.step({stops(kA, 2)});
  CHECK(engine.ends() == "0 stop 3");
  CHECK(engine.is_drained());
}

TEST_CASE("commit: a result for a row whose request has ended is ignored") {
  // Overlap 1, hidden stop: step 2's row overran; its result may name the request or leave it out.
  for (const bool named : {false, true}) {
    SchedulerOptions options = engine_with(10, 4);
    options.overlap = 1;
    Engine engine(options);
    engine.add(kA, hidden(4, 100));
    engine.plan();
    engine.plan();
    engine.finish_step({stops(kA)});
    CHECK(engine.ends() == "0 stop 1");
    if (named) {
      engine.finish_step({stops(kA)});
    } else {
      engine.finish_step();
    }
    CHECK(engine.ends() == "0 stop 1");
    CHECK(engine.is_drained());
  }
}

TEST_CASE("commit (O12): a step may read C + F rows and its own, F without its own") {
  // Key length of a decode row, summed over A(4) and B(6): planned while the prompts are in flight,
  // then with the prompts processed and the first row in flight.
  SchedulerOptions options = engine_with(10, 4);
  options.overlap = 1;
  Engine engine(options);
  engine.add(kA, known(4, 9));
  engine.add(kB, known(6, 9));
  engine.plan();
  CHECK(engine.plan().context_rows == (0 + 4 + 1) + (0 + 6 + 1));
  engine.finish_step();
  CHECK(engine.plan().context_rows == (4 + 1 + 1) + (6 + 1 + 1));
}

TEST_CASE("commit (O12): a verify row reads its own drafts") {
  Engine engine(with_drafts(10, 0));
  engine.add(kA, hidden(4, 100, 3));
  engine.step();
  CHECK(engine.plan().context_rows == 4 + 4);
}

TEST_CASE("commit (O12): a prompt chunk is no decode row and reads no context in that count") {
  Engine engine(engine_with(10, 4));
  engine.add(kA, known(4, 9));
  engine.plan();
  CHECK(engine.last_plan().prompt_rows == 4);
  CHECK(engine.last_plan().decode_rows == 0);
  CHECK(engine.last_plan().context_rows == 0);
}

// --- Broken results ---------------------------------------------------------------------------------

/// A scheduler with A(4) and B(4), three drafts wanted, and one step in flight.
struct OneStep {
  explicit OneStep(std::uint32_t overlap = 0) : scheduler(with_drafts(20, overlap)) {
    scheduler.add(kA, hidden(4, 100, 3));
    scheduler.add(kB, hidden(4, 100, 3));
    scheduler.plan_step(plan);
  }
  void complete(std::vector<RowResult> rows, std::uint64_t step = 1) {
    scheduler.on_step_complete({StepNumber{step}, false, rows.data(), rows.size()});
  }
  Scheduler scheduler;
  StepPlan plan;
};

TEST_CASE("commit (O7): more tokens than the step could yield is a violation") {
  OneStep prompts;
  CHECK(broken_rule([&] { prompts.complete({{kA, 0, TokenCount(2), false}}); }) == "O7");
  OneStep verify;
  verify.complete({});
  verify.scheduler.plan_step(verify.plan);
  CHECK(broken_rule([&] { verify.complete({{kA, 0, TokenCount(5), false}}, 2); }) == "O7");
}

TEST_CASE("commit (O7): a decode row yields at least one token") {
  OneStep one;
  one.complete({});
  one.scheduler.plan_step(one.plan);
  CHECK(broken_rule([&] { one.complete({{kA, 0, TokenCount(0), false}}, 2); }) == "O7");
}

TEST_CASE("commit (O7): two results for one row, another epoch, a row that was not there") {
  OneStep twice;
  CHECK(broken_rule([&] {
          twice.complete({{kA, 0, TokenCount(1), false}, {kA, 0, TokenCount(1), false}});
        }) == "O7");
  OneStep epoch;
  CHECK(broken_rule([&] { epoch.complete({{kA, 1, TokenCount(1), true}}); }) == "O7");
  OneStep absent;
  absent.scheduler.add(kC, hidden(4, 100));
  CHECK(broken_rule([&] { absent.complete({{kC, 0, TokenCount(1), false}}); }) == "O7");
}

TEST_CASE(
    "commit (O15): results come in the order of the steps, once, and only of dispatched ones") {
  OneStep early(1);
  early.scheduler.plan_step(early.plan);
  CHECK(broken_rule([&] { early.complete({}, 2); }) == "O15");
  OneStep again;
  again.complete({});
  CHECK(broken_rule([&] { again.complete({}); }) == "O15");
  OneStep absent;
  absent.complete({});
  CHECK(broken_rule([&] { absent.complete({}, 2); }) == "O15");
}

}  // namespace
}  // namespace pinfold::test
