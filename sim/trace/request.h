#pragma once
// What a request trace says: plain data, whatever the file's format was.

#include <cstdint>
#include <string>
#include <vector>

namespace pinfold::sim {

/// One request of a trace.
struct TraceRequest {
  std::int64_t arrival_ns = 0;  // since the trace's first arrival
  std::uint32_t prompt = 0;     // tokens, at least 1
  std::uint32_t output = 0;     // tokens generated, 0 for prefill only
};

/// A whole trace, arrivals in order (ties keep the file's order).
struct Trace {
  std::string name;  // the path as the user gave it
  std::vector<TraceRequest> requests;
};

}  // namespace pinfold::sim
