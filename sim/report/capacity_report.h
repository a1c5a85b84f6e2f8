#pragma once
// The answer of `pinfold capacity`.

#include <string>

#include "sim/core/provenance.h"
#include "sim/sweep/capacity.h"

namespace pinfold::sim {

/// `provenance` says the trace and the base configuration.
std::string capacity_text(const CapacityResult& result, const Trace& trace,
                          const Provenance& provenance);
std::string capacity_json(const CapacityResult& result, const Trace& trace,
                          const Provenance& provenance);

/// "no request rate meets p99_ttft_ms<=500": for stderr.
std::string capacity_none(const CapacityResult& result);

}  // namespace pinfold::sim
