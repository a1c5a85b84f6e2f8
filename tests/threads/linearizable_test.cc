// Is every call of the facade one step in one order that all threads agree on? Threads call it, each call
// notes when it began, when it ended and what it answered. Then an order is looked for (Wing and Gong, 1993)
// that keeps each call that ended before another began in front of it, and in which a plain scheduler that
// knows no threads answers the same, call by call. A history without such an order is a finding.
#include "engine/locked_scheduler.h"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <set>
#include <thread>
#include <utility>

namespace pinfold {
namespace {

constexpr std::uint32_t kHistories = 300;
constexpr std::uint32_t kClients = 3;
constexpr std::uint32_t kCallsEach = 5;  // of the clients; the driver makes a few more

enum class CallVerb : std::uint8_t {
  kAdd,
  kFork,
  kAbort,
  kView,
  kPool,
  kUnfinished,
  kTakeEnded,
  kStateHash,
  kPlan,
  kComplete
};

struct Call {
  CallVerb verb;
  std::uint32_t id = 0;      // parent, victim, who is looked at; the pool
  std::uint64_t step = 0;    // kComplete
  std::uint32_t number = 0;  // makes the request
  std::uint64_t began = 0, ended = 0;
  std::vector<std::uint64_t> answer{};
};

/// The facade's verbs on a plain value: what "one order" means.
class Twin {
 public:
  explicit Twin(const SchedulerOptions& options) : scheduler_(options) {}
  Arrival add(const RequestSpec& spec) {
    const SequenceId id{next_id_++};
    return {id, scheduler_.add(id, spec)};
  }
  Arrival fork(SequenceId parent, const RequestSpec& spec) {
    const SequenceId id{next_id_++};
    return {id, scheduler_.fork(parent, id, spec)};
  }
  bool abort(SequenceId id) { return scheduler_.abort(id); }
  template <class Read>
  void plan_step(StepPlan& plan, Read read) {
    scheduler_.plan_step(plan);
    read(std::as_const(scheduler_));
  }
  void on_step_complete(const StepResult& result) { scheduler_.on_step_complete(result); }
  std::vector<Ended> take_ended() {
    const std::vector<Ended> taken(scheduler_.ended().begin(), scheduler_.ended().end());
    scheduler_.clear_ended();
    return taken;
  }
  std::optional<SequenceSnapshot> view(SequenceId id) const {
    if (!scheduler_.knows(id)) return std::nullopt;
    SequenceSnapshot seen{scheduler_.view(id), {}};
    seen.table.assign(seen.view.table.begin(), seen.view.table.end());
    return seen;
  }
  PoolCounts pool(PoolKind kind) const {
    const Pool& pool = scheduler_.pools().of(kind);
    return {pool.usable(), pool.available(), pool.owned(), pool.parked()};
  }
  std::uint32_t unfinished() const { return scheduler_.unfinished(); }
  std::uint64_t state_hash() const { return scheduler_.state_hash(); }

  /// Equal for twins that will answer alike: state_hash() leaves out the ends that nobody has taken.
  std::vector<std::uint64_t> state() const {
    std::vector<std::uint64_t> all{scheduler_.state_hash(), value_of(scheduler_.planned()),
                                   next_id_};
    for (const Ended& end : scheduler_.ended()) {
      all.insert(all.end(), {value_of(end.sequence), static_cast<std::uint64_t>(end.reason),
                             end.emitted.value});
    }
    return all;
  }

 private:
  Scheduler scheduler_;
  std::uint32_t next_id_ = 0;
};

RequestSpec spec_of(std::uint32_t number) {
  RequestSpec spec;
  spec.prompt = TokenCount(1 + number * 7 % 13);
  spec.limit = TokenCount(1 + number * 5 % 4);
  spec.stop = StopMode::kKnown;
  spec.drafts = TokenCount(number % 2);
  return spec;
}

/// Makes the call and returns all that its caller can see of it.
template <class Facade>
std::vector<std::uint64_t> perform(Facade& facade, const Call& call) {
  std::vector<std::uint64_t> seen;
  const auto see_arrival = [&](const Arrival& arrival) {
    seen = {value_of(arrival.id), static_cast<std::uint64_t>(arrival.answer)};
  };
  switch (call.verb) {
    case CallVerb::kAdd: see_arrival(facade.add(spec_of(call.number))); break;
    case CallVerb::kFork:
      see_arrival(facade.fork(SequenceId{call.id}, spec_of(call.number)));
      break;
    case CallVerb::kAbort: seen = {facade.abort(SequenceId{call.id}) ? 1u : 0u}; break;
    case CallVerb::kView:
      if (const std::optional<SequenceSnapshot> snapshot = facade.view(SequenceId{call.id})) {
        const SequenceView& view = snapshot->view;
        seen = {static_cast<std::uint64_t>(view.phase),
                view.rows.history.value,
                view.rows.processed.value,
                view.rows.in_flight.value,
                view.emitted.value,
                view.epoch};
        for (const BlockId id : snapshot->table) seen.push_back(index_of(id));
      }
      break;
    case CallVerb::kPool: {
      const PoolCounts counts = facade.pool(PoolKind{static_cast<std::uint8_t>(call.id)});
      seen = {counts.usable.value, counts.available.value, counts.owned.value, counts.parked.value};
      break;
    }
    case CallVerb::kUnfinished: seen = {facade.unfinished()}; break;
    case CallVerb::kTakeEnded:
      for (const Ended& end : facade.take_ended()) {
        seen.insert(seen.end(), {value_of(end.sequence), static_cast<std::uint64_t>(end.reason),
                                 end.emitted.value});
      }
      break;
    case CallVerb::kStateHash: seen = {facade.state_hash()}; break;
    case CallVerb::kPlan: {
      StepPlan plan;
      facade.plan_step(plan, [&](const Scheduler& inside) {
        for (const Chunk& chunk : plan.chunks) {
          seen.insert(seen.end(), {value_of(chunk.sequence), chunk.first.value, chunk.count.value});
          for (const BlockId id : inside.view(chunk.sequence).table) seen.push_back(index_of(id));
        }
      });
      seen.insert(seen.end(), {plan.empty ? 1u : 0u, plan.empty ? 0 : value_of(plan.step),
                               plan.joined.size(), plan.copies.size()});
      break;
    }
    case CallVerb::kComplete:
      facade.on_step_complete({StepNumber{call.step}, false, nullptr, 0});
      break;
  }
  return seen;
}

using History = std::vector<Call>;

/// Looks for an order of the calls in which a twin answers as the facade did.
class Linearizer {
 public:
  Linearizer(const History& history, const SchedulerOptions& options)
      : history_(history), found_(history.size() <= 64 && search(Twin(options), 0)) {}
  bool found() const { return found_; }

 private:
  bool search(const Twin& twin, std::uint64_t done) {
    if (done == (history_.size() == 64 ? ~0ull : (1ull << history_.size()) - 1)) return true;
    if (!seen_.insert({done, twin.state()}).second) return false;
    // No call may come before one that had ended when it began.
    std::uint64_t first_end = UINT64_MAX;
    for (std::size_t n = 0; n < history_.size(); ++n) {
      if ((done >> n & 1) == 0) first_end = std::min(first_end, history_[n].ended);
    }
    for (std::size_t n = 0; n < history_.size(); ++n) {
      if ((done >> n & 1) != 0 || history_[n].began > first_end) continue;
      Twin next = twin;
      try {
        if (perform(next, history_[n]) != history_[n].answer) continue;
      } catch (const InvariantViolation&) {
        continue;  // a result before its step: not this order
      }
      if (search(next, done | 1ull << n)) return true;
    }
    return false;
  }

  const History& history_;
  std::set<std::pair<std::uint64_t, std::vector<std::uint64_t>>> seen_;
  bool found_;
};

SchedulerOptions small_options(std::uint32_t overlap) {
  SchedulerOptions options;
  options.block_size = TokenCount(4);
  options.block_ids = 7;
  options.draft_ids = 3;
  options.max_sequences = 3;
  options.token_budget = TokenCount(8);
  options.max_model_len = TokenCount(24);
  options.overlap = overlap;
  return options;
}

/// A caller between its calls lets others run, and so it does inside the time that it notes.
template <class Facade>
class Caller {
 public:
  Caller(Facade& facade, std::atomic<std::uint64_t>& clock) : facade_(facade), clock_(clock) {}
  const std::vector<std::uint64_t>& operator()(Call call) {
    call.began = ++clock_;
    std::this_thread::yield();
    call.answer = perform(facade_, call);
    std::this_thread::yield();
    call.ended = ++clock_;
    calls_.push_back(std::move(call));
    return calls_.back().answer;
  }
  const History& calls() const { return calls_; }

 private:
  Facade& facade_;
  std::atomic<std::uint64_t>& clock_;
  History calls_;
};

template <class Facade>
void be_client(Caller<Facade>& call, std::uint32_t seed) {
  std::uint32_t mine = 0;
  for (std::uint32_t n = 0; n < kCallsEach; ++n) {
    const std::uint32_t number = seed * 31 + n * 7;
    switch (n == 0 ? 0 : number % 8) {
      case 0: mine = static_cast<std::uint32_t>(call({CallVerb::kAdd, 0, 0, number})[0]); break;
      case 1: call({CallVerb::kFork, mine, 0, number}); break;
      case 2: call({CallVerb::kAbort, mine, 0, 0}); break;
      case 3: call({CallVerb::kView, mine, 0, 0}); break;
      case 4: call({CallVerb::kPool, 0, 0, 0}); break;
      case 5: call({CallVerb::kUnfinished, 0, 0, 0}); break;
      case 6: call({CallVerb::kTakeEnded, 0, 0, 0}); break;
      default: call({CallVerb::kStateHash, 0, 0, 0}); break;
    }
  }
}

template <class Facade>
void be_driver(Caller<Facade>& call) {
  for (std::uint32_t n = 0; n < 5; ++n) {
    const std::vector<std::uint64_t> plan = call({CallVerb::kPlan, 0, 0, 0});
    const std::uint64_t step = plan[plan.size() - 3];
    if (step > 0) call({CallVerb::kComplete, 0, step, 0});
    if (n % 2 == 1) call({CallVerb::kTakeEnded, 0, 0, 0});
  }
}

template <class Facade>
History record(Facade& facade, std::uint32_t seed) {
  std::atomic<std::uint64_t> clock = 0;
  std::atomic<std::uint32_t> waiting = kClients + 1;
  std::vector<Caller<Facade>> callers(kClients + 1, Caller<Facade>(facade, clock));
  std::vector<std::thread> threads;
  for (std::uint32_t n = 0; n <= kClients; ++n) {
    threads.emplace_back([&, n] {
      --waiting;
      while (waiting.load() > 0) std::this_thread::yield();
      if (n == kClients) {
        be_driver(callers[n]);
      } else {
        be_client(callers[n], seed * kClients + n);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  History history;
  for (const Caller<Facade>& caller : callers) {
    history.insert(history.end(), caller.calls().begin(), caller.calls().end());
  }
  return history;
}

std::uint32_t overlaps(const History& history) {
  std::uint32_t pairs = 0;
  for (std::size_t n = 0; n < history.size(); ++n) {
    for (std::size_t m = n + 1; m < history.size(); ++m) {
      pairs += history[n].began < history[m].ended && history[m].began < history[n].ended;
    }
  }
  return pairs;
}

/// A facade that looks and then acts: what a lock let go in between would do. Two arrivals may get one id.
class TornFacade {
 public:
  explicit TornFacade(const SchedulerOptions& options) : facade_(options) {}
  Arrival add(const RequestSpec& spec) {
    const Arrival arrival = facade_.add(spec);
    const std::uint32_t seen = next_.load();
    std::this_thread::yield();
    next_.store(seen + 1);
    return {SequenceId{seen}, arrival.answer};
  }
  Arrival fork(SequenceId parent, const RequestSpec& spec) {
    Arrival arrival = facade_.fork(parent, spec);
    arrival.id = SequenceId{next_++};
    return arrival;
  }
  bool abort(SequenceId id) { return facade_.abort(id); }
  template <class Read>
  void plan_step(StepPlan& plan, Read read) {
    facade_.plan_step(plan, read);
  }
  void on_step_complete(const StepResult& result) { facade_.on_step_complete(result); }
  std::vector<Ended> take_ended() { return facade_.take_ended(); }
  std::optional<SequenceSnapshot> view(SequenceId id) const { return facade_.view(id); }
  PoolCounts pool(PoolKind kind) const { return facade_.pool(kind); }
  std::uint32_t unfinished() const { return facade_.unfinished(); }
  std::uint64_t state_hash() const { return facade_.state_hash(); }

 private:
  LockedScheduler facade_;
  std::atomic<std::uint32_t> next_ = 0;
};

TEST_CASE(
    "linearizable: every history of the facade has an order that a plain scheduler agrees with") {
  std::uint64_t calls = 0, pairs = 0;
  for (std::uint32_t seed = 0; seed < kHistories; ++seed) {
    const SchedulerOptions options = small_options(seed % 3);
    LockedScheduler facade(options);
    const History history = record(facade, seed);
    calls += history.size();
    pairs += overlaps(history);
    INFO("history ", seed);
    CHECK(Linearizer(history, options).found());
  }
  CHECK(pairs > 0);
  MESSAGE(kHistories, " histories, ", calls, " calls, ", pairs, " pairs of them at the same time");
}

TEST_CASE("linearizable: a history of a torn facade is found") {
  std::uint32_t found = 0, seed = 0;
  for (; seed < 20 * kHistories && found == 0; ++seed) {
    const SchedulerOptions options = small_options(seed % 3);
    TornFacade facade(options);
    found += Linearizer(record(facade, seed), options).found() ? 0 : 1;
  }
  MESSAGE(seed, " histories until one of the torn facade has no order");
  CHECK(found == 1);
}

// Hand-made histories: {verb, id, step, number, began, ended, answer}. Ids are 0, 1, ...; spec_of(0) is one
// prompt token and one token of output, which end with the first result.
constexpr std::uint64_t kOkAnswer = static_cast<std::uint64_t>(Answer::kOk);

TEST_CASE("linearizable: two arrivals cannot get one id") {
  const SchedulerOptions options = small_options(0);
  CHECK(Linearizer({{CallVerb::kAdd, 0, 0, 0, 1, 4, {0, kOkAnswer}},
                    {CallVerb::kAdd, 0, 0, 0, 2, 3, {1, kOkAnswer}}},
                   options)
            .found());
  CHECK_FALSE(Linearizer({{CallVerb::kAdd, 0, 0, 0, 1, 4, {0, kOkAnswer}},
                          {CallVerb::kAdd, 0, 0, 0, 2, 3, {0, kOkAnswer}}},
                         options)
                  .found());
}

TEST_CASE("linearizable: what ended before another call began is seen by it") {
  const SchedulerOptions options = small_options(0);
  const auto history = [](std::uint64_t began) -> History {
    return {{CallVerb::kAdd, 0, 0, 0, 1, 2, {0, kOkAnswer}},
            {CallVerb::kAbort, 0, 0, 0, 3, 5, {1}},
            {CallVerb::kUnfinished, 0, 0, 0, began, 7, {1}}};
  };
  CHECK(Linearizer(history(4), options).found());        // they overlap: it may have come first
  CHECK_FALSE(Linearizer(history(6), options).found());  // the abort was over
}

TEST_CASE("linearizable: an end is taken once") {
  const SchedulerOptions options = small_options(0);
  const std::uint64_t aborted = static_cast<std::uint64_t>(EndReason::kAborted);
  const auto history = [&](std::vector<std::uint64_t> second) -> History {
    return {{CallVerb::kAdd, 0, 0, 0, 1, 2, {0, kOkAnswer}},
            {CallVerb::kAbort, 0, 0, 0, 3, 4, {1}},
            {CallVerb::kTakeEnded, 0, 0, 0, 5, 8, {0, aborted, 0}},
            {CallVerb::kTakeEnded, 0, 0, 0, 6, 7, std::move(second)}};
  };
  CHECK(Linearizer(history({}), options).found());
  CHECK_FALSE(Linearizer(history({0, aborted, 0}), options).found());
}

}  // namespace
}  // namespace pinfold
