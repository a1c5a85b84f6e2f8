#pragma once
// Whether a trace's arrivals and aborts fit simulated time.

#include <optional>

#include "sim/config/run_config.h"
#include "sim/trace/request.h"

namespace pinfold::sim {

/// Simulated time has to end before 2^63 ns; half of that is left for the run behind the last arrival,
/// which workload.time_scale moves.
std::optional<InputError> check_span(const Trace& trace, const RunConfig& config);

/// The same for one request of the trace `name`.
std::optional<InputError> check_span(const TraceRequest& request, const std::string& name,
                                     const RunConfig& config);

}  // namespace pinfold::sim
