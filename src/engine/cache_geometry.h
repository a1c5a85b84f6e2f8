#pragma once
// Rule O1 for whoever configures caches and whoever reads their rows: the shapes that addresses need,
// checked before an engine starts, and the addresses themselves (block_row_of, ring_row_of).

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/counts.h"
#include "sequence/address.h"

namespace pinfold {

/// The shapes that rule O1 relates. Lengths in token positions.
struct CacheGeometry {
  TokenCount block_size;  // B
  TokenCount window;      // rows a query reads from its ring, its own included; 0: no ring
  TokenCount drafts;      // most draft rows beside a decode row in one step
  TokenCount ring_len;    // rows of one layer's ring; without a window it says nothing
  std::span<const std::uint32_t> compression_ratios{};  // positions a row of each compressed cache
};

/// Which of the relations fails.
enum class GeometryFault : std::uint8_t {
  kEmptyBlock,    // B is 0
  kEmptyRatio,    // a compression ratio is 0
  kPartialRow,    // B is no multiple of a compression ratio: a row would span two blocks
  kRingTooShort,  // ring_len < window + drafts: a draft would replace a row still in the window
};

/// A failed relation with its numbers: bad input, so a value and no exception.
struct GeometryError {
  GeometryFault fault{};
  std::uint64_t found = 0;     // B, or the ring's rows
  std::uint64_t expected = 0;  // B: a multiple of this ratio; a ring: at least this many rows
  friend bool operator==(const GeometryError&, const GeometryError&) = default;
};

/// The first relation that fails, in the order of GeometryFault, ratios in theirs; none: all hold.
std::optional<GeometryError> find_geometry_error(const CacheGeometry& geometry);

/// The reason for a person: what was found and what was expected.
std::string describe(const GeometryError& error);

/// Rows of a compressed cache in one block: B / ratio. B must be a multiple of `ratio`.
std::uint32_t compressed_rows_in_block(TokenCount block_size, std::uint32_t ratio);

/// Row of a compressed cache that stands for `position`: positions ratio * n .. ratio * n + ratio - 1
/// of a block share its row n.
BlockRow compressed_row_of(std::uint32_t position, std::span<const BlockId> table,
                           TokenCount block_size, std::uint32_t ratio);

}  // namespace pinfold
