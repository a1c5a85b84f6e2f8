#include "base/counts.h"

#include <doctest/doctest.h>

#include "tests/unit/broken_rule.h"

namespace pinfold {
namespace {

TEST_CASE("counts: start at zero, add, subtract and compare") {
  CHECK(TokenCount{} == TokenCount(0));
  CHECK((TokenCount(6) + TokenCount(3)).value == 9);
  CHECK((BlockCount(7) - BlockCount(7)).value == 0);
  CHECK(BlockCount(3) < BlockCount(4));
  CHECK(BlockCount(4) >= BlockCount(4));

  TokenCount known(10);
  known += TokenCount(2);
  known -= TokenCount(5);
  CHECK(known == TokenCount(7));
}

TEST_CASE("counts: below zero is a violation and leaves the count as it was") {
  BlockCount available(2);
  CHECK(test::broken_rule([&] { available -= BlockCount(3); }) == "counts");
  CHECK(available == BlockCount(2));
  CHECK(test::broken_rule([&] { available -= BlockCount(2); }) == "none");
  CHECK(available == BlockCount(0));
}

TEST_CASE("counts: past 2^32 - 1 is a violation and leaves the count as it was") {
  TokenCount known(4294967294);
  CHECK(test::broken_rule([&] { known += TokenCount(1); }) == "none");
  CHECK(known == TokenCount(4294967295));
  CHECK(test::broken_rule([&] { known += TokenCount(1); }) == "counts");
  CHECK(known == TokenCount(4294967295));
}

// Chapter 4.1, B = 4: 6 tokens need ceil(6/4) = 2 blocks, 9 need 3, 11 + 2 drafts need ceil(13/4) = 4,
// 12 need 3: the last of them is full.
TEST_CASE("counts (O4): the blocks of the chapter's first lab") {
  const TokenCount block_size(4);
  CHECK(blocks_for(TokenCount(6), block_size) == BlockCount(2));
  CHECK(blocks_for(TokenCount(8), block_size) == BlockCount(2));
  CHECK(blocks_for(TokenCount(9), block_size) == BlockCount(3));
  CHECK(blocks_for(TokenCount(11) + TokenCount(2), block_size) == BlockCount(4));
  CHECK(blocks_for(TokenCount(12), block_size) == BlockCount(3));
}

// kB - 1, kB, kB + 1 positions are k, k, k + 1 blocks of which k - 1, k, k are full.
TEST_CASE("counts (O4): one position more than full blocks needs one block more") {
  for (const std::uint32_t block_size : {1U, 2U, 3U, 16U, 128U}) {
    const TokenCount per_block(block_size);
    for (const std::uint32_t k : {1U, 2U, 7U}) {
      CAPTURE(block_size);
      CAPTURE(k);
      const TokenCount full(k * block_size);
      const BlockCount before = block_size == 1 ? BlockCount(k - 1) : BlockCount(k);
      CHECK(blocks_for(full - TokenCount(1), per_block) == before);
      CHECK(blocks_for(full, per_block) == BlockCount(k));
      CHECK(blocks_for(full + TokenCount(1), per_block) == BlockCount(k + 1));
      CHECK(full_blocks_in(full - TokenCount(1), per_block) == BlockCount(k - 1));
      CHECK(full_blocks_in(full, per_block) == BlockCount(k));
    }
  }
  CHECK(blocks_for(TokenCount(0), TokenCount(16)) == BlockCount(0));
}

TEST_CASE("counts: rounding up cannot wrap at the largest count") {
  CHECK(blocks_for(TokenCount(4294967295), TokenCount(1)) == BlockCount(4294967295));
  CHECK(blocks_for(TokenCount(4294967295), TokenCount(16)) == BlockCount(268435456));
  CHECK(div_ceil(std::uint64_t{18446744073709551615U}, std::uint64_t{2}) == 9223372036854775808U);
}

TEST_CASE("counts: are usable where the compiler computes") {
  static_assert(blocks_for(TokenCount(13), TokenCount(4)) == BlockCount(4));
  static_assert((TokenCount(1) + TokenCount(2)).value == 3);
  static_assert(sizeof(TokenCount) == 4);
}

}  // namespace
}  // namespace pinfold
