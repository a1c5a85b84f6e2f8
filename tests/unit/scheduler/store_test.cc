// The external store: what is saved and when, what a load holds, and what happens to either when somebody
// leaves. Expected values are worked out by hand; cases (B1, ...) are faults seen in real engines. B = 4,
// boundaries at multiples of 8, keys as in prefix_hits_test.cc.
#include <doctest/doctest.h>

#include <cstring>

#include "tests/unit/broken_rule.h"
#include "tests/unit/pool/id_lists.h"
#include "tests/unit/scheduler/harness.h"
#include "tests/unit/scheduler/text_keys.h"

namespace pinfold::test {
namespace {

SchedulerOptions store_with(std::uint32_t usable_blocks, std::uint32_t host_blocks) {
  SchedulerOptions options = engine_with(usable_blocks, 4);
  options.reuse = Switch::kOn;
  options.host_block_ids = host_blocks + 1;
  options.store_interval = TokenCount(8);
  return options;
}

SchedulerOptions states_with(std::uint32_t usable_blocks, std::uint32_t slots,
                             std::uint32_t host_blocks, std::uint32_t host_states) {
  SchedulerOptions options = store_with(usable_blocks, host_blocks);
  options.state = Switch::kOn;
  options.state_ids = slots + 1;
  options.host_state_ids = host_states + 1;
  options.recovered_rows = TokenCount(3);
  return options;
}

std::string host_idle(const Engine& engine, PoolKind pool = PoolKind::kHostBlocks) {
  return text(engine.scheduler().pools().of(pool).idle_list());
}

/// A's text of nine tokens, or of as many as `blocks` whole ones and one more, lies on the host and nowhere
/// else: B's request without keys took all blocks of the device.
void save_and_forget(Engine& engine, std::uint32_t blocks = 2) {
  engine.add(kA, known(4 * blocks + 1, 1), Text(1, blocks));
  engine.drain();
  engine.pass_save();
  engine.add(kB, known(4 * engine.available(), 1));
  engine.drain();
}

TEST_CASE("store: what a boundary completes is saved, and held until that has passed") {
  Engine engine(store_with(4, 8));
  engine.add(kA, known(9, 1), Text(1, 2));
  engine.plan();
  CHECK(engine.saves().empty());
  engine.finish_step();
  // C is 9: two blocks up to the boundary 8. A has ended; the saves hold their sources.
  CHECK(engine.saves() == "1: block 1>1 2>2");
  CHECK(engine.parked() == 2);
  CHECK(engine.free_blocks() == "[4, 3]");
  CHECK(engine.idle_blocks() == "[]");
  CHECK(host_idle(engine) == "[]");
  engine.pass_save();
  CHECK(engine.parked() == 0);
  CHECK(engine.idle_blocks() == "[2, 1]");
  CHECK(host_idle(engine) == "[2, 1]");  // the first of a text is evicted last
  CHECK(engine.stats().saved_blocks == 2);
  CHECK(engine.is_drained());
}

TEST_CASE("store: a hit on the host takes the whole demand and is loaded before it runs") {
  Engine engine(store_with(4, 8));
  save_and_forget(engine);
  CHECK(engine.idle_blocks() == "[]");
  engine.add(kC, known(9, 2), Text(1, 2));
  engine.plan();
  CHECK(engine.last_plan().empty);
  CHECK(engine.phase(kC) == "loading");
  CHECK(engine.table(kC) == "[1, 2, 3]");
  CHECK(engine.loads() == "1: block 1>1 2>2");
  CHECK(engine.counts(kC) == "H 9 C 0 F 0");
  CHECK(engine.why(kC) == "load, until load 1");
  CHECK(host_idle(engine) == "[]");
  engine.pass_load();
  CHECK(engine.phase(kC) == "prefill");
  CHECK(engine.counts(kC) == "H 9 C 8 F 0");
  CHECK(engine.ids_with(Verb::kLoaded) == "[]");
  CHECK(host_idle(engine) == "[2, 1]");
  engine.plan();
  CHECK(engine.chunks() == "2[8,9)!");
  engine.finish_step();
  engine.drain();
  CHECK(engine.saves().empty());  // the host has it already
  CHECK(engine.stats().loads == 1);
  CHECK(engine.stats().loaded_rows == 8);
  CHECK(engine.stats().prefix_hits == 0);
  CHECK(engine.idle_blocks() == "[2, 1]");  // what was loaded can be found on the device again
  CHECK(engine.is_drained());
}

TEST_CASE("store: only whole pieces up to a boundary are loaded, and the last token never is") {
  for (const auto& [prompt, rows] : {std::pair{8u, 0u}, {9u, 8u}, {16u, 8u}, {17u, 16u}}) {
    Engine engine(store_with(6, 8));
    save_and_forget(engine, 4);
    engine.add(kC, known(prompt, 1), Text(1, 4));
    engine.plan();
    const std::uint32_t asked = prompt;
    CAPTURE(asked);
    CHECK(engine.loads().empty() == (rows == 0));
    if (rows > 0) engine.pass_load();
    CHECK(engine.stats().loaded_rows == rows);
    engine.drain();
  }
}

TEST_CASE(
    "store (B1, B2): an aborted load keeps its blocks until its lane has passed, or is given up") {
  for (const bool lost : {false, true}) {
    Engine engine(store_with(4, 8));
    save_and_forget(engine);
    engine.add(kC, known(9, 1), Text(1, 2));
    engine.plan();
    engine.abort(kC);
    CHECK(engine.parked() == 3);
    CHECK(engine.stats().loads_aborted == 1);
    engine.add(kD, known(12, 1));  // three blocks, one is free
    engine.plan();
    CHECK(engine.why(kD) == "blocks, lacking 2, held by 2, until load 1");
    CHECK_FALSE(engine.scheduler().nothing_pending());
    lost ? engine.lose_load() : engine.pass_load();
    CHECK(engine.parked() == 0);
    CHECK(engine.stats().loads_lost == 0);
    engine.drain();
    CHECK(engine.is_drained());
  }
}

TEST_CASE("store (B1): whoever waits for a load that never comes computes its rows") {
  Engine engine(store_with(4, 8));
  save_and_forget(engine);
  engine.add(kC, known(9, 1), Text(1, 2));
  engine.plan();
  engine.lose_load();
  CHECK(engine.waiting() == "[2]");
  CHECK(engine.owned() == 0);
  CHECK(engine.stats().loads_lost == 1);
  engine.plan();
  CHECK(engine.chunks() == "2[0,9)!");
  engine.finish_step();
  engine.drain();
  CHECK(engine.is_drained());
}

TEST_CASE(
    "store (B30, B31): a victim's blocks stay until they are saved, and it may come back first") {
  SchedulerOptions options = store_with(4, 8);
  Engine engine(options);
  engine.add(kA, known(4, 12));             // grows to four blocks
  engine.add(kB, known(8, 4), Text(1, 2));  // two blocks, saved at once
  engine.step();
  CHECK(engine.saves() == "1: block 2>1 3>2");
  engine.steps(1);  // A's second block: the fourth; B needs a third and is the victim
  CHECK(engine.stats().preemptions == 1);
  CHECK(engine.parked() == 2);
  engine.steps(2);
  CHECK(engine.parked() == 2);
  engine.pass_save();
  CHECK(engine.parked() == 0);
  CHECK(host_idle(engine) == "[2, 1]");
  engine.drain();
  CHECK(engine.is_drained());
}

TEST_CASE(
    "store (B32): what is being loaded is not evicted; a save without room does not take place") {
  Engine engine(store_with(6, 2));
  save_and_forget(engine);
  engine.add(kC, known(9, 1), Text(1, 2));
  engine.add(kD, known(9, 1), Text(2, 2));
  engine.plan();
  CHECK(engine.loads() == "1: block 1>1 2>2");
  engine.finish_step();
  CHECK(engine.stats().saves_refused == 2);
  CHECK(engine.saves().empty());
  CHECK(engine.stats().host_evicted == 0);
  engine.pass_load();
  engine.drain();
  CHECK(engine.is_drained());
}

TEST_CASE("store: the host evicts what was unowned for longest, and it is not found any more") {
  Engine engine(store_with(6, 2));
  for (std::uint32_t n = 0; n < 2; ++n) {
    engine.add(SequenceId{n}, known(9, 1), Text(n + 1, 2));
    engine.drain();
    engine.pass_save();
  }
  CHECK(engine.stats().host_evicted == 2);
  engine.add(kC, known(24, 1));
  engine.drain();
  engine.add(kD, known(9, 1), Text(1, 2));
  engine.plan();
  CHECK(engine.chunks() == "3[0,9)!");
  engine.finish_step();
  engine.drain();
}

TEST_CASE("store: a save that is given up leaves nothing that could be found") {
  Engine engine(store_with(4, 8));
  engine.add(kA, known(9, 1), Text(1, 2));
  engine.drain();
  const std::size_t before = engine.records().size();
  engine.lose_save();
  const Record told = engine.records()[before];
  CHECK(told.verb == Verb::kPassed);
  CHECK(told.detail == 1);  // it will never be carried out
  CHECK(told.count == index_of(Lane::kDeviceToHost));
  CHECK(told.aux == 1);
  CHECK(engine.stats().saves_lost == 2);
  CHECK(engine.idle_blocks() == "[2, 1]");
  CHECK(host_idle(engine) == "[]");
  CHECK(engine.is_drained());
}

TEST_CASE(
    "store (B43): who grows waits for a load rather than for a victim that could give nothing") {
  Engine engine(store_with(6, 8));
  save_and_forget(engine);
  engine.add(kC, known(8, 8));  // two blocks; the third at position 8, the fourth at 12
  engine.step();
  engine.add(kD, known(9, 4), Text(1, 2));  // three blocks, two of them loaded
  engine.step();
  CHECK(engine.phase(kD) == "loading");
  CHECK(engine.available() == 0);
  engine.steps(3);  // C's rows up to position 11 fit
  engine.plan();    // position 12 does not
  CHECK(engine.stats().sat_out == 1);
  CHECK(engine.stats().preemptions == 0);
  CHECK(engine.why(kC) == "blocks, lacking 1, held by 3, until load 1");
  engine.pass_load();
  engine.drain();
  CHECK(engine.stats().preemptions == 1);  // of D, now that it would give its blocks
  CHECK(engine.is_drained());
}

TEST_CASE("store (B47): who has its load runs on, whatever the head of the queue waits for") {
  Engine engine(store_with(7, 8));
  save_and_forget(engine);
  engine.add(kC, known(9, 4), Text(1, 2));
  engine.plan();
  engine.add(kD, known(24, 1));  // six blocks, of which two are lacking
  engine.plan();
  CHECK(engine.why(kD) == "blocks, lacking 2, held by 2, until load 1");
  engine.pass_load();
  engine.plan();
  CHECK(engine.chunks() == "2[8,9)!");
  engine.finish_step();
  engine.drain();
}

TEST_CASE("store with state (B77, B79): a prefix is found up to the last boundary with a state") {
  Engine engine(states_with(10, 3, 8, 4));
  engine.add(kA, known(18, 2), Text(1, 4));
  engine.plan();
  CHECK(engine.chunks() == "0[0,16)");  // a chunk ends at a boundary whose state is not kept
  engine.finish_step();
  CHECK(engine.saves() == "1: block 1>1 2>2 3>3 4>4");
  engine.plan();
  CHECK(engine.chunks() == "0[16,18)!");
  CHECK(engine.copies().empty());
  CHECK(engine.stages() == "slot 1>1:16");  // ahead of the rows that write on
  CHECK(engine.saves() == "1: block 1>1 2>2 3>3 4>4 2: state 1>1");
  engine.finish_step();
  engine.pass_save();
  engine.pass_save();
  // Blocks of both boundaries are on the device, the state of the second one only on the host.
  engine.add(kB, known(17, 2), Text(1, 4));
  engine.add(kC, known(12, 2), Text(1, 3));
  engine.plan();
  CHECK(engine.phase(kB) == "loading");
  CHECK(engine.loads() == "1: state 1>2");
  CHECK(engine.table(kB) == "[1, 2, 3, 4, 6]");
  CHECK(engine.chunks() == "2[0,8)");  // nothing is kept for 8
  engine.finish_step();
  engine.pass_load();
  CHECK(engine.counts(kB) == "H 17 C 16 F 0");
  engine.plan();
  CHECK(engine.last_plan().recovered_rows == 3);
  CHECK(engine.stats().prefix_hits == 16);
  CHECK(engine.stats().loaded_states == 1);
  CHECK(engine.stats().loaded_rows == 0);  // all of them were shared on the device
  engine.finish_step();
  engine.drain();
}

/// A's text of 18 tokens has gone through: blocks of 16 rows are on the device and on the host, the state of
/// row 16 is on the host.
void save_state(Engine& engine) {
  engine.add(kA, known(18, 1), Text(1, 4));
  engine.drain();
  engine.pass_save();
  engine.pass_save();
}

TEST_CASE("store with state: a victim that had not begun owes nothing of its load") {
  Engine engine(states_with(6, 3, 8, 4));
  save_state(engine);
  engine.add(kB, known(17, 1), Text(1, 4));
  engine.add(kC, known(4, 3));
  engine.plan();
  CHECK(engine.phase(kB) == "loading");
  CHECK(engine.chunks() == "2[0,4)!");
  engine.finish_step();
  engine.pass_load();
  CHECK(engine.counts(kB) == "H 17 C 16 F 0");
  engine.plan();  // C's second block: all six are owned, and B joined last
  CHECK(engine.waiting() == "[1]");
  engine.finish_step();
  engine.step();
  engine.plan();
  CHECK(engine.phase(kB) == "loading");
  engine.lose_load();
  engine.plan();
  CHECK(engine.chunks() == "1[0,17)!");  // the state of its last boundary, 16, is kept already
  CHECK(engine.last_plan().recovered_rows == 0);
  engine.finish_step();
  engine.drain();
}

TEST_CASE("store with state: a fork gets no state whose recovered rows have not been planned") {
  Engine engine(states_with(20, 4, 8, 4));
  save_state(engine);
  engine.add(kB, known(17, 4), Text(1, 4));
  engine.plan();
  engine.pass_load();
  CHECK(engine.counts(kB) == "H 17 C 16 F 0");
  engine.fork(kB, kC, known(17, 1));
  CHECK(engine.stats().forks_missed == 1);  // an ordinary request, without keys: nothing to load
  engine.plan();
  CHECK(engine.chunks() == "1[16,17)! 2[0,17)!");
  CHECK(engine.last_plan().recovered_rows == 3);
  engine.fork(kB, SequenceId{3}, known(18, 1));
  CHECK(engine.stats().forks_missed == 1);  // it waits until those rows have come
  engine.finish_step();
  engine.drain();
  CHECK(engine.stats().forks == 1);
}

TEST_CASE("store with state: a failed step's copies keep no state, and a busy buffer saves none") {
  Engine engine(states_with(10, 1, 8, 4));
  engine.add(kA, known(17, 1), Text(1, 4));
  engine.step();
  engine.plan();
  CHECK(engine.saves() == "1: block 1>1 2>2 3>3 4>4 2: state 1>1");
  engine.fail_step();
  engine.pass_save();
  engine.pass_save();
  CHECK(engine.stats().saves_lost == 1);
  CHECK(host_idle(engine, PoolKind::kHostStates) == "[]");
  CHECK(engine.scheduler().pools().of(PoolKind::kHostStates).available() == BlockCount(4));
  engine.drain();
  CHECK(engine.saves() == "3: state 1>2");
}

TEST_CASE("store with state: the end of a block's save leaves the state's save under way") {
  // Content 4 has a block and, behind it, the state of row 16: two saves, of which the first has ended.
  Engine engine(states_with(12, 2, 8, 4));
  engine.add(kA, known(17, 1), Text(1, 4));
  engine.drain();
  CHECK(engine.saves() == "1: block 1>1 2>2 3>3 4>4 2: state 1>1");
  engine.pass_save();
  engine.add(kB, known(17, 1), Text(1, 4));  // no state can be found yet: it computes all rows
  engine.plan();
  CHECK(engine.chunks() == "1[0,17)!");  // and is not cut where a state is on its way already
  engine.finish_step();
  engine.pass_save();
  CHECK(engine.stats().saved_states == 1);
  CHECK(engine.is_drained());
}

TEST_CASE(
    "store with state: a host state that gives way is written down as one, a refused one counted") {
  Engine engine(states_with(10, 1, 8, 1));
  for (const std::uint32_t text : {1u, 2u, 3u}) {
    engine.add(SequenceId{text}, known(9, 1), Text(text, 2));
    engine.drain();
    engine.pass_save();
    if (text < 2)
      engine.pass_save();  // the second text's state stays under way: it fills the only place
  }
  const std::vector<Record> records = engine.records();
  std::string evicted;
  for (const Record& record : records) {
    if (record.verb == Verb::kEvict) evicted += std::string(name_of(record.pool)) + "; ";
  }
  CHECK(evicted == "host state; ");
  CHECK(engine.stats().host_evicted == 1);
  CHECK(engine.stats().saves_refused == 1);
}

TEST_CASE("store: what a load brought can be found at once, before its request has run") {
  Engine engine(store_with(8, 8));
  save_and_forget(engine);
  engine.add(kC, known(9, 4), Text(1, 2));
  engine.plan();
  engine.pass_load();
  engine.add(kD, known(9, 4), Text(1, 2));
  engine.plan();
  CHECK(engine.chunks() == "2[8,9)! 3[8,9)!");
  CHECK(engine.stats().loads == 1);
  engine.finish_step();
  engine.drain();
}

TEST_CASE("store (B1): the journal tells that a request starts over when its load was lost") {
  Engine engine(store_with(8, 8));
  save_and_forget(engine);
  engine.add(kC, known(9, 4), Text(1, 2));
  engine.plan();
  const std::size_t before = engine.records().size();
  engine.lose_load();
  std::size_t demoted = 0;
  const std::vector<Record> records = engine.records();
  for (std::size_t n = before; n < records.size(); ++n) {
    const Record& record = records[n];
    if (record.verb == Verb::kDemote && record.sequence == value_of(kC) && record.count == 9) {
      ++demoted;
    }
  }
  CHECK(demoted == 1);
  engine.drain();
}

TEST_CASE("store with state: rows that are recovered use up the budget of their step") {
  Engine engine(states_with(40, 3, 8, 4));  // 64 rows a step, of which 3 are recovered
  save_state(engine);
  engine.add(kB, known(90, 1), Text(1, 4));
  engine.plan();
  engine.pass_load();
  engine.add(kC, known(8, 1));
  engine.plan();
  CHECK(engine.chunks() == "1[16,77)");
  engine.finish_step();
  engine.drain();
}

TEST_CASE("store with state: a request that starts over owes nothing of the load it lost") {
  SchedulerOptions options = states_with(6, 3, 8, 4);
  options.token_budget = TokenCount(16);
  Engine engine(options);
  save_state(engine);
  engine.add(kB, known(17, 1), Text(1, 4));
  engine.plan();
  engine.lose_load();
  engine.plan();
  CHECK(engine.chunks() == "1[0,16)");
  engine.finish_step();
  engine.plan();  // C is 16 again, by rows of its own
  CHECK(engine.chunks() == "1[16,17)!");
  CHECK(engine.last_plan().recovered_rows == 0);
  engine.finish_step();
  engine.drain();
}

TEST_CASE("store with state: a steady row saves the state of the boundary that it crosses") {
  Engine engine(states_with(10, 1, 8, 4));
  engine.add(kA, known(6, 8), Text(1, 2));
  engine.steps(3);  // positions 6 and 7 are decode rows
  CHECK(engine.counts(kA) == "H 9 C 8 F 0");
  engine.plan();
  CHECK(engine.stages() == "slot 1>1:8");
  engine.finish_step();
  engine.drain();
}

TEST_CASE(
    "store with state: under drafts in flight nobody knows what the slot holds, so no state is "
    "saved") {
  // Overlap 1: the row of position 6 and its draft are in flight, so C + F is the boundary 8; but one of
  // the two tokens is rejected: the slot never holds the state of exactly 8 rows ahead of a step.
  SchedulerOptions options = states_with(10, 1, 8, 4);
  options.overlap = 1;
  options.draft_ids = 2;
  Engine engine(options);
  engine.add(kA, known(6, 8, 1), Text(1, 2));
  engine.step();
  engine.step();
  CHECK(engine.counts(kA) == "H 7 C 6 F 2");
  engine.plan();
  CHECK(engine.stages().empty());
  engine.finish_step({yields(kA, 1)});
  CHECK(engine.counts(kA) == "H 8 C 7 F 2");
  engine.drain();
}

TEST_CASE("store with state: a fork's slot is not staged in the step whose copies fill it") {
  // A stage runs behind every step before, but not behind the copies of its own (StepPlan::stages). A
  // names no contents; B, its fork at the boundary 8, does: slot 2 is cloned in this step.
  Engine engine(states_with(10, 2, 8, 4));
  engine.add(kA, known(8, 3));
  engine.step();
  engine.fork(kA, kB, known(9, 2), Text(1, 2));
  engine.plan();
  CHECK(engine.copies() == "slot 1>2");
  CHECK(engine.chunks() == "1[8,9)!");
  CHECK(engine.stages().empty());
  engine.finish_step();
  engine.drain();
}

TEST_CASE("store with state: one event that passes blocks and a state names each with its pool") {
  // Ticket 1 saves four blocks, ticket 2 the state of row 16; the lane reports 2 alone.
  Scheduler scheduler(states_with(10, 1, 8, 4));
  scheduler.journal().set_enabled(true);
  StepPlan plan;
  scheduler.add(kA, known(17, 1), Text(1, 4));
  while (scheduler.unfinished() > 0) {
    scheduler.plan_step(plan);
    scheduler.on_step_complete({plan.step, false, nullptr, 0});
  }
  scheduler.journal().clear();
  scheduler.on_passed(Lane::kDeviceToHost, Ticket{2});
  std::string stored;
  const std::span<const std::byte> bytes = scheduler.journal().unread();
  for (std::size_t at = 0; at < bytes.size();) {
    Record record{};
    std::memcpy(&record, &bytes[at], sizeof record);
    std::vector<BlockId> ids(ids_after(record));
    if (!ids.empty()) std::memcpy(ids.data(), &bytes[at + sizeof record], 4 * ids.size());
    at += sizeof record + 4 * ids.size();
    if (record.verb == Verb::kStored) stored += name_of(record.pool) + text(ids);
  }
  CHECK(stored == "host block[1, 2, 3, 4]host state[1]");
}

TEST_CASE("store: a block with as many owners as an id can count is not saved") {
  SchedulerOptions options = store_with(7, 8);
  options.store_interval = TokenCount(4);
  options.max_sequences = 1;
  Scheduler scheduler(options);
  const std::vector<std::uint64_t> keys{7};
  StepPlan plan;
  const auto step = [&] {
    scheduler.plan_step(plan);
    scheduler.on_step_complete({plan.step, false, nullptr, 0});
  };
  scheduler.add(kA, known(2, 5), {keys, TokenCount(0), 0});
  step();
  // 65,534 forks pin the block of rows 0 and 1, which A goes on to fill: with A as many as 16 bits count.
  for (std::uint32_t id = 1; id <= 65'534; ++id) scheduler.fork(kA, SequenceId{id}, known(2, 5));
  step();
  CHECK(scheduler.stats().saves_refused == 0);
  step();  // C is 4, a boundary
  CHECK(scheduler.stats().published == 1);
  CHECK(scheduler.stats().saves_refused == 1);
  CHECK(scheduler.transfers().empty());
  scheduler.audit();
}

TEST_CASE("store (state hash): sees that a request will not load again what it lost") {
  // Blocks come back in the order in which they were taken, so that a lost load leaves no other trace. D
  // computes all nine rows or loads eight, and yields four tokens either way before C's third block
  // preempts it. Once E has evicted its rows, it computes them or loads them.
  SchedulerOptions options = store_with(5, 8);
  options.release_order = ReleaseOrder::kForward;
  Engine lost(options);
  Engine loaded(options);
  for (Engine* engine : {&lost, &loaded}) {
    save_and_forget(*engine);
    engine->add(kC, known(4, 12));
    engine->add(kD, with_priority(known(9, 9), 1), Text(1, 2));
    engine->step();
    CHECK(engine->phase(kD) == "loading");
    engine == &lost ? engine->lose_load() : engine->pass_load();
    engine->step();
    CHECK(engine->chunks() == (engine == &lost ? "3[0,9)!" : "3[8,9)!"));
    engine->steps(4);
    CHECK(engine->waiting() == "[3]");
    CHECK(engine->counts(kD) == "H 13 C 0 F 0");
  }
  CHECK(lost.hash() != loaded.hash());
  for (Engine* engine : {&lost, &loaded}) {
    engine->abort(kC);
    engine->add(kE, known(20, 1));
    engine->step();
    engine->plan();
    CHECK(engine->chunks() == (engine == &lost ? "3[0,13)!" : ""));
    CHECK(engine->loads().empty() == (engine == &lost));
  }
}

TEST_CASE("store (state hash): sees whose copy buffer is busy") {
  // Five blocks handed back as they were taken, two slots. A request that takes all that is free leaves
  // nothing but the slots' order changed: so A saves its state out of slot 1 or slot 2, and the free list is
  // [2, 1] both times. The next one takes slot 2, and saves a state or cannot.
  SchedulerOptions options = states_with(5, 2, 8, 4);
  options.release_order = ReleaseOrder::kForward;
  Engine first(options);
  Engine second(options);
  for (Engine* engine : {&first, &second}) {
    std::uint32_t id = 0;
    const auto turn_slots = [&] {
      engine->add(SequenceId{id++}, known(4 * engine->available(), 1));
      engine->step();
    };
    turn_slots();
    if (engine == &first) turn_slots();
    engine->add(SequenceId{id++}, known(9, 1), Text(1, 2));
    engine->step();
    engine->plan();
    CHECK(engine->stages() == (engine == &first ? "slot 1>1:8" : "slot 2>1:8"));
    engine->finish_step();
    if (engine == &second) turn_slots();
    CHECK(engine->free_slots() == "[2, 1]");
    CHECK(engine->free_blocks() == "[4, 5, 3]");
    CHECK(engine->saves() ==
          (engine == &first ? "1: block 1>1 2>2 2: state 1>1" : "1: block 1>1 2>2 2: state 2>1"));
  }
  CHECK(first.hash() != second.hash());
  for (Engine* engine : {&first, &second}) {
    engine->add(kE, known(9, 1), Text(2, 2));
    engine->step();
    engine->plan();
    CHECK(engine->stages() == (engine == &first ? "slot 2>2:8" : ""));
    engine->finish_step();
  }
}

TEST_CASE("store: impossible settings and tickets are refused") {
  SchedulerOptions options = store_with(4, 8);
  options.store_interval = TokenCount(6);
  CHECK(broken_rule([&] { Scheduler scheduler(options); }) == "O16");
  options = store_with(4, 8);
  options.fence = FenceMode::kUnorderedWriters;
  CHECK(broken_rule([&] { Scheduler scheduler(options); }) == "O16");
  Scheduler scheduler(store_with(4, 8));
  CHECK(broken_rule([&] { scheduler.on_passed(Lane::kHostToDevice, Ticket{1}); }) == "O9");
  CHECK(broken_rule([&] { scheduler.on_lost(Lane::kCompute, Ticket{1}); }) == "O16");
}

}  // namespace
}  // namespace pinfold::test
