// Idle ids and the tree of contents: who loses its content first, and what is found.
#include <doctest/doctest.h>

#include "pool/prefix_index.h"
#include "tests/unit/broken_rule.h"
#include "tests/unit/pool/id_lists.h"

namespace pinfold {
namespace {

using test::broken_rule;
using test::free_text;
using test::ids_of;
using test::take;
using test::text;

std::string idle_text(const Pool& pool) { return text(pool.idle_list()); }

Pool pool_of(std::uint32_t usable, Eviction eviction) {
  return Pool({.ids = usable + 1, .reuse = true, .eviction = eviction});
}

void keep_all(Pool& pool, std::initializer_list<std::uint32_t> ids) {
  for (const std::uint32_t id : ids) pool.keep(BlockId{id});
}

TEST_CASE("idle: a kept id goes idle, another one free; both are available, free ones go first") {
  Pool pool = pool_of(5, Eviction::kLru);
  const std::vector<BlockId> table = take(pool, 4);
  keep_all(pool, {1, 2, 3});
  pool.release(table);  // in reverse: 4 is free, then 3, 2, 1 go idle
  CHECK(free_text(pool) == "[5, 4]");
  CHECK(idle_text(pool) == "[3, 2, 1]");
  CHECK(pool.available() == BlockCount(5));
  CHECK(pool.owned() == BlockCount(0));
  CHECK(pool.idle() == BlockCount(3));
  pool.audit();
  std::vector<BlockId> taken(4);
  CHECK(pool.take(taken) == 2);  // the last two were idle
  CHECK(text(taken) == "[5, 4, 3, 2]");
  CHECK(idle_text(pool) == "[1]");
  CHECK(!pool.keeps(BlockId{3}));
  pool.audit();
  pool.release(taken);
  CHECK(free_text(pool) == "[2, 3, 4, 5]");
  pool.audit();
}

TEST_CASE("idle: a hit takes an id from the middle, and LRU puts it last when it goes idle again") {
  Pool pool = pool_of(4, Eviction::kLru);
  const std::vector<BlockId> table = take(pool, 4);
  keep_all(pool, {1, 2, 3, 4});
  pool.release(table);
  CHECK(idle_text(pool) == "[4, 3, 2, 1]");
  pool.share(ids_of({3}));
  CHECK(idle_text(pool) == "[4, 2, 1]");
  CHECK(pool.owners(BlockId{3}) == 1);
  CHECK(pool.revived() == 1);
  pool.share(ids_of({3}));  // live by now: one owner more
  CHECK(pool.owners(BlockId{3}) == 2);
  CHECK(pool.revived() == 1);
  pool.audit();
  pool.release(ids_of({3}));
  pool.release(ids_of({3}));
  CHECK(idle_text(pool) == "[4, 2, 1, 3]");
  pool.audit();
}

TEST_CASE("idle: FIFO goes by when the content was kept, and a hit does not renew it") {
  Pool pool = pool_of(4, Eviction::kFifo);
  const std::vector<BlockId> table = take(pool, 4);
  keep_all(pool, {2, 1, 4, 3});
  pool.keep(BlockId{2});  // a tail beside its whole content: it is as old as the first
  pool.release(table);
  CHECK(idle_text(pool) == "[2, 1, 4, 3]");
  pool.share(ids_of({2}));
  CHECK(idle_text(pool) == "[1, 4, 3]");
  CHECK(text(take(pool, 1)) == "[1]");
  pool.release(ids_of({2}));
  CHECK(idle_text(pool) == "[2, 4, 3]");
  CHECK(text(take(pool, 2)) == "[2, 4]");
  pool.keep(BlockId{2});  // another content, younger than that of 3
  pool.release(ids_of({2}));
  CHECK(idle_text(pool) == "[3, 2]");
  pool.audit();
}

TEST_CASE("idle: a fence keeps a kept id, and it goes idle when that passes") {
  Pool pool = pool_of(2, Eviction::kLru);
  const std::vector<BlockId> table = take(pool, 2);
  pool.keep(BlockId{1});
  pool.park(table);
  CHECK(pool.available() == BlockCount(0));
  pool.share(ids_of({1}));  // a hit on a parked block
  CHECK(pool.parked() == BlockCount(1));
  pool.unpark(ids_of({2, 1}));
  CHECK(free_text(pool) == "[2]");
  CHECK(idle_text(pool) == "[]");
  pool.release(ids_of({1}));
  CHECK(idle_text(pool) == "[1]");
  pool.audit();
}

TEST_CASE("idle: misuse is a violation and changes nothing") {
  Pool plain({.ids = 3});
  static_cast<void>(take(plain, 1));
  CHECK(broken_rule([&] { plain.keep(BlockId{1}); }) == "prefix");
  CHECK(broken_rule([&] { plain.share(ids_of({1, 2})); }) == "O2");  // 2 is free
  CHECK(plain.owners(BlockId{1}) == 1);
  Pool pool = pool_of(2, Eviction::kLru);
  CHECK(broken_rule([&] { pool.keep(BlockId{1}); }) == "prefix");  // free
  static_cast<void>(take(pool, 1));
  pool.keep(BlockId{1});
  pool.release(ids_of({1}));
  CHECK(broken_rule([&] { pool.pin(ids_of({1})); }) == "O2");  // idle: shared, not pinned
  CHECK(broken_rule([&] { pool.release(ids_of({1})); }) == "O2");
  CHECK(broken_rule([&] { static_cast<void>(take(pool, 3)); }) == "O3");
  CHECK(idle_text(pool) == "[1]");
  pool.audit();
}

// ---- the tree of contents --------------------------------------------------------------------------

TEST_CASE("index: a key under another parent, or for other rows, never hits") {
  PrefixIndex index(10);
  const PrefixNode a = index.enter(kRootNode, 7, 4);
  CHECK(index.attach(a, BlockId{1}, Part::kWhole));
  const PrefixNode b = index.enter(a, 8, 4);
  CHECK(index.attach(b, BlockId{2}, Part::kWhole));
  CHECK(index.find(kRootNode, 7, 4) == a);
  CHECK(index.find(a, 8, 4) == b);
  CHECK(index.find(kRootNode, 8, 4) == kNoNode);
  CHECK(index.find(b, 8, 4) == kNoNode);
  CHECK(index.find(a, 8, 3) == kNoNode);
  CHECK(index.find(a, 9, 4) == kNoNode);
  CHECK(index.find(a, 8, 4 + 64) == kNoNode);  // in the same one of 64 buckets
}

TEST_CASE("index: 10,000 contents in one tree are told apart, as their buckets are shared") {
  PrefixIndex index(10'001);
  std::vector<PrefixNode> nodes{kRootNode};
  for (std::uint32_t n = 1; n <= 10'000; ++n) {
    const PrefixNode node = index.enter(nodes[n / 3], n % 3, 16);  // three keys below each parent
    CHECK(index.attach(node, BlockId{n}, Part::kWhole));
    nodes.push_back(node);
  }
  for (std::uint32_t n = 1; n <= 10'000; ++n) {
    REQUIRE(index.block_of(index.find(nodes[n / 3], n % 3, 16)) == BlockId{n});
  }
  CHECK(index.nodes() == 10'000);
}

TEST_CASE("index: a content outlives its block while another follows it, and no longer") {
  PrefixIndex index(10);
  const PrefixNode a = index.enter(kRootNode, 7, 4);
  CHECK(index.attach(a, BlockId{1}, Part::kWhole));
  const PrefixNode b = index.enter(a, 8, 4);
  CHECK(index.attach(b, BlockId{2}, Part::kWhole));
  index.detach(BlockId{1});
  CHECK(index.find(kRootNode, 7, 4) == a);
  CHECK(index.block_of(a) == kNoBlock);
  CHECK(index.attach(a, BlockId{3}, Part::kWhole));  // computed again: what follows is found again
  CHECK(index.block_of(index.find(a, 8, 4)) == BlockId{2});
  index.detach(BlockId{3});
  index.hold(a);
  index.detach(BlockId{2});
  CHECK(index.nodes() == 1);
  index.drop(a);
  CHECK(index.nodes() == 0);
  CHECK(index.find(kRootNode, 7, 4) == kNoNode);
}

TEST_CASE(
    "index: the first block with a content stays; a block holds one whole content and one tail") {
  PrefixIndex index(10);
  const PrefixNode a = index.enter(kRootNode, 7, 4);
  CHECK(index.attach(a, BlockId{1}, Part::kWhole));
  CHECK(!index.attach(a, BlockId{2}, Part::kWhole));
  CHECK(index.block_of(a) == BlockId{1});
  const PrefixNode tail = index.enter(kRootNode, 7, 2);
  CHECK(tail != a);
  CHECK(index.attach(tail, BlockId{1}, Part::kTail));
  const PrefixNode other = index.enter(kRootNode, 9, 2);
  index.hold(other);
  CHECK(!index.attach(other, BlockId{1}, Part::kTail));
  index.drop(other);
  CHECK(index.nodes() == 2);
  CHECK(index.content_of(BlockId{1}) != index.content_of(BlockId{2}));
  index.detach(BlockId{1});
  CHECK(index.nodes() == 0);
}

}  // namespace
}  // namespace pinfold
