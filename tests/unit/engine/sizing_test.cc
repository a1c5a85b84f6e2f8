// Rule O13. Every expected number is worked out in the comment beside it.
#include "engine/sizing.h"

#include <doctest/doctest.h>

#include "tests/unit/broken_rule.h"

namespace pinfold {
namespace {

using test::broken_rule;

constexpr ProfiledMemory kHundred{ByteCount(100), ByteCount(40), ByteCount(10)};

StateSizing four_requests(std::uint64_t slot_bytes) {
  return {ByteCount(slot_bytes), 4, SlotFactor{}};
}

TEST_CASE("sizing (O13): what weights, activations and twice the state leave becomes blocks") {
  // State ids floor(1.2 x 4) + 1 = 5, slot 0 counted: 5 x 3 = 15 bytes, twice 30.
  // 100 - 40 - 10 - 30 = 20 = 3 blocks of 6, remainder 2.
  const Sizing sizing = size_from_memory(kHundred, ByteCount(6), four_requests(3));
  CHECK(sizing.ok());
  CHECK(sizing.state_ids == 5);
  CHECK(sizing.state == ByteCount(15));
  CHECK(sizing.state_reserved == ByteCount(30));
  CHECK(sizing.block_ids == 3);
  CHECK(sizing.blocks == ByteCount(18));
  CHECK(sizing.remainder == ByteCount(2));
  CHECK(sizing.lacking == ByteCount(0));
  CHECK(describe(sizing) == "");
}

TEST_CASE("sizing (O13): a model without state has one state id and reserves nothing") {
  // 100 - 40 - 10 = 50 = 8 blocks of 6, remainder 2.
  const Sizing sizing = size_from_memory(kHundred, ByteCount(6), std::nullopt);
  CHECK(sizing.state_ids == 1);
  CHECK(sizing.state_reserved == ByteCount(0));
  CHECK(sizing.block_ids == 8);
  CHECK(sizing.remainder == ByteCount(2));
}

TEST_CASE("sizing (O13): the chapter's slots on a device of 141 GB") {
  // 256 requests: floor(1.2 x 256) = floor(307.2) = 307, + 1 = 308 ids.
  // 308 x 1,415,040 = 435,832,320 bytes, twice 871,664,640.
  // 141,000,000,000 - 90,000,000,000 - 8,000,000,000 - 871,664,640 = 42,128,335,360
  // = 10,044 blocks of 4,194,304 (42,127,589,376), remainder 745,984.
  const Sizing sizing = size_from_memory(
      {ByteCount(141'000'000'000), ByteCount(90'000'000'000), ByteCount(8'000'000'000)},
      ByteCount(4'194'304), StateSizing{ByteCount(1'415'040), 256, SlotFactor{}});
  CHECK(sizing.state_ids == 308);
  CHECK(sizing.state == ByteCount(435'832'320));
  CHECK(sizing.block_ids == 10'044);
  CHECK(sizing.remainder == ByteCount(745'984));
}

TEST_CASE("sizing (O13): the parts add up to the device's memory") {
  for (std::uint64_t device = 62; device < 400; ++device) {
    const ProfiledMemory memory{ByteCount(device), ByteCount(17), ByteCount(5)};
    const Sizing sizing = size_from_memory(memory, ByteCount(7), four_requests(3));
    REQUIRE(sizing.fault != SizingFault::kMemory);  // 17 + 5 + 30 = 52
    CHECK(memory.weights + memory.activations + sizing.state_reserved + sizing.blocks +
              sizing.remainder ==
          memory.device);
    CHECK(sizing.remainder < ByteCount(7));
  }
}

TEST_CASE("sizing (O13): memory that does not cover weights, activations and states is a fault") {
  // 40 + 10 + 2 x 5 x 5 = 100: all of it, and no block. One byte less is not covered.
  Sizing sizing = size_from_memory(kHundred, ByteCount(6), four_requests(5));
  CHECK(sizing.fault == SizingFault::kTooFewBlocks);
  sizing = size_from_memory({ByteCount(99), ByteCount(40), ByteCount(10)}, ByteCount(6),
                            four_requests(5));
  CHECK(sizing.fault == SizingFault::kMemory);
  CHECK(sizing.lacking == ByteCount(1));
  CHECK(sizing.block_ids == 0);
  CHECK(describe(sizing) ==
        "weights, activations and twice the state (50 bytes) pass the device memory by 1 bytes");
}

TEST_CASE("sizing (O13): 0 and 1 block ids are refused, 2 are enough for a need of 1") {
  // 100 - 40 - 10 = 50 bytes.
  CHECK(size_from_memory(kHundred, ByteCount(51), std::nullopt).fault ==
        SizingFault::kTooFewBlocks);
  const Sizing one = size_from_memory(kHundred, ByteCount(50), std::nullopt);
  CHECK(one.fault == SizingFault::kTooFewBlocks);
  CHECK(one.block_ids == 1);
  CHECK(describe(one) == "1 block ids, expected at least 2: block 0 is never issued");
  CHECK(size_from_memory(kHundred, ByteCount(25), std::nullopt).ok());  // 50 / 25 = 2
}

TEST_CASE("sizing (O13): a logged block count is taken as it is, block 0 counted") {
  const Sizing sizing = size_from_logged_blocks(27'681, ByteCount(2'097'152), four_requests(3));
  CHECK(sizing.ok());
  CHECK(sizing.block_ids == 27'681);
  CHECK(sizing.blocks == ByteCount(58'051'264'512));  // 27,681 x 2,097,152
  CHECK(sizing.state_ids == 5);
  CHECK(sizing.remainder == ByteCount(0));
  CHECK(size_from_logged_blocks(1, ByteCount(6), std::nullopt).fault == SizingFault::kTooFewBlocks);
  CHECK(size_from_logged_blocks(2, ByteCount(6), std::nullopt).ok());
}

TEST_CASE("sizing: more ids than a pool counts, and blocks of no bytes, are faults") {
  const std::uint64_t most = std::uint64_t{1} << 31;
  CHECK(size_from_logged_blocks(most, ByteCount(1), std::nullopt).ok());
  CHECK(size_from_logged_blocks(most + 1, ByteCount(1), std::nullopt).fault ==
        SizingFault::kTooManyIds);
  CHECK(size_from_memory(kHundred, ByteCount(0), std::nullopt).fault == SizingFault::kEmptyBlock);
  CHECK(size_from_logged_blocks(5, ByteCount(0), std::nullopt).fault == SizingFault::kEmptyBlock);
  // floor(4 x 2^30) + 1 ids of no bytes.
  const StateSizing many{ByteCount(0), std::uint32_t{1} << 30, SlotFactor{4, 1}};
  CHECK(size_from_memory(kHundred, ByteCount(6), many).fault == SizingFault::kTooManyIds);
}

TEST_CASE("slots (O13): ids are floor(1.2 x max_num_seqs) + 1, exactly") {
  CHECK(slot_ids(SlotFactor{}, 1) == 2);      // floor(1.2) + 1
  CHECK(slot_ids(SlotFactor{}, 4) == 5);      // floor(4.8) + 1
  CHECK(slot_ids(SlotFactor{}, 5) == 7);      // 6 + 1: the product is a whole number
  CHECK(slot_ids(SlotFactor{}, 256) == 308);  // floor(307.2) + 1
  CHECK(slot_ids(SlotFactor{}, 0) == 1);
}

TEST_CASE("slots (O13): floor(1.2 x n) equals n + floor(n / 5) for every n up to a million") {
  // 1.2 n = n + n / 5, and n is whole.
  std::uint32_t differences = 0;
  for (std::uint32_t n = 0; n <= 1'000'000; ++n) {
    const std::uint64_t expected = std::uint64_t{n} + n / 5 + 1;
    differences += slot_ids(SlotFactor{12, 10}, n) != expected;
    differences += slot_ids(SlotFactor{6, 5}, n) != expected;
    differences += slot_ids(SlotFactor{1'200'000, 1'000'000}, n) != expected;
  }
  CHECK(differences == 0);
}

TEST_CASE("slots (O13): factors are exact where binary fractions are not") {
  // 1.1 x 10 = 11, 1.15 x 100 = 115 (in binary floating point 114.99999999999999): floor keeps them.
  CHECK(slot_ids(SlotFactor{11, 10}, 10) == 12);
  CHECK(slot_ids(SlotFactor{115, 100}, 100) == 116);
  // The widest product: (2^32 - 1)^2 + 1.
  CHECK(slot_ids(SlotFactor{UINT32_MAX, 1}, UINT32_MAX) == 18'446'744'065'119'617'026u);
  CHECK(broken_rule([] { slot_ids(SlotFactor{1, 0}, 1); }) == "O13");
}

}  // namespace
}  // namespace pinfold
