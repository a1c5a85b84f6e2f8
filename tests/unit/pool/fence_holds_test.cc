// Rule O9: what queued work may still read or write keeps its holds until the fence has passed.
#include "pool/fence_holds.h"

#include <doctest/doctest.h>

#include <cstring>

#include "tests/unit/broken_rule.h"
#include "tests/unit/pool/id_lists.h"

namespace pinfold {
namespace {

using test::broken_rule;
using test::free_text;
using test::ids_of;
using test::take;
using test::text;
using test::violation_text;

/// Pools of 9, 5 and 5 ids, release lists, and a journal that is on.
struct World {
  World() { journal.set_enabled(true); }

  /// Takes nothing: parks ids that a table owns and queues them behind `fence`.
  void hold(Hold added) {
    pools.of(PoolKind::kStateSlots).park(added.states);
    pools.of(PoolKind::kDraftSlots).park(added.drafts);
    pools.blocks().park(added.blocks);
    holds.add(std::move(added));
  }

  void pass(Lane lane, std::uint64_t ticket) {
    passed.upto[index_of(lane)] = Ticket{ticket};
    holds.advance(passed, pools, journal);
    holds.audit(pools);
  }

  /// "state slot [1] of 4; block [3, 2] of 4": the unparks journaled since the last call.
  std::string unparked() {
    std::string result;
    const std::span<const std::byte> bytes = journal.unread();
    for (std::size_t at = 0; at < bytes.size();) {
      Record record{};
      std::memcpy(&record, bytes.data() + at, sizeof record);
      at += sizeof record;
      std::vector<BlockId> ids(ids_after(record));
      std::memcpy(ids.data(), bytes.data() + at, ids.size() * sizeof(BlockId));
      at += ids.size() * sizeof(BlockId);
      if (record.verb != Verb::kUnpark) return "a record that is no unpark";
      if (!result.empty()) result += "; ";
      result += std::string(name_of(record.pool)) + " " + text(ids) + " of " +
                std::to_string(record.sequence);
    }
    journal.clear();
    return result;
  }

  Pools pools{{PoolOptions{.ids = 9, .kind = PoolKind::kBlocks},
               PoolOptions{.ids = 5, .kind = PoolKind::kStateSlots},
               PoolOptions{.ids = 5, .kind = PoolKind::kDraftSlots},
               PoolOptions{.ids = 1, .kind = PoolKind::kHostBlocks},
               PoolOptions{.ids = 1, .kind = PoolKind::kHostStates}}};
  FenceHolds holds;
  Journal journal;
  Passed passed;
};

TEST_CASE("fence holds (O9): nothing returns one ticket early, everything at the ticket") {
  World world;
  static_cast<void>(take(world.pools.blocks(), 3));
  world.hold({.fence = fence_on(Lane::kCompute, Ticket{5}), .blocks = ids_of({3, 2, 1})});
  world.pass(Lane::kCompute, 4);
  CHECK(free_text(world.pools.blocks()) == "[4, 5, 6, 7, 8]");
  CHECK(world.pools.blocks().parked() == BlockCount(3));
  CHECK_FALSE(world.holds.empty());
  world.pass(Lane::kCompute, 5);
  CHECK(free_text(world.pools.blocks()) == "[4, 5, 6, 7, 8, 3, 2, 1]");
  CHECK(world.pools.blocks().parked() == BlockCount(0));
  CHECK(world.holds.empty());
}

TEST_CASE(
    "fence holds (O9): states go first, then draft slots, then blocks, each list in its order") {
  World world;
  static_cast<void>(take(world.pools.blocks(), 3));
  static_cast<void>(take(world.pools.of(PoolKind::kStateSlots), 2));
  static_cast<void>(take(world.pools.of(PoolKind::kDraftSlots), 1));
  world.hold({.fence = fence_on(Lane::kCompute, Ticket{1}),
              .from = SequenceId{4},
              .states = ids_of({2, 1}),
              .drafts = ids_of({1}),
              .blocks = ids_of({3, 1, 2})});
  world.pass(Lane::kCompute, 1);
  CHECK(world.unparked() == "state slot [2, 1] of 4; draft slot [1] of 4; block [3, 1, 2] of 4");
  CHECK(free_text(world.pools.of(PoolKind::kStateSlots)) == "[3, 4, 2, 1]");
  CHECK(free_text(world.pools.of(PoolKind::kDraftSlots)) == "[2, 3, 4, 1]");
  CHECK(free_text(world.pools.blocks()) == "[4, 5, 6, 7, 8, 3, 1, 2]");
}

TEST_CASE("fence holds (O9): lists that pass together go in the order in which they were added") {
  World world;
  static_cast<void>(take(world.pools.blocks(), 4));
  world.hold(
      {.fence = fence_on(Lane::kCompute, Ticket{2}), .from = SequenceId{1}, .blocks = ids_of({4})});
  world.hold(
      {.fence = fence_on(Lane::kCompute, Ticket{1}), .from = SequenceId{2}, .blocks = ids_of({2})});
  world.hold(
      {.fence = fence_on(Lane::kCopy, Ticket{9}), .from = SequenceId{3}, .blocks = ids_of({3})});
  world.hold(
      {.fence = fence_on(Lane::kCompute, Ticket{2}), .from = SequenceId{4}, .blocks = ids_of({1})});

  world.pass(Lane::kCompute, 2);
  CHECK(world.unparked() == "block [4] of 1; block [2] of 2; block [1] of 4");
  REQUIRE(world.holds.holds().size() == 1);
  CHECK(world.holds.holds()[0].from == SequenceId{3});
  CHECK(text(world.holds.holds()[0].blocks) == "[3]");

  world.pass(Lane::kCopy, 9);
  CHECK(world.unparked() == "block [3] of 3");
  CHECK(free_text(world.pools.blocks()) == "[5, 6, 7, 8, 4, 2, 1, 3]");
}

TEST_CASE("fence holds (O9): a fence on two lanes waits for the later one") {
  World world;
  static_cast<void>(take(world.pools.blocks(), 1));
  Fence fence = fence_on(Lane::kCompute, Ticket{3});
  fence.ticket[index_of(Lane::kCopy)] = Ticket{2};
  world.hold({.fence = fence, .blocks = ids_of({1})});
  world.pass(Lane::kCompute, 3);
  CHECK(world.pools.blocks().parked() == BlockCount(1));
  world.pass(Lane::kCopy, 1);
  CHECK(world.pools.blocks().parked() == BlockCount(1));
  world.pass(Lane::kCopy, 2);
  CHECK(world.pools.blocks().parked() == BlockCount(0));
}

TEST_CASE("fence holds (O9): a lost completion keeps its own list and no other") {
  World world;
  static_cast<void>(take(world.pools.blocks(), 2));
  world.hold({.fence = fence_on(Lane::kCopy, Ticket{1}), .blocks = ids_of({1})});
  world.hold({.fence = fence_on(Lane::kCompute, Ticket{1}), .blocks = ids_of({2})});
  for (std::uint64_t step = 1; step <= 100; ++step) world.pass(Lane::kCompute, step);
  CHECK(free_text(world.pools.blocks()) == "[3, 4, 5, 6, 7, 8, 2]");
  CHECK(world.pools.blocks().parked() == BlockCount(1));
}

TEST_CASE("fence holds: a list whose fence has passed already goes at the next advance") {
  World world;
  world.pass(Lane::kCompute, 7);
  static_cast<void>(take(world.pools.blocks(), 2));
  world.hold({.fence = fence_on(Lane::kCompute, Ticket{7}), .blocks = ids_of({1})});
  world.hold({.fence = Fence{}, .blocks = ids_of({2})});
  CHECK(world.pools.blocks().parked() == BlockCount(2));
  world.holds.advance(world.passed, world.pools, world.journal);
  CHECK(world.unparked() == "block [1] of 0; block [2] of 0");
}

TEST_CASE("fence holds: advancing drops each list once") {
  World world;
  static_cast<void>(take(world.pools.blocks(), 1));
  world.hold({.fence = fence_on(Lane::kCompute, Ticket{1}), .blocks = ids_of({1})});
  world.pass(Lane::kCompute, 1);
  CHECK(world.unparked() == "block [1] of 0");
  world.pass(Lane::kCompute, 2);
  CHECK(world.unparked().empty());
}

// Chapter 4.2's second run, and case B38: the copy from tail 3 to 4 is queued, the parent finishes,
// a writer wants a block and the free list is empty.
TEST_CASE(
    "fence holds (O8, O9): the source of a queued copy outlives its owner until the copy ran") {
  Pools pools(
      {PoolOptions{.ids = 5, .kind = PoolKind::kBlocks}, PoolOptions{.kind = PoolKind::kStateSlots},
       PoolOptions{.kind = PoolKind::kDraftSlots}, PoolOptions{.kind = PoolKind::kHostBlocks},
       PoolOptions{.kind = PoolKind::kHostStates}});
  FenceHolds holds;
  Journal journal;
  const std::vector<BlockId> parent = take(pools.blocks(), 3);
  pools.blocks().pin(parent);
  const std::vector<BlockId> tail = take(pools.blocks(), 1);
  CHECK(text(tail) == "[4]");
  pools.blocks().park(ids_of({3}));  // the child's pin on the source waits for the copy
  holds.add(
      {.fence = fence_on(Lane::kCopy, Ticket{1}), .behind = Behind::kCopy, .blocks = ids_of({3})});
  CHECK(holds.has_copies());

  pools.blocks().release(parent);
  Demand writer;
  writer.of(PoolKind::kBlocks) = BlockCount(1);
  CHECK(pools.answer(writer).answer == Answer::kLater);
  CHECK(pools.blocks().parked() == BlockCount(1));
  holds.audit(pools);

  holds.advance({.upto = {Ticket{0}, Ticket{1}}}, pools, journal);
  CHECK(pools.answer(writer).answer == Answer::kOk);
  CHECK(text(take(pools.blocks(), 1)) == "[3]");
  CHECK(pools.blocks().owners(BlockId{1}) == 1);  // the child's
  CHECK(pools.blocks().owners(BlockId{2}) == 1);
  CHECK_FALSE(holds.has_copies());
}

TEST_CASE("fence holds: two lists may hold one id; it is free after the second") {
  World world;
  static_cast<void>(take(world.pools.blocks(), 1));
  world.pools.blocks().pin(ids_of({1}));
  world.hold({.fence = fence_on(Lane::kCompute, Ticket{1}), .blocks = ids_of({1})});
  world.hold({.fence = fence_on(Lane::kCompute, Ticket{2}), .blocks = ids_of({1})});
  world.pass(Lane::kCompute, 1);
  CHECK(world.pools.blocks().available() == BlockCount(7));
  world.pass(Lane::kCompute, 2);
  CHECK(free_text(world.pools.blocks()) == "[2, 3, 4, 5, 6, 7, 8, 1]");
}

TEST_CASE("fence holds: say whether a copy waits, and what releases a pool's ids first") {
  World world;
  CHECK(world.holds.empty());
  CHECK_FALSE(world.holds.has_copies());
  CHECK(world.holds.first_with(PoolKind::kBlocks) == nullptr);

  static_cast<void>(take(world.pools.blocks(), 2));
  static_cast<void>(take(world.pools.of(PoolKind::kStateSlots), 1));
  static_cast<void>(take(world.pools.of(PoolKind::kDraftSlots), 1));
  world.hold(
      {.fence = fence_on(Lane::kCompute, Ticket{1}), .from = SequenceId{1}, .states = ids_of({1})});
  CHECK_FALSE(world.holds.has_copies());
  world.hold({.fence = fence_on(Lane::kCompute, Ticket{2}),
              .from = SequenceId{2},
              .behind = Behind::kCopy,
              .drafts = ids_of({1}),
              .blocks = ids_of({1})});
  world.hold(
      {.fence = fence_on(Lane::kCompute, Ticket{3}), .from = SequenceId{3}, .blocks = ids_of({2})});
  CHECK(world.holds.has_copies());
  CHECK(world.holds.first_with(PoolKind::kStateSlots)->from == SequenceId{1});
  CHECK(world.holds.first_with(PoolKind::kDraftSlots)->from == SequenceId{2});
  CHECK(world.holds.first_with(PoolKind::kBlocks)->from == SequenceId{2});
  CHECK(world.holds.first_with(PoolKind::kHostBlocks) == nullptr);

  world.pass(Lane::kCompute, 2);
  CHECK_FALSE(world.holds.has_copies());
  CHECK(world.holds.first_with(PoolKind::kStateSlots) == nullptr);
  CHECK(world.holds.first_with(PoolKind::kBlocks)->from == SequenceId{3});
}

TEST_CASE(
    "fence holds: the journal says whose ids came back, of which kind of list, at which ticket") {
  World world;
  static_cast<void>(take(world.pools.blocks(), 2));
  world.hold({.fence = fence_on(Lane::kCompute, Ticket{6}),
              .from = SequenceId{9},
              .behind = Behind::kCopy,
              .blocks = ids_of({2, 1})});
  world.pass(Lane::kCompute, 8);
  REQUIRE(world.journal.unread().size() == 24);
  Record record{};
  std::memcpy(&record, world.journal.unread().data(), sizeof record);
  CHECK(record.verb == Verb::kUnpark);
  CHECK(record.pool == PoolKind::kBlocks);
  CHECK(record.detail == 1);
  CHECK(record.sequence == 9);
  CHECK(record.count == 2);
  CHECK(record.aux == 6);
}

TEST_CASE("fence holds: a list without ids is dropped without a record") {
  World world;
  world.hold({.fence = fence_on(Lane::kCompute, Ticket{1})});
  CHECK_FALSE(world.holds.empty());
  world.pass(Lane::kCompute, 1);
  CHECK(world.holds.empty());
  CHECK(world.journal.events() == 0);
}

// Law 2: an id's holds in its pool are its entries in the release lists; broken both ways, in each
// pool that has release lists.
Hold hold_of(PoolKind kind, std::vector<BlockId> ids) {
  Hold hold{.fence = fence_on(Lane::kCompute, Ticket{1})};
  if (kind == PoolKind::kStateSlots) hold.states = ids;
  if (kind == PoolKind::kDraftSlots) hold.drafts = ids;
  if (kind == PoolKind::kBlocks) hold.blocks = ids;
  return hold;
}

TEST_CASE(
    "fence holds (O9): the audit finds a hold that no list will drop: a leak from that moment") {
  for (const PoolKind kind : {PoolKind::kBlocks, PoolKind::kStateSlots, PoolKind::kDraftSlots}) {
    CAPTURE(name_of(kind));
    World world;
    static_cast<void>(take(world.pools.of(kind), 2));
    CHECK(broken_rule([&] { world.holds.audit(world.pools); }) == "none");
    world.pools.of(kind).park(ids_of({2}));
    CHECK(broken_rule([&] { world.holds.audit(world.pools); }) == "law 2");
    world.holds.add(hold_of(kind, ids_of({2})));
    CHECK(broken_rule([&] { world.holds.audit(world.pools); }) == "none");
  }
}

TEST_CASE("fence holds (O9): the audit finds a list whose ids were never parked, and names them") {
  for (const PoolKind kind : {PoolKind::kBlocks, PoolKind::kStateSlots, PoolKind::kDraftSlots}) {
    CAPTURE(name_of(kind));
    World world;
    static_cast<void>(take(world.pools.of(kind), 2));
    world.holds.add(hold_of(kind, ids_of({2})));
    CHECK(broken_rule([&] { world.holds.audit(world.pools); }) == "law 2");
    const std::string found = std::string(name_of(kind)) + " 2 has 0 holds, of which 1 wait";
    CHECK(violation_text([&] { world.holds.audit(world.pools); }).find(found) != std::string::npos);
  }
}

TEST_CASE("fence holds (O2): the audit reports a list that names id 0 or an id out of range") {
  for (const std::uint32_t wrong : {0U, 9U, 4294967295U}) {
    CAPTURE(wrong);
    World world;
    world.holds.add({.fence = fence_on(Lane::kCompute, Ticket{1}), .blocks = ids_of({wrong})});
    CHECK(broken_rule([&] { world.holds.audit(world.pools); }) == "law 2");
  }
}

TEST_CASE("fence holds (O9): dropping a hold that the pool does not count is a violation") {
  World world;
  static_cast<void>(take(world.pools.blocks(), 1));
  world.holds.add({.fence = fence_on(Lane::kCompute, Ticket{1}), .blocks = ids_of({1})});
  world.passed.upto[index_of(Lane::kCompute)] = Ticket{1};
  CHECK(broken_rule([&] { world.holds.advance(world.passed, world.pools, world.journal); }) ==
        "O9");
}

}  // namespace
}  // namespace pinfold
