// The facade under ThreadSanitizer: producers add, fork, abort and look while one thread plans and
// completes steps. Whatever the interleaving, the books must close: each request ends once, an abort
// that was taken is an end by abort, and every pool is empty.
#include "engine/locked_scheduler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>

namespace pinfold {
namespace {

constexpr std::uint32_t kProducers = 4;
constexpr std::uint32_t kRequestsEach = 1200;
constexpr std::uint32_t kBacklogMax =
    30;  // producers wait above it, so that all threads run at once

SchedulerOptions tight_options(std::uint32_t overlap) {
  SchedulerOptions options;
  options.block_size = TokenCount(4);
  options.block_ids = 24;
  options.state = Switch::kOn;
  options.state_ids = 6;
  options.draft_ids = 6;
  options.max_sequences = 5;
  options.token_budget = TokenCount(16);
  options.max_model_len = TokenCount(64);
  options.overlap = overlap;
  return options;
}

RequestSpec spec_of(std::uint32_t number) {
  RequestSpec spec;
  spec.prompt = TokenCount(1 + number * 7 % 23);
  spec.limit = TokenCount(1 + number * 5 % 17);
  spec.stop = StopMode::kKnown;
  spec.drafts = TokenCount(number % 3);
  return spec;
}

/// What one producer did, read after it has been joined.
struct Done {
  std::vector<SequenceId> accepted;
  std::uint32_t aborted = 0;
  std::uint64_t seen = 0;  // so that what was read is used
};

/// Adds, forks its last request, aborts a young one, and reads everything that can be read. Between two
/// calls another thread gets its turn: without a pause each call's lock would order the one before it,
/// and a forgotten lock would not show.
void produce(LockedScheduler& scheduler, std::uint32_t producer, Done& done) {
  const auto pause = [] { std::this_thread::yield(); };
  const auto see = [&](std::uint64_t value) {
    done.seen += value;
    pause();
  };
  for (std::uint32_t n = 0; n < kRequestsEach; ++n) {
    const RequestSpec spec = spec_of(producer * kRequestsEach + n);
    const bool forks = n % 4 == 3 && !done.accepted.empty();
    const Arrival arrival =
        forks ? scheduler.fork(done.accepted.back(), spec) : scheduler.add(spec);
    pause();
    if (arrival.answer != Answer::kNever) done.accepted.push_back(arrival.id);
    if (n % 3 == 2) {
      const std::size_t back = std::min<std::size_t>(done.accepted.size(), 1 + n % 5);
      if (scheduler.abort(done.accepted[done.accepted.size() - back])) ++done.aborted;
      pause();
    }
    if (const auto snapshot = scheduler.view(done.accepted.back())) {
      see(snapshot->table.size() + snapshot->view.rows.history.value);
    }
    switch (n % 10) {
      case 0: see(scheduler.explain_wait().size()); break;
      case 1: see(scheduler.running().size()); break;
      case 2: see(scheduler.waiting().size()); break;
      case 3: see(scheduler.waiting_forks().size()); break;
      case 4: see(scheduler.unfinished()); break;
      case 5: see(scheduler.pool(PoolKind::kBlocks).available.value); break;
      case 6: see(scheduler.stats().preemptions + scheduler.options().block_ids); break;
      case 7: see(scheduler.nothing_pending() ? 1u : 0u); break;
      case 8: see(scheduler.state_hash() % 2 + scheduler.take_journal().size()); break;
      default: scheduler.audit(); pause();
    }
    while (scheduler.unfinished() > kBacklogMax) pause();
  }
}

/// Plans and completes until every producer has finished and nothing is left. Returns the ends.
std::vector<Ended> drive(LockedScheduler& scheduler, const std::atomic<std::uint32_t>& producing) {
  std::vector<Ended> ends;
  std::deque<StepNumber> flying;
  const std::uint32_t overlap = scheduler.options().overlap;
  StepPlan plan;
  std::uint64_t table_entries = 0;
  while (true) {
    const bool last_round = producing.load() == 0;
    if (flying.size() <= overlap) {
      // The rows of a plan are read before anyone can abort them.
      scheduler.plan_step(plan, [&](const Scheduler& inside) {
        for (const Joined& joined : plan.joined) {
          table_entries += inside.view(joined.sequence).table.size();
        }
        for (const Chunk& chunk : plan.chunks) {
          table_entries += inside.view(chunk.sequence).table.size();
        }
      });
      if (!plan.empty) {
        flying.push_back(plan.step);
        if (!plan.copies.empty()) scheduler.on_passed(Lane::kCompute, plan.copy_ticket);
        std::this_thread::yield();
      }
    }
    if (!flying.empty() && (plan.empty || flying.size() > overlap)) {
      scheduler.on_step_complete({flying.front(), false, nullptr, 0});
      flying.pop_front();
      std::this_thread::yield();
    }
    const std::vector<Ended> taken = scheduler.take_ended();
    ends.insert(ends.end(), taken.begin(), taken.end());
    if (!flying.empty() || scheduler.unfinished() > 0) continue;
    if (last_round) break;
    std::this_thread::yield();
  }
  CHECK(table_entries > 0);
  return ends;
}

TEST_CASE("locked scheduler: the books close whatever the threads do, at every overlap") {
  for (std::uint32_t overlap = 0; overlap <= 2; ++overlap) {
    LockedScheduler scheduler(tight_options(overlap));
    scheduler.set_journal_enabled(true);
    std::vector<Done> done(kProducers);
    std::atomic<std::uint32_t> producing = kProducers;
    std::vector<Ended> ends;
    std::vector<std::thread> threads;
    threads.emplace_back([&] { ends = drive(scheduler, producing); });
    for (std::uint32_t producer = 0; producer < kProducers; ++producer) {
      threads.emplace_back([&, producer] {
        produce(scheduler, producer, done[producer]);
        --producing;
      });
    }
    for (std::thread& thread : threads) thread.join();

    std::vector<SequenceId> accepted, ended;
    std::uint32_t aborted = 0, ended_by_abort = 0;
    for (const Done& one : done) {
      accepted.insert(accepted.end(), one.accepted.begin(), one.accepted.end());
      aborted += one.aborted;
      CHECK(one.seen > 0);
      CHECK(std::is_sorted(one.accepted.begin(), one.accepted.end()));
    }
    for (const Ended& end : ends) {
      ended.push_back(end.sequence);
      ended_by_abort += end.reason == EndReason::kAborted;
    }
    std::sort(accepted.begin(), accepted.end());
    std::sort(ended.begin(), ended.end());
    CHECK(std::adjacent_find(accepted.begin(), accepted.end()) == accepted.end());
    CHECK(accepted == ended);  // each accepted request ended exactly once
    CHECK(aborted == ended_by_abort);
    CHECK(scheduler.unfinished() == 0);
    CHECK(scheduler.take_ended().empty());
    CHECK(scheduler.take_journal().size() > 0);
    CHECK(scheduler.take_journal().empty());
    for (const PoolKind kind : {PoolKind::kBlocks, PoolKind::kStateSlots, PoolKind::kDraftSlots,
                                PoolKind::kHostBlocks, PoolKind::kHostStates}) {
      const PoolCounts counts = scheduler.pool(kind);
      CHECK(counts.owned == BlockCount(0));
      CHECK(counts.parked == BlockCount(0));
      CHECK(counts.available == counts.usable);
    }
    scheduler.audit();
  }
}

TEST_CASE("locked scheduler: a snapshot keeps its table when the sequence has gone") {
  LockedScheduler scheduler(tight_options(0));
  RequestSpec spec;
  spec.prompt = TokenCount(9);
  spec.limit = TokenCount(3);
  const Arrival arrival = scheduler.add(spec);
  REQUIRE(arrival.answer == Answer::kOk);
  StepPlan plan;
  scheduler.plan_step(plan);
  const std::optional<SequenceSnapshot> snapshot = scheduler.view(arrival.id);
  REQUIRE(snapshot.has_value());
  CHECK(scheduler.abort(arrival.id));
  CHECK_FALSE(scheduler.abort(arrival.id));
  CHECK_FALSE(scheduler.view(arrival.id).has_value());
  CHECK(snapshot->table ==
        std::vector<BlockId>{BlockId{1}, BlockId{2}, BlockId{3}});  // ceil(9 / 4)
  CHECK(snapshot->view.table.empty());
}

TEST_CASE("locked scheduler: each transfer is taken once, and a lost one is lost") {
  // Nine tokens, blocks of four, boundaries at four: blocks 1 and 2 are saved under ticket 1.
  SchedulerOptions options = tight_options(0);
  options.state = Switch::kOff;
  options.state_ids = 1;
  options.reuse = Switch::kOn;
  options.host_block_ids = 9;
  options.store_interval = TokenCount(4);
  LockedScheduler scheduler(options);
  RequestSpec spec;
  spec.prompt = TokenCount(9);
  spec.limit = TokenCount(1);
  const std::vector<std::uint64_t> keys{7, 8};
  scheduler.add(spec, {keys, TokenCount(0), 0});
  StepPlan plan;
  scheduler.plan_step(plan);
  scheduler.on_step_complete({plan.step, false, nullptr, 0});
  const std::vector<Transfer> taken = scheduler.take_transfers();
  REQUIRE(taken.size() == 2);
  CHECK(taken[0].device == BlockId{1});
  CHECK(taken[1].device == BlockId{2});
  CHECK(scheduler.take_transfers().empty());
  scheduler.on_lost(Lane::kDeviceToHost, taken[0].ticket);
  CHECK(scheduler.stats().saves_lost == 2);
  CHECK(scheduler.stats().saved_blocks == 0);
  CHECK(scheduler.nothing_pending());
}

TEST_CASE("locked scheduler: every verb answers as the scheduler behind it") {
  // U = 4, B = 4, of keys so that forks can be told what they hold: A runs, B waits as A's fork for a block
  // that C has, D waits for blocks. C's abort parks its block behind step 2.
  SchedulerOptions options = tight_options(0);
  options.block_ids = 5;
  options.state = Switch::kOff;
  options.state_ids = 1;
  options.reuse = Switch::kOn;
  LockedScheduler locked(options);
  Scheduler plain(options);
  const std::vector<std::uint64_t> keys{7, 8, 9};
  const PromptKeys told{keys, TokenCount(0), 0};
  RequestSpec spec;
  spec.limit = TokenCount(9);
  StepPlan plan;
  StepPlan twin;
  const auto same = [&] {
    CHECK(locked.running() == plain.running());
    CHECK(locked.waiting() == plain.waiting());
    CHECK(locked.waiting_forks() == plain.waiting_forks());
    CHECK(locked.explain_wait().size() == plain.explain_wait().size());
    CHECK(locked.unfinished() == plain.unfinished());
    CHECK(locked.nothing_pending() == plain.nothing_pending());
    CHECK(locked.state_hash() == plain.state_hash());
    CHECK(locked.options().block_ids == 5);
    CHECK(locked.stats().forks == plain.stats().forks);
    const Pool& blocks = plain.pools().blocks();
    const PoolCounts counts = locked.pool(PoolKind::kBlocks);
    CHECK(counts.usable == blocks.usable());
    CHECK(counts.available == blocks.available());
    CHECK(counts.owned == blocks.owned());
    CHECK(counts.parked == blocks.parked());
  };
  const auto step = [&] {
    std::size_t chunks = 0;
    locked.plan_step(plan, [&](const Scheduler& inside) {
      chunks = plan.chunks.size();
      CHECK(inside.planned() == plan.step);
    });
    plain.plan_step(twin);
    CHECK(chunks == twin.chunks.size());
    same();
  };
  spec.prompt = TokenCount(6);
  locked.add(spec);
  plain.add(SequenceId{0}, spec);
  spec.prompt = TokenCount(4);
  locked.add(spec);
  plain.add(SequenceId{1}, spec);
  step();
  locked.on_step_complete({plan.step, false, nullptr, 0});
  plain.on_step_complete({plan.step, false, nullptr, 0});
  spec.prompt = TokenCount(9);
  locked.fork(SequenceId{0}, spec, told);
  plain.fork(SequenceId{0}, SequenceId{2}, spec, told);
  locked.add(spec);
  plain.add(SequenceId{3}, spec);
  same();
  step();
  CHECK(locked.waiting_forks().size() == 1);
  CHECK(locked.waiting().size() == 1);
  CHECK(locked.running().size() == 2);
  CHECK(locked.abort(SequenceId{1}));
  plain.abort(SequenceId{1});
  same();
  CHECK(locked.pool(PoolKind::kBlocks).parked > BlockCount(0));
  CHECK_FALSE(locked.nothing_pending());
  locked.abort(SequenceId{0});
  locked.abort(SequenceId{2});
  locked.abort(SequenceId{3});
  CHECK(locked.unfinished() == 0);
  CHECK_FALSE(locked.nothing_pending());  // step 2 has not come back
}

TEST_CASE("locked scheduler: ids are given in the order of arrival, a refused one is used up") {
  LockedScheduler scheduler(tight_options(0));
  RequestSpec fits;
  fits.prompt = TokenCount(4);
  fits.limit = TokenCount(1);
  RequestSpec never = fits;
  never.prompt = TokenCount(65);  // max_model_len is 64
  CHECK(scheduler.add(fits).id == SequenceId{0});
  const Arrival refused = scheduler.add(never);
  CHECK(refused.id == SequenceId{1});
  CHECK(refused.answer == Answer::kNever);
  CHECK(scheduler.add(fits).id == SequenceId{2});
  CHECK(scheduler.state_hash() != LockedScheduler(tight_options(0)).state_hash());
}

}  // namespace
}  // namespace pinfold
