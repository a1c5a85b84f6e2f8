// Rule O1. Expected rows are worked out by hand from its sentence: position p is row p mod B of
// table[p / B]; its ring row is state_id * ring_len + p mod ring_len.
#include "sequence/address.h"

#include <doctest/doctest.h>

#include <array>
#include <set>
#include <vector>

#include "tests/unit/broken_rule.h"

namespace pinfold {
namespace {

using test::broken_rule;
using test::violation_text;

constexpr std::array<BlockId, 3> kTable{BlockId{7}, BlockId{2}, BlockId{5}};

TEST_CASE("address (O1): position p is row p mod B of table[p / B]") {
  // B = 4: the blocks' edges are at 3|4 and 7|8.
  CHECK(block_row_of(0, kTable, TokenCount(4)) == BlockRow{BlockId{7}, 0});
  CHECK(block_row_of(3, kTable, TokenCount(4)) == BlockRow{BlockId{7}, 3});
  CHECK(block_row_of(4, kTable, TokenCount(4)) == BlockRow{BlockId{2}, 0});
  CHECK(block_row_of(7, kTable, TokenCount(4)) == BlockRow{BlockId{2}, 3});
  CHECK(block_row_of(8, kTable, TokenCount(4)) == BlockRow{BlockId{5}, 0});
  CHECK(block_row_of(11, kTable, TokenCount(4)) == BlockRow{BlockId{5}, 3});
}

TEST_CASE("address (O1): with blocks of one position the table is the address") {
  for (std::uint32_t p = 0; p < kTable.size(); ++p) {
    CHECK(block_row_of(p, kTable, TokenCount(1)) == BlockRow{kTable[p], 0});
  }
}

TEST_CASE("address (O1): no two positions of a table share a row, for every B up to 9") {
  for (std::uint32_t block_size = 1; block_size <= 9; ++block_size) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (std::uint32_t p = 0; p < 3 * block_size; ++p) {
      const BlockRow row = block_row_of(p, kTable, TokenCount(block_size));
      CHECK(row.row < block_size);
      CHECK(seen.insert({index_of(row.block), row.row}).second);
    }
  }
}

TEST_CASE(
    "address (O1): a position beyond the table is a violation, at its first position already") {
  CHECK(broken_rule([] { block_row_of(11, kTable, TokenCount(4)); }) == "none");
  CHECK(broken_rule([] { block_row_of(12, kTable, TokenCount(4)); }) == "O1");
  CHECK(violation_text([] { block_row_of(12, kTable, TokenCount(4)); }).find("position 12") !=
        std::string::npos);
  CHECK(broken_rule([] { block_row_of(0, {}, TokenCount(4)); }) == "O1");
}

TEST_CASE("address (O1): a table entry of block 0 and a block of no positions are violations") {
  const std::array<BlockId, 2> hole{BlockId{3}, kNoBlock};
  CHECK(broken_rule([&] { block_row_of(3, hole, TokenCount(4)); }) == "none");
  CHECK(broken_rule([&] { block_row_of(4, hole, TokenCount(4)); }) == "O1");
  CHECK(broken_rule([] { block_row_of(0, kTable, TokenCount(0)); }) == "O1");
}

TEST_CASE("address (O1): ring row is state_id * ring_len + p mod ring_len") {
  // The chapter's ring of 134 positions: slot 2 starts at row 268; position 134 wraps to its start.
  CHECK(ring_row_of(0, BlockId{2}, TokenCount(134)) == 268);
  CHECK(ring_row_of(133, BlockId{2}, TokenCount(134)) == 401);
  CHECK(ring_row_of(134, BlockId{2}, TokenCount(134)) == 268);
  CHECK(ring_row_of(1000, BlockId{1}, TokenCount(134)) == 134 + 62);  // 1000 = 7 * 134 + 62
}

TEST_CASE("address (O1): rings of neighbouring slots do not meet") {
  // Slot 1 ends at row 2 * 134 - 1, slot 2 begins there plus one.
  CHECK(ring_row_of(133, BlockId{1}, TokenCount(134)) + 1 ==
        ring_row_of(0, BlockId{2}, TokenCount(134)));
}

TEST_CASE("address (O1): ring rows are 64 bits wide") {
  // 2^31 * 1000 does not fit 32 bits.
  CHECK(ring_row_of(999, BlockId{std::uint32_t{1} << 31}, TokenCount(1000)) ==
        (std::uint64_t{1} << 31) * 1000 + 999);
}

TEST_CASE("address (O1): state slot 0 and a ring of no rows are violations") {
  CHECK(broken_rule([] { ring_row_of(5, kNoBlock, TokenCount(134)); }) == "O1");
  CHECK(broken_rule([] { ring_row_of(5, BlockId{1}, TokenCount(0)); }) == "O1");
}

}  // namespace
}  // namespace pinfold
