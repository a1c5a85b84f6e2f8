#pragma once
// The bare anchor: the least code that replays a trace with arrivals, blocks, chunked prefill, decode
// and ends, one visit per running sequence per step, digest on. It has no preemption, forks, drafts,
// fences or audits; it says what this work costs at least, so that the engine's speed can be printed as
// a ratio from one run on one machine.

#include <cstdint>

#include "sim/trace/request.h"

namespace pinfold::bench {

struct AnchorResult {
  std::uint64_t steps = 0;
  std::uint64_t output_tokens = 0;
  std::uint64_t blocks_acquired = 0;
  std::uint64_t digest = 0;
};

/// Replays `trace` with blocks of 16, 256 running, 2,048 tokens a step, a pool that is never full, and
/// the linear step cost of the default configuration.
AnchorResult run_anchor(const sim::Trace& trace);

}  // namespace pinfold::bench
