#include "sim/cli/run_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <vector>

#include "sim/cli/interrupt.h"
#include "sim/cli/output_directory.h"
#include "sim/cli/progress.h"
#include "sim/cli/record_file.h"
#include "sim/cli/run_trace.h"
#include "sim/cli/whole_file.h"
#include "sim/config/decimal.h"
#include "sim/config/resolved_config.h"
#include "sim/core/engine_options.h"
#include "sim/core/observer_list.h"
#include "sim/core/run_fields.h"
#include "sim/core/simulate.h"
#include "sim/core/trace_span.h"
#include "sim/explore/scenario_file.h"
#include "sim/report/expectation.h"
#include "sim/report/open_metrics.h"
#include "sim/report/request_timeline.h"
#include "sim/report/run_recorder.h"
#include "sim/report/text_report.h"
#include "sim/report/version.h"
#include "sim/trace/trace_digest.h"

namespace pinfold::sim {
namespace {

RunResult simulate_with_progress(const RunCommand& command, RequestSource& source,
                                 const RunConfig& config, RunObserver* observer,
                                 std::ostream& err) {
  Progress progress(err, source.expected(), "requests ended");
  RunOptions options;
  options.fast_path = command.fast_path;
  options.shadow = command.shadow;
  options.ledger = command.ledger;
  options.audit_every = command.audit_every;
  options.measure = command.measure;
  options.observer = observer;
  if (command.progress) {
    options.progress = [&progress](std::uint64_t ended) { progress.show(ended); };
  }
  return simulate(source, config, options);
}

/// What `-o` writes: files that grow with the run, and those that its result fills.
class RunFiles {
 public:
  RunFiles(std::string directory, std::unique_ptr<StagedFiles> staged, const RunConfig& config,
           bool ledger)
      : directory_(std::move(directory)),
        staged_(std::move(staged)),
        recorder_(recorder_options(config, ledger),
                  [this](std::string_view name) { return staged_->path_of(name); }) {}

  RunObserver& recorder() { return recorder_; }

  std::optional<InputError> publish(const RunResult& result, std::span<const OutputFile> files) {
    if (const auto failure = recorder_.finish(result.itl)) {
      return unwritable(directory_, failure->name, failure->reason);
    }
    for (const OutputFile& file : files) {
      if (auto error = staged_->write(file)) return error;
    }
    if (auto error = staged_->publish()) return error;
    // A page of an earlier run would show other figures than the files beside it.
    std::error_code ignored;
    std::filesystem::remove(std::filesystem::path(directory_) / "report.html", ignored);
    return std::nullopt;
  }

 private:
  static RecorderOptions recorder_options(const RunConfig& config, bool ledger) {
    const SchedulerOptions engine = engine_options(config, true);
    RecorderOptions options;
    options.block_ids = engine.block_ids;
    options.block_size = engine.block_size.value;
    options.copy_lane = engine.copy_lane == CopyLane::kSeparate ? Lane::kCopy : Lane::kCompute;
    options.copy_sizes = copy_sizes_of(config);
    if (ledger) {
      options.ledger = LedgerOptions{engine.block_size.value, engine.block_ids, engine.state_ids,
                                     engine.draft_ids};
    }
    return options;
  }

  std::string directory_;
  std::unique_ptr<StagedFiles> staged_;
  RunRecorder recorder_;
};

constexpr const char* kMetricsFlag = "--metrics-out";

MetricsOptions metrics_options(const RunConfig& config) {
  const std::optional<DeviceProvenance> device = cost_provenance(config).device;
  const SchedulerOptions engine = engine_options(config, true);
  return {.block_ids = engine.block_ids,
          .prefix_reuse = config.prefix.reuse,
          .store = engine.host_block_ids > 1,
          .copy_lane = engine.copy_lane == CopyLane::kSeparate ? Lane::kCopy : Lane::kCompute,
          .copy_sizes = copy_sizes_of(config),
          .model_name = device ? device->model : "unknown"};
}

/// The request that `--why` names.
Outcome<std::uint32_t> request_of(const std::string& text, const Trace& trace) {
  std::uint32_t request = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, request);
  if (failure == std::errc() && stop == end && request < trace.requests.size()) return request;
  InputError error;
  error.path = "--why";
  error.found = in_quotes(text);
  error.expected = fmt::format("a request from 0 to {}", trace.requests.size() - 1);
  error.hint = "`pinfold trace head` numbers them";
  return error;
}

std::optional<InputError> check_why(const RunCommand& command) {
  if (!command.why || command.format == ReportFormat::kText ||
      command.format == ReportFormat::kJson) {
    return std::nullopt;
  }
  InputError error;
  error.path = "--why";
  error.found = "a format of tables";
  error.expected = "--format text or json";
  return error;
}

/// A scenario brings its own configuration.
std::optional<InputError> check_scenario_flags(const RunCommand& command) {
  if (command.config.files.empty() && !command.config.vllm_args) return std::nullopt;
  InputError error;
  error.path = command.config.files.empty() ? "--vllm-args" : "--config";
  error.found = "a configuration beside a scenario";
  error.expected = "--set alone";
  error.hint = "the scenario's `config` says the rest";
  return error;
}

/// A scenario's configuration with its faults.
RunConfig config_of(const Scenario& scenario) {
  RunConfig config = scenario.config;
  for (const Fault& fault : scenario.faults) {
    if (fault.kind == FaultKind::kStepFailed) {
      config.fault.failed_steps.push_back(static_cast<std::uint32_t>(fault.step));
    } else {
      config.fault.given.push_back(fault);
    }
  }
  return config;
}

/// Exit code and message of a run that a scenario judges.
ExitCode judge(const Scenario& scenario, const RunResult& result, const Provenance& provenance,
               std::ostream& err) {
  const std::vector<std::string> wrong =
      differences(scenario.expect.values, run_fields(result, provenance));
  for (const std::string& text : wrong) {
    fail(err, ExitCode::kCheckFailed, fmt::format("{}: expect.{}", scenario.path, text));
  }
  if (!wrong.empty()) return ExitCode::kCheckFailed;
  for (const ExpectedValue& value : scenario.expect.values) {
    if (value.name == "verdict") return ExitCode::kOk;  // a stall that was to come
  }
  if (result.verdict == Verdict::kOk) return ExitCode::kOk;
  return fail(err, ExitCode::kCheckFailed,
              fmt::format("{}: {}", name_of(result.verdict), result.verdict_detail));
}

}  // namespace

ExitCode run_command(const RunCommand& command, std::ostream& out, std::ostream& err) {
  std::optional<Scenario> scenario;
  if (is_scenario_file(command.trace)) {
    if (auto error = check_scenario_flags(command)) return fail(err, ExitCode::kUsageError, *error);
    Outcome<Scenario> read = read_scenario(command.trace, command.config.overrides);
    if (!read) return fail(err, exit_code_of_scenario(read.error()), read.error());
    scenario = std::move(read.value());
  }
  const Outcome<LoadedConfig> loaded =
      scenario ? Outcome<LoadedConfig>(LoadedConfig{config_of(*scenario), {}})
               : load_config(command.config, err);
  if (!loaded) return fail(err, ExitCode::kUsageError, loaded.error());
  const RunConfig& config = loaded.value().config;
  if (auto error = check_why(command)) return fail(err, ExitCode::kUsageError, *error);
  if (command.directory) {
    if (auto error = check_output_directory(*command.directory)) {
      return fail(err, ExitCode::kDataError, *error);
    }
  }
  if (command.metrics) {
    if (auto error = check_whole_file(kMetricsFlag, *command.metrics)) {
      return fail(err, ExitCode::kDataError, *error);
    }
  }
  // A long trace is read while it runs; one that is short, or of which one request is asked for, before.
  std::unique_ptr<StreamedTrace> streamed;
  std::optional<Trace> whole;
  if (!scenario && !command.why && is_streamed(command.trace)) {
    Outcome<std::unique_ptr<OpenTraceSource>> opened =
        open_trace(command.trace, command.trace_options);
    if (!opened) return fail(err, exit_code_of(opened.error()), opened.error());
    streamed = std::make_unique<StreamedTrace>(std::move(opened.value()), command.trace, config);
  } else {
    Outcome<Trace> trace = scenario ? Outcome<Trace>(trace_of(*scenario))
                                    : read_trace(command.trace, command.trace_options);
    if (!trace) return fail(err, exit_code_of(trace.error()), trace.error());
    if (auto error = check_span(trace.value(), config)) {
      return fail(err, ExitCode::kDataError, *error);
    }
    whole = std::move(trace.value());
  }
  std::optional<RequestTimeline> timeline;
  if (command.why) {
    const Outcome<std::uint32_t> request = request_of(*command.why, *whole);
    if (!request) return fail(err, ExitCode::kUsageError, request.error());
    timeline.emplace(request.value(), whole->requests[request.value()]);
  }

  ObserverList observers;
  if (timeline) observers.add(*timeline);
  std::optional<InterruptsNoted> interrupts;
  InterruptWatch watch;
  std::optional<RunFiles> files;
  if (command.directory) {
    interrupts.emplace();
    observers.add(watch);
    auto staged = StagedFiles::begin(*command.directory);
    if (!staged) return fail(err, ExitCode::kDataError, staged.error());
    files.emplace(*command.directory, std::move(staged.value()), config, command.ledger);
    observers.add(files->recorder());
  }
  std::optional<OpenMetrics> metrics;
  if (command.metrics) observers.add(metrics.emplace(metrics_options(config)));
  std::unique_ptr<RecordFile> record;
  const std::string workload = fmt::format(
      "{}configuration {}, seed {}",
      whole ? fmt::format("trace {}, ", trace_digest(*whole)) : std::string("a streamed trace, "),
      config_digest(config), config.seed);
  if (command.record) {
    if (!interrupts) {
      interrupts.emplace();
      observers.add(watch);
    }
    auto begun = RecordFile::begin("--record", *command.record, config,
                                   fmt::format("pinfold {}", kVersion), workload);
    if (!begun) return fail(err, ExitCode::kDataError, begun.error());
    record = std::move(begun.value());
    observers.add(*record);
  }
  RunResult result;
  try {
    std::optional<TraceSource> in_memory;
    if (whole) in_memory.emplace(*whole);
    RequestSource& source = whole ? static_cast<RequestSource&>(*in_memory) : *streamed;
    result = simulate_with_progress(command, source, config, observers.get(), err);
  } catch (const Interrupted&) {
    return ExitCode::kInterrupted;
  }
  if (streamed && streamed->error()) {
    return fail(err, exit_code_of(*streamed->error()), *streamed->error());
  }
  const Provenance provenance{.version = kVersion,
                              .trace = command.trace,
                              .trace_digest = whole ? trace_digest(*whole) : streamed->digest(),
                              .config_digest = config_digest(config),
                              .seed = config.seed,
                              .cost = cost_provenance(config)};
  if (files) {
    const std::array<OutputFile, 2> written{
        OutputFile{"summary.json", run_report(result, provenance, ReportFormat::kJson)},
        OutputFile{"config.resolved.json", resolved_json(config)}};
    if (auto error = files->publish(result, written))
      return fail(err, ExitCode::kDataError, *error);
  }
  if (record) {
    if (auto error = record->publish(result)) return fail(err, ExitCode::kDataError, *error);
  }
  if (metrics) {
    if (auto error = write_whole_file(kMetricsFlag, *command.metrics, metrics->finish())) {
      return fail(err, ExitCode::kDataError, *error);
    }
  }
  if (timeline) {
    out << (command.format == ReportFormat::kJson ? timeline_json(*timeline, provenance)
                                                  : timeline_text(*timeline, provenance));
  } else {
    out << run_report(result, provenance, command.format);
  }
  // The text report says so itself.
  if (result.arrival_queue.saturated() && command.format != ReportFormat::kText) {
    std::string note = describe(result.arrival_queue);
    std::replace(note.begin(), note.end(), '\n', ' ');
    err << "pinfold: note: " << note << '\n';
  }
  // They are missing in every figure, and nothing else fails on their account.
  if (result.first_never && !timeline && !scenario) {
    err << fmt::format(
        "pinfold: note: {} of {} requests can never run (NEVER): the pool or engine.max_model_len "
        "is too "
        "small for them. The first is request {}\n",
        result.rejected_never, result.requests, *result.first_never);
  }
  if (scenario) return judge(*scenario, result, provenance, err);
  if (result.verdict == Verdict::kOk) return ExitCode::kOk;
  if (result.verdict == Verdict::kViolation) {
    err << "pinfold: note: "
        << (command.record ? "`pinfold replay " + *command.record + "` replays its events"
                           : "the same command with --record FILE writes its events, and `pinfold "
                             "replay FILE` replays them")
        << '\n';
  }
  return fail(err, ExitCode::kCheckFailed,
              fmt::format("{}: {}", name_of(result.verdict), result.verdict_detail));
}

}  // namespace pinfold::sim
