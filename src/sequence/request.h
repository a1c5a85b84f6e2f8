#pragma once
// What a caller asks for: one request.

#include <cstdint>
#include <span>

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

/// What the blocks of a request hold, for reuse of prefixes. Equal keys behind equal keys are equal
/// tokens: a key need not cover what lies before its block. Copied by whom it is given to.
struct PromptKeys {
  /// Key of block k: positions [k * B, (k + 1) * B). They may end before the prompt does, and may go on
  /// beyond it where the caller knows what the output will be.
  std::span<const std::uint64_t> blocks;
  /// Key of the positions from the last multiple of B up to `tail_end`, which is none itself; `blocks`
  /// reaches as far as that multiple. 0: no tail.
  TokenCount tail_end;
  std::uint64_t tail = 0;

  bool empty() const { return blocks.empty() && tail_end.value == 0; }
};

}  // namespace pinfold
