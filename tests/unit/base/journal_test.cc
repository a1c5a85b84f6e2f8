#include "base/journal.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

namespace pinfold {
namespace {

std::vector<std::uint8_t> bytes_of(const Journal& journal) {
  std::vector<std::uint8_t> bytes;
  for (const std::byte byte : journal.unread())
    bytes.push_back(std::to_integer<std::uint8_t>(byte));
  return bytes;
}

TEST_CASE("journal: a record is 16 bytes and its ids follow, little-endian") {
  Journal journal;
  journal.set_enabled(true);
  const std::vector<BlockId> ids = {BlockId{7}, BlockId{258}};
  journal.append({Verb::kAcquire, PoolKind::kStateSlots, 3, 0x01020304, 2, 9}, ids);
  const std::vector<std::uint8_t> expected = {
      3,    1,    3,    0,     // verb 3 (kAcquire is the third), pool 1, detail 3
      0x04, 0x03, 0x02, 0x01,  // sequence
      2,    0,    0,    0,     // count: ids that follow
      9,    0,    0,    0,     // aux
      7,    0,    0,    0,     // first id
      2,    1,    0,    0,     // second id: 258 = 2 + 1 * 256
  };
  CHECK(bytes_of(journal) == expected);
}

TEST_CASE("journal: keeps the order of appending, and clear() empties it without losing count") {
  Journal journal;
  journal.set_enabled(true);
  journal.append({Verb::kArrive, PoolKind::kBlocks, 0, 1, 10, 20});
  journal.append({Verb::kEnd, PoolKind::kBlocks, 0, 1, 5, 0});
  CHECK(journal.unread().size() == 32);
  CHECK(bytes_of(journal)[0] == 1);
  CHECK(bytes_of(journal)[16] == static_cast<std::uint8_t>(Verb::kEnd));
  CHECK(journal.events() == 2);

  journal.clear();
  CHECK(journal.unread().empty());
  CHECK(journal.events() == 2);

  journal.append({Verb::kStep, PoolKind::kBlocks, 0, 0, 4, 0});
  CHECK(bytes_of(journal)[0] == static_cast<std::uint8_t>(Verb::kStep));
  CHECK(journal.events() == 3);
}

TEST_CASE("journal: switched off keeps no bytes but counts events; it starts switched off") {
  Journal journal;
  CHECK_FALSE(journal.enabled());
  const std::vector<BlockId> ids = {BlockId{7}};
  journal.append({Verb::kAcquire, PoolKind::kBlocks, 0, 1, 1, 0}, ids);
  journal.append({Verb::kEnd, PoolKind::kBlocks, 0, 1, 5, 0});
  CHECK(journal.unread().empty());
  CHECK(journal.events() == 2);
}

TEST_CASE("journal: a record without ids may say so with an empty list") {
  Journal journal;
  journal.set_enabled(true);
  journal.append({Verb::kRelease, PoolKind::kBlocks, 0, 1, 0, 0}, {});
  CHECK(journal.unread().size() == 16);
}

TEST_CASE("journal: growing keeps the bytes that are there") {
  Journal journal;
  journal.set_enabled(true);
  std::vector<BlockId> ids(1000);
  for (std::uint32_t n = 0; n < 1000; ++n) ids[n] = BlockId{n};
  // 100 records of 16 + 4 * 1000 bytes: far past the first capacity.
  for (std::uint32_t n = 0; n < 100; ++n) {
    journal.append({Verb::kPin, PoolKind::kBlocks, 0, n, 1000, 0}, ids);
  }
  const std::span<const std::byte> bytes = journal.unread();
  REQUIRE(bytes.size() == 401600);
  bool as_written = true;
  for (std::uint32_t n = 0; n < 100; ++n) {
    Record record{};
    std::memcpy(&record, bytes.data() + n * 4016, sizeof record);
    as_written = as_written && record.sequence == n;
    as_written = as_written && record.count == 1000;
    as_written = as_written && std::memcmp(bytes.data() + n * 4016 + 16, ids.data(), 4 * 1000) == 0;
  }
  CHECK(as_written);
}

TEST_CASE("journal: ids follow exactly the verbs that move ids") {
  for (const Verb verb : {Verb::kAcquire, Verb::kPin, Verb::kRelease, Verb::kPark, Verb::kUnpark,
                          Verb::kCopyQueued}) {
    CHECK(ids_after({verb, PoolKind::kBlocks, 0, 0, 5, 0}) == 5);
  }
  for (const Verb verb :
       {Verb::kArrive, Verb::kAnswer, Verb::kFork, Verb::kForkMissed, Verb::kJoin, Verb::kLeave,
        Verb::kDrafts, Verb::kChunk, Verb::kStep, Verb::kResult, Verb::kCommit, Verb::kSitOut,
        Verb::kPreempt, Verb::kDemote, Verb::kEnd}) {
    CHECK(ids_after({verb, PoolKind::kBlocks, 0, 0, 5, 0}) == 0);
  }
}

TEST_CASE("journal: a copy is an independent stream") {
  Journal journal;
  journal.set_enabled(true);
  journal.append({Verb::kArrive, PoolKind::kBlocks, 0, 1, 10, 20});
  Journal fork = journal;
  fork.append({Verb::kEnd, PoolKind::kBlocks, 0, 1, 5, 0});
  CHECK(journal.unread().size() == 16);
  CHECK(fork.unread().size() == 32);
}

}  // namespace
}  // namespace pinfold
