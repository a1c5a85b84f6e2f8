#pragma once
// Where a row lives (rule O1).

#include <span>

#include "base/counts.h"
#include "base/ids.h"

namespace pinfold {

/// A row of a block.
struct BlockRow {
  BlockId block;
  std::uint32_t row;
  friend bool operator==(const BlockRow&, const BlockRow&) = default;
};

/// Position p is row p mod B of table[p / B]. The table must cover the position, and no entry that is
/// read may be block 0.
inline BlockRow block_row_of(std::uint32_t position, std::span<const BlockId> table,
                             TokenCount block_size) {
  PINFOLD_CHECK(block_size.value > 0, "O1", "a block holds no position");
  const std::uint32_t entry = position / block_size.value;
  PINFOLD_CHECK(entry < table.size(), "O1",
                "position " + std::to_string(position) + " lies beyond a table of " +
                    std::to_string(table.size()) + " blocks");
  PINFOLD_CHECK(table[entry] != kNoBlock, "O1", "the table has no block there");
  return {table[entry], position % block_size.value};
}

/// Ring row of a position: state_id * ring_len + p mod ring_len.
inline std::uint64_t ring_row_of(std::uint32_t position, BlockId state, TokenCount ring_len) {
  PINFOLD_CHECK(ring_len.value > 0, "O1", "a ring holds no position");
  PINFOLD_CHECK(state != kNoBlock, "O1", "state slot 0 is never issued");
  return std::uint64_t{index_of(state)} * ring_len.value + position % ring_len.value;
}

}  // namespace pinfold
