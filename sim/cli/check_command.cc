#include "sim/cli/check_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>

#include "sim/cli/progress.h"
#include "sim/cli/record_file.h"
#include "sim/cli/whole_file.h"
#include "sim/config/resolved_config.h"
#include "sim/core/simulate.h"
#include "sim/core/trace_span.h"
#include "sim/gate/suite.h"
#include "sim/report/check_report.h"
#include "sim/report/version.h"
#include "sim/trace/read_file.h"
#include "sim/trace/trace_digest.h"
#include "sim/trace/trace_source.h"

namespace pinfold::sim {
namespace {

constexpr const char* kBaselineFlag = "--baseline";

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

/// Reads everything that the checks need, and keeps every mistake.
class Reader {
 public:
  explicit Reader(const CheckCommand& command) : command_(command) {}

  void read(const CheckSpec& spec) {
    GateCheck check;
    check.name = spec.name;
    check.trace = spec.trace;
    check.requirements = spec.requirements;
    check.tolerances = spec.tolerances;
    check.baseline_path = spec.baseline;
    Outcome<LoadedConfig> loaded = load_config(spec.config);
    if (loaded) {
      check.config = std::move(loaded.value().config);
    } else {
      usage(spec, loaded.error());
    }
    if (const KnownTrace* const known = trace(spec)) {
      check.requests = &known->trace;
      check.trace_digest = known->digest;
      if (loaded) {
        if (const auto error = check_span(known->trace, check.config)) data(spec, *error);
      }
    }
    if (spec.baseline) read_baseline(spec, check);
    checks_.push_back(std::move(check));
  }

  const std::vector<GateCheck>& checks() const { return checks_; }
  const std::vector<std::string>& usage_errors() const { return usage_errors_; }
  const std::vector<std::string>& data_errors() const { return data_errors_; }

 private:
  struct KnownTrace {
    Trace trace;
    std::string digest;
  };

  static std::string placed(const CheckSpec& spec, const InputError& error) {
    return (spec.place.empty() ? "" : spec.place + ": ") + describe(error);
  }
  void usage(const CheckSpec& spec, const InputError& error) {
    usage_errors_.push_back(placed(spec, error));
  }
  void data(const CheckSpec& spec, const InputError& error) {
    data_errors_.push_back(placed(spec, error));
  }

  /// Each trace is read once.
  const KnownTrace* trace(const CheckSpec& spec) {
    const auto known = traces_.find(spec.trace);
    if (known != traces_.end()) return &known->second;
    Outcome<Trace> read = read_trace(spec.trace, command_.trace_options);
    if (!read) {
      exit_code_of(read.error()) == ExitCode::kUsageError ? usage(spec, read.error())
                                                          : data(spec, read.error());
      return nullptr;
    }
    std::string digest = trace_digest(read.value());
    return &traces_.emplace(spec.trace, KnownTrace{std::move(read.value()), std::move(digest)})
                .first->second;
  }

  void read_baseline(const CheckSpec& spec, GateCheck& check) {
    const std::string& path = *spec.baseline;
    if (command_.accept) {
      if (const auto error = check_whole_file(kBaselineFlag, path)) return data(spec, *error);
      if (!exists(path)) return;
    }
    const Outcome<std::string> text = read_file(path, "a baseline");
    if (!text) {
      InputError error = text.error();
      error.hint = "the same command with --accept writes it";
      return data(spec, error);
    }
    Outcome<Baseline> baseline = parse_baseline(text.value(), path);
    if (!baseline) {
      InputError error = baseline.error();
      if (command_.accept) error.hint = "--accept replaces baselines only";
      return data(spec, error);
    }
    check.baseline = std::move(baseline.value());
    const std::string events = events_path(path);
    if (command_.accept || !exists(events)) return;
    Outcome<std::string> journal = read_file(events, "a baseline's events");
    if (!journal) return data(spec, journal.error());
    check.baseline_events = std::move(journal.value());
  }

  const CheckCommand& command_;
  std::map<std::string, KnownTrace> traces_;
  std::vector<GateCheck> checks_;
  std::vector<std::string> usage_errors_;
  std::vector<std::string> data_errors_;
};

std::optional<InputError> write_events(const GateCheck& check, const std::string& trace_digest) {
  const std::string workload = fmt::format("trace {}, configuration {}, seed {}", trace_digest,
                                           config_digest(check.config), check.config.seed);
  auto file = RecordFile::begin("--events", events_path(*check.baseline_path), check.config,
                                fmt::format("pinfold {}", kVersion), workload);
  if (!file) return file.error();
  RunOptions options;
  options.observer = file.value().get();
  return file.value()->publish(simulate(*check.requests, check.config, options));
}

/// Runs it and, if what is required holds, makes it the baseline.
Outcome<GateResult> accept(GateCheck check, bool events) {
  const std::optional<Baseline> old = std::move(check.baseline);
  check.baseline.reset();
  GateResult result = run_check(check, kVersion);
  if (result.state != CheckState::kHolds) {
    result.notes.emplace_back("the baseline stays as it was");
    return result;
  }
  if (old) {
    result.baseline = check.baseline_path;
    result.baseline_version = old->version;
    result.settings = option_changes(old->config, check.config);
    result.figures = compare_figures(old->figures, result.run, check.tolerances);
  }
  if (events) {
    if (auto error = write_events(check, check.trace_digest)) return *error;
  }
  const std::string json = baseline_json(check.config, result.provenance, result.run);
  if (auto error = write_whole_file(kBaselineFlag, *check.baseline_path, json)) return *error;
  result.notes.push_back("written: " + *check.baseline_path);
  result.state = CheckState::kAccepted;
  return result;
}

std::string rendered(CheckFormat format, const std::vector<GateResult>& results) {
  switch (format) {
    case CheckFormat::kText: return check_text(results);
    case CheckFormat::kJson: return check_json(results);
    case CheckFormat::kMarkdown: return check_markdown(results);
    case CheckFormat::kJunit: return check_junit(results);
    case CheckFormat::kGithub: return check_github(results);
  }
  return {};
}

/// What a workflow step's summary already holds stays.
bool append(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << text;
  file.close();
  return file.good();
}

ExitCode exit_code(const std::vector<GateResult>& results) {
  const auto any = [&](CheckState state) {
    return std::any_of(results.begin(), results.end(),
                       [state](const GateResult& one) { return one.state == state; });
  };
  if (any(CheckState::kFailed)) return ExitCode::kCheckFailed;
  return any(CheckState::kNotComparable) ? ExitCode::kUsageError : ExitCode::kOk;
}

/// The check that flags say.
Outcome<Suite> suite_of_flags(const CheckCommand& command, std::ostream& err) {
  const Outcome<LoadedConfig> loaded = load_config(command.config, err);  // says its notes
  if (!loaded) return loaded.error();
  CheckSpec spec;
  spec.name = std::filesystem::path(command.target).filename().string();
  spec.trace = command.target;
  spec.config = sources_of(command.config).value();
  spec.requirements = command.requirements;
  spec.tolerances = command.tolerances;
  spec.baseline = command.baseline;
  Suite suite;
  suite.checks.push_back(std::move(spec));
  return suite;
}

}  // namespace

bool is_suite(const std::string& target) { return target.ends_with(".json"); }

ExitCode check_command(const CheckCommand& command, std::ostream& out, std::ostream& err) {
  Outcome<Suite> read =
      is_suite(command.target) ? read_suite(command.target) : suite_of_flags(command, err);
  if (!read) return fail(err, ExitCode::kUsageError, read.error());
  Suite& suite = read.value();
  for (const InputError& error : suite.errors) fail(err, ExitCode::kUsageError, error);
  if (!suite.errors.empty()) return ExitCode::kUsageError;

  Reader reader(command);
  for (CheckSpec& spec : suite.checks) {
    if (is_suite(command.target)) {
      spec.config.overrides.insert(spec.config.overrides.end(), command.config.overrides.begin(),
                                   command.config.overrides.end());
    }
    reader.read(spec);
  }
  for (const std::string& error : reader.usage_errors()) fail(err, ExitCode::kUsageError, error);
  for (const std::string& error : reader.data_errors()) fail(err, ExitCode::kDataError, error);
  if (!reader.usage_errors().empty()) return ExitCode::kUsageError;
  if (!reader.data_errors().empty()) return ExitCode::kDataError;

  std::vector<GateResult> results;
  {
    Progress progress(err, reader.checks().size(), "checks done");
    for (const GateCheck& check : reader.checks()) {
      if (command.accept && check.baseline_path) {
        Outcome<GateResult> accepted = accept(check, command.events);
        if (!accepted) return fail(err, ExitCode::kDataError, accepted.error());
        results.push_back(std::move(accepted.value()));
      } else {
        results.push_back(run_check(check, kVersion));
      }
      if (command.progress) progress.show(results.size());
    }
  }
  out << rendered(command.format, results);
  const ExitCode code = exit_code(results);
  if (command.step_summary && !append(*command.step_summary, check_markdown(results))) {
    const ExitCode failed = fail(err, ExitCode::kDataError,
                                 "GITHUB_STEP_SUMMARY: cannot append to " + *command.step_summary);
    return code == ExitCode::kOk ? failed : code;
  }
  return code;
}

}  // namespace pinfold::sim
