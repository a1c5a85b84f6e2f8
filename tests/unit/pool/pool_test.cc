// Rules O2 and O9 on one pool. Numbers like B13 and I11 are the cases of faults seen in real engines
// and the invariants they break.
#include "pool/pool.h"

#include <doctest/doctest.h>

#include "tests/unit/broken_rule.h"
#include "tests/unit/pool/id_lists.h"

namespace pinfold {
namespace {

using test::broken_rule;
using test::free_text;
using test::ids_of;
using test::seen_of;
using test::take;
using test::text;
using test::violation_text;

// --- Order ---------------------------------------------------------------------------------------

TEST_CASE("pool (O2): issues every id but 0, lowest first") {
  Pool pool({.ids = 8});
  CHECK(pool.usable() == BlockCount(7));
  CHECK(free_text(pool) == "[1, 2, 3, 4, 5, 6, 7]");
  CHECK(text(take(pool, 7)) == "[1, 2, 3, 4, 5, 6, 7]");
  CHECK(pool.available() == BlockCount(0));
}

// The nine lines of chapter 4.1's lab: a pool of eight blocks. Its three admission answers are in
// demand_test.cc.
TEST_CASE("pool (O2): the tables and free lists of the chapter's first lab") {
  Pool pool({.ids = 8});
  const std::vector<BlockId> a = take(pool, 2);
  const std::vector<BlockId> b = take(pool, 3);
  CHECK(text(a) == "[1, 2]");
  CHECK(text(b) == "[3, 4, 5]");
  CHECK(free_text(pool) == "[6, 7]");
  CHECK(text(take(pool, 1)) == "[6]");  // A reaches 9 tokens
  CHECK(free_text(pool) == "[7]");
  CHECK(text(take(pool, 1)) == "[7]");  // two drafts reserved
  CHECK(free_text(pool) == "[]");
  pool.release(ids_of({7}));  // drafts rejected
  CHECK(free_text(pool) == "[7]");
  pool.release(b);  // B finishes: the chapter's free list is [7, 5, 4, 3]
  CHECK(free_text(pool) == "[7, 5, 4, 3]");
  pool.audit();
}

// Chapter 4.6, experiment 3: the next block is 7 either way, only the second allocation differs.
TEST_CASE("pool (O2): walking tables forward changes the second allocation, not the next") {
  Pool pool({.ids = 8, .release_order = ReleaseOrder::kForward});
  static_cast<void>(take(pool, 7));
  pool.release(ids_of({7}));
  pool.release(ids_of({3, 4, 5}));
  CHECK(free_text(pool) == "[7, 3, 4, 5]");
  CHECK(text(take(pool, 2)) == "[7, 3]");
}

TEST_CASE("pool (O2): the first in is the first out, round the pool again and again") {
  Pool pool({.ids = 4});
  // Three usable ids, two taken and given back in reverse: 1 2 | 3 2 | 1 2 | 3 2 | ...
  CHECK(text(take(pool, 2)) == "[1, 2]");
  pool.release(ids_of({1, 2}));
  CHECK(free_text(pool) == "[3, 2, 1]");
  for (int round = 0; round < 100; ++round) {
    CHECK(text(take(pool, 2)) == "[3, 2]");
    pool.release(ids_of({3, 2}));
    CHECK(free_text(pool) == "[1, 2, 3]");
    CHECK(text(take(pool, 2)) == "[1, 2]");
    pool.release(ids_of({1, 2}));
    CHECK(free_text(pool) == "[3, 2, 1]");
  }
  CHECK(pool.acquired() == 402);
  CHECK(pool.freed() == 402);
}

TEST_CASE("pool (O2): the last in is the first out when the newest free id is issued") {
  Pool pool({.ids = 8, .free_order = FreeOrder::kLifo});
  CHECK(free_text(pool) == "[1, 2, 3, 4, 5, 6, 7]");
  CHECK(text(take(pool, 5)) == "[1, 2, 3, 4, 5]");
  pool.release(ids_of({3, 4, 5}));  // reverse walk: 3 is freed last
  CHECK(free_text(pool) == "[3, 4, 5, 6, 7]");
  CHECK(text(take(pool, 4)) == "[3, 4, 5, 6]");
  pool.audit();
}

TEST_CASE("pool (O2): the newest free id after a forward walk is the table's last") {
  Pool pool({.ids = 8, .release_order = ReleaseOrder::kForward, .free_order = FreeOrder::kLifo});
  static_cast<void>(take(pool, 5));
  pool.release(ids_of({3, 4, 5}));
  CHECK(free_text(pool) == "[5, 4, 3, 6, 7]");
  CHECK(text(take(pool, 4)) == "[5, 4, 3, 6]");
  pool.audit();
}

TEST_CASE(
    "pool (O2): only an id whose count comes to 0 joins the free list, at its place in the walk") {
  Pool pool({.ids = 5});
  const std::vector<BlockId> table = take(pool, 4);
  pool.pin(ids_of({3}));
  pool.release(table);
  CHECK(free_text(pool) == "[4, 2, 1]");
  pool.release(ids_of({3}));
  CHECK(free_text(pool) == "[4, 2, 1, 3]");
}

TEST_CASE("pool (O2): a table that names an id twice frees it at the drop that reaches 0") {
  Pool pool({.ids = 4});
  static_cast<void>(take(pool, 2));
  pool.pin(ids_of({1}));
  // Reverse walk of [1, 2, 1]: 1 keeps an owner, 2 is freed, 1 is freed.
  pool.release(ids_of({1, 2, 1}));
  CHECK(free_text(pool) == "[3, 2, 1]");
  pool.audit();
}

// --- Owners --------------------------------------------------------------------------------------

// Chapter 4.2: the child keeps 1 and 2, its tail is copied from 3 to 4; refs 1:2 2:2 3:2 4:1.
TEST_CASE("pool (O2, O8): a shared block survives the end of one of its owners") {
  Pool pool({.ids = 5});
  const std::vector<BlockId> parent = take(pool, 3);
  pool.pin(parent);
  const std::vector<BlockId> tail = take(pool, 1);
  CHECK(text(tail) == "[4]");
  CHECK(pool.owners(BlockId{1}) == 2);
  CHECK(pool.owners(BlockId{2}) == 2);
  CHECK(pool.owners(BlockId{3}) == 2);
  CHECK(pool.owners(BlockId{4}) == 1);

  SUBCASE("the pin on the tail is released before the copy: a writer receives block 3") {
    pool.release(ids_of({3}));
    pool.release(parent);
    CHECK(free_text(pool) == "[3]");
    CHECK(text(take(pool, 1)) == "[3]");
    CHECK(pool.owners(BlockId{1}) == 1);
  }
  SUBCASE("the pin is kept until the copy has run: the writer must wait") {
    pool.release(parent);
    CHECK(free_text(pool) == "[]");
    pool.release(ids_of({3}));
    CHECK(free_text(pool) == "[3]");
  }
}

TEST_CASE("pool (O2): unpin is release, so two owners go in either order") {
  Pool pool({.ids = 3});
  static_cast<void>(take(pool, 2));
  pool.pin(ids_of({1}));
  pool.release(ids_of({1}));
  CHECK(pool.owners(BlockId{1}) == 1);
  CHECK(free_text(pool) == "[]");
  pool.release(ids_of({1}));
  CHECK(pool.owners(BlockId{1}) == 0);
  CHECK(free_text(pool) == "[1]");
}

TEST_CASE("pool: owned and free are all usable ids, issued are freed and owned") {
  Pool pool({.ids = 6});
  static_cast<void>(take(pool, 3));
  pool.pin(ids_of({1, 2}));
  pool.release(ids_of({1, 2, 3}));
  CHECK(pool.owned() == BlockCount(2));
  CHECK(pool.available() == BlockCount(3));
  CHECK(pool.acquired() == 3);
  CHECK(pool.freed() == 1);
  static_cast<void>(take(pool, 2));
  CHECK(pool.owned() == BlockCount(4));
  CHECK(pool.available() == BlockCount(1));
  CHECK(pool.acquired() == 5);
  CHECK(pool.freed() == 1);
}

TEST_CASE("pool: the peak is the most ids owned at once, sharing and parking not counted again") {
  Pool pool({.ids = 6});
  CHECK(pool.peak_owned() == BlockCount(0));
  static_cast<void>(take(pool, 3));
  pool.pin(ids_of({1, 2}));
  pool.park(ids_of({1, 2}));
  CHECK(pool.peak_owned() == BlockCount(3));
  pool.release(ids_of({3}));
  static_cast<void>(take(pool, 1));
  CHECK(pool.peak_owned() == BlockCount(3));
  static_cast<void>(take(pool, 1));
  CHECK(pool.peak_owned() == BlockCount(4));
  CHECK(broken_rule([&] { static_cast<void>(take(pool, 2)); }) == "O3");
  CHECK(pool.peak_owned() == BlockCount(4));
  // A hit on an idle id makes it owned again.
  Pool kept({.ids = 3, .reuse = true});
  static_cast<void>(take(kept, 1));
  kept.keep(BlockId{1});
  kept.release(ids_of({1}));
  static_cast<void>(take(kept, 1));
  CHECK(kept.peak_owned() == BlockCount(1));
  kept.share(ids_of({1}));
  CHECK(kept.peak_owned() == BlockCount(2));
}

TEST_CASE("pool: a copy is an independent value") {
  Pool pool({.ids = 4});
  static_cast<void>(take(pool, 2));
  Pool copy = pool;
  copy.release(ids_of({1, 2}));
  CHECK(free_text(copy) == "[3, 2, 1]");
  CHECK(free_text(pool) == "[3]");
  pool.audit();
  copy.audit();
}

// --- Refusals and violations ---------------------------------------------------------------------

// B8 and I11: two are free, four are wanted; then a request that fits is served.
TEST_CASE("pool (O3): taking more than is available takes nothing") {
  Pool pool({.ids = 6});
  static_cast<void>(take(pool, 3));
  const std::string before = seen_of(pool);
  std::vector<BlockId> out = ids_of({91, 92, 93, 94});
  CHECK(broken_rule([&] { pool.take(out); }) == "O3");
  CHECK(seen_of(pool) == before);
  CHECK(text(out) == "[91, 92, 93, 94]");
  CHECK(text(take(pool, 2)) == "[4, 5]");
  CHECK(broken_rule([&] { static_cast<void>(take(pool, 1)); }) == "O3");
}

TEST_CASE("pool: taking, pinning and dropping nothing changes nothing") {
  Pool pool({.ids = 3});
  static_cast<void>(take(pool, 1));
  const std::string before = seen_of(pool);
  pool.take({});
  pool.pin({});
  pool.release({});
  pool.park({});
  pool.unpark({});
  CHECK(seen_of(pool) == before);
}

// B13: the window of a request names one physical block in two rows, with one owner.
TEST_CASE("pool (O2): the same id twice in a release list is caught at the second drop") {
  Pool pool({.ids = 4});
  static_cast<void>(take(pool, 2));
  CHECK(broken_rule([&] { pool.release(ids_of({1, 2, 1})); }) == "O2");
  // Reverse walk: 1 and 2 were freed before the fault; both are on the list once.
  CHECK(free_text(pool) == "[3, 1, 2]");
  CHECK(pool.available() == BlockCount(3));
  pool.audit();
}

// B15: id 1 has no owner and is on the free list; a pin would leave a ghost entry there.
TEST_CASE("pool (O2): a free id cannot be pinned") {
  Pool pool({.ids = 4});
  static_cast<void>(take(pool, 1));
  pool.release(ids_of({1}));
  const std::string before = seen_of(pool);
  CHECK(broken_rule([&] { pool.pin(ids_of({1})); }) == "O2");
  CHECK(seen_of(pool) == before);
  CHECK(text(take(pool, 3)) == "[2, 3, 1]");
}

TEST_CASE("pool (O2): a pin refused at its last id pins none of the others") {
  Pool pool({.ids = 4});
  static_cast<void>(take(pool, 2));
  const std::string before = seen_of(pool);
  CHECK(broken_rule([&] { pool.pin(ids_of({1, 2, 3})); }) == "O2");
  CHECK(seen_of(pool) == before);
  CHECK(broken_rule([&] { pool.pin(ids_of({1, 2, 0})); }) == "O2");
  CHECK(seen_of(pool) == before);
  CHECK(broken_rule([&] { pool.pin(ids_of({1, 2, 4})); }) == "O2");
  CHECK(seen_of(pool) == before);
}

// B16: X and Y pin an entry, X unpins twice. A pool knows counts, not names: the owners' entries are
// gone after three drops, and the fourth is a violation instead of a clamp to 0.
TEST_CASE("pool (O2): a count below zero is a violation, not zero") {
  Pool pool({.ids = 3});
  static_cast<void>(take(pool, 2));
  pool.pin(ids_of({1}));
  pool.release(ids_of({1}));
  pool.release(ids_of({1}));
  const std::string before = seen_of(pool);
  CHECK(broken_rule([&] { pool.release(ids_of({1})); }) == "O2");
  CHECK(seen_of(pool) == before);
  CHECK(violation_text([&] { pool.release(ids_of({1})); }).find("block 1 with 0 owners") !=
        std::string::npos);
}

// B106: a row that was pruned to 0. Rule O2 reports it; it is never skipped.
TEST_CASE("pool (O2): block 0 in a release list is a violation, and the drops before it stand") {
  Pool pool({.ids = 4});
  static_cast<void>(take(pool, 2));
  CHECK(broken_rule([&] { pool.release(ids_of({1, 0, 2})); }) == "O2");
  CHECK(free_text(pool) == "[3, 2]");
  CHECK(pool.owners(BlockId{1}) == 1);
  pool.release(ids_of({1}));
  CHECK(free_text(pool) == "[3, 2, 1]");
  pool.audit();
}

TEST_CASE("pool (O2): no operation accepts id 0 or an id out of range, nor touches anything") {
  Pool pool({.ids = 4});
  static_cast<void>(take(pool, 3));
  pool.pin(ids_of({1}));
  pool.park(ids_of({1}));
  const std::string before = seen_of(pool);
  for (const std::uint32_t wrong : {0U, 4U, 5U, 4294967295U}) {
    CAPTURE(wrong);
    CHECK(broken_rule([&] { pool.pin(ids_of({wrong})); }) == "O2");
    CHECK(broken_rule([&] { pool.release(ids_of({wrong})); }) == "O2");
    CHECK(broken_rule([&] { pool.park(ids_of({wrong})); }) == "O2");
    CHECK(broken_rule([&] { pool.unpark(ids_of({wrong})); }) == "O2");
    CHECK(broken_rule([&] { static_cast<void>(pool.owners(BlockId{wrong})); }) == "O2");
    CHECK(broken_rule([&] { static_cast<void>(pool.holds(BlockId{wrong})); }) == "O2");
  }
  CHECK(seen_of(pool) == before);
}

TEST_CASE("pool: a violation names the pool's kind and the id") {
  Pool slots({.ids = 3, .kind = PoolKind::kStateSlots});
  CHECK(violation_text([&] { slots.release(ids_of({0})); }).find("state slot 0 is never issued") !=
        std::string::npos);
  CHECK(violation_text([&] {
          slots.pin(ids_of({2}));
        }).find("pin of free state slot 2 with 0 owners") != std::string::npos);
  CHECK(violation_text([&] {
          slots.pin(ids_of({7}));
        }).find("state slot 7 is outside a pool of 3") != std::string::npos);
}

// --- Sizes ---------------------------------------------------------------------------------------

// B100: pools of -3, 0, 1 and 2 ids. Id 0 takes one, so 1 leaves nothing and 2 leaves one.
TEST_CASE("pool (O2): a size without room for id 0 is refused, as is one beyond 2^31") {
  CHECK(broken_rule([] { Pool({.ids = 0}); }) == "O2");
  CHECK(broken_rule([] { Pool({.ids = 4294967293}); }) == "O2");  // -3 in 32 bits
  CHECK(broken_rule([] { Pool({.ids = 2147483649}); }) == "O2");
}

TEST_CASE("pool (O2): one id is none usable: the pool that a model does not use") {
  Pool pool({.ids = 1});
  CHECK(pool.usable() == BlockCount(0));
  CHECK(pool.available() == BlockCount(0));
  CHECK(free_text(pool) == "[]");
  pool.take({});
  CHECK(broken_rule([&] { static_cast<void>(take(pool, 1)); }) == "O3");
  pool.audit();
}

TEST_CASE("pool (O2): two ids are one usable") {
  for (const FreeOrder order : {FreeOrder::kFifo, FreeOrder::kLifo}) {
    Pool pool({.ids = 2, .free_order = order});
    for (int round = 0; round < 5; ++round) {
      CHECK(text(take(pool, 1)) == "[1]");
      CHECK(broken_rule([&] { static_cast<void>(take(pool, 1)); }) == "O3");
      pool.release(ids_of({1}));
    }
    pool.audit();
  }
}

TEST_CASE("pool: usable counts around a power of two, where the ring is exactly full") {
  for (const std::uint32_t ids : {3U, 4U, 5U, 8U, 9U, 16U, 17U}) {
    for (const FreeOrder order : {FreeOrder::kFifo, FreeOrder::kLifo}) {
      CAPTURE(ids);
      Pool pool({.ids = ids, .free_order = order});
      for (int round = 0; round < 40; ++round) {
        const std::vector<BlockId> all = take(pool, ids - 1);
        CHECK(pool.available() == BlockCount(0));
        pool.release(all);
        CHECK(pool.available() == BlockCount(ids - 1));
        pool.audit();
      }
    }
  }
}

TEST_CASE("pool (O2): 65,535 owners fit, one more is a violation that changes nothing") {
  Pool pool({.ids = 4});
  static_cast<void>(take(pool, 2));
  const std::vector<BlockId> many(65534, BlockId{1});
  pool.pin(many);
  CHECK(pool.owners(BlockId{1}) == 65535);

  const std::string before = seen_of(pool);
  CHECK(broken_rule([&] { pool.pin(ids_of({1})); }) == "O2");
  CHECK(seen_of(pool) == before);
  CHECK(broken_rule([&] { pool.pin(ids_of({2, 2, 1})); }) == "O2");
  CHECK(seen_of(pool) == before);

  pool.release(many);
  CHECK(pool.owners(BlockId{1}) == 1);
  pool.audit();
}

TEST_CASE(
    "pool (O2): a pin that would wrap the count within one call adds no owner, parked or not") {
  Pool pool({.ids = 3});
  static_cast<void>(take(pool, 2));
  pool.park(ids_of({1, 2}));
  const std::string before = seen_of(pool);
  const std::vector<BlockId> too_many(65535, BlockId{1});
  CHECK(broken_rule([&] { pool.pin(too_many); }) == "O2");
  CHECK(seen_of(pool) == before);
  const std::vector<BlockId> far_too_many(70000, BlockId{1});
  CHECK(broken_rule([&] { pool.pin(far_too_many); }) == "O2");
  CHECK(seen_of(pool) == before);
  pool.audit();
}

// A table of 131,072 blocks is a sequence of 131,072 positions at B = 1: how long a table is says
// nothing about how many owners its blocks have.
TEST_CASE("pool (O8): a table longer than the largest owner count can be pinned") {
  for (const std::uint32_t length : {65534U, 65535U, 65536U, 131072U}) {
    CAPTURE(length);
    Pool pool({.ids = length + 1});
    const std::vector<BlockId> table = take(pool, length);
    CHECK(broken_rule([&] { pool.pin(table); }) == "none");
    CHECK(pool.owners(BlockId{length}) == 2);
    pool.release(table);
    CHECK(pool.owned() == BlockCount(length));
    pool.release(table);
    CHECK(pool.owned() == BlockCount(0));
  }
}

// --- Holds ---------------------------------------------------------------------------------------

TEST_CASE("pool (O9): parking moves an owner to a fence and changes no count") {
  Pool pool({.ids = 4});
  const std::vector<BlockId> table = take(pool, 2);
  pool.park(table);
  CHECK(pool.owners(BlockId{1}) == 1);
  CHECK(pool.holds(BlockId{1}) == 1);
  CHECK(pool.owned() == BlockCount(2));
  CHECK(pool.available() == BlockCount(1));
  CHECK(pool.parked() == BlockCount(2));
  CHECK(pool.freed() == 0);
  pool.audit();
}

TEST_CASE("pool (O9): dropping holds frees ids in the order given, whatever the release order") {
  for (const ReleaseOrder order : {ReleaseOrder::kReverse, ReleaseOrder::kForward}) {
    Pool pool({.ids = 5, .release_order = order});
    pool.park(take(pool, 3));
    pool.unpark(ids_of({3, 1, 2}));
    CHECK(free_text(pool) == "[4, 3, 1, 2]");
    CHECK(pool.parked() == BlockCount(0));
    CHECK(pool.owned() == BlockCount(0));
    pool.audit();
  }
}

TEST_CASE("pool (O9): an id is parked only while every owner of it is a hold") {
  Pool pool({.ids = 3});
  static_cast<void>(take(pool, 1));
  pool.pin(ids_of({1}));
  pool.park(ids_of({1}));  // one owner of two waits for a fence
  CHECK(pool.parked() == BlockCount(0));

  SUBCASE("the table's owner goes first: parked until the fence passes") {
    pool.release(ids_of({1}));
    CHECK(pool.parked() == BlockCount(1));
    CHECK(free_text(pool) == "[2]");
    pool.unpark(ids_of({1}));
    CHECK(pool.parked() == BlockCount(0));
    CHECK(free_text(pool) == "[2, 1]");
  }
  SUBCASE("the fence passes first: the table's owner is left") {
    pool.unpark(ids_of({1}));
    CHECK(pool.parked() == BlockCount(0));
    CHECK(pool.owners(BlockId{1}) == 1);
    CHECK(pool.holds(BlockId{1}) == 0);
    CHECK(free_text(pool) == "[2]");
  }
  SUBCASE("both owners wait: parked, and still parked after the first fence") {
    pool.park(ids_of({1}));
    CHECK(pool.parked() == BlockCount(1));
    pool.unpark(ids_of({1}));
    CHECK(pool.parked() == BlockCount(1));
    CHECK(free_text(pool) == "[2]");
    pool.unpark(ids_of({1}));
    CHECK(pool.parked() == BlockCount(0));
    CHECK(free_text(pool) == "[2, 1]");
  }
  pool.audit();
}

TEST_CASE("pool (O9): a parked id that a table pins is owned by a table again") {
  Pool pool({.ids = 3});
  pool.park(take(pool, 1));
  CHECK(pool.parked() == BlockCount(1));
  pool.pin(ids_of({1}));
  CHECK(pool.parked() == BlockCount(0));
  CHECK(pool.owners(BlockId{1}) == 2);
  pool.audit();
  pool.release(ids_of({1}));
  CHECK(pool.parked() == BlockCount(1));
  pool.audit();
}

TEST_CASE("pool (O9): one list may hold an id twice, and drop it twice") {
  Pool pool({.ids = 3});
  static_cast<void>(take(pool, 1));
  pool.pin(ids_of({1}));
  pool.park(ids_of({1, 1}));
  CHECK(pool.holds(BlockId{1}) == 2);
  CHECK(pool.parked() == BlockCount(1));
  pool.unpark(ids_of({1, 1}));
  CHECK(free_text(pool) == "[2, 1]");
  pool.audit();
}

TEST_CASE("pool (O2, O9): a fence's hold is not a table's to release, nor the reverse") {
  Pool pool({.ids = 3});
  pool.park(take(pool, 1));
  static_cast<void>(take(pool, 1));
  const std::string before = seen_of(pool);
  CHECK(broken_rule([&] { pool.release(ids_of({1})); }) == "O2");  // only a hold is left on 1
  CHECK(broken_rule([&] { pool.park(ids_of({1})); }) == "O9");     // and it waits already
  CHECK(broken_rule([&] { pool.unpark(ids_of({2})); }) == "O9");   // 2 has no hold
  CHECK(seen_of(pool) == before);
}

TEST_CASE("pool (O9): parking or unparking a free id is a violation") {
  Pool pool({.ids = 3});
  const std::string before = seen_of(pool);
  CHECK(broken_rule([&] { pool.park(ids_of({1})); }) == "O9");
  CHECK(broken_rule([&] { pool.unpark(ids_of({1})); }) == "O9");
  CHECK(seen_of(pool) == before);
}

TEST_CASE("pool (O9): a fault inside a list leaves the part before it done") {
  Pool pool({.ids = 4});
  static_cast<void>(take(pool, 2));
  CHECK(broken_rule([&] { pool.park(ids_of({1, 3, 2})); }) == "O9");
  CHECK(pool.holds(BlockId{1}) == 1);
  CHECK(pool.holds(BlockId{2}) == 0);
  CHECK(broken_rule([&] { pool.unpark(ids_of({1, 2})); }) == "O9");
  CHECK(free_text(pool) == "[3, 1]");
  CHECK(pool.owners(BlockId{2}) == 1);
  pool.audit();
}

}  // namespace
}  // namespace pinfold
