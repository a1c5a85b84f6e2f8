// What a scenario file may say, and where it is wrong.
#include "sim/explore/scenario_file.h"

#include <doctest/doctest.h>

#include <string>

namespace pinfold::sim {
namespace {

constexpr const char* kConfig =
    R"("config": {"engine": {"block_size": 4, "num_blocks": 9}, "workload": {"drafts": 2}})";

std::string with(const std::string& rest) {
  return std::string("{\"story\": \"S\", ") + kConfig + ",\n" + rest + "}";
}
std::string with_request(const std::string& keys) {
  return with(R"("requests": [{"name": "A", "prompt": 3, "output": 2},
{"name": "B", "prompt": 3, )" +
              keys + "}]");
}
std::string with_explore(const std::string& keys) {
  return with(R"("requests": [{"name": "A", "prompt": 3, "output": 2}], "explore": {)" + keys +
              "}");
}
std::string with_expect(const std::string& keys) {
  return with(R"("requests": [{"name": "A", "prompt": 3, "output": 2}], "expect": {)" + keys + "}");
}

Scenario parsed(const std::string& text) {
  Outcome<Scenario> scenario = parse_scenario(text, "s");
  REQUIRE_MESSAGE(bool(scenario), (scenario ? "" : describe(scenario.error())));
  return scenario.value();
}
std::string mistake_in(const std::string& text) {
  const Outcome<Scenario> scenario = parse_scenario(text, "s");
  return scenario ? "none" : describe(scenario.error());
}

TEST_CASE("scenario: everything that a file may say is read") {
  const Scenario s = parsed(R"({
    "story": "Two.", "source": ["B22", "B51"],
    "config": {"engine": {"block_size": 2, "num_blocks": 7}, "workload": {"drafts": 3}},
    "requests": [
      {"name": "A", "prompt": 3, "output": 2, "limit": 4, "samples": 2, "accepted": [0, 3]},
      {"name": "B", "arrive_ms": 1.5, "prompt": 5, "limit": 6, "drafts": 1, "priority": 7,
       "fork_of": "A", "fork_at": 3, "abort_at_ms": 2}],
    "faults": [{"kind": "step_failed", "step": 2}, {"kind": "copy_delay", "step": 3, "delay_ms": 0.001}],
    "explore": {"arrivals": "any order", "stops": "any", "rejections": "any", "aborts": ["B"],
                "faults": {"step_failed": 2}},
    "expect": {"verdict": "ok", "preemptions": 0, "blocks": {"peak_owned": 3}, "mean_tpot_ms": null,
               "explore": {"verdict": "proved"},
               "mutants": {"early_release": {"check": "I8", "verdict": "violation",
                           "explore": {"verdict": "violation", "counterexample_events": 5}}}}})");
  CHECK(s.path == "s");
  CHECK(s.story == "Two.");
  CHECK(s.sources == std::vector<std::string>{"B22", "B51"});
  CHECK(s.config.engine.block_size == 2);
  REQUIRE(s.requests.size() == 2);
  const TraceRequest& a = s.requests[0].request;
  CHECK(a.prompt == 3);
  CHECK(a.output == 2);
  CHECK(a.limit == 4);
  CHECK(a.samples == 2);
  CHECK(a.accepted == std::vector<std::uint8_t>{0, 3});
  CHECK(a.abort_ns == kNeverNs);
  CHECK(s.requests[0].drafts == 3);
  const TraceRequest& b = s.requests[1].request;
  CHECK(b.arrival_ns == 1'500'000);
  CHECK(b.output == 6);  // the limit, where no output is said
  CHECK(b.priority == 7);
  CHECK(b.fork_of == 0);
  CHECK(b.fork_at == 3);
  CHECK(b.abort_ns == 2'000'000);
  CHECK(s.requests[1].drafts == 1);
  REQUIRE(s.faults.size() == 2);
  CHECK(s.faults[0].kind == FaultKind::kStepFailed);
  CHECK(s.faults[1].delay_ns == 1000);
  CHECK(s.explore.arrivals == Freedom::kAny);
  CHECK(s.explore.stops == Freedom::kAny);
  CHECK(s.explore.rejections == Freedom::kAny);
  CHECK(s.explore.aborts == std::vector<std::size_t>{1});
  REQUIRE(s.explore.faults.size() == 1);
  CHECK(s.explore.faults[0].second == 2);
  REQUIRE(s.expect.values.size() == 4);
  CHECK(s.expect.values[2].name == "blocks.peak_owned");
  CHECK(s.expect.values[3].text.empty());
  CHECK(s.expect.explore->verdict == "proved");
  REQUIRE(s.mutants.size() == 1);
  CHECK(s.mutants[0].first == "early_release");
  CHECK(s.mutants[0].second.check == "I8");
  CHECK(s.mutants[0].second.explore->counterexample_events == 5u);
}

TEST_CASE("scenario: what is not said is the default, and varies nothing") {
  const Scenario s = parsed(with(R"("requests": [{"name": "A", "prompt": 3, "output": 2}])"));
  CHECK(s.config.engine.overlap == 1);
  CHECK(s.requests[0].request.arrival_ns == 0);
  CHECK(s.requests[0].request.limit == 0);
  CHECK(s.requests[0].drafts == 2);
  CHECK(s.explore.arrivals == Freedom::kGiven);
  CHECK(s.explore.stops == Freedom::kGiven);
  CHECK_FALSE(s.explore.abort_any);
  CHECK(s.explore.aborts.empty());
  CHECK_FALSE(s.expect.explore.has_value());
}

TEST_CASE("scenario: overrides beat the file's configuration") {
  const std::vector<std::string> overrides{"engine.overlap=0"};
  const std::string text = with(R"("requests": [{"name": "A", "prompt": 3, "output": 2}])");
  const Outcome<Scenario> scenario = parse_scenario(text, "s", overrides);
  REQUIRE(bool(scenario));
  CHECK(scenario.value().config.engine.overlap == 0);
}

TEST_CASE("scenario: mistakes in the document") {
  CHECK(mistake_in("[1]") == "s:1:1: found an array, expected an object");
  CHECK(mistake_in("{\"story\": 1}") == "s:1:11: story: found 1, expected a string");
  CHECK(mistake_in("{\"story\": \"S\"}") ==
        "s:1:1: found no key \"config\", expected a key \"config\"");
  CHECK(mistake_in(R"({"story": "S", "config": [], "requests": []})") ==
        "s:1:26: config: found an array, expected an object with the configuration");
  CHECK(mistake_in(R"({"story": "S", "config": {"engine": {"blok_size": 4}}, "requests": []})") ==
        "s:1:38: config.engine.blok_size: found an unknown option, expected an option of "
        "`pinfold schema` (did you mean engine.block_size?)");
  CHECK(mistake_in(with("\"requests\": []")) ==
        "s:2:13: requests: found an array, expected from 1 to 10000 requests");
  CHECK(
      mistake_in(with(R"("requests": [{"name": "A", "prompt": 3, "output": 2}], "expct": {})")) ==
      "s:2:56: expct: found an unknown key, expected a key of this object (did you mean expect?)");
  CHECK(mistake_in(with(R"("source": [1], "requests": [])")) ==
        "s:2:12: source[0]: found 1, expected a string");
}

TEST_CASE("scenario: mistakes in a request") {
  CHECK(mistake_in(with_request("\"outputs\": 2")) ==
        "s:3:1: requests[1]: found no key \"output\", expected a key \"output\"");
  CHECK(mistake_in(with_request("\"output\": 2, \"drfts\": 2")) ==
        "s:3:41: requests[1].drfts: found an unknown key, expected a key of this object (did you "
        "mean drafts?)");
  CHECK(mistake_in(with_request("\"output\": -1")) ==
        "s:3:38: requests[1].output: found -1, expected an integer from 0 to 1048576");
  CHECK(mistake_in(with_request("\"output\": 5, \"limit\": 4")) ==
        "s:3:38: requests[1].output: found 5, expected at most the limit of 4");
  CHECK(mistake_in(with_request("\"output\": 2, \"drafts\": 3")) ==
        "s:3:51: requests[1].drafts: found 3, expected at most workload.drafts = 2");
  CHECK(mistake_in(with_request("\"output\": 2, \"accepted\": [1, 3]")) ==
        "s:3:57: requests[1].accepted[1]: found 3, expected an integer from 0 to 2");
  CHECK(
      mistake_in(with_request("\"output\": 2, \"fork_of\": \"C\"")) ==
      "s:3:52: requests[1].fork_of: found \"C\", expected the name of a request before it (did you "
      "mean A?)");
  CHECK(
      mistake_in(with_request("\"output\": 2, \"fork_of\": \"B\"")) ==
      "s:3:52: requests[1].fork_of: found \"B\", expected the name of a request before it (did you "
      "mean A?)");
  CHECK(mistake_in(with_request("\"output\": 2, \"fork_at\": 3")) ==
        "s:3:52: requests[1].fork_at: found 3, expected it only beside fork_of");
  CHECK(mistake_in(with_request("\"output\": 2, \"fork_of\": \"A\", \"samples\": 2")) ==
        "s:3:68: requests[1].samples: found 2, expected 1 where it is a fork");
  CHECK(mistake_in(with_request("\"output\": 2, \"samples\": 0")) ==
        "s:3:52: requests[1].samples: found 0, expected an integer from 1 to 64");
  CHECK(mistake_in(with_request("\"output\": 2, \"arrive_ms\": 0.0000001")) ==
        "s:3:54: requests[1].arrive_ms: found 0.0000001, expected milliseconds from 0 to "
        "1000000000, whole nanoseconds");
  CHECK(mistake_in(with_request("\"output\": 2, \"arrive_ms\": 2, \"abort_at_ms\": 1")) ==
        "s:3:72: requests[1].abort_at_ms: found 1, expected a time after its arrival");
  CHECK(mistake_in(with(R"("requests": [{"name": "A", "prompt": 3, "output": 2, "arrive_ms": 1},
{"name": "B", "prompt": 1, "output": 1, "arrive_ms": 0}])")) ==
        "s:3:54: requests[1].arrive_ms: found 0, expected requests in order of arrival");
  CHECK(mistake_in(with(R"("requests": [{"name": "A", "prompt": 3, "output": 2},
{"name": "A", "prompt": 1, "output": 1}])")) ==
        "s:3:10: requests[1].name: found \"A\", expected a name that no other request has");
  CHECK(mistake_in(with(R"("requests": [{"name": "a b", "prompt": 3, "output": 2}])")) ==
        "s:2:23: requests[0].name: found \"a b\", expected 1 to 32 letters, digits, _, - or .");
  CHECK(mistake_in(with(R"("requests": [{"name": "A", "prompt": 0, "output": 2}])")) ==
        "s:2:38: requests[0].prompt: found 0, expected an integer from 1 to 1048576");
}

TEST_CASE("scenario: mistakes in faults, exploration and expectation") {
  const auto fault = [](const std::string& keys) {
    return with(R"("requests": [{"name": "A", "prompt": 3, "output": 2}],
"faults": [{)" + keys +
                "}]");
  };
  CHECK(mistake_in(fault(R"("kind": "step_fail", "step": 1)")) ==
        "s:3:21: faults[0].kind: found \"step_fail\", expected one of step_failed, step_lost, "
        "copy_lost, copy_delay (did you mean step_failed?)");
  CHECK(mistake_in(fault(R"("kind": "step_failed", "step": 0)")) ==
        "s:3:44: faults[0].step: found 0, expected an integer from 1 to 4294967295");
  CHECK(mistake_in(fault(R"("kind": "step_failed", "step": 1, "delay_ms": 2)")) ==
        "s:3:47: faults[0].delay_ms: found an unknown key, expected a key of this object");
  CHECK(mistake_in(with_explore("\"stops\": \"all\"")) ==
        "s:2:77: explore.stops: found \"all\", expected one of any, given");
  CHECK(mistake_in(with_explore("\"arrivals\": \"any\"")) ==
        "s:2:80: explore.arrivals: found \"any\", expected one of any order, given");
  CHECK(mistake_in(with_explore("\"aborts\": true")) ==
        "s:2:78: explore.aborts: found true, expected \"any\" or an array of requests' names");
  CHECK(mistake_in(with_explore("\"aborts\": [\"a\"]")) ==
        "s:2:79: explore.aborts[0]: found \"a\", expected the name of a request before it (did you "
        "mean A?)");
  CHECK(mistake_in(with_explore("\"faults\": {\"copy_los\": 1}")) ==
        "s:2:91: explore.faults.copy_los: found 1, expected one of step_failed, step_lost, "
        "copy_lost, transfer_lost (did you mean copy_lost?)");
  CHECK(mistake_in(with_explore("\"stop\": \"any\"")) ==
        "s:2:68: explore.stop: found an unknown key, expected a key of this object (did you mean "
        "stops?)");
  CHECK(mistake_in(with_expect("\"verdict\": \"okay\"")) ==
        "s:2:78: expect.verdict: found \"okay\", expected one of ok, stall, violation");
  CHECK(mistake_in(with_expect("\"preemptions\": [1]")) ==
        "s:2:82: expect.preemptions: found an array, expected a number, a text or null");
  CHECK(mistake_in(with_expect("\"explore\": {\"verdict\": \"prooved\"}")) ==
        "s:2:90: expect.explore.verdict: found \"prooved\", expected one of proved, violation, "
        "stall, cycle, bounded (did you mean proved?)");
  CHECK(mistake_in(with_expect("\"explore\": {\"counterexample_events\": -1}")) ==
        "s:2:104: expect.explore.counterexample_events: found -1, expected an integer from 0 to "
        "4294967295");
}

}  // namespace
}  // namespace pinfold::sim
