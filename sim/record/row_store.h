#pragma once
// The rows behind the blocks, one number each: a wrong block then shows as a wrong number.

#include <map>
#include <optional>
#include <vector>

#include "base/counts.h"
#include "base/ids.h"
#include "sim/record/event_file.h"

namespace pinfold::sim {

/// Rows keep their value when their block changes hands, as memory does. A block that was never
/// written takes no space.
class RowStore {
 public:
  /// `block_size` is at least 1.
  explicit RowStore(TokenCount block_size);

  /// `row` is below the block size.
  void write(BlockId block, TokenCount row, RowValue value);
  /// None if the row was never written.
  std::optional<RowValue> read(BlockId block, TokenCount row) const;
  /// Every row, unwritten ones included.
  void copy(BlockId from, BlockId to);

 private:
  using Rows = std::vector<std::optional<RowValue>>;

  TokenCount block_size_;
  std::map<BlockId, Rows> blocks_;
};

}  // namespace pinfold::sim
