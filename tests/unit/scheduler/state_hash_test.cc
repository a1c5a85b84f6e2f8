// state_hash() tells states apart that will behave differently, and meets again where they behave alike;
// a copy of the scheduler is a fork of the world; the journal writes down what happened.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/scheduler/harness.h"
#include "tests/unit/scheduler/text_keys.h"

namespace pinfold::test {
namespace {

SchedulerOptions overlapped(SchedulerOptions options, std::uint32_t overlap) {
  options.overlap = overlap;
  return options;
}

// --- Hash -------------------------------------------------------------------------------------------

TEST_CASE("state hash: reading changes nothing, acts do") {
  Engine engine(engine_with(10, 4));
  const std::uint64_t empty = engine.hash();
  engine.scheduler().explain_wait();
  engine.scheduler().audit();
  CHECK(engine.hash() == empty);
  engine.add(kA, known(4, 3));
  const std::uint64_t waiting = engine.hash();
  CHECK(waiting != empty);
  engine.plan();
  const std::uint64_t planned = engine.hash();
  CHECK(planned != waiting);
  engine.finish_step();
  CHECK(engine.hash() != planned);
}

TEST_CASE("state hash: does not depend on the step number") {
  // The same request alone, after one and after three requests that left the free list as it was.
  Engine once(engine_with(1, 4));
  Engine later(engine_with(1, 4));
  for (std::uint32_t n = 0; n < 3; ++n) {
    later.add(SequenceId{n}, known(4, 1));
    later.step();
  }
  once.add(SequenceId{0}, known(4, 1));
  once.step();
  once.add(SequenceId{5}, known(3, 2));
  later.add(SequenceId{5}, known(3, 2));
  CHECK(once.hash() == later.hash());
  once.plan();
  later.plan();
  CHECK(once.hash() == later.hash());
}

TEST_CASE("state hash: sees the order of the free list") {
  // Blocks 1 and 2 come back as 2, 1 or as 1, 2.
  SchedulerOptions options = engine_with(2, 4);
  Engine reverse(options);
  options.release_order = ReleaseOrder::kForward;
  Engine forward(options);
  for (Engine* engine : {&reverse, &forward}) {
    engine->add(kA, known(8, 1));
    engine->step();
  }
  CHECK(reverse.free_blocks() == "[2, 1]");
  CHECK(forward.free_blocks() == "[1, 2]");
  CHECK(reverse.hash() != forward.hash());
}

TEST_CASE("state hash: sees what a waiting request asks for") {
  const RequestSpec base = hidden(4, 9);
  Engine first(engine_with(10, 4));
  first.add(kA, base);
  const RequestSpec others[] = {hidden(5, 9), hidden(4, 8), known(4, 9), hidden(4, 9, 2),
                                with_priority(base, 3)};
  for (const RequestSpec& other : others) {
    Engine second(engine_with(10, 4));
    second.add(kA, other);
    CHECK(first.hash() != second.hash());
  }
}

TEST_CASE("state hash: sees how rows in flight are spread over steps") {
  // A's chunks of 4 + 2 and of 2 + 4 rows are in flight: the same sum, another result of the first step.
  // B(2), aborted since, took two rows of the first step or never came. Two requests of one block each
  // have turned the second free list to [3, 1, 2], so that A owns [1, 2] in both and 3 is free.
  SchedulerOptions options = overlapped(engine_with(3, 4), 1);
  options.max_sequences = 2;
  options.token_budget = TokenCount(4);
  options.fence = FenceMode::kUnorderedWriters;
  Engine first(options);
  Engine second(options);
  for (const SequenceId id : {kA, kB}) {
    second.add(id, known(4, 1));
    second.drain();
  }
  second.add(kC, known(2, 1));
  for (Engine* engine : {&first, &second}) {
    engine->add(kD, known(6, 1));
    engine->plan();
    engine->plan();
  }
  second.abort(kC);
  for (Engine* engine : {&first, &second}) {
    CHECK(engine->counts(kD) == "H 6 C 0 F 6");
    CHECK(engine->table(kD) == "[1, 2]");
    CHECK(engine->free_blocks() == "[3]");
  }
  CHECK(first.hash() != second.hash());
  first.finish_step();
  second.finish_step();
  CHECK(first.counts(kD) == "H 6 C 4 F 2");
  CHECK(second.counts(kD) == "H 6 C 2 F 4");
}

TEST_CASE("state hash: sees whose slot is whose") {
  // One request that took all blocks, handed back as they were, and one slot has turned the second list of
  // slots. A and B then own 1 and 2, or 2 and 1; the list is empty.
  for (const PoolKind kind : {PoolKind::kStateSlots, PoolKind::kDraftSlots}) {
    const bool states = kind == PoolKind::kStateSlots;
    SchedulerOptions options = states ? stateful_with(4, 4, 2) : engine_with(4, 4);
    options.draft_ids = states ? 1 : 3;
    options.release_order = ReleaseOrder::kForward;
    Engine first(options);
    Engine second(options);
    const std::uint32_t drafts = states ? 0 : 1;
    second.add(kA, known(13, 4, drafts));
    second.drain();
    for (Engine* engine : {&first, &second}) {
      engine->add(kB, hidden(2, 9, drafts));
      engine->add(kC, hidden(2, 9, drafts));
      engine->step();
      engine->step({yields(kB, 1), yields(kC, 1)});
      CHECK(engine->scheduler().pools().of(kind).free_list().empty());
    }
    CHECK(first.hash() != second.hash());
    first.abort(kB);
    second.abort(kB);
    CHECK(first.scheduler().pools().of(kind).free_list() == std::vector{BlockId{1}});
    CHECK(second.scheduler().pools().of(kind).free_list() == std::vector{BlockId{2}});
  }
}

TEST_CASE("state hash: sees whose rows a fork waits for") {
  // With state A and B both sit out until their rows in flight have settled: C is A's and D is B's, or the
  // other way round.
  Engine straight(overlapped(stateful_with(10, 4, 4), 1));
  Engine crossed(overlapped(stateful_with(10, 4, 4), 1));
  for (Engine* engine : {&straight, &crossed}) {
    engine->add(kA, known(2, 9));
    engine->add(kB, known(2, 9));
    engine->step();
    engine->step();
    engine->fork(engine == &straight ? kA : kB, kC, known(1, 3));
    engine->fork(engine == &straight ? kB : kA, kD, known(1, 3));
    CHECK(engine->phase(kC) == "settling");
  }
  CHECK(straight.hash() != crossed.hash());
  for (Engine* engine : {&straight, &crossed}) {
    engine->finish_step();
    engine->plan();
  }
  CHECK(straight.copies() == "slot 1>3 slot 2>4 block 1>3:4 block 2>4:4");
  CHECK(crossed.copies() == "slot 2>3 slot 1>4 block 2>3:4 block 1>4:4");
}

TEST_CASE("state hash: sees what the blocks of a waiting request hold") {
  SchedulerOptions options = engine_with(10, 4);
  options.reuse = Switch::kOn;
  // Each differs from the first, or the fourth, in one word.
  Text texts[] = {Text(1, 2), Text(2, 2), Text(1, 1), Text(1, 2, 9), Text(1, 2, 10), Text(1, 2, 9)};
  for (Text& text : texts) text.tail = 7;
  texts[5].tail = 8;
  std::vector<std::uint64_t> hashes;
  for (const Text& text : texts) {
    Engine engine(options);
    engine.add(kA, known(11, 2), text);
    hashes.push_back(engine.hash());
  }
  std::sort(hashes.begin(), hashes.end());
  CHECK(std::adjacent_find(hashes.begin(), hashes.end()) == hashes.end());
}

TEST_CASE("state hash: sees that a step has run whose result is yet to come") {
  // The device's lane may be ahead of the results (fences_and_parking_test.cc): then an end parks nothing.
  Scheduler behind(engine_with(10, 4));
  StepPlan plan;
  behind.add(kA, known(4, 9));
  behind.plan_step(plan);
  Scheduler ahead = behind;
  ahead.on_passed(Lane::kCompute, plan.step_ticket);
  CHECK(ahead.state_hash() != behind.state_hash());
  for (Scheduler* scheduler : {&ahead, &behind}) scheduler->abort(kA);
  CHECK(ahead.pools().blocks().parked() == BlockCount(0));
  CHECK(behind.pools().blocks().parked() == BlockCount(1));
}

TEST_CASE("state hash: tells a decode fork from a prompt fork of one row more") {
  // C = 8. A prompt of 8 inherits the ninth token, a prompt of 9 has it: H = 9, C = 8 for both, and
  // the same pins; but one copies block 2 and the other does not.
  Engine decode(engine_with(10, 4));
  Engine prompt(engine_with(10, 4));
  for (Engine* engine : {&decode, &prompt}) {
    engine->add(kA, known(8, 9));
    engine->step();
  }
  decode.fork(kA, kB, known(8, 2));
  prompt.fork(kA, kB, known(9, 2));
  CHECK(decode.counts(kB) == prompt.counts(kB));
  CHECK(decode.hash() != prompt.hash());
}

TEST_CASE("state hash: the two forks meet once they have lost what they shared") {
  // U = 2. At C = 6 either fork needs a block for the tail beside the two it has pinned, and A has gone: both
  // are demoted, with seven known tokens, and prefill (decision 7).
  Engine decode(engine_with(2, 4));
  Engine prompt(engine_with(2, 4));
  for (Engine* engine : {&decode, &prompt}) {
    engine->add(kA, known(6, 2));
    engine->step();
    engine->fork(kA, kB, engine == &decode ? known(6, 2) : known(7, 2));
    engine->abort(kA);
  }
  CHECK(decode.hash() != prompt.hash());
  for (Engine* engine : {&decode, &prompt}) {
    engine->plan();
    CHECK(engine->stats().sharing_lost == 1);
    CHECK(engine->chunks() == "1[0,7)!");
  }
  CHECK(decode.hash() == prompt.hash());
}

TEST_CASE("state hash: sees a copy that has not run") {
  Engine engine(overlapped(engine_with(10, 4), 1));
  engine.add(kA, known(6, 9));
  engine.step();
  engine.finish_step();
  engine.fork(kA, kB, known(1, 3));
  engine.plan();
  Engine passed = engine;
  passed.pass_copies();
  CHECK(engine.hash() != passed.hash());
}

TEST_CASE("state hash: sees that a step in flight is behind a failed one") {
  // Step 1 fails or not, with step 2 in flight; then its only request goes. What is left differs in the
  // word that step 2's result will have in the journal: 2, behind a failed one, or 0.
  Engine failed(overlapped(engine_with(10, 4), 1));
  Engine whole(overlapped(engine_with(10, 4), 1));
  for (Engine* engine : {&failed, &whole}) {
    engine->add(kA, hidden(2, 9));
    engine->plan();
    engine->plan();
    engine == &failed ? engine->fail_step() : engine->finish_step();
    engine->abort(kA);
  }
  CHECK(failed.hash() != whole.hash());
  for (Engine* engine : {&failed, &whole}) engine->finish_step();
  CHECK(failed.records().rbegin()[1].verb == Verb::kResult);  // then A's blocks are unparked
  CHECK(failed.records().rbegin()[1].aux == 2);
  CHECK(whole.records().rbegin()[1].aux == 0);
  CHECK(failed.hash() == whole.hash());
}

TEST_CASE("state hash: sees the rows that a victim had when it was preempted") {
  // Four rows a step, U = 2. B(4), which yields nothing, comes in step 1 beside A's prompt of three, or one
  // step later. Either way three of its rows are in flight when A's row 4 preempts it in step 3: of
  // [1,4) the last ones, of [0,3) not. Their late result ends B or does not.
  SchedulerOptions options = overlapped(engine_with(2, 4), 1);
  options.max_sequences = 2;
  options.token_budget = TokenCount(4);
  Engine early(options);
  Engine late(options);
  for (Engine* engine : {&early, &late}) {
    engine->add(kA, hidden(3, 9));
    if (engine == &early) engine->add(kB, known(4, 0));
    engine->step();
    if (engine == &late) engine->add(kB, known(4, 0));
    engine->step();
    engine->plan();
    CHECK(engine->waiting() == "[1]");
    CHECK(engine->counts(kB) == "H 4 C 0 F 0");
  }
  CHECK(early.hash() != late.hash());
  for (Engine* engine : {&early, &late}) engine->finish_step();
  CHECK(early.ends() == "1 limit 0");
  CHECK(late.ends() == "");
}

TEST_CASE("state hash: who adds a field decides here whether it belongs in it") {
  // Each list stops compiling when its type gets a field. tests/model/state_hash_test.cc finds what was decided
  // wrongly, where its worlds reach it.
  const Sequence sequence;
  const auto& [
      // In the hash.
      id, spec, phase, epoch, rows, emitted,
      tokens_in_flight,  // follows from the flights
      prompt_end, flights, last_step, copy_ticket, table, state, draft,
      join,  // as the order of the running list
      in_batch, freezers, parent, parent_epoch, decode_fork, fork_step, prefix, load_ticket,
      load_rows, loads,
      computed_high,                  // a statistic
      late_rows, exception, stopped,  // nothing between two calls
      later_causes, last_cause,
      admitted_before,  // tell of the past: statistics, and LATER in the journal
      steady, steady_processed, steady_emitted,
      generation  // another form of rows, emitted and flights
  ] = sequence;
  CHECK(generation == 0);
  const auto& [keys, tail_end, tail, keyed, node, tail_keyed,
               due_at,  // follows from keyed and tail_keyed
               saved] = prefix;
  CHECK(saved == 0);
  const auto& [prompt, limit, stop, drafts, priority] = spec;
  CHECK(priority == 0);
  const Flight flight;
  const auto& [step, flight_epoch, decode, flight_rows, tokens] = flight;
  CHECK(!decode);
  const Hold hold;
  const auto& [fence, behind,
               from,  // is named, and decides nothing
               blocks, states, draft_slots, host_blocks, host_states] = hold;
  CHECK(blocks.empty());
}

// --- Copies -----------------------------------------------------------------------------------------

TEST_CASE("copy: forks the world, and both go their ways") {
  Engine first(overlapped(engine_with(10, 4), 1));
  first.add(kA, hidden(4, 100));
  first.add(kB, hidden(4, 100));
  first.step();
  first.plan();
  Engine second = first;
  CHECK(second.hash() == first.hash());

  second.finish_step({stops(kA)});
  second.abort(kB);
  CHECK(second.ends() == "0 stop 1; 1 aborted 1");
  CHECK(first.ends() == "");
  CHECK(first.table(kA) == "[1, 3]");
  CHECK(first.in_flight() == 2);

  first.finish_step();
  first.finish_step();
  CHECK(first.emitted(kA) == 2);
  second.finish_step();
  CHECK(second.is_drained());
  CHECK_FALSE(first.is_drained());
}

TEST_CASE("copy: the same acts lead to the same hash and the same journal") {
  Engine first(overlapped(stateful_with(6, 4, 3), 1));
  first.add(kA, known(6, 5));
  first.step();
  first.step();
  Engine second = first;
  for (Engine* engine : {&first, &second}) {
    engine->fork(kA, kB, known(1, 3));
    engine->add(kC, known(9, 2));
    engine->drain();
  }
  CHECK(first.hash() == second.hash());
  CHECK(first.ends() == second.ends());
  const std::vector<std::byte> bytes = first.journal_bytes();
  const std::vector<std::byte> others = second.journal_bytes();
  CHECK(bytes.size() > 0);
  CHECK(std::equal(bytes.begin(), bytes.end(), others.begin(), others.end()));
}

// --- Journal ----------------------------------------------------------------------------------------

std::vector<Verb> verbs_of(Engine& engine) {
  std::vector<Verb> verbs;
  for (const Record& record : engine.records()) verbs.push_back(record.verb);
  return verbs;
}

TEST_CASE("journal: one request from arrival to end, in the order of events") {
  Engine engine(engine_with(10, 4));
  engine.add(kA, known(4, 2));
  engine.step();
  engine.step();
  const std::vector<Verb> expected = {Verb::kArrive, Verb::kAnswer, Verb::kAcquire, Verb::kChunk,
                                      Verb::kStep,   Verb::kResult, Verb::kAcquire, Verb::kJoin,
                                      Verb::kStep,   Verb::kResult, Verb::kRelease, Verb::kEnd};
  CHECK(verbs_of(engine) == expected);
  const std::vector<Record> records = engine.records();
  CHECK(records[0].count == 4);  // prompt
  CHECK(records[0].aux == 2);    // limit
  CHECK(records[1].detail == static_cast<std::uint16_t>(Answer::kOk));
  CHECK(records[1].count == 1);   // blocks asked for
  CHECK(records[4].aux == 4);     // prompt rows
  CHECK(records[8].count == 1);   // rows
  CHECK(records[11].count == 2);  // tokens emitted
  CHECK(records[11].detail == static_cast<std::uint16_t>(EndReason::kLimit));
  CHECK(engine.ids_with(Verb::kRelease) == "[1, 2]");
}

TEST_CASE("journal: a steady row writes nothing but the step's two records") {
  Engine engine(engine_with(10, 8));
  engine.add(kA, known(1, 9));
  engine.step();
  engine.step();
  const std::size_t before = engine.records().size();
  engine.step();
  const std::vector<Record> records = engine.records();
  REQUIRE(records.size() == before + 2);
  CHECK(records[before].verb == Verb::kStep);
  CHECK(records[before + 1].verb == Verb::kResult);
}

TEST_CASE("journal (O9): parks say which step they wait for, unparks repeat the ids") {
  Engine engine(overlapped(engine_with(10, 4), 1));
  engine.add(kA, known(8, 9));
  engine.plan();
  engine.abort(kA);
  engine.finish_step();
  CHECK(engine.ids_with(Verb::kPark) == "[2, 1]");
  CHECK(engine.ids_with(Verb::kUnpark) == "[2, 1]");
  for (const Record& record : engine.records()) {
    if (record.verb == Verb::kPark || record.verb == Verb::kUnpark) CHECK(record.aux == 2);
  }
}

TEST_CASE("journal (O8): a fork's pins and copies, destination 0 included") {
  Engine engine(overlapped(engine_with(10, 4), 1));
  engine.add(kA, known(8, 9));
  engine.step();
  engine.step();
  engine.fork(kA, kB, known(1, 3));
  engine.plan();
  CHECK(engine.ids_with(Verb::kPin) == "[1, 2, 3]");
  const std::vector<Record> records = engine.records();
  const auto is_copy = [](const Record& record) { return record.verb == Verb::kCopyQueued; };
  const auto first = std::find_if(records.begin(), records.end(), is_copy);
  REQUIRE(first != records.end());
  const std::size_t at = static_cast<std::size_t>(first - records.begin());
  CHECK(engine.ids_with(Verb::kCopyQueued) == "[2, 4]");
  CHECK(engine.ids_with(Verb::kCopyQueued, at + 1) == "[3, 0]");
  const auto is_fork = [](const Record& record) { return record.verb == Verb::kFork; };
  const auto fork = std::find_if(records.begin(), records.end(), is_fork);
  REQUIRE(fork != records.end());
  CHECK(fork->count == 8);  // rows shared
  CHECK(fork->aux == 0);    // the parent
}

TEST_CASE("journal: every acquired id comes back exactly once, by release or by its fences") {
  // Blocks of a run with preemption, parking, forks and aborts: what was issued was freed.
  Engine engine(overlapped(engine_with(6, 4), 1));
  engine.add(kA, known(6, 9));
  engine.add(kB, known(4, 9));
  engine.steps(3);
  engine.fork(kA, kC, known(1, 3));
  engine.steps(3);
  engine.abort(kB);
  engine.drain();
  const Pool& blocks = engine.scheduler().pools().blocks();
  CHECK(blocks.acquired() > 6);
  CHECK(blocks.acquired() == blocks.freed());
  CHECK(engine.is_drained());
}

std::string pools_with(Engine& engine, Verb verb) {
  std::string pools;
  for (const Record& record : engine.records()) {
    if (record.verb == verb) pools += std::string(name_of(record.pool)) + "; ";
  }
  return pools;
}

TEST_CASE("journal (O10): draft slot, state slot, blocks, whether released or parked") {
  for (const bool in_flight : {false, true}) {
    SchedulerOptions options = stateful_with(10, 4, 2);
    options.draft_ids = 2;
    Engine engine(options);
    engine.add(kA, hidden(4, 9, 2));
    engine.step();
    engine.plan();
    if (!in_flight) engine.finish_step({yields(kA, 3)});
    engine.abort(kA);
    CHECK(pools_with(engine, in_flight ? Verb::kPark : Verb::kRelease) ==
          "draft slot; state slot; block; ");
    if (in_flight) engine.finish_step();
    CHECK(engine.is_drained());
  }
}

TEST_CASE("journal (O3): an answer says how many blocks and state slots were asked for") {
  Engine engine(stateful_with(10, 4, 1));
  engine.add(kA, known(6, 1));
  engine.plan();
  const Record answer = engine.records()[1];
  CHECK(answer.verb == Verb::kAnswer);
  CHECK(answer.count == 2);
  CHECK(answer.aux == 1);
}

TEST_CASE("journal (O9): a lane's event is written down once, however often it is told") {
  Scheduler scheduler(engine_with(10, 4));
  scheduler.add(kA, known(4, 9));
  StepPlan plan;
  scheduler.plan_step(plan);
  scheduler.on_passed(Lane::kCompute, plan.step_ticket);
  const std::uint64_t events = scheduler.journal().events();
  scheduler.on_passed(Lane::kCompute, plan.step_ticket);
  CHECK(scheduler.journal().events() == events);
}

}  // namespace
}  // namespace pinfold::test
