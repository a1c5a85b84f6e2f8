#include "sim/trace/trace_digest.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace pinfold::sim {

std::string trace_digest(const Trace& trace) {
  static_assert(sizeof(TraceRequest) == 16, "hashed as bytes: no padding, little-endian");
  const std::uint64_t digest =
      XXH3_64bits(trace.requests.data(), trace.requests.size() * sizeof(TraceRequest));
  return fmt::format("{:016x}", digest);
}

}  // namespace pinfold::sim
