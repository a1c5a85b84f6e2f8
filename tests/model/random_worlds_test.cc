// Random worlds, each run twice: with the fast path and with the row-by-row twin. The
// journals must be the same bytes and every state hash must agree; the account kept outside must agree
// with the scheduler after every event; everything drains unless the chapter's own fork deadlock is
// asked for. Rules O2 to O10 and O15 are all driven here.

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/model/ledger_twin.h"
#include "tests/model/random_world.h"

namespace pinfold::model {
namespace {

// What the shadow memory, which shares no code with the allocator, makes of a journal.
std::string shadow_says(const Scenario& scenario, const Outcome& outcome) {
  sim::Shadow shadow(shadow_options(scenario.options));
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
  return text == nullptr ? 3'000 : std::strtoull(text, nullptr, 10);
}

std::uint64_t ledger_seeds_wanted() {
  const char* text = std::getenv("PINFOLD_LEDGER_WORLDS");
  return text == nullptr ? 500 : std::strtoull(text, nullptr, 10);
}

TEST_CASE("slow and fast path write the same journal in random worlds, and everything drains") {
  const std::uint64_t seeds = seeds_wanted();
  std::uint64_t preempted = 0, parked = 0, sat_out = 0, self = 0, forked = 0, aborted = 0,
                rejected = 0, failed = 0, demoted = 0, missed = 0, never = 0, stalled = 0;
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
    REQUIRE(fast.invariants == "clean");
    REQUIRE(slow.invariants == "clean");
    CAPTURE(fast.wait_report);
    // The one stall there is: forks that wait with their pins, and nobody demotes them (decision 7).
    if (fast.stalled) {
      REQUIRE(scenario.options.demote == Switch::kOff);
      REQUIRE(fast.wait_report != "");
    }
    stalled += fast.stalled;
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
  line("explained stall, demotion off", stalled);
  // Every kind of trouble in at least 5 % of the worlds, or the test does not test it.
  for (const std::uint64_t count : {preempted, parked, sat_out, self, forked, aborted, rejected}) {
    CHECK(count * 20 >= seeds);
  }
}

// The classes, slots and pairs of every instant, and their sums over time.
void ledger_beside_its_twin(Scenario (*draw)(std::uint64_t), bool reuse) {
  const std::uint64_t seeds = ledger_seeds_wanted();
  std::array<std::uint64_t, sim::kPositionClasses> seen{};
  std::uint64_t shared = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Scenario scenario = draw(seed);
    for (const Switch path : {Switch::kOn, Switch::kOff}) {
      WatchedLedger ledger(scenario.options);
      const Outcome outcome = run(scenario, seed, path, [&](World& world) {
        ledger.read(world);
        const std::string wrong = ledger.check(world);
        PINFOLD_CHECK(wrong.empty(), "ledger", wrong);
      });
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
    const bool built = reuse || n != static_cast<std::size_t>(sim::PositionClass::kCachedIdle);
    if (built) line(sim::kPositionClassNames[n], seen[n]);
  }
  line("sharing", shared);
}

TEST_CASE("the invariants hold in random worlds where prefixes are reused, on both paths") {
  std::uint64_t revived = 0, evicted = 0, tails = 0, resumed = 0;
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    const Scenario scenario = draw_reuse_scenario(seed);
    const Outcome fast = run(scenario, seed, Switch::kOn);
    const Outcome slow = run(scenario, seed, Switch::kOff);
    CAPTURE(seed);
    REQUIRE(fast.violation == "");
    REQUIRE(first_difference(fast, slow) == "none");
    REQUIRE(fast.invariants == "clean");
    REQUIRE(slow.invariants == "clean");
    revived += fast.stats.prefix_block_hits;
    evicted += fast.stats.evicted;
    tails += fast.stats.prefix_tail_hits;
    resumed += fast.stats.resume_hits;
  }
  for (const std::uint64_t count : {revived, evicted, tails, resumed}) CHECK(count > 100);
}

TEST_CASE("the ledger counts what its twin counts after every event of random worlds") {
  ledger_beside_its_twin(draw_scenario, false);
}

TEST_CASE("the ledger counts what its twin counts where prefixes are reused") {
  ledger_beside_its_twin(draw_reuse_scenario, true);
}

}  // namespace
}  // namespace pinfold::model
