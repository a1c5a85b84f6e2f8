#pragma once
// What a caller asks for: one request.

#include <cstdint>

#include "base/counts.h"

namespace pinfold {

/// Does the scheduler know when the output stops? kHidden: only `limit`; the stop comes with a result,
/// so overlap overruns it by the rows already planned. kKnown: the output is exactly `limit` tokens.
enum class StopMode : std::uint8_t { kHidden, kKnown };

/// A request has prompt >= 1 tokens and yields at most `limit` tokens (0: prefill only). Prefill
/// writes positions 0..prompt-1 and yields the first token; a row that consumes a token writes its
/// position; the last token is never written: prompt + max(limit, 1) - 1 positions.
struct RequestSpec {
  TokenCount prompt;
  TokenCount limit;
  StopMode stop = StopMode::kHidden;
  TokenCount drafts;           // draft tokens wanted per decode row
  std::uint32_t priority = 0;  // lower goes first in the queue; ties by arrival
};

}  // namespace pinfold
