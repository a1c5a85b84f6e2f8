// State spaces that are small enough to count by hand, and what keeps the large ones honest.
#include "sim/explore/explorer.h"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "sim/explore/random_scenario.h"
#include "sim/explore/scenario_file.h"
#include "sim/explore/schedule_file.h"

namespace pinfold::sim {
namespace {

Scenario scenario_of(const std::string& engine, const std::string& rest) {
  const std::string text =
      R"({"story": "S", "config": {"engine": {"block_size": 2, "max_num_batched_tokens": 16,)"
      R"( "max_model_len": 16, )" +
      engine + "}" + rest + "}";
  Outcome<Scenario> scenario = parse_scenario(text, "s");
  REQUIRE_MESSAGE(bool(scenario), (scenario ? "" : describe(scenario.error())));
  return scenario.value();
}

ExploreResult explored(const Scenario& scenario, bool reduce = true, ExploreLimits limits = {}) {
  return explore(stage_of(scenario, reduce), limits);
}

const char* const kThree = R"("num_blocks": 7, "max_num_seqs": 3, "overlap": 1)";
const char* const kThreeRequests = R"(}, "requests": [{"name": "A", "prompt": 3, "limit": 4},
  {"name": "B", "prompt": 4, "limit": 3}, {"name": "C", "prompt": 2, "limit": 3}],
  "explore": {"stops": "any", "arrivals": "any order", "aborts": ["A"]})";

TEST_CASE("explorer: one request that may stop early has six states") {
  // Nobody; A waits; its prompt is in flight; it has a token; its second is in flight; it has ended.
  // Transitions: arrive and an empty plan; plan; go on or stop; plan; stop or limit.
  const ExploreResult result =
      explored(scenario_of(R"("num_blocks": 5, "max_num_seqs": 1, "overlap": 0)",
                           R"(}, "requests": [{"name": "A", "prompt": 3, "limit": 2}],
                     "explore": {"stops": "any"})"));
  CHECK(result.verdict == ExploreVerdict::kProved);
  CHECK(result.states == 6);
  CHECK(result.transitions == 8);
  CHECK(result.depth == 4);
  CHECK(result.over == 1);
  CHECK(result.outcomes.size() == 3);  // one token and stop; two and stop; two at the limit
}

TEST_CASE("explorer: with the stop given there is one way to end, and five states on a line") {
  const ExploreResult result =
      explored(scenario_of(R"("num_blocks": 5, "max_num_seqs": 1, "overlap": 0)",
                           R"(}, "requests": [{"name": "A", "prompt": 3, "output": 1}])"));
  // Nobody; A waits; its prompt is in flight; it has ended.
  CHECK(result.states == 4);
  CHECK(result.outcomes.size() == 1);
  CHECK(result.verdict == ExploreVerdict::kProved);
}

TEST_CASE("explorer: two equal requests of one token: the order of equals is one") {
  const std::string engine = R"("num_blocks": 5, "max_num_seqs": 2, "overlap": 0)";
  const std::string twins = R"(}, "requests": [{"name": "A", "prompt": 1, "output": 1},
     {"name": "B", "prompt": 1, "output": 1}], "explore": {"arrivals": "any order"})";
  // Whole: (A, B) each absent, waiting, in flight or ended, with one step in flight at most. Both in flight,
  // in either order of arrival (the rows' order shows), one in flight while the other is absent, waits or
  // has ended, and none in flight.
  //   none in flight: absent/waiting/ended for both, the two orders of waiting: 9 + 1
  //   A alone in flight: B absent, waiting, ended: 3; B alone: 3; both: 2
  const ExploreResult whole = explored(scenario_of(engine, twins), false);
  CHECK(whole.states == 18);
  // Reduced: A first, and an arrival is followed by its plan or by the other's. Who has just arrived is
  // marked, and nobody arrives while a step is in flight.
  const ExploreResult reduced = explored(scenario_of(engine, twins));
  CHECK(reduced.states < whole.states);
  CHECK(reduced.outcomes == whole.outcomes);
  CHECK(reduced.verdict == ExploreVerdict::kProved);
}

TEST_CASE("explorer: the reduced search has the verdicts and outcomes of the whole one") {
  const std::vector<std::pair<std::string, std::string>> cases{
      {kThree, kThreeRequests},
      {R"("num_blocks": 7, "max_num_seqs": 2, "overlap": 1, "slot_factor": 1)",
       R"(, "model": {"state_slots": true}, "workload": {"drafts": 1}},
          "requests": [{"name": "A", "prompt": 3, "limit": 3}, {"name": "B", "prompt": 3, "limit": 2},
          {"name": "D", "fork_of": "A", "fork_at": 3, "prompt": 1, "limit": 2}],
          "explore": {"stops": "any", "rejections": "any", "aborts": ["A"]})"},
      {R"("num_blocks": 6, "max_num_seqs": 2, "overlap": 2)",
       R"(}, "requests": [{"name": "A", "prompt": 3, "limit": 3, "samples": 2},
          {"name": "B", "prompt": 3, "limit": 2}],
          "explore": {"faults": {"step_failed": 1}})"},
      {R"("num_blocks": 4, "max_num_seqs": 2, "overlap": 1)",
       R"(, "fork": {"copy_lane": "separate"}}, "requests": [{"name": "A", "prompt": 1, "limit": 3},
          {"name": "D", "fork_of": "A", "fork_at": 1, "prompt": 1, "limit": 2}],
          "explore": {"stops": "any"})"},
  };
  for (const auto& one : cases) {
    const auto& engine = one.first;
    const auto& rest = one.second;
    CAPTURE(rest);
    const Scenario scenario = scenario_of(engine, rest);
    const ExploreResult reduced = explored(scenario);
    const ExploreResult whole = explored(scenario, false);
    CAPTURE(reduced.text);
    CHECK(reduced.verdict == ExploreVerdict::kProved);
    CHECK(whole.verdict == reduced.verdict);
    CHECK(whole.outcomes == reduced.outcomes);
    CHECK(reduced.states < whole.states);
  }
}

// Two worlds with one key must be one world: with absolute names, equal keys are equal state hashes.
TEST_CASE("explorer: a state's key leaves out nothing that the scheduler's own hash knows") {
  std::uint64_t compared = 0;
  for (std::uint64_t n = 0; n < 150; ++n) {
    const Stage stage = stage_of(random_scenario(11, n), false);
    std::map<World::Key, std::uint64_t> hashes;
    std::vector<World> open{World(stage)};
    std::vector<WorldEvent> events;
    while (!open.empty() && hashes.size() < 400) {
      World world = std::move(open.back());
      open.pop_back();
      world.list_events(stage, events);
      for (const WorldEvent& event : events) {
        World next = world;
        if (next.apply(stage, event)) continue;
        next.settle();
        const std::uint64_t hash = next.scheduler().state_hash();
        const auto [place, is_new] = hashes.emplace(next.key(stage, false), hash);
        ++compared;
        CAPTURE(n);
        CAPTURE(scenario_text(random_scenario(11, n)));
        REQUIRE(place->second == hash);
        if (is_new) open.push_back(std::move(next));
      }
    }
  }
  CHECK(compared > 20'000);
}

TEST_CASE("explorer: a fork that is never demoted stalls for want of the slot it holds itself") {
  const std::string rest = R"(, "model": {"state_slots": true}, "fork": {"demote": DEMOTE}},
      "requests": [{"name": "A", "prompt": 3, "limit": 3},
                   {"name": "D", "fork_of": "A", "fork_at": 3, "prompt": 1, "limit": 2}])";
  for (const bool demote : {false, true}) {
    std::string text = rest;
    text.replace(text.find("DEMOTE"), 6, demote ? "\"on\"" : "\"off\"");
    const Scenario scenario =
        scenario_of(R"("num_blocks": 7, "max_num_seqs": 1, "overlap": 1, "slot_factor": 1)", text);
    const ExploreResult result = explored(scenario);
    CHECK(result.verdict == (demote ? ExploreVerdict::kProved : ExploreVerdict::kStall));
    if (demote) continue;
    // A arrives, plan, result, D forks: A freezes, D waits for a second slot.
    CHECK(result.path.size() == 4);
    const Walked walked = walk(stage_of(scenario, true), result.path);
    CHECK(walked.stalled);
    REQUIRE(walked.waits.size() == 2);
    CHECK(walked.waits[0] == "A waits for a waiting fork, which D holds");
  }
}

TEST_CASE("explorer: a bound is said, and finds nothing to prove") {
  const ExploreResult result =
      explored(scenario_of(kThree, kThreeRequests), true, {50, UINT64_MAX});
  CHECK(result.verdict == ExploreVerdict::kBounded);
  CHECK(result.not_expanded > 0);
  const ExploreResult shallow = explored(scenario_of(kThree, kThreeRequests), true, {1'000'000, 3});
  CHECK(shallow.verdict == ExploreVerdict::kBounded);
  CHECK(shallow.depth == 3);
}

TEST_CASE("explorer: a counter-example survives its file") {
  const Scenario scenario =
      scenario_of(R"("num_blocks": 7, "max_num_seqs": 1, "overlap": 1, "slot_factor": 1)",
                  R"(, "model": {"state_slots": true}, "fork": {"demote": "off"}},
         "requests": [{"name": "A", "prompt": 3, "limit": 3},
                      {"name": "D", "fork_of": "A", "fork_at": 3, "prompt": 1, "limit": 2}])");
  const ExploreResult result = explored(scenario);
  Schedule schedule{"I9: it stalls", scenario, true, result.path};
  const Walked walked = walk(stage_of(scenario, true), result.path);
  const std::string text = schedule_text(schedule, walked);
  CHECK(is_schedule(text));
  const Outcome<Schedule> read = parse_schedule(text, "f");
  REQUIRE_MESSAGE(bool(read), (read ? "" : describe(read.error())));
  CHECK(read.value().events == result.path);
  CHECK(scenario_text(read.value().scenario) == scenario_text(scenario));
  CHECK(schedule_text(read.value(), walked) == text);
  CHECK_FALSE(is_schedule(R"({"pinfold_events": 1, "pool": {"num_blocks": 5, "block_size": 4}})"));

  const auto mistake = [&](const std::string& line) {
    const Outcome<Schedule> wrong = parse_schedule(text + line, "f");
    return wrong ? std::string("none") : describe(wrong.error());
  };
  CHECK(
      mistake("{\"event\": \"plam\"}\n") ==
      "f:6:11: event: found \"plam\", expected one of arrive, plan, run, pass, result, fail, lose, "
      "abort");
  CHECK(mistake("{\"event\": \"abort\", \"request\": \"X\"}\n") ==
        "f:6:31: request: found \"X\", expected a request of the scenario");
  CHECK(mistake("{\"event\": \"result\"}\n") ==
        "f:6:1: found no key \"choice\", expected a key \"choice\"");
}

TEST_CASE(
    "random scenarios: no order breaks a rule or gets stuck, and each is read as it was written") {
  const RandomSearch search = search_random(3, 120, {600, UINT64_MAX}, 1);
  std::string text;
  for (const RandomFinding& finding : search.findings) {
    text +=
        scenario_text(finding.scenario) + " " + finding.result.check + ": " + finding.result.text;
  }
  CHECK(text == "");
  CHECK(search.explored + search.bounded == 120);
  for (std::uint64_t n = 0; n < 50; ++n) {
    const std::string written = scenario_text(random_scenario(3, n));
    const Outcome<Scenario> read = parse_scenario(written, "s");
    REQUIRE_MESSAGE(bool(read), (read ? "" : describe(read.error())));
    CHECK(scenario_text(read.value()) == written);
  }
}

}  // namespace
}  // namespace pinfold::sim
