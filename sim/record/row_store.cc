#include "sim/record/row_store.h"

#include "base/check.h"

namespace pinfold::sim {

RowStore::RowStore(TokenCount block_size) : block_size_(block_size) {
  PINFOLD_CHECK(block_size.value >= 1, "O1", "a block holds at least one row");
}

void RowStore::write(BlockId block, TokenCount row, RowValue value) {
  PINFOLD_CHECK(block != kNoBlock, "O1", "block 0 has no rows");
  PINFOLD_CHECK(row < block_size_, "O1", "a row behind the end of its block");
  Rows& rows = blocks_[block];
  rows.resize(block_size_.value);
  rows[row.value] = value;
}

std::optional<RowValue> RowStore::read(BlockId block, TokenCount row) const {
  PINFOLD_CHECK(block != kNoBlock, "O1", "block 0 has no rows");
  PINFOLD_CHECK(row < block_size_, "O1", "a row behind the end of its block");
  const auto found = blocks_.find(block);
  return found == blocks_.end() ? std::nullopt : found->second[row.value];
}

void RowStore::copy(BlockId from, BlockId to) {
  PINFOLD_CHECK(from != to, "O8", "a copy onto its own source");
  const auto source = blocks_.find(from);
  if (source == blocks_.end()) {
    blocks_.erase(to);
  } else {
    blocks_[to] = source->second;
  }
}

}  // namespace pinfold::sim
