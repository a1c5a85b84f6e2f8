#include "sim/metrics/quantiles.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "sim/core/draw.h"
#include "sim/metrics/distinct_count.h"
#include "sim/metrics/trace_survey.h"

namespace pinfold::sim {
namespace {

TEST_CASE("quantiles: nearest rank, small numbers by hand") {
  Quantiles quantiles;
  CHECK(quantiles.at_percent(50) == 0);
  for (const std::uint64_t value : {40u, 10u, 30u, 20u}) quantiles.add(value);
  CHECK(quantiles.at_percent(50) == 20);
  CHECK(quantiles.at_percent(51) == 30);
  CHECK(quantiles.at_percent(99) == 40);
  CHECK(quantiles.at_percent(0) == 10);
  quantiles.add(5);
  CHECK(quantiles.at_percent(50) == 20);
  CHECK(quantiles.min() == 5);
  CHECK(quantiles.max() == 40);
  CHECK(quantiles.total() == 105);
  CHECK(quantiles.exact());
}

TEST_CASE("quantiles: exact to the last of 2^20, then at most 1/128 too high and never too low") {
  Quantiles quantiles;
  std::vector<std::uint64_t> all;
  // Lengths of all magnitudes, up to 2^63.
  const auto value = [](std::uint64_t i) {
    return draw_below(3, Stream::kArrival, i, 0, UINT64_MAX) >>
           draw_below(3, Stream::kArrival, i, 1, 64);
  };
  const auto compare = [&](bool exact) {
    std::vector<std::uint64_t> sorted = all;
    std::sort(sorted.begin(), sorted.end());
    for (const std::uint32_t percent : {1u, 10u, 50u, 90u, 99u, 100u}) {
      const std::uint64_t right = sorted[(percent * sorted.size() + 99) / 100 - 1];
      const std::uint64_t found = quantiles.at_percent(percent);
      CHECK(found >= right);
      CHECK(found - right <= (exact ? 0 : right / 128));
    }
  };
  for (std::uint64_t i = 0; i < Quantiles::kExact; ++i) {
    all.push_back(value(i));
    quantiles.add(all.back());
  }
  CHECK(quantiles.exact());
  compare(true);
  for (std::uint64_t i = Quantiles::kExact; i < Quantiles::kExact + 50'000; ++i) {
    all.push_back(value(i));
    quantiles.add(all.back());
  }
  CHECK_FALSE(quantiles.exact());
  compare(false);
}

TEST_CASE("distinct count: exact to 2^20 numbers, within 1 % beyond") {
  DistinctCount count;
  std::set<std::uint64_t> twin;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const std::uint64_t number = draw_below(1, Stream::kPrefix, i, 0, 5'000);
    count.add(number);
    twin.insert(number);
    REQUIRE(count.count() == twin.size());
  }
  DistinctCount many;
  for (std::uint64_t i = 0; i < DistinctCount::kExact; ++i) many.add(i * 7);
  CHECK(many.exact());
  CHECK(many.count() == DistinctCount::kExact);
  for (std::uint64_t i = DistinctCount::kExact; i < 3 * DistinctCount::kExact; ++i) many.add(i * 7);
  for (std::uint64_t i = 0; i < 1'000; ++i) many.add(i * 7);
  CHECK_FALSE(many.exact());
  const std::uint64_t right = 3 * DistinctCount::kExact;
  CHECK(many.count() > right - right / 100);
  CHECK(many.count() < right + right / 100);
}

TEST_CASE(
    "trace survey: gaps that are equal do not vary; one that is all vary by the root of n - 1") {
  TraceSurvey even;
  for (std::int64_t i = 0; i < 10; ++i)
    even.add({.arrival_ns = i * 1'000, .prompt = 1, .output = 1});
  CHECK(even.gap_variation().numerator == 0);
  CHECK(even.span_ns() == 9'000);
  // Four gaps, three of them 0: mean s/4, variance 3 s^2/16, so the ratio is sqrt(3).
  TraceSurvey burst;
  constexpr std::int64_t kSpan = 4'000'000'000'000'000'000;  // so long that bits must be dropped
  for (const std::int64_t at : {std::int64_t{0}, kSpan, kSpan, kSpan, kSpan}) {
    burst.add({.arrival_ns = at, .prompt = 1, .output = 0, .prefix_ids = {7, 8}});
  }
  const TraceSurvey::Ratio ratio = burst.gap_variation();
  CHECK(ratio.numerator * 1'000 / ratio.denominator == 1'732);
  CHECK(burst.prefix_ids == 10);
  CHECK(burst.distinct_ids.count() == 2);
  CHECK(burst.output.by_width[0] == 5);
  CHECK(burst.prompt.by_width[1] == 5);
}

}  // namespace
}  // namespace pinfold::sim
