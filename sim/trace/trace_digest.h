#pragma once
// Which workload this was, whatever file it came from.

#include <string>

#include "sim/trace/request.h"

namespace pinfold::sim {

/// XXH3 (64 bits) of the requests, as 16 hexadecimal digits. Line ends, column order and the day on
/// which the trace was taken do not change it.
std::string trace_digest(const Trace& trace);

}  // namespace pinfold::sim
