#include "base/ids.h"

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

namespace pinfold {
namespace {

TEST_CASE("ids: block 0 is no block (O2), and a value-initialised id names it") {
  CHECK(index_of(kNoBlock) == 0);
  CHECK(BlockId{} == kNoBlock);
  CHECK(BlockId{1} != kNoBlock);
}

TEST_CASE("ids: each keeps the number it was made of, up to its type's largest") {
  CHECK(index_of(BlockId{4294967295}) == 4294967295);
  CHECK(value_of(SequenceId{4294967295}) == 4294967295);
  CHECK(value_of(StepNumber{18446744073709551615U}) == 18446744073709551615U);
  CHECK(value_of(Ticket{18446744073709551615U}) == 18446744073709551615U);
}

TEST_CASE("ids: steps, tickets and sequences are ordered by number") {
  CHECK(StepNumber{2} < StepNumber{10});
  CHECK(Ticket{2} < Ticket{10});
  CHECK(SequenceId{2} < SequenceId{10});
}

// What must not compile is in tests/compile_fail; these say the same to the reader of this file.
static_assert(!std::is_convertible_v<int, BlockId>);
static_assert(!std::is_convertible_v<BlockId, std::uint32_t>);
static_assert(!std::is_convertible_v<StepNumber, Ticket>);
static_assert(!std::is_convertible_v<SequenceId, BlockId>);
static_assert(sizeof(BlockId) == 4);  // 4 M ids are a table of 16 MB

TEST_CASE("ids: pools and lanes index arrays of their number without gaps") {
  CHECK(index_of(PoolKind::kBlocks) == 0);
  CHECK(index_of(PoolKind::kStateSlots) == 1);
  CHECK(index_of(PoolKind::kDraftSlots) == 2);
  CHECK(index_of(PoolKind::kHostBlocks) == 3);
  CHECK(index_of(PoolKind::kHostStates) == 4);
  CHECK(kPoolKinds == 5);
  CHECK(index_of(Lane::kCompute) == 0);
  CHECK(index_of(Lane::kCopy) == 1);
  CHECK(index_of(Lane::kHostToDevice) == 2);
  CHECK(index_of(Lane::kDeviceToHost) == 3);
  CHECK(kLanes == 4);
}

TEST_CASE("ids: each pool has the name that people use") {
  CHECK(std::string(name_of(PoolKind::kBlocks)) == "block");
  CHECK(std::string(name_of(PoolKind::kStateSlots)) == "state slot");
  CHECK(std::string(name_of(PoolKind::kDraftSlots)) == "draft slot");
  CHECK(std::string(name_of(PoolKind::kHostBlocks)) == "host block");
  CHECK(std::string(name_of(PoolKind::kHostStates)) == "host state");
}

}  // namespace
}  // namespace pinfold
