#include "sim/gate/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/resolved_config.h"
#include "sim/core/simulate.h"

namespace pinfold::sim {
namespace {

std::string value_in(const std::vector<ReportField>& fields, std::string_view name) {
  for (const ReportField& field : fields) {
    if (field.name == name) return field.text;
  }
  return {};
}

/// A run always has to come to its end.
std::vector<Requirement> with_verdict(std::vector<Requirement> requirements) {
  const auto judges_verdict = [](const Requirement& one) { return one.figure == "verdict"; };
  if (std::none_of(requirements.begin(), requirements.end(), judges_verdict)) {
    requirements.push_back({"verdict", Comparison::kEqual, "ok", false});
  }
  return requirements;
}

/// Whether a recorded journal is of the run that has these figures, by its last line.
bool ends_with_digest(std::string_view journal, const std::vector<ReportField>& figures) {
  constexpr std::size_t kLastLine = 128;
  const std::string_view end = journal.substr(journal.size() - std::min(journal.size(), kLastLine));
  return end.find('"' + value_in(figures, "digest") + '"') != std::string_view::npos;
}

constexpr const char* kHowToRecord =
    "`pinfold check --accept --events` keeps the baseline's events beside it, and `pinfold "
    "compare` takes two "
    "files of `pinfold run --record`";

/// Looks for the event at which the baseline's run and this one part.
void find_difference(const Check& check, CheckResult& result) {
  const Baseline& baseline = *check.baseline;
  if (value_in(baseline.figures, "digest") == value_in(result.run, "digest")) {
    result.notes.emplace_back("every ownership event is as in the baseline's run");
    return;
  }
  if (check.baseline_events && ends_with_digest(*check.baseline_events, baseline.figures)) {
    const auto found = first_difference(*check.baseline_events, events_path(*check.baseline_path),
                                        *check.requests, check.config);
    if (found && found.value()) {
      result.difference = found.value();
      return;
    }
    if (!found) result.notes.push_back(describe(found.error()));
  } else if (check.baseline_events) {
    result.notes.push_back(events_path(*check.baseline_path) +
                           " is of another run than its baseline and was not used");
  }
  if (result.settings.empty()) {
    result.notes.push_back(fmt::format(
        "the settings are the baseline's, so the program is what differs: its events are needed to "
        "say where ({})",
        kHowToRecord));
    return;
  }
  result.difference = first_difference(*check.requests, baseline.config, check.config);
  if (!result.difference) {
    result.notes.push_back(fmt::format(
        "with this program the baseline's settings give the same events, so the program is what "
        "differs ({})",
        kHowToRecord));
  }
}

}  // namespace

std::string_view name_of(CheckState state) {
  switch (state) {
    case CheckState::kHolds: return "holds";
    case CheckState::kFailed: return "FAILED";
    case CheckState::kNotComparable: return "NOT COMPARABLE";
    case CheckState::kAccepted: return "accepted";
  }
  return "?";
}

std::vector<std::string> why_not_comparable(const Check& check) {
  std::vector<std::string> reasons;
  if (!check.baseline) return reasons;
  if (check.baseline->trace_digest != check.trace_digest) {
    reasons.push_back(fmt::format("the trace is another one: digest {}, the baseline's {}",
                                  check.trace_digest, check.baseline->trace_digest));
  }
  for (const OptionChange& change : option_changes(check.baseline->config, check.config)) {
    if (change.engine) continue;
    reasons.push_back(
        fmt::format("{} is {}, the baseline's {}", change.path, change.now, change.old));
  }
  return reasons;
}

CheckResult run_check(const Check& check, const std::string& version) {
  CheckResult result;
  result.name = check.name;
  result.trace = check.trace;
  result.provenance = {.version = version,
                       .trace = check.trace,
                       .trace_digest = check.trace_digest,
                       .config_digest = config_digest(check.config),
                       .seed = check.config.seed,
                       .cost = cost_provenance(check.config)};
  if (check.baseline) {
    result.baseline = check.baseline_path;
    result.baseline_version = check.baseline->version;
    result.settings = option_changes(check.baseline->config, check.config);
    result.incomparable = why_not_comparable(check);
  }
  if (!result.incomparable.empty()) {
    result.state = CheckState::kNotComparable;
    return result;
  }
  result.run = run_fields(simulate(*check.requests, check.config, {}), result.provenance);
  bool holds = true;
  for (Requirement& requirement : with_verdict(check.requirements)) {
    RequirementResult row;
    row.found = value_in(result.run, requirement.figure);
    row.holds = !unmet(requirement, result.run);
    holds = holds && row.holds;
    row.requirement = std::move(requirement);
    result.requirements.push_back(std::move(row));
  }
  if (check.baseline) {
    result.figures = compare_figures(check.baseline->figures, result.run, check.tolerances);
    // Where the run was made is no figure.
    std::erase_if(result.figures, [](const FigureChange& row) {
      return row.verdict == ChangeVerdict::kNew && better_of(row.figure) == Better::kNeither;
    });
    holds = holds && !any_worse(result.figures);
  }
  result.state = holds ? CheckState::kHolds : CheckState::kFailed;
  const std::string detail = value_in(result.run, "verdict_detail");
  if (!detail.empty()) result.notes.push_back(detail);
  if (!holds && check.baseline) find_difference(check, result);
  return result;
}

std::string events_path(const std::string& baseline) {
  const std::string stem =
      baseline.ends_with(".json") ? baseline.substr(0, baseline.size() - 5) : baseline;
  return stem + ".events.jsonl";
}

}  // namespace pinfold::sim
