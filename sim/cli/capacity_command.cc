#include "sim/cli/capacity_command.h"

#include "sim/cli/progress.h"
#include "sim/config/decimal_text.h"
#include "sim/config/resolved_config.h"
#include "sim/core/trace_span.h"
#include "sim/report/capacity_report.h"
#include "sim/report/version.h"
#include "sim/trace/trace_digest.h"
#include "sim/trace/trace_source.h"

namespace pinfold::sim {

Outcome<Tolerance> parse_tolerance(const std::string& text) {
  constexpr std::uint64_t kMostPercent = 50;
  if (text.ends_with('%')) {
    const auto percent = parse_decimal(std::string_view(text).substr(0, text.size() - 1));
    constexpr std::uint64_t kFinest = 1'000'000;
    if (percent && percent->numerator > 0 && percent->denominator <= kFinest &&
        percent->numerator <= kMostPercent * percent->denominator) {
      return Tolerance{percent->numerator, percent->denominator * 100};
    }
  }
  InputError error;
  error.path = "--tolerance";
  error.found = in_quotes(text);
  error.expected = "a percentage above 0 and at most 50, as 1%";
  return error;
}

ExitCode capacity_command(const CapacityCommand& command, std::ostream& out, std::ostream& err) {
  const Outcome<LoadedConfig> loaded = load_config(command.config, err);
  if (!loaded) return fail(err, ExitCode::kUsageError, loaded.error());
  const Outcome<ConfigSources> sources = sources_of(command.config);
  if (!sources) return fail(err, ExitCode::kUsageError, sources.error());
  const Outcome<Trace> trace = read_trace(command.trace, command.trace_options);
  if (!trace) return fail(err, ExitCode::kDataError, trace.error());
  if (const auto error = check_span(trace.value(), loaded.value().config)) {
    return fail(err, ExitCode::kDataError, *error);
  }
  Progress progress(err, 0, "runs ended", 1);
  const Outcome<CapacityResult> found =
      find_capacity(trace.value(), sources.value(), command.question, [&](std::size_t runs) {
        if (command.progress) progress.show(runs);
      });
  if (!found) return fail(err, ExitCode::kUsageError, found.error());
  const CapacityResult& result = found.value();

  const RunConfig& config = loaded.value().config;
  const Provenance provenance{.version = kVersion,
                              .trace = command.trace,
                              .trace_digest = trace_digest(trace.value()),
                              .config_digest = config_digest(config),
                              .seed = config.seed};
  out << (command.json ? capacity_json(result, trace.value(), provenance)
                       : capacity_text(result, trace.value(), provenance));
  if (result.verdict != CapacityVerdict::kNone) return ExitCode::kOk;
  return fail(err, ExitCode::kCheckFailed, capacity_none(result));
}

}  // namespace pinfold::sim
