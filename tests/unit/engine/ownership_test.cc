// The ownership verbs on named tables. Expected values are the chapter's (sections 4.1 and 4.2) or
// follow from the rule named in the test.
#include "engine/ownership.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/broken_rule.h"
#include "tests/unit/pool/id_lists.h"

namespace pinfold {
namespace {

using test::broken_rule;
using test::free_text;
using test::text;
using test::violation_text;

constexpr SequenceId kParent{0};
constexpr SequenceId kChild{1};
constexpr SequenceId kOther{2};

OwnershipOptions blocks_only(std::uint32_t num_blocks, std::uint32_t block_size = 4) {
  OwnershipOptions options;
  options.num_blocks = num_blocks;
  options.block_size = TokenCount(block_size);
  return options;
}

OwnershipOptions with_slots(std::uint32_t num_blocks, std::uint32_t num_slots) {
  OwnershipOptions options = blocks_only(num_blocks);
  options.num_state_slots = num_slots;
  return options;
}

std::string free_blocks(const Ownership& ownership) {
  return free_text(ownership.pool(PoolKind::kBlocks));
}
std::string free_slots(const Ownership& ownership) {
  return free_text(ownership.pool(PoolKind::kStateSlots));
}

/// Admits and expects OK.
void admit(Ownership& ownership, SequenceId id, std::uint32_t tokens) {
  REQUIRE(ownership.admit(id, TokenCount(tokens)).answer == Answer::kOk);
  ownership.audit();
}

/// Forks and expects that nothing is missing.
void fork(Ownership& ownership, SequenceId child, SequenceId parent, std::uint32_t processed) {
  ownership.fork(child, parent, TokenCount(processed));
  REQUIRE(ownership.separate(child).answer == Answer::kOk);
  ownership.audit();
}

std::string copies(const Ownership& ownership) {
  std::string result;
  for (const QueuedCopy& copy : ownership.queued_copies()) {
    result += std::string(result.empty() ? "" : " ") +
              (copy.pool == PoolKind::kBlocks ? "block " : "slot ") +
              std::to_string(index_of(copy.from)) + ">" + std::to_string(index_of(copy.to));
  }
  return result;
}

// --- Admission and size ---------------------------------------------------------------------------

TEST_CASE("ownership (O5): admission takes ceil(tokens / B) blocks and one slot") {
  Ownership ownership(with_slots(8, 3));
  admit(ownership, kParent, 6);
  CHECK(text(ownership.table(kParent)) == "[1, 2]");
  CHECK(ownership.slot(kParent) == BlockId{1});
  CHECK(free_slots(ownership) == "[2]");
}

TEST_CASE("ownership: without state no slot is asked for or taken") {
  Ownership ownership(blocks_only(3));
  admit(ownership, kParent, 8);
  CHECK_FALSE(ownership.slot(kParent).has_value());
}

TEST_CASE("ownership (O3): blocks free but no slot is LATER, and a refusal takes nothing") {
  Ownership ownership(with_slots(8, 2));
  admit(ownership, kParent, 1);
  const Availability answered = ownership.admit(kChild, TokenCount(1));
  CHECK(answered.answer == Answer::kLater);
  CHECK(answered.pool == PoolKind::kStateSlots);
  CHECK_FALSE(ownership.is_live(kChild));
  CHECK(free_blocks(ownership) == "[2, 3, 4, 5, 6, 7]");
  ownership.finish(kParent);
  admit(ownership, kChild, 1);
}

TEST_CASE("ownership (O3): as many blocks as the pool has ids is NEVER, one fewer is not") {
  const Ownership ownership(blocks_only(8));
  CHECK(ownership.answer(BlockCount(7), BlockCount(0)).answer == Answer::kOk);
  CHECK(ownership.answer(BlockCount(8), BlockCount(0)).answer == Answer::kNever);
}

TEST_CASE("ownership (O6): a table grows by the exact shortfall and gives surplus back at once") {
  Ownership ownership(blocks_only(8));
  admit(ownership, kParent, 8);
  CHECK(ownership.resize(kParent, TokenCount(8)).answer == Answer::kOk);
  CHECK(text(ownership.table(kParent)) == "[1, 2]");
  CHECK(ownership.resize(kParent, TokenCount(9)).answer == Answer::kOk);
  CHECK(text(ownership.table(kParent)) == "[1, 2, 3]");
  CHECK(ownership.resize(kParent, TokenCount(17)).answer == Answer::kOk);
  CHECK(text(ownership.table(kParent)) == "[1, 2, 3, 4, 5]");
  CHECK(ownership.resize(kParent, TokenCount(8)).answer == Answer::kOk);
  CHECK(text(ownership.table(kParent)) == "[1, 2]");
  CHECK(free_blocks(ownership) == "[6, 7, 5, 4, 3]");
  ownership.audit();
}

TEST_CASE("ownership (O3): growth that does not fit changes nothing") {
  Ownership ownership(blocks_only(4));
  admit(ownership, kParent, 4);
  admit(ownership, kOther, 4);
  CHECK(ownership.resize(kParent, TokenCount(9)).answer == Answer::kLater);
  CHECK(text(ownership.table(kParent)) == "[1]");
  CHECK(free_blocks(ownership) == "[3]");
}

// --- Forks ----------------------------------------------------------------------------------------

TEST_CASE("ownership (O8): a fork shares complete blocks and copies a partial tail") {
  Ownership ownership(blocks_only(5));
  admit(ownership, kParent, 10);
  fork(ownership, kChild, kParent, 10);
  CHECK(text(ownership.table(kChild)) == "[1, 2, 4]");
  CHECK(copies(ownership) == "block 3>4");
  CHECK(text(ownership.release_list(kChild)->blocks) == "[3]");
  for (const std::uint32_t id : {1u, 2u, 3u})
    CHECK(ownership.pool(PoolKind::kBlocks).owners(BlockId{id}) == 2);
  CHECK(ownership.pool(PoolKind::kBlocks).owners(BlockId{4}) == 1);
}

TEST_CASE("ownership (O8): a fork at the end of a block copies nothing") {
  Ownership ownership(blocks_only(5));
  admit(ownership, kParent, 8);
  fork(ownership, kChild, kParent, 8);
  CHECK(text(ownership.table(kChild)) == "[1, 2]");
  CHECK(copies(ownership) == "");
  CHECK(ownership.release_list(kChild)->blocks.empty());
}

TEST_CASE("ownership (O8): the parent's later blocks are released without a copy") {
  Ownership ownership(blocks_only(8));
  admit(ownership, kParent, 18);
  fork(ownership, kChild, kParent, 6);
  CHECK(text(ownership.table(kChild)) == "[1, 6]");
  CHECK(copies(ownership) == "block 2>6");
  CHECK(text(ownership.release_list(kChild)->blocks) == "[2, 3, 4, 5]");
}

TEST_CASE("ownership (O8): a fork clones the state slot, ahead of the tail") {
  Ownership ownership(with_slots(5, 3));
  admit(ownership, kParent, 10);
  fork(ownership, kChild, kParent, 10);
  CHECK(ownership.slot(kParent) == BlockId{1});
  CHECK(ownership.slot(kChild) == BlockId{2});
  CHECK(copies(ownership) == "slot 1>2 block 3>4");
  CHECK(text(ownership.release_list(kChild)->slots) == "[1]");
}

TEST_CASE("ownership (O8): a fork without a block for its tail waits with its pins") {
  Ownership ownership(blocks_only(4));
  admit(ownership, kParent, 10);
  ownership.fork(kChild, kParent, TokenCount(10));
  CHECK(ownership.separate(kChild).answer == Answer::kLater);
  CHECK(ownership.is_waiting(kChild));
  CHECK_FALSE(ownership.is_live(kChild));
  ownership.finish(kParent);
  CHECK(free_blocks(ownership) == "[]");
  ownership.audit();
  ownership.finish(kChild);
  CHECK(free_blocks(ownership) == "[3, 2, 1]");
}

TEST_CASE("ownership (O8): a fork without a free slot waits, even where a block is free") {
  Ownership ownership(with_slots(8, 2));
  admit(ownership, kParent, 4);
  ownership.fork(kChild, kParent, TokenCount(4));
  const Availability answered = ownership.separate(kChild);
  CHECK(answered.answer == Answer::kLater);
  CHECK(answered.pool == PoolKind::kStateSlots);
  CHECK(ownership.slot(kChild) == BlockId{1});
  CHECK(ownership.pool(PoolKind::kStateSlots).owners(BlockId{1}) == 2);
}

// --- Release after the copy -----------------------------------------------------------------------

TEST_CASE("ownership (O9): a list released now lets the source go while its copy is queued") {
  Ownership ownership(blocks_only(5));
  admit(ownership, kParent, 10);
  fork(ownership, kChild, kParent, 10);
  ownership.finish(kParent);
  CHECK(free_blocks(ownership) == "[]");
  ownership.release_sources(kChild, SourceRelease::kNow);
  CHECK(free_blocks(ownership) == "[3]");
  CHECK(ownership.release_list(kChild) == nullptr);
}

TEST_CASE("ownership (O9): a list behind the copies keeps its source until the last copy has run") {
  Ownership ownership(with_slots(5, 3));
  admit(ownership, kParent, 10);
  fork(ownership, kChild, kParent, 10);
  ownership.finish(kParent);
  ownership.release_sources(kChild, SourceRelease::kAfterCopies);
  CHECK(text(ownership.owned_outside_tables(PoolKind::kBlocks)) == "[3]");
  CHECK(text(ownership.owned_outside_tables(PoolKind::kStateSlots)) == "[1]");
  ownership.audit();
  ownership.copy_done();
  CHECK(free_blocks(ownership) == "[]");
  CHECK(free_slots(ownership) == "[]");
  ownership.copy_done();
  CHECK(free_blocks(ownership) == "[3]");
  CHECK(free_slots(ownership) == "[1]");
  ownership.audit();
}

TEST_CASE("ownership (O9): behind no copies is now, in reverse table order") {
  Ownership ownership(blocks_only(8));
  admit(ownership, kParent, 20);
  fork(ownership, kChild, kParent, 8);
  ownership.finish(kParent);
  CHECK(free_blocks(ownership) == "[6, 7]");
  ownership.release_sources(kChild, SourceRelease::kAfterCopies);
  CHECK(free_blocks(ownership) == "[6, 7, 5, 4, 3]");
}

TEST_CASE("ownership (O9): a waiting list is released in the order that the pool's release has") {
  for (const ReleaseOrder order : {ReleaseOrder::kReverse, ReleaseOrder::kForward}) {
    OwnershipOptions options = blocks_only(8);
    options.release_order = order;
    Ownership ownership(options);
    admit(ownership, kParent, 18);
    fork(ownership, kChild, kParent, 6);
    ownership.finish(kParent);
    ownership.release_sources(kChild, SourceRelease::kAfterCopies);
    ownership.copy_done();
    CHECK(free_blocks(ownership) ==
          (order == ReleaseOrder::kReverse ? "[7, 5, 4, 3, 2]" : "[7, 2, 3, 4, 5]"));
  }
}

TEST_CASE("ownership (O9): a copy's destination parks if its owner goes first") {
  Ownership ownership(with_slots(5, 3));
  admit(ownership, kParent, 10);
  fork(ownership, kChild, kParent, 10);
  ownership.release_sources(kChild, SourceRelease::kAfterCopies);
  ownership.finish(kChild);
  CHECK(text(ownership.owned_outside_tables(PoolKind::kBlocks)) == "[4]");
  CHECK(free_slots(ownership) == "[]");
  ownership.audit();
  ownership.copy_done();
  CHECK(free_slots(ownership) == "[2]");
  ownership.copy_done();
  CHECK(free_blocks(ownership) == "[4]");
  ownership.audit();
}

TEST_CASE("ownership (O10): the last owner frees a shared block, and only it") {
  Ownership ownership(blocks_only(5));
  admit(ownership, kParent, 8);
  fork(ownership, kChild, kParent, 8);
  ownership.release_sources(kChild, SourceRelease::kNow);
  ownership.finish(kParent);
  CHECK(free_blocks(ownership) == "[3, 4]");
  ownership.finish(kChild);
  CHECK(free_blocks(ownership) == "[3, 4, 2, 1]");
}

// --- Broken rules ---------------------------------------------------------------------------------

TEST_CASE("ownership: a caller's mistake is a reported violation") {
  Ownership ownership(blocks_only(8));
  admit(ownership, kParent, 10);
  CHECK(broken_rule([&] { (void)ownership.admit(kParent, TokenCount(1)); }) == "O5");
  CHECK(broken_rule([&] { (void)ownership.admit(kOther, TokenCount(0)); }) == "O5");
  CHECK(broken_rule([&] { ownership.finish(kOther); }) == "O10");
  CHECK(broken_rule([&] { ownership.fork(kChild, kOther, TokenCount(1)); }) == "O10");
  CHECK(broken_rule([&] { ownership.fork(kChild, kParent, TokenCount(0)); }) == "O8");
  CHECK(broken_rule([&] { ownership.fork(kChild, kParent, TokenCount(13)); }) == "O8");
  CHECK(broken_rule([&] { (void)ownership.separate(kParent); }) == "O8");
  CHECK(broken_rule([&] { ownership.release_sources(kParent, SourceRelease::kNow); }) == "O9");
  CHECK(broken_rule([&] { ownership.copy_done(); }) == "O9");
  ownership.fork(kChild, kParent, TokenCount(10));
  CHECK(broken_rule([&] { (void)ownership.resize(kChild, TokenCount(1)); }) == "O8");
  CHECK(broken_rule([&] { ownership.fork(kOther, kChild, TokenCount(1)); }) == "O8");
  const std::string message = violation_text([&] { ownership.finish(kOther); });
  CHECK(message.find("sequence 2 owns nothing") != std::string::npos);
  ownership.audit();
}

TEST_CASE("ownership: block size 0 is refused") {
  CHECK(broken_rule([] { Ownership ownership(blocks_only(8, 0)); }) == "O1");
}

// --- Experiment 1 of section 4.6 -------------------------------------------------------------------

/// Blocks that a table of `length` positions must take to reach `length + added`.
std::uint32_t growth(std::uint32_t block_size, std::uint32_t length, std::uint32_t added) {
  Ownership ownership(blocks_only(64, block_size));
  admit(ownership, kParent, length);
  const std::size_t before = ownership.table(kParent).size();
  REQUIRE(ownership.resize(kParent, TokenCount(length + added)).answer == Answer::kOk);
  return static_cast<std::uint32_t>(ownership.table(kParent).size() - before);
}

TEST_CASE("experiment 1: five drafts at length 11 add one block, six add two") {
  CHECK(growth(4, 11, 5) == 1);
  CHECK(growth(4, 11, 6) == 2);
}

TEST_CASE("experiment 1: one block a step always suffices exactly if 1 + d_max <= B") {
  // A step adds the verified token and up to d_max drafts. Every start of a block is among the lengths
  // 1..3B, so these decide for all lengths.
  for (std::uint32_t block_size = 1; block_size <= 16; ++block_size) {
    for (std::uint32_t drafts_max = 0; drafts_max <= 16; ++drafts_max) {
      bool one_suffices = true;
      for (std::uint32_t length = 1; length <= 3 * block_size; ++length) {
        for (std::uint32_t drafts = 0; drafts <= drafts_max; ++drafts) {
          if (growth(block_size, length, 1 + drafts) > 1) one_suffices = false;
        }
      }
      CAPTURE(block_size);
      CAPTURE(drafts_max);
      CHECK(one_suffices == (1 + drafts_max <= block_size));
    }
  }
}

}  // namespace
}  // namespace pinfold
