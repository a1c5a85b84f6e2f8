#include "sim/cli/run_command.h"

#include <fmt/format.h>

#include <array>

#include "sim/cli/output_directory.h"
#include "sim/config/resolved_config.h"
#include "sim/core/simulate.h"
#include "sim/report/decimal.h"
#include "sim/report/run_fields.h"
#include "sim/report/version.h"
#include "sim/trace/azure_csv.h"
#include "sim/trace/trace_digest.h"

namespace pinfold::sim {
namespace {

/// Simulated time has to end before 2^63 ns; half of that is left for the run behind the last arrival.
std::optional<InputError> check_span(const Trace& trace, const RunConfig& config) {
  constexpr std::int64_t kLongest = INT64_MAX / 2;
  const Rational scale = config.workload.time_scale;
  const auto last_ns = static_cast<std::uint64_t>(trace.requests.back().arrival_ns);
  const Unsigned128 scaled_ns = Unsigned128{last_ns} * scale.numerator / scale.denominator;
  if (scaled_ns <= static_cast<std::uint64_t>(kLongest)) return std::nullopt;
  InputError error;
  error.path = trace.name;
  error.found = fmt::format("a last arrival {} s after the first, times workload.time_scale",
                            seconds(trace.requests.back().arrival_ns, 0));
  error.expected = fmt::format("at most {} s", seconds(kLongest, 0));
  return error;
}

/// One line on a terminal, rewritten as requests end.
class Progress {
 public:
  Progress(std::ostream& err, std::uint64_t requests) : err_(err), requests_(requests) {}
  ~Progress() {
    if (shown_ > 0) err_ << '\r' << std::string(shown_, ' ') << '\r' << std::flush;
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t ended) {
    // A thousandth at a time: a terminal is slower than the simulation.
    if (ended < next_) return;
    next_ = ended + requests_ / 1'000 + 1;
    const std::string text = fmt::format("{} of {} requests ended", ended, requests_);
    err_ << '\r' << text << std::flush;
    shown_ = text.size();
  }

 private:
  std::ostream& err_;
  std::uint64_t requests_;
  std::uint64_t next_ = 0;
  std::size_t shown_ = 0;
};

RunResult simulate_with_progress(const RunCommand& command, const Trace& trace,
                                 const RunConfig& config, std::ostream& err) {
  Progress progress(err, trace.requests.size());
  RunOptions options;
  options.fast_path = command.fast_path;
  options.audit_every = command.audit_every;
  if (command.progress) {
    options.progress = [&progress](std::uint64_t ended) { progress.show(ended); };
  }
  return simulate(trace, config, options);
}

}  // namespace

ExitCode run_command(const RunCommand& command, std::ostream& out, std::ostream& err) {
  const Outcome<LoadedConfig> loaded = load_config(command.config, err);
  if (!loaded) return fail(err, ExitCode::kUsageError, loaded.error());
  const RunConfig& config = loaded.value().config;
  if (command.directory) {
    if (auto error = check_output_directory(*command.directory)) {
      return fail(err, ExitCode::kDataError, *error);
    }
  }
  const Outcome<Trace> trace = read_azure_csv(command.trace);
  if (!trace) return fail(err, ExitCode::kDataError, trace.error());
  if (auto error = check_span(trace.value(), config)) {
    return fail(err, ExitCode::kDataError, *error);
  }

  const RunResult result = simulate_with_progress(command, trace.value(), config, err);
  const Provenance provenance{.version = kVersion,
                              .trace = command.trace,
                              .trace_digest = trace_digest(trace.value()),
                              .config_digest = config_digest(config),
                              .seed = config.seed};
  if (command.directory) {
    const std::array<OutputFile, 2> files{
        OutputFile{"summary.json", run_report(result, provenance, ReportFormat::kJson)},
        OutputFile{"config.resolved.json", resolved_json(config)}};
    if (auto error = write_output_files(*command.directory, files)) {
      return fail(err, ExitCode::kDataError, *error);
    }
  }
  out << run_report(result, provenance, command.format);
  if (result.verdict == Verdict::kOk) return ExitCode::kOk;
  return fail(err, ExitCode::kCheckFailed,
              fmt::format("{}: {}", name_of(result.verdict), result.verdict_detail));
}

}  // namespace pinfold::sim
