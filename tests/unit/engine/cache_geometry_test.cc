// Rule O1 as a check on configurations: ring_len >= window + drafts, and B a multiple of every
// compression ratio. Expected numbers are the rule's own arithmetic, written beside them.
#include "engine/cache_geometry.h"

#include <doctest/doctest.h>

#include <array>

#include "tests/unit/broken_rule.h"

namespace pinfold {
namespace {

using test::broken_rule;

/// The chapter's shapes: blocks of 128 positions, a ring of 134, up to five drafts.
CacheGeometry chapter() {
  static constexpr std::array<std::uint32_t, 2> kRatios{4, 128};
  CacheGeometry geometry;
  geometry.block_size = TokenCount(128);
  geometry.window = TokenCount(128);
  geometry.drafts = TokenCount(5);
  geometry.ring_len = TokenCount(134);
  geometry.compression_ratios = kRatios;
  return geometry;
}

std::string reason(const CacheGeometry& geometry) {
  const std::optional<GeometryError> error = find_geometry_error(geometry);
  return error.has_value() ? describe(*error) : "none";
}

TEST_CASE("geometry (O1): the chapter's shapes hold") { CHECK(reason(chapter()) == "none"); }

TEST_CASE("geometry (O1): a ring of window + drafts is enough, one row less is not") {
  CacheGeometry geometry = chapter();
  geometry.ring_len = TokenCount(133);  // 128 + 5
  CHECK(reason(geometry) == "none");
  geometry.ring_len = TokenCount(132);
  CHECK(find_geometry_error(geometry) == GeometryError{GeometryFault::kRingTooShort, 132, 133});
  CHECK(reason(geometry) == "a ring of 132 rows, expected at least window + drafts = 133");
  geometry.drafts = TokenCount(4);
  CHECK(reason(geometry) == "none");
}

TEST_CASE("geometry (O1): a ring shorter than its window is replaced while it is read") {
  // The reason for the relation: with ring_len = window + drafts - 1, the last draft's row is the row
  // of the oldest position that the row's own query still reads.
  const std::uint32_t window = 4, drafts = 2, position = 100;
  const auto same_row = [&](std::uint32_t ring_len) {
    const std::uint32_t oldest = position + 1 - window, last_draft = position + drafts;
    return oldest % ring_len == last_draft % ring_len;
  };
  CHECK(same_row(window + drafts - 1));
  CHECK_FALSE(same_row(window + drafts));
}

TEST_CASE("geometry (O1): without a window the ring's length says nothing") {
  CacheGeometry geometry = chapter();
  geometry.window = TokenCount(0);
  geometry.ring_len = TokenCount(0);
  CHECK(reason(geometry) == "none");
}

TEST_CASE("geometry (O1): window + drafts is added without wrapping") {
  CacheGeometry geometry = chapter();
  geometry.window = TokenCount(UINT32_MAX);
  geometry.ring_len = TokenCount(134);
  CHECK(find_geometry_error(geometry) ==
        GeometryError{GeometryFault::kRingTooShort, 134, std::uint64_t{UINT32_MAX} + 5});
}

TEST_CASE("geometry (O1): B must be a multiple of every compression ratio") {
  static constexpr std::array<std::uint32_t, 3> kRatios{1, 4, 48};
  CacheGeometry geometry = chapter();
  geometry.compression_ratios = kRatios;
  CHECK(find_geometry_error(geometry) == GeometryError{GeometryFault::kPartialRow, 128, 48});
  CHECK(reason(geometry) ==
        "a block of 128 positions, expected a multiple of the compression ratio 48");
  geometry.block_size = TokenCount(96);
  CHECK(reason(geometry) == "none");
}

TEST_CASE("geometry (O1): a ratio greater than B is refused: a row would span blocks") {
  static constexpr std::array<std::uint32_t, 1> kRatios{256};
  CacheGeometry geometry = chapter();
  geometry.compression_ratios = kRatios;
  CHECK(find_geometry_error(geometry) == GeometryError{GeometryFault::kPartialRow, 128, 256});
}

TEST_CASE(
    "geometry (O1): a block of 0 positions and a ratio of 0 are found before dividing by them") {
  static constexpr std::array<std::uint32_t, 2> kRatios{4, 0};
  CacheGeometry geometry = chapter();
  geometry.compression_ratios = kRatios;
  CHECK(reason(geometry) == "a compression ratio of 0, expected at least 1");
  geometry.block_size = TokenCount(0);
  CHECK(reason(geometry) == "a block of 0 positions, expected at least 1");
}

TEST_CASE("geometry (O14): a block of 128 positions holds 128 / ratio compressed rows") {
  CHECK(compressed_rows_in_block(TokenCount(128), 1) == 128);
  CHECK(compressed_rows_in_block(TokenCount(128), 4) == 32);
  CHECK(compressed_rows_in_block(TokenCount(128), 128) == 1);
  CHECK(broken_rule([] { compressed_rows_in_block(TokenCount(128), 3); }) == "O1");
  CHECK(broken_rule([] { compressed_rows_in_block(TokenCount(128), 0); }) == "O1");
}

TEST_CASE(
    "geometry (O14): `ratio` neighbouring positions share one compressed row of their block") {
  const std::array<BlockId, 2> table{BlockId{6}, BlockId{3}};
  // B = 8, ratio 4: rows 0 and 1 of each block.
  for (std::uint32_t p = 0; p < 16; ++p) {
    CHECK(compressed_row_of(p, table, TokenCount(8), 4) ==
          BlockRow{p < 8 ? BlockId{6} : BlockId{3}, p % 8 / 4});
  }
  CHECK(broken_rule([&] { compressed_row_of(16, table, TokenCount(8), 4); }) == "O1");
  CHECK(broken_rule([&] { compressed_row_of(0, table, TokenCount(8), 3); }) == "O1");
  CHECK(broken_rule([&] { compressed_row_of(0, table, TokenCount(0), 3); }) == "O1");
}

}  // namespace
}  // namespace pinfold
