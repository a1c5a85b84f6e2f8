// Rule O3 over all pools at once.
#include "pool/demand.h"

#include <doctest/doctest.h>

#include "tests/unit/broken_rule.h"
#include "tests/unit/pool/id_lists.h"

namespace pinfold {
namespace {

using test::broken_rule;
using test::ids_of;
using test::seen_of;
using test::take;
using test::text;

struct Ids {
  std::uint32_t blocks = 1;
  std::uint32_t states = 1;
  std::uint32_t drafts = 1;
  std::uint32_t host = 1;
  std::uint32_t host_states = 1;
};

Pools pools_of(Ids ids) {
  return Pools({PoolOptions{.ids = ids.blocks, .kind = PoolKind::kBlocks},
                PoolOptions{.ids = ids.states, .kind = PoolKind::kStateSlots},
                PoolOptions{.ids = ids.drafts, .kind = PoolKind::kDraftSlots},
                PoolOptions{.ids = ids.host, .kind = PoolKind::kHostBlocks},
                PoolOptions{.ids = ids.host_states, .kind = PoolKind::kHostStates}});
}

Demand demand_of(std::uint32_t blocks, std::uint32_t states = 0, std::uint32_t drafts = 0,
                 std::uint32_t host = 0) {
  Demand demand;
  demand.of(PoolKind::kBlocks) = BlockCount(blocks);
  demand.of(PoolKind::kStateSlots) = BlockCount(states);
  demand.of(PoolKind::kDraftSlots) = BlockCount(drafts);
  demand.of(PoolKind::kHostBlocks) = BlockCount(host);
  return demand;
}

/// "OK", or the answer and the pool that decided it.
std::string answer_text(const Pools& pools, const Demand& demand) {
  const Availability result = pools.answer(demand);
  switch (result.answer) {
    case Answer::kOk: return "OK";
    case Answer::kLater: return std::string("LATER: ") + name_of(result.pool);
    case Answer::kNever: return std::string("NEVER: ") + name_of(result.pool);
  }
  return "?";
}

std::string seen_of_all(const Pools& pools) {
  return seen_of(pools.of(PoolKind::kBlocks)) + seen_of(pools.of(PoolKind::kStateSlots)) +
         seen_of(pools.of(PoolKind::kDraftSlots)) + seen_of(pools.of(PoolKind::kHostBlocks)) +
         seen_of(pools.of(PoolKind::kHostStates));
}

// Chapter 4.1: four blocks are LATER while B runs (one is free), OK after B finishes (four are), and
// eight exceed the seven that a pool of eight can ever issue.
TEST_CASE("demand (O3): the three answers of the chapter's first lab") {
  Pools pools = pools_of({.blocks = 8});
  pools.blocks().release(std::vector<BlockId>(1, take(pools.blocks(), 7).back()));
  CHECK(answer_text(pools, demand_of(4)) == "LATER: block");
  pools.blocks().release(ids_of({3, 4, 5}));
  CHECK(answer_text(pools, demand_of(4)) == "OK");
  CHECK(answer_text(pools, demand_of(8)) == "NEVER: block");
}

TEST_CASE("demand (O3): NEVER begins at the pool's size, one below it is LATER or OK") {
  Pools pools = pools_of({.blocks = 8});
  CHECK(answer_text(pools, demand_of(7)) == "OK");
  CHECK(answer_text(pools, demand_of(8)) == "NEVER: block");
  static_cast<void>(take(pools.blocks(), 1));
  CHECK(answer_text(pools, demand_of(6)) == "OK");
  CHECK(answer_text(pools, demand_of(7)) == "LATER: block");
  CHECK(answer_text(pools, demand_of(8)) == "NEVER: block");
}

TEST_CASE("demand (O3): nothing asked is OK, from full pools and from unused ones") {
  Pools pools = pools_of({.blocks = 3});
  static_cast<void>(take(pools.blocks(), 2));
  CHECK(answer_text(pools, Demand{}) == "OK");
  CHECK(answer_text(pools, demand_of(0, 1)) == "NEVER: state slot");
}

TEST_CASE("demand (O3): blocks free but no slot is LATER, and the answer names the slots") {
  Pools pools = pools_of({.blocks = 8, .states = 2});
  static_cast<void>(take(pools.of(PoolKind::kStateSlots), 1));
  CHECK(answer_text(pools, demand_of(2, 1)) == "LATER: state slot");
  pools.of(PoolKind::kStateSlots).release(ids_of({1}));
  CHECK(answer_text(pools, demand_of(2, 1)) == "OK");
}

TEST_CASE("demand (O3): NEVER wins over LATER, whichever pool says it") {
  Pools pools = pools_of({.blocks = 4, .states = 3, .drafts = 3, .host = 3});
  static_cast<void>(take(pools.blocks(), 1));
  static_cast<void>(take(pools.of(PoolKind::kStateSlots), 1));
  CHECK(answer_text(pools, demand_of(3, 3)) == "NEVER: state slot");  // LATER on blocks
  CHECK(answer_text(pools, demand_of(4, 2)) == "NEVER: block");       // LATER on slots
  CHECK(answer_text(pools, demand_of(3, 0, 3)) == "NEVER: draft slot");
  CHECK(answer_text(pools, demand_of(3, 2, 0, 3)) == "NEVER: host block");
  CHECK(answer_text(pools, demand_of(3, 2)) == "LATER: block");  // both LATER: first pool
}

// B4: S = 2 usable slots, A holds 3 of 4 blocks and a slot; X needs 2 blocks and a slot.
TEST_CASE("demand (O3): a refusal for want of blocks leaves the slots alone, pass after pass") {
  Pools pools = pools_of({.blocks = 5, .states = 3});
  static_cast<void>(take(pools.blocks(), 3));
  static_cast<void>(take(pools.of(PoolKind::kStateSlots), 1));
  const std::string before = seen_of_all(pools);
  for (int pass = 0; pass < 3; ++pass) {
    CHECK(answer_text(pools, demand_of(2, 1)) == "LATER: block");
    CHECK(pools.of(PoolKind::kStateSlots).available() == BlockCount(1));
    CHECK(seen_of_all(pools) == before);
  }
}

// B8: 5 usable blocks, A holds 3, X needs 4 of the 2 that are free; then A's fourth is served.
TEST_CASE("demand (O3): after a refusal the running request still gets its next block") {
  Pools pools = pools_of({.blocks = 6});
  static_cast<void>(take(pools.blocks(), 3));
  const std::string before = seen_of_all(pools);
  CHECK(answer_text(pools, demand_of(4)) == "LATER: block");
  CHECK(seen_of_all(pools) == before);
  CHECK(text(take(pools.blocks(), 1)) == "[4]");
}

// I10, B58: LATER needs a holder. In pools that nobody holds anything of, the answer to any demand is
// OK or NEVER.
TEST_CASE("demand (O3): idle pools never answer LATER") {
  Pools pools = pools_of({.blocks = 4, .states = 3, .drafts = 1, .host = 2});
  static_cast<void>(take(pools.blocks(), 3));
  pools.blocks().release(ids_of({1, 2, 3}));
  for (std::uint32_t blocks = 0; blocks <= 5; ++blocks) {
    for (std::uint32_t states = 0; states <= 4; ++states) {
      for (std::uint32_t drafts = 0; drafts <= 2; ++drafts) {
        for (std::uint32_t host = 0; host <= 3; ++host) {
          const Answer answer = pools.answer(demand_of(blocks, states, drafts, host)).answer;
          const bool fits = blocks <= 3 && states <= 2 && drafts <= 0 && host <= 1;
          CHECK(answer == (fits ? Answer::kOk : Answer::kNever));
        }
      }
    }
  }
}

// A parked id is not available: its fence has not passed.
TEST_CASE("demand (O3, O9): parked blocks count for NEVER but not for OK") {
  Pools pools = pools_of({.blocks = 4});
  pools.blocks().park(take(pools.blocks(), 2));
  CHECK(answer_text(pools, demand_of(1)) == "OK");
  CHECK(answer_text(pools, demand_of(3)) == "LATER: block");
  pools.blocks().unpark(ids_of({2, 1}));
  CHECK(answer_text(pools, demand_of(3)) == "OK");
}

// All pools of up to 3 usable blocks and 2 usable slots, all held amounts, all demands; the expected
// answer is rule O3 written down once more.
TEST_CASE("demand (O3): two pools of every small size answer as the rule says") {
  int answers = 0;
  for (std::uint32_t n = 1; n <= 4; ++n) {
    for (std::uint32_t s = 1; s <= 3; ++s) {
      for (std::uint32_t blocks_held = 0; blocks_held < n; ++blocks_held) {
        for (std::uint32_t slots_held = 0; slots_held < s; ++slots_held) {
          Pools pools = pools_of({.blocks = n, .states = s});
          static_cast<void>(take(pools.blocks(), blocks_held));
          static_cast<void>(take(pools.of(PoolKind::kStateSlots), slots_held));
          for (std::uint32_t blocks = 0; blocks <= n + 1; ++blocks) {
            for (std::uint32_t slots = 0; slots <= s + 1; ++slots) {
              Answer expected = Answer::kOk;
              if (blocks + blocks_held >= n || slots + slots_held >= s) expected = Answer::kLater;
              if (blocks >= n || slots >= s) expected = Answer::kNever;
              CHECK(pools.answer(demand_of(blocks, slots)).answer == expected);
              ++answers;
            }
          }
        }
      }
    }
  }
  // sum over n of n(n+2) = 3 + 8 + 15 + 24, times sum over s = 3 + 8 + 15.
  CHECK(answers == 50 * 26);
}

TEST_CASE("pools: each stands at the place of its kind, or the answer would mix them up") {
  CHECK(broken_rule([] { Pools({PoolOptions{.ids = 8}, PoolOptions{}, {}, {}, {}}); }) == "O3");
  const Pools pools =
      pools_of({.blocks = 8, .states = 3, .drafts = 2, .host = 5, .host_states = 6});
  CHECK(pools.of(PoolKind::kBlocks).usable() == BlockCount(7));
  CHECK(pools.of(PoolKind::kStateSlots).usable() == BlockCount(2));
  CHECK(pools.of(PoolKind::kDraftSlots).usable() == BlockCount(1));
  CHECK(pools.of(PoolKind::kHostBlocks).usable() == BlockCount(4));
  CHECK(pools.of(PoolKind::kHostStates).usable() == BlockCount(5));
  CHECK(&pools.blocks() == &pools.of(PoolKind::kBlocks));
  pools.audit();
}

}  // namespace
}  // namespace pinfold
