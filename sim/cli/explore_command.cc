#include "sim/cli/explore_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

#include "sim/cli/output_directory.h"
#include "sim/config/json_writer.h"
#include "sim/config/resolved_config.h"
#include "sim/explore/random_scenario.h"
#include "sim/explore/scenario_file.h"
#include "sim/explore/schedule_file.h"
#include "sim/report/explore_report.h"
#include "sim/report/version.h"
#include "sim/trace/read_file.h"

namespace pinfold::sim {
namespace {

/// What an exploration can hold in memory, state by state.
std::optional<InputError> check_small(const Scenario& scenario) {
  constexpr std::uint32_t kBlocksMost = 1024;
  constexpr std::size_t kRequestsMost = 200;
  constexpr std::uint32_t kPositionsMost = 1u << 16;
  InputError error;
  error.path = scenario.path;
  const EngineConfig& engine = scenario.config.engine;
  if (engine.num_blocks > kBlocksMost) {
    error.key = "engine.num_blocks";
    error.found = std::to_string(engine.num_blocks);
    error.expected = fmt::format("at most {} to explore", kBlocksMost);
    return error;
  }
  if (engine.max_model_len > kPositionsMost) {
    error.key = "engine.max_model_len";
    error.found = std::to_string(engine.max_model_len);
    error.expected = fmt::format("at most {} to explore", kPositionsMost);
    return error;
  }
  std::size_t samples = 0;
  for (const ScenarioRequest& request : scenario.requests) samples += request.request.samples;
  if (samples > kRequestsMost) {
    error.key = "requests";
    error.found = fmt::format("{} with their samples", samples);
    error.expected = fmt::format("at most {} to explore", kRequestsMost);
    return error;
  }
  return std::nullopt;
}

/// What is drawn, or needs times: an exploration would leave it out without a word.
std::optional<InputError> check_given(const Scenario& scenario) {
  InputError error;
  error.path = scenario.path;
  const auto refuse = [&](const char* key, const std::string& found, const std::string& expected,
                          const std::string& hint) {
    error.key = key;
    error.found = found;
    error.expected = expected;
    error.hint = hint;
    return error;
  };
  const RunConfig& config = scenario.config;
  const FaultConfig& fault = config.fault;
  const std::string in_file = "say it under `requests` or `faults`; `pinfold run` draws it";
  if (config.workload.samples > 1) {
    return refuse("workload.samples", std::to_string(config.workload.samples), "1 to explore",
                  in_file);
  }
  if (config.workload.abort_permille > 0) {
    return refuse("workload.abort_permille", std::to_string(config.workload.abort_permille),
                  "0 to explore", in_file);
  }
  if (fault.step_failed_permille > 0 || !fault.failed_steps.empty() || fault.copy_lost > 0 ||
      fault.abort_storm_permille > 0 || fault.load_lost > 0 || fault.save_lost > 0) {
    return refuse("fault", "faults of the configuration", "none to explore", in_file);
  }
  const bool separate = config.fork.copy_lane == CopyLane::kSeparate;
  for (const Fault& given : scenario.faults) {
    if (given.kind != FaultKind::kCopyLost || separate) continue;
    return refuse("faults", "copy_lost", "fork.copy_lane separate to explore it",
                  "in the compute lane the step's result reports its copies too; `pinfold run` "
                  "simulates a host that waits for them");
  }
  return std::nullopt;
}

/// Writes one file whole or not at all.
std::optional<InputError> write_file(const std::string& path, const std::string& content) {
  const std::filesystem::path name(path);
  const std::string folder = name.parent_path().empty() ? "." : name.parent_path().string();
  const std::array<OutputFile, 1> files{OutputFile{name.filename().string(), content}};
  return write_output_files(folder, files);
}

bool is_counterexample(ExploreVerdict verdict) {
  return verdict == ExploreVerdict::kViolation || verdict == ExploreVerdict::kStall ||
         verdict == ExploreVerdict::kCycle;
}

}  // namespace

ExitCode explore_command(const ExploreCommand& command, std::ostream& out, std::ostream& err) {
  const Outcome<Scenario> read = read_scenario(command.scenario, command.overrides);
  if (!read) return fail(err, exit_code_of_scenario(read.error()), read.error());
  const Scenario& scenario = read.value();
  if (auto error = check_small(scenario)) return fail(err, ExitCode::kUsageError, *error);
  if (auto error = check_given(scenario)) return fail(err, ExitCode::kUsageError, *error);
  if (command.expect && !scenario.expect.explore) {
    InputError error;
    error.path = command.scenario;
    error.key = "expect.explore";
    error.found = "no expectation";
    error.expected = "one to compare with";
    return fail(err, ExitCode::kUsageError, error);
  }
  const Stage stage = stage_of(scenario, command.reduce, command.watch);
  const auto start = std::chrono::steady_clock::now();
  const ExploreResult result = explore(stage, command.limits);
  if (command.timing) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                        std::chrono::steady_clock::now() - start)
                        .count();
    err << fmt::format("pinfold: note: {} states in {} ms\n", result.states, ms);
  }
  Walked walked;
  if (is_counterexample(result.verdict)) walked = walk(stage, result.path);
  ExploreReport report;
  report.version = kVersion;
  report.scenario = command.scenario;
  report.config_digest = config_digest(scenario.config);
  report.reduced = command.reduce;
  report.stage = &stage;
  report.result = &result;
  report.walked = &walked;
  report.compared = command.expect;
  if (command.expect) report.differences = differences(*scenario.expect.explore, result);
  if (command.output && is_counterexample(result.verdict)) {
    Schedule schedule;
    schedule.title = fmt::format("{}: {}", result.check, result.text);
    schedule.scenario = scenario;
    schedule.reduce = command.reduce;
    schedule.watch = command.watch;
    schedule.events = result.path;
    if (auto error = write_file(*command.output, schedule_text(schedule, walked))) {
      return fail(err, ExitCode::kDataError, *error);
    }
  }
  out << (command.json ? explore_json(report) : explore_text(report));
  if (command.expect) {
    for (const std::string& text : report.differences) {
      fail(err, ExitCode::kCheckFailed,
           fmt::format("{}: expect.explore.{}", command.scenario, text));
    }
    return report.differences.empty() ? ExitCode::kOk : ExitCode::kCheckFailed;
  }
  if (result.verdict == ExploreVerdict::kProved) return ExitCode::kOk;
  if (result.verdict == ExploreVerdict::kBounded) {
    return fail(err, ExitCode::kDataError,
                fmt::format("{}: no rule broke within the bounds, and not everything was tried",
                            command.scenario));
  }
  return fail(err, ExitCode::kCheckFailed,
              fmt::format("{}: {}: {}", name_of(result.verdict), result.check, result.text));
}

ExitCode random_explore_command(const RandomExploreCommand& command, std::ostream& out,
                                std::ostream& err) {
  constexpr std::size_t kFindingsMost = 10;
  const RandomSearch search =
      search_random(command.seed, command.scenarios, command.limits, kFindingsMost, command.watch);
  if (command.json) {
    JsonWriter json;
    json.open_object();
    json.key("seed").integer(command.seed);
    json.key("scenarios").integer(command.scenarios);
    json.key("explored").integer(search.explored);
    json.key("bounded").integer(search.bounded);
    json.key("states").integer(search.states);
    json.key("transitions").integer(search.transitions);
    json.key("walked_events").integer(search.walked);
    json.key("findings").open_array();
    for (const RandomFinding& finding : search.findings) {
      json.open_object();
      json.key("number").integer(finding.number);
      json.key("verdict").string(name_of(finding.result.verdict));
      json.key("check").string(finding.result.check);
      json.key("text").string(finding.result.text);
      json.key("counterexample_events").integer(finding.result.path.size());
      json.key("scenario").string(scenario_text(finding.scenario));
      json.close();
    }
    json.close();
    json.key("version").string(kVersion);
    json.close();
    out << json.finish();
  } else {
    out << fmt::format(
        "Scenarios:     {} of seed {}\nAll orders:    {}\nBounded:       {}, {} events walked at "
        "random\nStates:        {}\nTransitions:   {}\nFindings:      {}\n",
        command.scenarios, command.seed, search.explored, search.bounded, search.walked,
        search.states, search.transitions, search.findings.size());
    for (const RandomFinding& finding : search.findings) {
      const Walked walked =
          walk(stage_of(finding.scenario, true, command.watch), finding.result.path);
      out << fmt::format("\nScenario {}: {}\n{}\n", finding.number, name_of(finding.result.verdict),
                         scenario_text(finding.scenario));
      const std::string title = fmt::format("{}: {}", finding.result.check, finding.result.text);
      for (const std::string& line : schedule_lines(title, walked)) out << line << '\n';
    }
    out << fmt::format("pinfold:       {}\n", kVersion);
  }
  if (search.findings.empty()) return ExitCode::kOk;
  const RandomFinding& first = search.findings.front();
  if (command.output) {
    Schedule schedule;
    schedule.title = fmt::format("{}: {}", first.result.check, first.result.text);
    schedule.scenario = first.scenario;
    schedule.watch = command.watch;
    schedule.events = first.result.path;
    const Walked walked = walk(stage_of(first.scenario, true, command.watch), first.result.path);
    if (auto error = write_file(*command.output, schedule_text(schedule, walked))) {
      return fail(err, ExitCode::kDataError, *error);
    }
  }
  return fail(err, ExitCode::kCheckFailed,
              fmt::format("{} of {} scenarios have a counter-example", search.findings.size(),
                          command.scenarios));
}

std::optional<ExitCode> replay_schedule_command(const std::string& path, bool json,
                                                std::ostream& out, std::ostream& err) {
  const Outcome<std::string> text = read_file(path, "ownership events (JSON Lines)");
  if (!text || !is_schedule(text.value())) return std::nullopt;
  const Outcome<Schedule> read = parse_schedule(text.value(), path);
  if (!read) return fail(err, ExitCode::kDataError, read.error());
  const Schedule& schedule = read.value();
  if (auto error = check_small(schedule.scenario)) return fail(err, ExitCode::kDataError, *error);
  const Walked walked =
      walk(stage_of(schedule.scenario, schedule.reduce, schedule.watch), schedule.events);
  if (!walked.possible) {
    return fail(err, ExitCode::kDataError,
                fmt::format("{}: event {} cannot happen here: another allocator wrote this file",
                            path, walked.told.size() + 1));
  }
  if (json) {
    out << walked_json(schedule.title, walked);
  } else {
    for (const std::string& line : schedule_lines(schedule.title, walked)) out << line << '\n';
  }
  if (walked.finding) {
    return fail(err, ExitCode::kCheckFailed,
                fmt::format("violation: {}: {}", walked.finding->check, walked.finding->text));
  }
  if (walked.stalled)
    return fail(err, ExitCode::kCheckFailed, "stall: I9: somebody waits for ever");
  return ExitCode::kOk;
}

}  // namespace pinfold::sim
