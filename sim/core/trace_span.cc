#include "sim/core/trace_span.h"

#include <fmt/format.h>

#include "sim/config/decimal.h"

namespace pinfold::sim {

std::optional<InputError> check_span(const Trace& trace, const RunConfig& config) {
  return check_span(trace.requests.back().arrival_ns, trace.name, config);
}

std::optional<InputError> check_span(std::int64_t arrival_ns, const std::string& name,
                                     const RunConfig& config) {
  constexpr std::int64_t kLongest = INT64_MAX / 2;
  const Rational scale = config.workload.time_scale;
  const auto last_ns = static_cast<std::uint64_t>(arrival_ns);
  const Unsigned128 scaled_ns = Unsigned128{last_ns} * scale.numerator / scale.denominator;
  if (scaled_ns <= static_cast<std::uint64_t>(kLongest)) return std::nullopt;
  InputError error;
  error.path = name;
  error.found = fmt::format("a last arrival {} s after the first, times workload.time_scale",
                            seconds(arrival_ns, 0));
  error.expected = fmt::format("at most {} s", seconds(kLongest, 0));
  return error;
}

}  // namespace pinfold::sim
