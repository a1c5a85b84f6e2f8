#pragma once
// A scenario: a handful of requests on a tiny engine, what may go wrong, and what must come of it. Plain
// data; sim/explore/scenario_file.h reads it from JSON, docs/scenarios.md is its manual.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/fault.h"
#include "sim/config/run_config.h"
#include "sim/trace/request.h"

namespace pinfold::sim {

/// "step_failed".
const char* name_of(FaultKind kind);

struct ScenarioRequest {
  std::string name;
  TraceRequest request;
  std::uint32_t drafts = 0;  // wanted a verify row; at most workload.drafts
};

/// Who decides what the trace could say: the scenario ("given"), or every possibility is tried ("any").
enum class Freedom : std::uint8_t { kGiven, kAny };

/// What an exploration varies beside the order of completions, which it always does.
struct ExploreOptions {
  Freedom arrivals = Freedom::kGiven;    // kAny: in any order; kGiven: in the order of the file
  Freedom stops = Freedom::kGiven;       // kAny: a hidden output may stop with any token
  Freedom rejections = Freedom::kGiven;  // kAny: a verify row may accept 0 .. d drafts
  bool abort_any = false;                // one request, whichever, may be aborted at any moment
  std::vector<std::size_t> aborts{};     // each of these may be
  std::vector<std::pair<FaultKind, std::uint32_t>> faults{};  // so many of a kind, at any step
};

/// A figure of `run --format json` and what it must be.
struct ExpectedValue {
  std::string name;  // "blocks.peak_owned"
  std::string text;  // a number as it was written, or a text
  bool is_text = false;
};

/// What `pinfold explore` must say.
struct ExpectedExploration {
  std::optional<std::string> verdict{};  // "proved", "violation", "stall", "cycle", "bounded"
  std::optional<std::string> check{};    // "I7": what finds it
  std::optional<std::uint64_t> counterexample_events{};
};

struct Expectation {
  std::optional<std::string> check{};  // the check that finds it; with mutants
  std::vector<ExpectedValue> values{};
  std::optional<ExpectedExploration> explore{};
};

struct Scenario {
  std::string path;  // as the user named it
  std::string story;
  std::vector<std::string> sources;
  RunConfig config;
  std::vector<ScenarioRequest> requests;  // in order of arrival
  std::vector<Fault> faults;
  ExploreOptions explore;
  Expectation expect;
  std::vector<std::pair<std::string, Expectation>> mutants;  // by name, as in the file
};

/// The requests as a trace; request n is the n-th of the scenario. Its ids, if it has any, stand for
/// blocks of the engine's size.
Trace trace_of(const Scenario& scenario);

}  // namespace pinfold::sim
