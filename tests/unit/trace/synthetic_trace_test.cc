#include "sim/trace/synthetic_trace.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "sim/trace/azure_csv.h"
#include "sim/trace/timestamp.h"

namespace pinfold::sim {
namespace {

Trace read(const SyntheticTrace& made_up) {
  auto trace = parse_azure_csv(synthetic_csv(made_up), "synthetic");
  REQUIRE_MESSAGE(bool(trace), (trace ? "" : describe(trace.error())));
  return std::move(trace.value());
}

TEST_CASE("synthetic trace: reads back as asked, at the ends of the ranges too") {
  SyntheticTrace made_up;
  made_up.requests = 4'000;
  made_up.prompt = {820, 1'024};
  made_up.output = {0, 4};
  const Trace trace = read(made_up);
  REQUIRE(trace.requests.size() == 4'000);
  std::uint64_t prompts = 0;
  std::array<std::uint64_t, 5> outputs{};
  std::uint32_t least = UINT32_MAX;
  std::uint32_t most = 0;
  for (const TraceRequest& request : trace.requests) {
    CHECK(request.arrival_ns == 0);
    prompts += request.prompt;
    least = std::min(least, request.prompt);
    most = std::max(most, request.prompt);
    REQUIRE(request.output <= 4);
    ++outputs[request.output];
  }
  CHECK(least == 820);
  CHECK(most == 1'024);
  // The mean of 4,000 uniform draws from 205 lengths lies within 1 of 922 (its deviation is 0.94), and
  // each of five lengths comes 800 times with a deviation of 25; the seed is fixed.
  CHECK(prompts / 4'000 >= 920);
  CHECK(prompts / 4'000 <= 924);
  for (const std::uint64_t times : outputs) {
    CHECK(times > 700);
    CHECK(times < 900);
  }
}

TEST_CASE(
    "synthetic trace: a longer one begins with the shorter one, another seed is another trace") {
  SyntheticTrace made_up;
  made_up.requests = 50;
  made_up.prompt = {1, 1'000'000};
  made_up.output = {5, 5};
  const std::string shorter = synthetic_csv(made_up);
  made_up.requests = 60;
  CHECK(synthetic_csv(made_up).starts_with(shorter));
  made_up.seed = 1;
  CHECK_FALSE(synthetic_csv(made_up).starts_with(shorter));
}

TEST_CASE("synthetic trace: evenly spaced arrivals, across days, months and a leap day") {
  SyntheticTrace made_up;
  made_up.requests = 100;
  made_up.rate_numerator = 1;
  made_up.rate_denominator = 86'400;  // one a day
  const Trace days = read(made_up);
  CHECK(days.requests[99].arrival_ns == 99LL * 86'400 * 1'000'000'000);
  made_up.rate_numerator = 3;
  made_up.rate_denominator = 1;
  const Trace thirds = read(made_up);
  CHECK(thirds.requests[1].arrival_ns == 333'333'333);
  CHECK(thirds.requests[2].arrival_ns == 666'666'666);
  CHECK(thirds.requests[3].arrival_ns == 1'000'000'000);
}

TEST_CASE("timestamp text: parses back, from 1970 to 2261") {
  constexpr std::int64_t kDay = 86'400LL * 1'000'000'000;
  CHECK(timestamp_text(0) == "1970-01-01 00:00:00.000000000");
  CHECK(timestamp_text(11'016 * kDay - 1) == "2000-02-28 23:59:59.999999999");
  for (std::int64_t day = 0; day < 106'000; day += 13) {
    const std::int64_t ns = day * kDay + day % 86'400 * 1'000'000'000 + day;
    const auto parsed = parse_timestamp(timestamp_text(ns));
    REQUIRE(bool(parsed));
    CHECK(parsed.value().unix_ns == ns);
  }
}

}  // namespace
}  // namespace pinfold::sim
