#include "sim/core/trace_span.h"

#include <fmt/format.h>

#include "sim/config/decimal.h"

namespace pinfold::sim {

std::optional<InputError> check_span(const Trace& trace, const RunConfig& config) {
  for (const TraceRequest& request : trace.requests) {
    if (auto error = check_span(request, trace.name, config)) return error;
  }
  return std::nullopt;
}

std::optional<InputError> check_span(const TraceRequest& request, const std::string& name,
                                     const RunConfig& config) {
  constexpr std::int64_t kLongest = INT64_MAX / 2;
  const Rational scale = config.workload.time_scale;
  const bool aborts = request.abort_ns != kNeverNs;
  const std::int64_t at_ns = aborts ? request.abort_ns : request.arrival_ns;
  const auto last_ns = static_cast<std::uint64_t>(at_ns);
  const Unsigned128 scaled_ns = Unsigned128{last_ns} * scale.numerator / scale.denominator;
  if (scaled_ns <= static_cast<std::uint64_t>(kLongest)) return std::nullopt;
  InputError error;
  error.path = name;
  error.found = fmt::format("an {} {} s after the first arrival, times workload.time_scale",
                            aborts ? "abort" : "arrival", seconds(at_ns, 0));
  error.expected = fmt::format("at most {} s", seconds(kLongest, 0));
  return error;
}

}  // namespace pinfold::sim
