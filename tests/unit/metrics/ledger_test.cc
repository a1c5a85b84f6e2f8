// The position ledger, in numbers worked out by hand: positions at an instant as
// "committed / in_flight / draft_reserve / known_reserve / surplus / tail_slack / parked / idle / free",
// and position-time in position-nanoseconds. docs/ledger.md works the first case out.
#include "sim/metrics/ledger.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "sim/config/parse.h"
#include "sim/core/simulate.h"
#include "sim/trace/azure_csv.h"
#include "tests/unit/broken_rule.h"

namespace pinfold::sim {
namespace {

using test::broken_rule;

constexpr SequenceId kA{0};
constexpr SequenceId kB{1};

/// Blocks of 4 positions; nothing is short but them.
SchedulerOptions engine_with(std::uint32_t usable_blocks, std::uint32_t overlap = 0) {
  SchedulerOptions options;
  options.block_size = TokenCount(4);
  options.block_ids = usable_blocks + 1;
  options.draft_ids = 9;
  options.max_sequences = 8;
  options.token_budget = TokenCount(64);
  options.max_model_len = TokenCount(1000);
  options.overlap = overlap;
  return options;
}

SchedulerOptions with_slots(SchedulerOptions options, std::uint32_t usable_slots) {
  options.state = Switch::kOn;
  options.state_ids = usable_slots + 1;
  return options;
}

RequestSpec request(std::uint32_t prompt, std::uint32_t limit, std::uint32_t drafts = 0) {
  RequestSpec spec;
  spec.prompt = TokenCount(prompt);
  spec.limit = TokenCount(limit);
  spec.stop = StopMode::kHidden;
  spec.drafts = TokenCount(drafts);
  return spec;
}

/// A scheduler, a clock and the ledger that follows them.
class Watched {
 public:
  explicit Watched(const SchedulerOptions& options)
      : scheduler_(options),
        ledger_(
            {options.block_size.value, options.block_ids, options.state_ids, options.draft_ids}) {
    scheduler_.journal().set_enabled(true);
  }

  Scheduler& scheduler() { return scheduler_; }
  const StepPlan& plan() {
    scheduler_.plan_step(plan_);
    return plan_;
  }
  /// The result of the oldest step; one row may yield another number of tokens than one.
  void result(bool failed = false) { complete({}, failed); }
  void result(SequenceId id, std::uint32_t tokens, bool ended = false) {
    complete({{id, scheduler_.view(id).epoch, TokenCount(tokens), ended}}, false);
  }
  /// Time passes up to `ns`; whatever happened since the last call happened before.
  void at(std::int64_t ns) {
    read();
    ledger_.advance_to(ns);
  }

  std::string now() {
    read();
    std::string text;
    for (const std::int64_t count : ledger_.positions().of) {
      text += (text.empty() ? "" : "/") + std::to_string(count);
    }
    return text;
  }
  const Ledger& ledger() {
    read();
    return ledger_;
  }
  std::string state_slots() { return slots(ledger().state_slots()); }
  std::string draft_slots() { return slots(ledger().draft_slots()); }

 private:
  static std::string slots(const SlotLedger& slots) {
    std::string text;
    for (const std::uint32_t count : slots.slots()) {
      text += (text.empty() ? "" : "/") + std::to_string(count);
    }
    return text;
  }
  void complete(const std::vector<RowResult>& rows, bool failed) {
    const StepNumber step{value_of(scheduler_.done()) + 1};
    scheduler_.on_step_complete({step, failed, rows.data(), rows.size()});
    scheduler_.clear_ended();
  }
  void read() {
    ledger_.consume(scheduler_.journal().unread());
    scheduler_.journal().clear();
  }

  Scheduler scheduler_;
  Ledger ledger_;
  StepPlan plan_;
};

std::string text_of(PositionNs value) { return std::to_string(static_cast<std::uint64_t>(value)); }

std::string position_ns(const LedgerTotals& totals) {
  std::string text;
  for (const PositionNs part : totals.position_ns) {
    text += (text.empty() ? "" : "/") + text_of(part);
  }
  return text;
}

TEST_CASE("ledger: one request, prompt 6, 4 tokens, the plan 2 ns behind the first result") {
  Watched engine(engine_with(8));
  engine.scheduler().add(kA, request(6, 4));
  engine.plan();
  CHECK(engine.now() == "0/6/0/0/0/2/0/0/24");  // two blocks, six rows on their way
  engine.at(10);
  engine.result();
  CHECK(engine.now() == "6/0/0/1/0/1/0/0/24");  // the seventh token is known
  engine.at(12);
  engine.plan();
  CHECK(engine.now() == "6/1/0/0/0/1/0/0/24");
  engine.at(20);
  engine.result();
  CHECK(engine.now() == "7/0/0/1/0/0/0/0/24");
  engine.plan();
  CHECK(engine.now() == "7/1/0/0/0/0/0/0/24");
  engine.at(30);
  engine.result();
  CHECK(engine.now() == "8/0/0/0/0/0/0/0/24");  // the ninth is known and has no position yet
  engine.plan();
  CHECK(engine.now() == "8/1/0/0/0/3/0/0/20");
  engine.at(40);
  engine.result();
  CHECK(engine.now() == "0/0/0/0/0/0/0/0/32");
  engine.at(50);

  const LedgerTotals totals = engine.ledger().totals();
  // committed 6 x 10 + 7 x 10 + 8 x 10; in flight 6 x 10 + 1 x 8 + 1 x 10 + 1 x 10; known 1 x 2;
  // slack 2 x 10 + 1 x 2 + 1 x 8 + 3 x 10; free 24 x 30 + 20 x 10 + 32 x 10.
  CHECK(position_ns(totals) == "210/88/0/2/0/60/0/0/1240");
  CHECK(text_of(totals.capacity_ns) == "1600");  // 32 x 50
  CHECK(text_of(totals.owned_ns()) == "360");
  CHECK(text_of(totals.fragmented_ns()) == "150");
  CHECK(totals.positions == 32);
  CHECK(totals.duration_ns == 50);
  // Blocks 1 2, then 1 2 3: one pair for 30 ns, two for 10 ns, all ascending.
  CHECK(text_of(totals.pair_ns) == "50");
  CHECK(text_of(totals.ascending_ns) == "50");
  CHECK(text_of(totals.descending_ns) == "0");
}

TEST_CASE("ledger: time starts where it is told to") {
  Ledger ledger({4, 3, 1, 1});
  ledger.start_at(100);
  ledger.advance_to(107);
  CHECK(text_of(ledger.totals().capacity_ns) == "56");  // 8 x 7
  CHECK(position_ns(ledger.totals()) == "0/0/0/0/0/0/0/0/56");
  CHECK(broken_rule([&] { ledger.advance_to(106); }) == "ledger");
}

TEST_CASE("ledger: a prompt in chunks reserves what is known") {
  SchedulerOptions options = engine_with(4);
  options.token_budget = TokenCount(8);
  Watched engine(options);
  engine.scheduler().add(kA, request(11, 2));
  engine.plan();
  CHECK(engine.now() == "0/8/0/3/0/1/0/0/4");
  engine.at(5);
  engine.result();
  CHECK(engine.now() == "8/0/0/3/0/1/0/0/4");
  engine.plan();
  CHECK(engine.now() == "8/3/0/0/0/1/0/0/4");
  engine.at(9);
  engine.result();
  CHECK(engine.now() == "11/0/0/1/0/0/0/0/4");
  engine.at(10);
  CHECK(position_ns(engine.ledger().totals()) == "43/52/0/16/0/9/0/0/40");
}

TEST_CASE(
    "ledger: drafts are reserved, and what they were refused is surplus until the next plan") {
  Watched engine(engine_with(4));
  engine.scheduler().add(kA, request(2, 20, 3));
  engine.plan();
  engine.result();
  CHECK(engine.now() == "2/0/0/1/0/1/0/0/12");
  CHECK(engine.draft_slots() == "0/0/0/8");
  engine.plan();  // a row at position 2, drafts at 3, 4 and 5
  CHECK(engine.now() == "2/1/3/0/0/2/0/0/8");
  CHECK(engine.draft_slots() == "1/0/0/7");
  engine.at(10);
  engine.result(kA, 1);  // C = 3, H = 4: the second block is beyond the need
  CHECK(engine.now() == "3/0/0/1/4/0/0/0/8");
  engine.at(12);
  engine.plan();
  CHECK(engine.now() == "3/1/3/0/0/1/0/0/8");
  engine.result(kA, 4);
  CHECK(engine.now() == "7/0/0/1/0/0/0/0/8");
  CHECK(position_ns(engine.ledger().totals()) == "26/10/30/2/8/20/0/0/96");
}

TEST_CASE("ledger: two steps with drafts in flight reserve both bounds") {
  Watched engine(engine_with(4, 1));
  engine.scheduler().add(kA, request(3, 30, 2));
  engine.plan();
  engine.result();
  engine.plan();
  engine.plan();  // rows 3..5 and 6..8: one certain row each
  CHECK(engine.now() == "3/2/4/0/0/3/0/0/4");
  engine.result(kA, 2);  // C = 5, F = 3
  CHECK(engine.now() == "5/1/2/0/4/0/0/0/4");
}

TEST_CASE("ledger: a fork counts shared blocks once, and its copy's rows when it has passed") {
  Watched engine(engine_with(8));
  engine.scheduler().add(kA, request(6, 20));
  engine.plan();
  engine.result();
  CHECK(engine.now() == "6/0/0/1/0/1/0/0/24");
  engine.scheduler().fork(kA, kB, request(6, 20));
  CHECK(engine.now() == "6/0/0/1/0/1/0/0/24");  // the same two blocks
  CHECK(engine.ledger().saved() == 8);
  engine.at(10);
  // B keeps the full block and copies the tail: two rows are on their way into its own block, a third
  // is computed. A computes one too.
  const Ticket copies = engine.plan().copy_ticket;
  CHECK(engine.now() == "6/4/0/0/0/2/0/0/20");
  CHECK(engine.ledger().saved() == 4);
  engine.at(13);
  engine.scheduler().on_passed(Lane::kCompute, copies);
  CHECK(engine.now() == "8/2/0/0/0/2/0/0/20");
  engine.at(20);
  engine.result();
  CHECK(engine.now() == "10/0/0/2/0/0/0/0/20");
  engine.scheduler().abort(kA);  // B keeps the block that they shared
  CHECK(engine.now() == "7/0/0/1/0/0/0/0/24");
  CHECK(engine.ledger().saved() == 0);
  const LedgerTotals totals = engine.ledger().totals();
  CHECK(position_ns(totals) == "134/26/0/10/0/30/0/0/440");
  CHECK(text_of(totals.saved_ns) == "120");  // 8 x 10 + 4 x 10
}

TEST_CASE("ledger: the strongest owner of a shared block decides") {
  Watched engine(engine_with(3, 1));
  engine.scheduler().add(kA, request(5, 20));
  engine.plan();
  engine.result();
  engine.plan();  // A: C = 5, F = 1 in two blocks
  engine.scheduler().fork(kA, kB, request(5, 20));
  // B counts positions 0..4 and knows one more, which A computes.
  CHECK(engine.now() == "5/1/0/0/0/2/0/0/4");
  engine.scheduler().add(SequenceId{2}, request(4, 20));
  engine.scheduler().abort(kA);  // its row is still written; B's table holds both blocks
  CHECK(engine.now() == "5/0/0/1/0/2/0/0/4");
}

TEST_CASE("ledger: what a preempted sequence may still write is parked until its step is done") {
  Watched engine(engine_with(3, 1));
  engine.scheduler().add(kA, request(4, 20));
  engine.scheduler().add(kB, request(4, 20));
  engine.plan();
  CHECK(engine.now() == "0/8/0/0/0/0/0/0/4");
  engine.at(10);
  engine.plan();  // A takes the last block, B has to go
  CHECK(engine.now() == "0/5/0/0/0/3/4/0/0");
  engine.at(15);
  engine.result();
  CHECK(engine.now() == "4/1/0/0/0/3/0/0/4");
  engine.at(20);
  CHECK(position_ns(engine.ledger().totals()) == "20/110/0/0/0/30/20/0/60");
}

TEST_CASE("ledger: a failed step commits nothing, and what steps behind it write is parked") {
  Watched engine(engine_with(4, 1));
  engine.scheduler().add(kA, request(3, 20));
  engine.plan();
  engine.result();
  engine.plan();  // step 2: position 3
  engine.plan();  // step 3: position 4, in a second block
  CHECK(engine.now() == "3/2/0/0/0/3/0/0/8");
  engine.at(10);
  engine.result(true);
  CHECK(engine.now() == "3/0/0/1/0/0/4/0/8");
  engine.at(14);
  engine.result();  // behind the failed one
  CHECK(engine.now() == "3/0/0/1/0/0/0/0/12");
  engine.plan();
  CHECK(engine.now() == "3/1/0/0/0/0/0/0/12");
  CHECK(position_ns(engine.ledger().totals()) == "42/20/0/4/0/30/16/0/112");
}

TEST_CASE("ledger: state slots are running, pinned by a waiting fork, parked, free") {
  Watched engine(with_slots(engine_with(8), 2));
  engine.scheduler().add(kA, request(6, 20));
  engine.plan();
  CHECK(engine.state_slots() == "1/0/0/1");
  engine.result();
  engine.scheduler().fork(kA, kB, request(6, 20));
  CHECK(engine.state_slots() == "1/0/0/1");  // the fork pins its parent's
  engine.at(10);
  engine.scheduler().abort(kA);
  CHECK(engine.state_slots() == "0/1/0/1");
  engine.at(13);
  const Ticket copies = engine.plan().copy_ticket;
  CHECK(engine.state_slots() == "1/0/1/0");  // the source is held until it is copied
  engine.at(18);
  engine.scheduler().on_passed(Lane::kCompute, copies);
  CHECK(engine.state_slots() == "1/0/0/1");
  engine.at(20);
  const SlotTotals totals = engine.ledger().totals().state_slots;
  CHECK(text_of(totals.slot_ns[0]) == "17");  // 10 + 5 + 2
  CHECK(text_of(totals.slot_ns[1]) == "3");
  CHECK(text_of(totals.slot_ns[2]) == "5");
  CHECK(text_of(totals.slot_ns[3]) == "15");
  CHECK(text_of(totals.capacity_ns) == "40");
  CHECK(totals.peak() == 2);
  CHECK(totals.at_peak == std::array<std::uint32_t, 4>{1, 0, 1, 0});
}

TEST_CASE("ledger: a fork that adopts its parent's state slot runs in it") {
  SchedulerOptions options = with_slots(engine_with(8), 2);
  options.sole_owner = SoleOwner::kAdopt;
  Watched engine(options);
  engine.scheduler().add(kA, request(6, 20));
  engine.plan();
  engine.result();
  engine.scheduler().fork(kA, kB, request(6, 2));
  engine.scheduler().abort(kA);
  CHECK(engine.state_slots() == "0/1/0/1");
  engine.plan();
  CHECK(engine.state_slots() == "1/0/0/1");
  CHECK(engine.now() == "6/1/0/0/0/1/0/0/24");  // the tail is adopted too: nothing is copied
  engine.result();
  engine.plan();
  engine.result();
  CHECK(engine.state_slots() == "0/0/0/2");
}

TEST_CASE("ledger: neighbours in tables follow the order in which blocks are released and taken") {
  const auto neighbours = [](ReleaseOrder release, FreeOrder free) {
    SchedulerOptions options = engine_with(4);
    options.release_order = release;
    options.free_order = free;
    Watched engine(options);
    // The first takes blocks 1 to 4 and gives them back, the second takes four again.
    for (const SequenceId id : {kA, kB}) {
      engine.scheduler().add(id, request(16, 1));
      engine.plan();
      if (id == kA) engine.result();
    }
    return std::to_string(engine.ledger().ascending()) + " up, " +
           std::to_string(engine.ledger().descending()) + " down of " +
           std::to_string(engine.ledger().pairs());
  };
  CHECK(neighbours(ReleaseOrder::kReverse, FreeOrder::kFifo) == "0 up, 3 down of 3");
  CHECK(neighbours(ReleaseOrder::kForward, FreeOrder::kFifo) == "3 up, 0 down of 3");
  CHECK(neighbours(ReleaseOrder::kReverse, FreeOrder::kLifo) == "3 up, 0 down of 3");
  CHECK(neighbours(ReleaseOrder::kForward, FreeOrder::kLifo) == "0 up, 3 down of 3");
}

TEST_CASE("ledger: a journal that no engine can write is refused") {
  const auto refused = [](const std::vector<Record>& records, std::uint32_t id) {
    Journal journal;
    journal.set_enabled(true);
    const BlockId ids[1] = {BlockId{id}};
    for (const Record& record : records) {
      ids_after(record) == 0 ? journal.append(record) : journal.append(record, ids);
    }
    Ledger ledger({4, 3, 1, 1});
    return broken_rule([&] { ledger.consume(journal.unread()); });
  };
  const Record arrive{Verb::kArrive, PoolKind::kBlocks, 0, 0, 4, 1};
  const Record acquire{Verb::kAcquire, PoolKind::kBlocks, 0, 0, 1, 0};
  const Record release{Verb::kRelease, PoolKind::kBlocks, 0, 0, 1, 0};
  const Record unpark{Verb::kUnpark, PoolKind::kBlocks, 0, 0, 1, 0};
  const Record end{Verb::kEnd, PoolKind::kBlocks, 0, 0, 0, 0};
  CHECK(refused({arrive, acquire, release, end}, 1) == "none");
  CHECK(refused({acquire}, 1) == "ledger");                   // of nobody
  CHECK(refused({arrive, acquire, acquire}, 1) == "ledger");  // the same block twice
  CHECK(refused({arrive, acquire}, 3) == "ledger");           // outside the pool
  CHECK(refused({arrive, acquire, release, release}, 1) == "ledger");
  CHECK(refused({arrive, unpark}, 1) == "ledger");
  CHECK(refused({arrive, acquire, end}, 1) == "ledger");  // it ends and owns a block
}

// ---- whole runs ------------------------------------------------------------------------------------

RunResult run(const std::vector<std::string>& settings, bool ledger = true, bool fast_path = true) {
  const char* root = std::getenv("PINFOLD_SOURCE_ROOT");
  REQUIRE(root != nullptr);
  auto read = read_azure_csv(
      (std::filesystem::path(root) / "traces/azure/AzureLLMInferenceTrace_conv.csv").string());
  REQUIRE_MESSAGE(bool(read), (read ? "" : describe(read.error())));
  Trace trace = std::move(read.value());
  trace.requests.resize(1'000);
  const auto config = load_config(std::nullopt, settings);
  REQUIRE_MESSAGE(bool(config), (config ? "" : describe(config.error())));
  RunOptions options;
  options.ledger = ledger;
  options.fast_path = fast_path;
  return simulate(trace, config.value(), options);
}

TEST_CASE("ledger: owned position-time is the pool's owned block-time, on both paths") {
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{},
        {"engine.num_blocks=900", "cost.step_base_us=60000"},
        {"engine.num_blocks=900", "cost.step_base_us=60000", "workload.drafts=3",
         "model.state_slots=true", "engine.max_num_seqs=24"},
        {"engine.num_blocks=900", "cost.step_base_us=60000", "workload.drafts=3",
         "model.state_slots=true", "engine.max_num_seqs=24", "workload.samples=2",
         "workload.samples_permille=100", "fault.step_failed_permille=10",
         "workload.abort_permille=50", "workload.abort_within_us=2000000"}}) {
    const RunResult fast = run(settings);
    REQUIRE(fast.verdict == Verdict::kOk);
    REQUIRE(fast.ledger.has_value());
    const PositionNs block_ns =
        (PositionNs{fast.blocks_owned_ns_high} << 64) | fast.blocks_owned_ns_low;
    CHECK(fast.ledger->owned_ns() == 16 * block_ns);
    const RunResult slow = run(settings, true, false);
    CHECK(position_ns(*fast.ledger) == position_ns(*slow.ledger));
    CHECK(fast.ledger->state_slots.peak() == fast.slots_peak_owned);
    const RunResult without = run(settings, false);
    CHECK_FALSE(without.ledger.has_value());
    CHECK(without.digest == fast.digest);
    CHECK(without.digest_timed == fast.digest_timed);
  }
}

// Section 4.6 of the chapter asks what the order of release does: on a real trace blocks that are let go
// in the order of their table come back in that order.
TEST_CASE("ledger: on a trace forward release leaves more ascending neighbours than reverse") {
  const LedgerTotals reverse = *run({"engine.num_blocks=3000"}).ledger;
  const LedgerTotals forward =
      *run({"engine.num_blocks=3000", "engine.release_order=forward"}).ledger;
  CHECK(text_of(reverse.pair_ns) == text_of(forward.pair_ns));
  CHECK(forward.ascending_ns > reverse.ascending_ns);
  CHECK(forward.descending_ns < reverse.descending_ns);
}

}  // namespace
}  // namespace pinfold::sim
