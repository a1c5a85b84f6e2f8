// Ten thousand random worlds, each run twice: with the fast path and with the row-by-row twin. The
// journals must be the same bytes and every state hash must agree; the account kept outside must agree
// with the scheduler after every event; everything drains unless the chapter's own fork deadlock is
// asked for. Rules O2 to O10 and O15 are all driven here.

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sim/check/shadow.h"
#include "tests/model/ledger_twin.h"
#include "tests/model/random_draws.h"
#include "tests/model/world.h"

namespace pinfold::model {
namespace {

std::uint32_t draw_acceptance(std::uint64_t seed, SequenceId sequence, std::uint32_t token) {
  RandomDraws draws(seed * 1'000'003 + value_of(sequence) * 8191ull + token);
  return draws.chance(60) ? 1 : 0;
}

enum class Act : std::uint8_t { kAdd, kFork, kAbort, kFail };

struct Action {
  std::uint32_t turn;
  Act act;
  SequenceId id;
  SequenceId parent;
  Wish wish;
};

struct Scenario {
  SchedulerOptions options;
  std::vector<Action> actions;
  std::uint32_t poll_percent = 0;  // chance that a copy fence passes late
};

Scenario draw_scenario(std::uint64_t seed) {
  RandomDraws draws(seed);
  Scenario scenario;
  SchedulerOptions& options = scenario.options;
  options.block_size = TokenCount(1 + draws.below(8));
  options.block_ids = 2 + draws.below(12);
  options.max_sequences = 1 + draws.below(5);
  options.token_budget = TokenCount(options.max_sequences + draws.below(12));
  options.overlap = draws.below(3);
  options.state = draws.chance(40) ? Switch::kOn : Switch::kOff;
  options.state_ids = options.state == Switch::kOn ? 1 + draws.below(5) : 1;
  options.draft_ids = 1 + draws.below(5);
  options.max_model_len = TokenCount(draws.chance(20) ? 8 + draws.below(20) : 200);
  options.release_order = draws.chance(80) ? ReleaseOrder::kReverse : ReleaseOrder::kForward;
  options.free_order = draws.chance(80) ? FreeOrder::kFifo : FreeOrder::kLifo;
  options.fence = draws.chance(85) ? FenceMode::kAlways : FenceMode::kUnorderedWriters;
  options.growth_check = draws.chance(90) ? GrowthCheck::kShortfall : GrowthCheck::kOneFree;
  options.sole_owner = draws.chance(70) ? SoleOwner::kCopy : SoleOwner::kAdopt;
  options.tail_copy = draws.chance(70) ? TailCopy::kWholeBlock : TailCopy::kValidRows;
  scenario.poll_percent = draws.chance(30) ? 60 : 0;

  const bool hidden = draws.chance(60);
  const std::uint32_t drafts = draws.chance(60) ? draws.below(6) : 0;
  const std::uint32_t room = (options.block_ids - 1) * options.block_size.value;
  const std::uint32_t requests = 2 + draws.below(8);
  std::uint32_t turn = 0;
  for (std::uint32_t n = 0; n < requests; ++n) {
    turn += draws.below(6);
    Action action{turn, Act::kAdd, SequenceId{n * 2}, SequenceId{0}, {}};
    Wish& wish = action.wish;
    wish.prompt = 1 + draws.below(std::max(1u, room * 2 / 3));
    wish.output = draws.below(std::max(2u, room));
    if (draws.chance(5)) wish.prompt = room + 1 + draws.below(5);
    wish.stop = hidden ? StopMode::kHidden : StopMode::kKnown;
    wish.limit = hidden ? wish.output + draws.below(30) : wish.output;
    if (draws.chance(10)) wish.limit = hidden ? draws.below(wish.output + 1) : wish.output;
    wish.output = std::min(wish.output, hidden ? wish.output : wish.limit);
    wish.drafts = drafts;
    wish.priority = draws.chance(10) ? draws.below(3) : 1;
    scenario.actions.push_back(action);
  }
  const std::uint32_t events = draws.below(7);
  std::vector<Action> more;
  for (std::uint32_t n = 0; n < events; ++n) {
    const Action& on = scenario.actions[draws.below(requests)];
    Action action{on.turn + 1 + draws.below(12), Act::kAbort, on.id, on.id, on.wish};
    if (draws.chance(60)) {
      action.act = Act::kFork;
      action.wish.prompt =
          1 + draws.below(std::max(1u, on.wish.prompt + (draws.chance(50) ? 6 : 0)));
    } else if (draws.chance(15)) {
      action.act = Act::kFail;
    }
    more.push_back(action);
  }
  scenario.actions.insert(scenario.actions.end(), more.begin(), more.end());
  std::stable_sort(scenario.actions.begin(), scenario.actions.end(),
                   [](const Action& a, const Action& b) { return a.turn < b.turn; });
  // Ids increase with arrival: renumber what arrives, and what refers to it.
  std::map<SequenceId, SequenceId> renamed;
  std::uint32_t next = 0;
  for (Action& action : scenario.actions) {
    if (action.act == Act::kAdd) {
      renamed[action.id] = SequenceId{next};
      action.id = SequenceId{next++};
    } else if (action.act == Act::kFork) {
      action.parent = renamed.at(action.parent);
      action.id = SequenceId{next++};
    } else {
      action.id = renamed.at(action.id);
    }
  }
  return scenario;
}

struct Outcome {
  std::vector<std::byte> journal;
  std::vector<std::uint64_t> hashes;
  SchedulerStats stats;
  bool stalled = false;
  std::uint64_t rejections = 0;
  std::uint64_t aborts_in_flight = 0;
  std::uint64_t live_forks = 0;
  std::string violation;
  std::string wait_report;  // of a stall
};

// `ledger` is compared with its twin after every event; may be null.
Outcome run(const Scenario& scenario, std::uint64_t seed, Switch fast_path,
            WatchedLedger* ledger = nullptr) {
  SchedulerOptions options = scenario.options;
  options.fast_path = fast_path;
  World world(options, seed, draw_acceptance);
  const auto after_event = [&] {
    if (ledger == nullptr) return;
    ledger->read(world);
    const std::string wrong = ledger->check(world);
    PINFOLD_CHECK(wrong.empty(), "ledger", wrong);
  };
  RandomDraws order(seed ^ 0xABCDEF);
  Outcome outcome;
  bool fail_next = false;
  std::size_t next = 0;
  try {
    for (std::uint32_t turn = 0;; ++turn) {
      PINFOLD_CHECK(turn < 20'000, "world", "no end in sight");
      for (; next < scenario.actions.size() && scenario.actions[next].turn <= turn; ++next) {
        const Action& action = scenario.actions[next];
        if (action.act == Act::kAdd) world.add(action.id, action.wish);
        if (action.act == Act::kFork) world.fork(action.parent, action.id, action.wish);
        if (action.act == Act::kAbort && !world.accounts.at(action.id).ended)
          world.abort(action.id);
        if (action.act == Act::kFail) fail_next = true;
        after_event();
      }
      const bool planned =
          world.may_plan() && (world.flying.empty() || order.chance(70)) && world.turn();
      after_event();
      if (world.copies_pending() && !order.chance(scenario.poll_percent)) world.pass_copies();
      after_event();
      if (!world.flying.empty() && (!planned || order.chance(40))) {
        world.complete(fail_next);
        fail_next = false;
      }
      after_event();
      world.check();
      outcome.hashes.push_back(world.scheduler.state_hash());
      if (next < scenario.actions.size()) continue;
      if (world.drained()) break;
      if (!planned && world.flying.empty() && world.scheduler.nothing_pending()) {
        // One more pass must not find anything either.
        if (world.turn() || world.drained()) continue;
        outcome.stalled = true;
        for (const WaitReason& reason : world.scheduler.explain_wait()) {
          outcome.wait_report += "request " + std::to_string(value_of(reason.sequence)) +
                                 " cause " + std::to_string(static_cast<int>(reason.cause)) +
                                 " lacking " + std::to_string(reason.lacking.value) + "; ";
        }
        break;
      }
    }
  } catch (const InvariantViolation& violation) {
    outcome.violation = violation.what();
  }
  const std::span<const std::byte> journal = world.scheduler.journal().unread();
  outcome.journal.assign(journal.begin(), journal.end());
  outcome.stats = world.scheduler.stats();
  outcome.rejections = world.rejections_over_a_block_end;
  outcome.aborts_in_flight = world.aborts_in_flight;
  outcome.live_forks = world.live_forks;
  return outcome;
}

// What the shadow memory, which shares no code with the allocator, makes of a journal.
std::string shadow_says(const Scenario& scenario, const Outcome& outcome) {
  sim::ShadowOptions options;
  options.block_size = scenario.options.block_size.value;
  options.block_ids = scenario.options.block_ids;
  options.state_ids = scenario.options.state_ids;
  options.state_slots = scenario.options.state == Switch::kOn;
  options.fences_always = scenario.options.fence == FenceMode::kAlways;
  sim::Shadow shadow(options);
  shadow.consume(outcome.journal);
  if (shadow.findings().empty()) return "clean";
  const sim::ShadowFinding& first = shadow.findings().front();
  return first.rule + " at event " + std::to_string(first.event) + ": " + first.text;
}

// Where two journals part: the record, for a person to read.
std::string first_difference(const Outcome& a, const Outcome& b) {
  std::size_t at = 0;
  std::uint64_t event = 0;
  while (at + sizeof(Record) <= a.journal.size() && at + sizeof(Record) <= b.journal.size()) {
    Record one;
    Record two;
    std::memcpy(&one, &a.journal[at], sizeof one);
    std::memcpy(&two, &b.journal[at], sizeof two);
    const std::size_t size = sizeof one + ids_after(one) * sizeof(BlockId);
    if (std::memcmp(&one, &two, sizeof one) != 0 || at + size > b.journal.size() ||
        std::memcmp(&a.journal[at], &b.journal[at], size) != 0) {
      const auto words = [](const Record& record) {
        return "verb " + std::to_string(static_cast<int>(record.verb)) + " sequence " +
               std::to_string(record.sequence) + " count " + std::to_string(record.count) +
               " aux " + std::to_string(record.aux);
      };
      return "event " + std::to_string(event) + ": fast " + words(one) + ", slow " + words(two);
    }
    at += size;
    ++event;
  }
  return a.journal.size() == b.journal.size() ? "none" : "one journal goes on";
}

std::uint64_t seeds_wanted() {
  // ./dev check asks for more; the number is no input to any result.
  const char* text = std::getenv("PINFOLD_WORLDS");
  return text == nullptr ? 10'000 : std::strtoull(text, nullptr, 10);
}

std::uint64_t ledger_seeds_wanted() {
  const char* text = std::getenv("PINFOLD_LEDGER_WORLDS");
  return text == nullptr ? 500 : std::strtoull(text, nullptr, 10);
}

TEST_CASE("slow and fast path write the same journal in random worlds, and everything drains") {
  const std::uint64_t seeds = seeds_wanted();
  std::uint64_t preempted = 0, parked = 0, sat_out = 0, self = 0, forked = 0, aborted = 0,
                rejected = 0, failed = 0, demoted = 0, missed = 0, never = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Scenario scenario = draw_scenario(seed);
    const Outcome fast = run(scenario, seed, Switch::kOn);
    const Outcome slow = run(scenario, seed, Switch::kOff);
    CAPTURE(seed);
    REQUIRE(fast.violation == "");
    REQUIRE(slow.violation == "");
    REQUIRE(first_difference(fast, slow) == "none");
    REQUIRE(fast.hashes == slow.hashes);
    REQUIRE(shadow_says(scenario, fast) == "clean");
    CAPTURE(fast.wait_report);
    REQUIRE_FALSE(fast.stalled);
    preempted += fast.stats.preemptions > 0;
    parked += fast.stats.parked > 0;
    sat_out += fast.stats.sat_out > 0;
    self += fast.stats.self_preemptions > 0;
    forked += fast.stats.forks > 0 && fast.live_forks > 0;
    aborted += fast.aborts_in_flight > 0;
    rejected += fast.rejections > 0;
    demoted += fast.stats.sharing_lost > 0;
    missed += fast.stats.forks_missed > 0;
    never += fast.stats.answered_never > 0;
    for (const Action& action : scenario.actions) {
      if (action.act == Act::kFail) {
        ++failed;
        break;
      }
    }
  }
  const auto line = [&](const char* what, std::uint64_t count) {
    std::printf("  %-34s %6.2f %% of seeds\n", what,
                100.0 * static_cast<double>(count) / static_cast<double>(seeds));
  };
  std::printf("%llu random worlds, both paths\n", static_cast<unsigned long long>(seeds));
  line("preemption", preempted);
  line("storage parked behind a fence", parked);
  line("sit-out", sat_out);
  line("self-victim", self);
  line("fork of a live parent", forked);
  line("abort in flight", aborted);
  line("rejection over a block end", rejected);
  line("failed step", failed);
  line("fork demoted before a stall", demoted);
  line("fork missed", missed);
  line("NEVER", never);
  // Every kind of trouble in at least 5 % of the worlds, or the test does not test it.
  for (const std::uint64_t count : {preempted, parked, sat_out, self, forked, aborted, rejected}) {
    CHECK(count * 20 >= seeds);
  }
}

// The classes, slots and pairs of every instant, and their sums over time.
TEST_CASE("the ledger counts what its twin counts after every event of random worlds") {
  const std::uint64_t seeds = ledger_seeds_wanted();
  std::array<std::uint64_t, sim::kPositionClasses> seen{};
  std::uint64_t shared = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Scenario scenario = draw_scenario(seed);
    for (const Switch path : {Switch::kOn, Switch::kOff}) {
      WatchedLedger ledger(scenario.options);
      const Outcome outcome = run(scenario, seed, path, &ledger);
      CAPTURE(seed);
      REQUIRE(outcome.violation == "");
      if (path == Switch::kOff) continue;
      const sim::LedgerTotals totals = ledger.ledger().totals();
      for (std::size_t n = 0; n < seen.size(); ++n) seen[n] += totals.position_ns[n] > 0;
      shared += totals.saved_ns > 0;
    }
  }
  std::printf("%llu random worlds, ledger beside its twin\n",
              static_cast<unsigned long long>(seeds));
  const auto line = [&](const char* what, std::uint64_t count) {
    std::printf("  %-34s %6.2f %% of seeds\n", what,
                100.0 * static_cast<double>(count) / static_cast<double>(seeds));
    CHECK(count * 20 >= seeds);
  };
  for (std::size_t n = 0; n < seen.size(); ++n) {
    const bool built = n != static_cast<std::size_t>(sim::PositionClass::kCachedIdle);
    if (built) line(sim::kPositionClassNames[n], seen[n]);
  }
  line("sharing", shared);
}

}  // namespace
}  // namespace pinfold::model
