#pragma once
// What a trace holds, in a few figures.

#include <cstdint>

#include "sim/trace/request.h"

namespace pinfold::sim {

/// Token counts over all requests. Percentiles are by nearest rank: the smallest count that at least so
/// many percent of the requests do not exceed.
struct TokenStatistics {
  std::uint64_t total = 0;
  std::uint32_t p50 = 0;
  std::uint32_t p99 = 0;
  std::uint32_t max = 0;
};

struct TraceStatistics {
  std::uint64_t requests = 0;
  std::int64_t span_ns = 0;  // first to last arrival
  TokenStatistics prompt;
  TokenStatistics output;
};

/// `trace` must have at least one request, arrivals in order.
TraceStatistics trace_statistics(const Trace& trace);

}  // namespace pinfold::sim
