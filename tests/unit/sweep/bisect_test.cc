#include "sim/sweep/bisect.h"

#include <doctest/doctest.h>

#include <functional>
#include <vector>

#include "tests/unit/broken_rule.h"

namespace pinfold::sim {
namespace {

constexpr Tolerance kExact{0, 1};

/// Asks for the first value from `threshold` on.
struct Question {
  std::uint64_t threshold;
  std::vector<std::uint64_t> asked;
  bool operator()(std::uint64_t value) {
    asked.push_back(value);
    return value >= threshold;
  }
};

TEST_CASE("bisect: finds every threshold exactly, from every start") {
  for (std::uint64_t start = 1; start <= 40; ++start) {
    for (std::uint64_t threshold = 1; threshold <= 41; ++threshold) {
      Question question{threshold, {}};
      const Bracket bracket = bisect(start, 1, 40, kExact, std::ref(question));
      CAPTURE(start);
      CAPTURE(threshold);
      // By hand: the least value that meets is the threshold, the greatest that fails the one below.
      CHECK(bracket.meets.value_or(0) == (threshold <= 40 ? threshold : 0));
      CHECK(bracket.fails.value_or(0) == threshold - 1);
      for (const std::uint64_t value : question.asked) CHECK((value >= 1 && value <= 40));
    }
  }
}

TEST_CASE("bisect: stops within the tolerance, with both ends asked") {
  for (std::uint64_t threshold = 1'000; threshold < 1'000'000; threshold = threshold * 3 + 7) {
    Question question{threshold, {}};
    const Bracket bracket = bisect(50'000, 1, 10'000'000, {1, 100}, std::ref(question));
    REQUIRE(bracket.meets);
    REQUIRE(bracket.fails);
    CHECK(*bracket.fails < threshold);
    CHECK(*bracket.meets >= threshold);
    CHECK((*bracket.meets - *bracket.fails) * 100 <= *bracket.fails);
    // log2 of the distance to the start, and of 1 / tolerance.
    CHECK(question.asked.size() <= 20);
  }
}

TEST_CASE("bisect: nothing or everything meets") {
  const Bracket none = bisect(5, 2, 100, kExact, [](std::uint64_t) { return false; });
  CHECK(!none.meets);
  CHECK(none.fails.value_or(0) == 100);
  const Bracket all = bisect(5, 2, 100, kExact, [](std::uint64_t) { return true; });
  CHECK(all.meets.value_or(0) == 2);
  CHECK(!all.fails);
  const Bracket top =
      bisect(UINT64_MAX / 2 + 9, 1, UINT64_MAX, kExact, [](std::uint64_t) { return false; });
  CHECK(top.fails.value_or(0) == UINT64_MAX);
}

TEST_CASE("bisect: where the answer changes more than once, it ends at one of the changes") {
  const auto meets = [](std::uint64_t value) { return value >= 70 || (value >= 30 && value < 50); };
  const Bracket bracket = bisect(40, 1, 100, kExact, meets);
  REQUIRE(bracket.meets);
  REQUIRE(bracket.fails);
  CHECK(*bracket.meets == *bracket.fails + 1);
  CHECK(meets(*bracket.meets));
  CHECK(!meets(*bracket.fails));
}

TEST_CASE("bisect: a start outside the range is refused") {
  CHECK(test::broken_rule([] { bisect(1, 2, 3, kExact, [](std::uint64_t) { return true; }); }) ==
        "bisect");
}

}  // namespace
}  // namespace pinfold::sim
