#include "sim/core/trace_span.h"

#include <fmt/format.h>

#include "sim/config/decimal.h"

namespace pinfold::sim {

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

}  // namespace pinfold::sim
