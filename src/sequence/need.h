#pragma once
// How many blocks a sequence needs (rule O4): a pure function of its counts, never an accumulator.

#include <algorithm>

#include "base/counts.h"

namespace pinfold {

/// The counts of one sequence.
/// history H: known tokens. processed C: rows of the committed prefix. in_flight F: rows of dispatched
/// steps whose result has not been processed, drafts counted as if all were accepted.
struct RowCounts {
  TokenCount history;
  TokenCount processed;
  TokenCount in_flight;
};

/// Need when one more row with `drafts` drafts is planned: ceil((max(H, C + F + 1) + d) / B).
constexpr BlockCount need_with_row(const RowCounts& counts, TokenCount drafts,
                                   TokenCount block_size) {
  const TokenCount rows = counts.processed + counts.in_flight + TokenCount(1);
  return blocks_for(std::max(counts.history, rows) + drafts, block_size);
}

/// Need when no further row is planned (limit or known stop reached, sat out): ceil(max(H, C + F) / B),
/// so that no block a dispatched row may still write is given back.
constexpr BlockCount need_without_row(const RowCounts& counts, TokenCount block_size) {
  return blocks_for(std::max(counts.history, counts.processed + counts.in_flight), block_size);
}

/// Positions that a whole request writes: prompt + max(output, 1) - 1 (the last token is not written).
constexpr TokenCount positions_of(TokenCount prompt, TokenCount output) {
  return prompt + std::max(output, TokenCount(1)) - TokenCount(1);
}

}  // namespace pinfold
