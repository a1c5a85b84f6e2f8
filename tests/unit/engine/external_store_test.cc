// Rule O16: hooks at 128-token boundaries; the default store does nothing.
#include "engine/external_store.h"

#include <doctest/doctest.h>

#include <vector>

#include "tests/unit/broken_rule.h"

namespace pinfold {
namespace {

using test::broken_rule;

std::vector<std::uint32_t> listed(const Boundaries& boundaries) {
  std::vector<std::uint32_t> values;
  for (std::uint32_t n = 0; n < boundaries.count; ++n) values.push_back(boundaries[n].value);
  return values;
}

std::vector<std::uint32_t> crossed(std::uint32_t before, std::uint32_t after) {
  return listed(boundaries_crossed(TokenCount(before), TokenCount(after)));
}

using List = std::vector<std::uint32_t>;

TEST_CASE("external store (O16): a boundary is crossed by the row that completes it") {
  CHECK(crossed(0, 127) == List{});
  CHECK(crossed(127, 128) == List{128});
  CHECK(crossed(128, 129) == List{});  // it was crossed before
  CHECK(crossed(128, 255) == List{});
  CHECK(crossed(128, 256) == List{256});
}

TEST_CASE("external store (O16): a chunk crosses every boundary inside it") {
  CHECK(crossed(0, 512) == List{128, 256, 384, 512});
  CHECK(crossed(100, 300) == List{128, 256});
}

TEST_CASE("external store (O16): a count that stands still or falls crosses none") {
  CHECK(crossed(128, 128) == List{});
  CHECK(crossed(300, 0) == List{});  // preempted
  CHECK(crossed(300, 128) == List{});
}

TEST_CASE("external store (O16): the boundaries equal a walk over every count") {
  for (std::uint32_t interval = 1; interval <= 5; ++interval) {
    for (std::uint32_t before = 0; before <= 24; ++before) {
      for (std::uint32_t after = 0; after <= 24; ++after) {
        List walked;
        for (std::uint32_t count = before + 1; count <= after; ++count) {
          if (count % interval == 0) walked.push_back(count);
        }
        REQUIRE(listed(boundaries_crossed(TokenCount(before), TokenCount(after),
                                          TokenCount(interval))) == walked);
      }
    }
  }
}

TEST_CASE("external store (O16): the greatest counts do not wrap") {
  // 2^32 - 1 = 33,554,431 x 128 + 127: the last boundary is 2^32 - 128.
  CHECK(crossed(UINT32_MAX - 1, UINT32_MAX) == List{});
  CHECK(crossed(UINT32_MAX - 128, UINT32_MAX) == List{UINT32_MAX - 127});
}

TEST_CASE(
    "external store (O16): a boundary beyond the list, and an interval of 0, are violations") {
  const Boundaries one = boundaries_crossed(TokenCount(0), TokenCount(128));
  CHECK(broken_rule([&] { static_cast<void>(one[1]); }) == "O16");
  CHECK(broken_rule([] { boundaries_crossed(TokenCount(0), TokenCount(1), TokenCount(0)); }) ==
        "O16");
}

TEST_CASE("external store (O16): the default store keeps nothing and has nothing") {
  NoExternalStore none;
  ExternalStore& store = none;
  const std::vector<BlockId> table{BlockId{1}};
  const StoredPrefix prefix{SequenceId{3}, TokenCount(128), TokenCount(130), table, BlockId{2}};
  store.save(prefix);
  CHECK(store.load(prefix) == TokenCount(0));
}

}  // namespace
}  // namespace pinfold
