#include "sim/trace/trace_statistics.h"

#include <doctest/doctest.h>

#include "sim/trace/trace_digest.h"
#include "tests/unit/broken_rule.h"

namespace pinfold::sim {
namespace {

Trace trace_of(std::vector<TraceRequest> requests) { return Trace{"t", std::move(requests)}; }

// Nearest rank: the p-th percentile of n sorted values is number ceil(p * n / 100), counted from 1.
TEST_CASE("trace statistics: percentiles by nearest rank") {
  const TraceStatistics four =
      trace_statistics(trace_of({{0, 40, 0}, {5, 10, 1}, {5, 30, 2}, {9, 20, 3}}));
  CHECK(four.requests == 4);
  CHECK(four.span_ns == 9);
  CHECK(four.prompt.total == 100);
  CHECK(four.prompt.p50 == 20);  // number 2 of 10, 20, 30, 40
  CHECK(four.prompt.p99 == 40);  // number ceil(3.96) = 4
  CHECK(four.prompt.max == 40);
  CHECK(four.output.total == 6);
  CHECK(four.output.p50 == 1);

  std::vector<TraceRequest> hundred;
  for (std::uint32_t i = 1; i <= 100; ++i) hundred.push_back({0, i, 0});
  CHECK(trace_statistics(trace_of(hundred)).prompt.p50 == 50);
  CHECK(trace_statistics(trace_of(hundred)).prompt.p99 == 99);
}

TEST_CASE("trace statistics: of one request, and of none") {
  const TraceStatistics one = trace_statistics(trace_of({{0, 4294967295, 7}}));
  CHECK(one.span_ns == 0);
  CHECK(one.prompt.p50 == 4294967295);
  CHECK(one.prompt.total == 4294967295);
  CHECK(test::broken_rule([] { trace_statistics(trace_of({})); }) == "trace");
}

TEST_CASE("trace digest: of the requests, not of the name") {
  const Trace a{"a", {{0, 5, 6}}};
  const Trace b{"b", {{0, 5, 6}}};
  const Trace c{"a", {{0, 5, 7}}};
  CHECK(trace_digest(a) == trace_digest(b));
  CHECK(trace_digest(a) != trace_digest(c));
  CHECK(trace_digest(a).size() == 16);
}

}  // namespace
}  // namespace pinfold::sim
