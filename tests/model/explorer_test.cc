// Every order in which arrivals, plans, copies, results, stops, one abort and one lost step can meet, for
// a few tiny scenarios. In every state: the audit, the account kept outside, and that nothing which a
// dispatched step or a queued copy may touch is issued again (rule O9). Every state leads to one in which
// everybody has ended and the pools are empty: nobody is stuck and nothing goes round for ever.

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>

#include "tests/model/world.h"

namespace pinfold::model {
namespace {

constexpr std::size_t kStatesMax = 200'000;

struct Arrival {
  Wish wish;
  std::optional<SequenceId> parent;  // a fork of it
};

struct Scenario {
  SchedulerOptions options;
  std::vector<Arrival> arrivals;    // request n arrives n-th
  std::optional<SequenceId> abort;  // may be aborted once, at any moment
  bool may_fail = false;            // one step may be lost
};

/// An id, and how often its pool had issued it when a step or copy named it.
struct Named {
  PoolKind pool;
  BlockId id;
  std::uint32_t issue;
};
struct Touched {
  std::vector<Named> by_rows;    // until the device has run the step
  std::vector<Named> by_copies;  // until it has run its copies
};

struct State {
  World world;
  std::size_t arrived = 0;
  bool may_abort = false;
  bool may_fail = false;
  std::map<std::pair<PoolKind, BlockId>, std::uint32_t> issues{};
  std::deque<Touched> touched{};  // as world.flying

  void read_journal() {
    const std::span<const std::byte> bytes = world.scheduler.journal().unread();
    for (std::size_t at = 0; at < bytes.size();) {
      Record record{};
      std::memcpy(&record, &bytes[at], sizeof record);
      std::vector<BlockId> ids(ids_after(record));
      if (!ids.empty()) std::memcpy(ids.data(), &bytes[at + sizeof record], 4 * ids.size());
      if (record.verb == Verb::kAcquire) {
        for (const BlockId id : ids) ++issues[{record.pool, id}];
      }
      at += sizeof record + 4 * ids.size();
    }
    world.scheduler.journal().clear();
  }
  void name(std::vector<Named>& list, PoolKind pool, BlockId id) {
    if (id != kNoBlock) list.push_back({pool, id, issues[{pool, id}]});
  }

  bool plan() {
    const bool dispatched = world.turn();
    read_journal();
    if (!dispatched) return false;
    Touched& step = touched.emplace_back();
    const auto name_rows = [&](SequenceId sequence) {
      // Without step fences only copies hold anything; and rejected drafts free what they reserved.
      if (world.scheduler.options().fence != FenceMode::kAlways) return;
      if (world.accounts.at(sequence).wish.drafts > 0) return;
      const SequenceView view = world.scheduler.view(sequence);
      for (const BlockId id : view.table) name(step.by_rows, PoolKind::kBlocks, id);
      name(step.by_rows, PoolKind::kStateSlots, view.state);
    };
    for (const auto& row : world.batch) name_rows(row.first);
    for (const Chunk& chunk : world.plan.chunks) name_rows(chunk.sequence);
    for (const Copy& copy : world.plan.copies) {
      name(step.by_copies, copy.pool, copy.from);
      name(step.by_copies, copy.pool, copy.to);
    }
    return true;
  }
  void pass_copies() {
    for (std::size_t n = 0; n < touched.size(); ++n) {
      touched[n].by_copies.clear();
      if (!world.flying[n].copies_passed) break;
      touched[n].by_rows.clear();  // the lane is in order: the steps before have run
    }
    world.pass_copies();
  }
  /// Rows of the oldest step that may end with it: hidden stops of whoever lives.
  std::vector<SequenceId> may_stop() const {
    std::vector<SequenceId> rows;
    for (const MirrorRow& row : world.flying.front().rows) {
      const Account& account = world.accounts.at(row.sequence);
      if (account.wish.stop == StopMode::kHidden && !account.ended) rows.push_back(row.sequence);
    }
    return rows;
  }
  /// Those whose bits are set in `stops` end with it.
  void complete(std::uint32_t stops, bool failed) {
    for (const SequenceId sequence : may_stop()) {
      Account& account = world.accounts.at(sequence);
      account.wish.output = (stops & 1) != 0 ? account.emitted + 1 : UINT32_MAX;
      stops >>= 1;
    }
    touched.pop_front();
    world.complete(failed);
  }

  void check() {
    read_journal();
    world.check();
    for (const Touched& step : touched) {
      for (const std::vector<Named>* list : {&step.by_rows, &step.by_copies}) {
        for (const Named& named : *list) {
          PINFOLD_CHECK(issues[std::make_pair(named.pool, named.id)] == named.issue, "explorer",
                        std::string(name_of(named.pool)) + " " +
                            std::to_string(index_of(named.id)) + " was issued under a step");
        }
      }
    }
  }
  std::uint64_t key() const {
    std::uint64_t key = world.scheduler.state_hash();
    const auto mix = [&](std::uint64_t value) {
      key = (key ^ value) * 0x9E3779B97F4A7C15 ^ key >> 31;
    };
    mix(arrived * 4 + may_abort * 2 + may_fail);
    for (std::size_t n = 0; n < touched.size(); ++n) {
      mix(world.flying[n].copies_passed);
      for (const Named& named : touched[n].by_rows) mix(index_of(named.id));
    }
    return key;
  }
};

class Explorer {
 public:
  explicit Explorer(const Scenario& scenario) : scenario_(scenario) {}

  /// Throws at the first broken rule; true if every state leads to the end of everybody.
  bool run() {
    State start{World(scenario_.options, 0,
                      [](std::uint64_t, SequenceId, std::uint32_t token) { return token % 2; })};
    start.may_abort = scenario_.abort.has_value();
    start.may_fail = scenario_.may_fail;
    visit(start);
    std::vector<bool> gets_on(reached_from_.size());
    std::vector<std::uint32_t> open = ends_;
    while (!open.empty()) {
      const std::uint32_t state = open.back();
      open.pop_back();
      if (gets_on[state]) continue;
      gets_on[state] = true;
      open.insert(open.end(), reached_from_[state].begin(), reached_from_[state].end());
    }
    return std::find(gets_on.begin(), gets_on.end(), false) == gets_on.end();
  }
  std::size_t states() const { return reached_from_.size(); }
  std::size_t transitions() const { return transitions_; }
  const SchedulerStats& most() const { return most_; }

 private:
  std::uint32_t visit(State& state) {
    state.check();
    const auto [seen, is_new] =
        numbers_.emplace(state.key(), static_cast<std::uint32_t>(reached_from_.size()));
    const std::uint32_t number = seen->second;
    if (!is_new) return number;
    PINFOLD_CHECK(number < kStatesMax, "explorer", "no end of states");
    reached_from_.emplace_back();
    const SchedulerStats& stats = state.world.scheduler.stats();
    most_.preemptions = std::max(most_.preemptions, stats.preemptions);
    most_.sat_out = std::max(most_.sat_out, stats.sat_out);
    most_.parked = std::max(most_.parked, stats.parked);
    most_.forks = std::max(most_.forks, stats.forks);
    const auto go = [&](auto act) {
      State next = state;
      act(next);
      ++transitions_;
      const std::uint32_t to = visit(next);
      reached_from_[to].push_back(number);
    };
    const World& world = state.world;
    if (state.arrived == scenario_.arrivals.size() && world.drained()) ends_.push_back(number);
    if (state.arrived < scenario_.arrivals.size()) go([&](State& next) { arrive(next); });
    if (world.may_plan()) go([](State& next) { next.plan(); });
    if (world.copies_pending()) go([](State& next) { next.pass_copies(); });
    if (state.may_abort && world.scheduler.knows(*scenario_.abort)) {
      go([&](State& next) {
        next.may_abort = false;
        next.world.abort(*scenario_.abort);
      });
    }
    if (!world.flying.empty()) {
      const std::uint32_t subsets = 1u << state.may_stop().size();
      for (std::uint32_t stops = 0; stops < subsets; ++stops) {
        go([&](State& next) { next.complete(stops, false); });
      }
      if (state.may_fail) {
        go([](State& next) {
          next.may_fail = false;
          next.complete(0, true);
        });
      }
    }
    return number;
  }
  void arrive(State& next) const {
    const SequenceId id{static_cast<std::uint32_t>(next.arrived)};
    const Arrival& arrival = scenario_.arrivals[next.arrived++];
    if (arrival.parent.has_value()) {
      next.world.fork(*arrival.parent, id, arrival.wish);
    } else {
      next.world.add(id, arrival.wish);
    }
  }

  const Scenario scenario_;
  std::map<std::uint64_t, std::uint32_t> numbers_;  // key -> number of the state
  std::vector<std::vector<std::uint32_t>> reached_from_;
  std::vector<std::uint32_t> ends_;
  std::size_t transitions_ = 0;
  SchedulerStats most_;  // the most of each count on one path that led to a new state
};

SchedulerOptions tiny(std::uint32_t usable_blocks, std::uint32_t overlap) {
  SchedulerOptions options;
  options.block_ids = usable_blocks + 1;
  options.block_size = TokenCount(2);
  options.max_sequences = 3;
  options.token_budget = TokenCount(16);
  options.max_model_len = TokenCount(16);
  options.overlap = overlap;
  return options;
}

Arrival request(std::uint32_t prompt, std::uint32_t limit, StopMode stop = StopMode::kHidden) {
  return {{prompt, limit, limit, stop, 0, 0}, std::nullopt};
}
Arrival fork_of(std::uint32_t parent, std::uint32_t prompt, std::uint32_t limit) {
  return {{prompt, limit, limit, StopMode::kHidden, 0, 0}, SequenceId{parent}};
}

/// Explores, expects no broken rule, and prints what there was to see. False: somebody is stuck.
bool explore(const std::string& what, const Scenario& scenario, SchedulerStats* most = nullptr) {
  Explorer explorer(scenario);
  bool gets_on = false;
  std::string violation = "none";
  try {
    gets_on = explorer.run();
  } catch (const InvariantViolation& broken) {
    violation = broken.what();
  }
  CAPTURE(what);
  CHECK(violation == "none");
  std::printf("  %-44s %7zu states %8zu transitions\n", what.c_str(), explorer.states(),
              explorer.transitions());
  if (most != nullptr) *most = explorer.most();
  return gets_on;
}

std::string at_overlap(const char* what, std::uint32_t overlap) {
  return std::string(what) + ", overlap " + std::to_string(overlap);
}

TEST_CASE("explorer: three requests, six blocks, any one aborted, at overlap 0, 1 and 2") {
  for (const std::uint32_t overlap : {0u, 1u, 2u}) {
    for (const std::uint32_t victim : {0u, 1u, 2u}) {
      SchedulerStats most;
      const std::string what = "request " + std::to_string(victim) + " aborted";
      CHECK(explore(
          at_overlap(what.c_str(), overlap),
          {tiny(6, overlap), {request(3, 4), request(4, 3), request(2, 3)}, SequenceId{victim}},
          &most));
      CHECK(most.preemptions > 0);
      CHECK((most.sat_out > 0) == (overlap > 0));
      CHECK(most.parked > 0);
    }
  }
}

TEST_CASE("explorer: a pool that one request may fill alone") {
  for (const std::uint32_t overlap : {0u, 1u, 2u}) {
    CHECK(
        explore(at_overlap("three blocks", overlap),
                {tiny(3, overlap), {request(3, 5), request(1, 4), request(2, 3)}, SequenceId{0}}));
  }
}

TEST_CASE("explorer: a fork with state slots, parent or child aborted") {
  for (const std::uint32_t overlap : {0u, 1u, 2u}) {
    for (const std::uint32_t victim : {0u, 1u}) {
      SchedulerOptions options = tiny(6, overlap);
      options.state = Switch::kOn;
      options.state_ids = 3;
      SchedulerStats most;
      CHECK(explore(
          at_overlap(victim == 0 ? "slots, parent aborted" : "slots, fork aborted", overlap),
          {options, {request(3, 3), fork_of(0, 1, 2), request(3, 2)}, SequenceId{victim}}, &most));
      CHECK(most.forks > 0);
    }
  }
}

TEST_CASE("explorer: two forks without state, one aborted, with and without step fences") {
  for (const FenceMode fence : {FenceMode::kAlways, FenceMode::kUnorderedWriters}) {
    for (const std::uint32_t victim : {0u, 1u}) {
      SchedulerOptions options = tiny(5, 2);
      options.fence = fence;
      const char* const fenced = fence == FenceMode::kAlways ? "two forks" : "two forks, unfenced";
      CHECK(explore(
          at_overlap(fenced, 2),
          {options, {request(3, 3), fork_of(0, 1, 2), fork_of(0, 5, 1)}, SequenceId{victim}}));
    }
  }
}

TEST_CASE("explorer: one step lost at any moment") {
  for (const std::uint32_t overlap : {0u, 1u, 2u}) {
    for (const Switch state : {Switch::kOff, Switch::kOn}) {
      SchedulerOptions options = tiny(6, overlap);
      options.state = state;
      options.state_ids = state == Switch::kOn ? 3 : 1;
      const char* const what = state == Switch::kOn ? "lost step, slots" : "lost step";
      CHECK(
          explore(at_overlap(what, overlap),
                  {options, {request(3, 4), fork_of(0, 1, 2), request(4, 3)}, std::nullopt, true}));
    }
  }
}

TEST_CASE("explorer: chunked prompts, known stops beside a hidden one") {
  SchedulerOptions options = tiny(6, 1);
  options.token_budget = TokenCount(3);
  CHECK(explore(at_overlap("chunks of three rows", 1),
                {options,
                 {request(5, 3, StopMode::kKnown), request(6, 2, StopMode::kKnown), request(2, 3)},
                 SequenceId{1}}));
}

TEST_CASE("explorer: drafts, of which every other token is accepted") {
  SchedulerOptions options = tiny(6, 1);
  options.draft_ids = 2;
  Scenario scenario{options, {request(3, 4), request(2, 4), request(2, 2)}, SequenceId{0}};
  for (Arrival& arrival : scenario.arrivals) arrival.wish.drafts = 2;
  CHECK(explore(at_overlap("two drafts, one draft slot", 1), scenario));
}

TEST_CASE("explorer: finds the chapter's deadlock of one slot, and no way into it with demotion") {
  for (const Switch demote : {Switch::kOff, Switch::kOn}) {
    SchedulerOptions options = tiny(6, 1);
    options.state = Switch::kOn;
    options.state_ids = 2;
    options.demote = demote;
    const char* const what = demote == Switch::kOn ? "one slot, demotion" : "one slot, no demotion";
    CHECK(
        explore(at_overlap(what, 1), {options, {request(3, 3), fork_of(0, 1, 2)}, std::nullopt}) ==
        (demote == Switch::kOn));
  }
}

}  // namespace
}  // namespace pinfold::model
