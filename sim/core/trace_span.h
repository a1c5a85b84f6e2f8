#pragma once
// Whether a trace's arrivals fit simulated time.

#include <optional>

#include "sim/config/run_config.h"
#include "sim/trace/request.h"

namespace pinfold::sim {

/// Simulated time has to end before 2^63 ns; half of that is left for the run behind the last arrival,
/// which workload.time_scale moves. `trace` must not be empty.
std::optional<InputError> check_span(const Trace& trace, const RunConfig& config);

/// The same for one arrival of the trace `name`.
std::optional<InputError> check_span(std::int64_t arrival_ns, const std::string& name,
                                     const RunConfig& config);

}  // namespace pinfold::sim
