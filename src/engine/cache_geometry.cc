#include "engine/cache_geometry.h"

namespace pinfold {

std::optional<GeometryError> find_geometry_error(const CacheGeometry& geometry) {
  const std::uint64_t block_size = geometry.block_size.value;
  if (block_size == 0) return GeometryError{GeometryFault::kEmptyBlock, 0, 1};
  for (const std::uint32_t ratio : geometry.compression_ratios) {
    if (ratio == 0) return GeometryError{GeometryFault::kEmptyRatio, 0, 1};
  }
  for (const std::uint32_t ratio : geometry.compression_ratios) {
    if (block_size % ratio != 0) {
      return GeometryError{GeometryFault::kPartialRow, block_size, ratio};
    }
  }
  if (geometry.window.value == 0) return std::nullopt;
  // 64 bits: the sum of two lengths may pass 32.
  const std::uint64_t least = std::uint64_t{geometry.window.value} + geometry.drafts.value;
  if (geometry.ring_len.value < least) {
    return GeometryError{GeometryFault::kRingTooShort, geometry.ring_len.value, least};
  }
  return std::nullopt;
}

std::string describe(const GeometryError& error) {
  const std::string found = std::to_string(error.found);
  const std::string expected = std::to_string(error.expected);
  switch (error.fault) {
    case GeometryFault::kEmptyBlock: return "a block of 0 positions, expected at least 1";
    case GeometryFault::kEmptyRatio: return "a compression ratio of 0, expected at least 1";
    case GeometryFault::kPartialRow:
      return "a block of " + found + " positions, expected a multiple of the compression ratio " +
             expected;
    case GeometryFault::kRingTooShort:
      return "a ring of " + found + " rows, expected at least window + drafts = " + expected;
  }
  return "?";
}

std::uint32_t compressed_rows_in_block(TokenCount block_size, std::uint32_t ratio) {
  PINFOLD_CHECK(ratio > 0, "O1", "a compression ratio of 0");
  PINFOLD_CHECK(block_size.value % ratio == 0, "O1",
                "a block of " + std::to_string(block_size.value) +
                    " positions is no multiple of the compression ratio " + std::to_string(ratio));
  return block_size.value / ratio;
}

BlockRow compressed_row_of(std::uint32_t position, std::span<const BlockId> table,
                           TokenCount block_size, std::uint32_t ratio) {
  PINFOLD_CHECK(compressed_rows_in_block(block_size, ratio) > 0, "O1", "a block holds no row");
  const BlockRow row = block_row_of(position, table, block_size);
  return {row.block, row.row / ratio};
}

}  // namespace pinfold
