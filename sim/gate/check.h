#pragma once
// One check: a run, what it has to meet, and what it is held against.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/parse.h"
#include "sim/gate/baseline.h"
#include "sim/gate/figure_change.h"
#include "sim/gate/first_difference.h"
#include "sim/gate/option_change.h"
#include "sim/sweep/requirement.h"

namespace pinfold::sim {

/// What to check, as it was asked for.
struct CheckSpec {
  std::string name;
  std::string trace;  // path
  ConfigSources config;
  std::vector<Requirement> requirements;
  std::optional<std::string> baseline{};  // path
  std::vector<FigureTolerance> tolerances;
  std::string place;  // "ci.json: checks[2]"; empty where flags say the check
};

/// The same with everything read.
struct Check {
  std::string name;
  std::string trace;
  std::string trace_digest;
  const Trace* requests = nullptr;
  RunConfig config;
  std::vector<Requirement> requirements;
  std::vector<FigureTolerance> tolerances;
  std::optional<std::string> baseline_path{};
  std::optional<Baseline> baseline{};
  std::optional<std::string> baseline_events{};  // the journal recorded with it, as text
};

enum class CheckState : std::uint8_t { kHolds, kFailed, kNotComparable, kAccepted };

/// "holds", "FAILED", ...
std::string_view name_of(CheckState state);

struct RequirementResult {
  Requirement requirement;
  std::string found;  // the figure's value
  bool holds = false;
};

struct CheckResult {
  std::string name;
  std::string trace;
  CheckState state = CheckState::kHolds;
  std::vector<std::string> incomparable;  // why: each a sentence
  std::vector<RequirementResult> requirements;
  std::optional<std::string> baseline{};  // path
  std::string baseline_version;
  std::vector<OptionChange> settings;  // that differ from the baseline's
  std::vector<FigureChange> figures;   // with a baseline: all of them
  std::optional<FirstDifference> difference{};
  std::vector<std::string> notes;
  Provenance provenance;
  std::vector<ReportField> run;  // the run's figures
};

/// Why the run cannot be held against the baseline; nothing where it can.
std::vector<std::string> why_not_comparable(const Check& check);

/// Runs it. A run that stalls or breaks a rule fails even where nobody asked; without comparison there is no run.
/// After a failure with a baseline the first event is looked for at which the two runs part.
CheckResult run_check(const Check& check, const std::string& version);

/// The path of the journal that is kept beside a baseline: "x.json" has "x.events.jsonl".
std::string events_path(const std::string& baseline);

}  // namespace pinfold::sim
