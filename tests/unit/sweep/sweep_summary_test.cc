#include "sim/sweep/sweep_summary.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace pinfold::sim {
namespace {

/// Two axes, x of three steps and y of two, two seeds, one trace: 12 cells whose two figures are given
/// by the test, `output_throughput` (more is better) and `p99_ttft_ms` (less is).
struct Table {
  SweepResult result;

  Table() {
    result.spec.traces = {{"t", "t"}};
    result.spec.axes.resize(2);
    result.spec.axes[0].name = "x";
    result.spec.axes[0].steps.resize(3);
    result.spec.axes[1].name = "y";
    result.spec.axes[1].steps.resize(2);
    result.spec.figures = {"output_throughput", "p99_ttft_ms"};
    result.plan.seeds = 2;
  }

  void point(std::size_t x, std::size_t y, std::initializer_list<const char*> throughput,
             std::initializer_list<const char*> ttft, RunStatus status = RunStatus::kOk) {
    auto late = ttft.begin();
    for (const char* const rate : throughput) {
      SweepConfig config;
      config.steps = {x, y};
      result.plan.cells.push_back({0, result.plan.configs.size()});
      result.plan.configs.push_back(config);
      using Kind = ReportField::Kind;
      RunRecord record;
      record.status = status;
      record.figures = {{"output_throughput", Kind::kNumber, rate},
                        {"p99_ttft_ms", Kind::kNumber, *late++}};
      result.record_of.emplace_back(result.records.size());
      result.records.push_back(record);
    }
  }
};

TEST_CASE("sweep summary: intervals, best, front and sensitivity of a hand-made sweep") {
  Table table;
  table.point(0, 0, {"10", "12"}, {"5.5", "4.5"});  // mean 11, 5
  table.point(0, 1, {"20", "20"}, {"9", "9"});      // mean 20, 9
  table.point(1, 0, {"11", "11"}, {"6", "6"});      // mean 11, 6: beaten by the first
  table.point(1, 1, {"21", "19"}, {"9", "9"});      // mean 20, 9: as good as the second
  table.point(2, 0, {"30", "30"}, {"1", "1"}, RunStatus::kFailed);  // counts in nothing
  table.point(2, 1, {"15", "15"}, {"7.25", "7.75"});                // mean 15, 7.5
  const SweepSummary summary = summarize(table.result);
  CHECK(summary.ok == 10);
  CHECK(summary.failed == 2);

  REQUIRE(summary.points.size() == 6);
  const SeedInterval& first = *summary.points[0].values[0];
  CHECK(first.low == Unsigned128{10} * kFigureUnit);
  CHECK(first.high == Unsigned128{12} * kFigureUnit);
  CHECK(first.sum == Unsigned128{22} * kFigureUnit);

  REQUIRE(summary.best.size() == 2);
  CHECK(summary.best[0].point == 1);  // 20, and one more with it
  CHECK(summary.best[0].ties == 1);
  CHECK(summary.best[1].point == 0);  // 5 ms
  CHECK(summary.best[1].ties == 0);

  REQUIRE(summary.fronts.size() == 1);
  CHECK(summary.fronts[0].points == std::vector<std::size_t>{1, 3, 5, 0});

  // x with y = 0: points 0 and 2 (the failed one is out); with y = 1: points 1, 3, 5.
  REQUIRE(summary.sensitivities.size() == 4);
  const Sensitivity& x_rate = summary.sensitivities[0];
  CHECK(x_rate.groups == 2);
  CHECK(x_rate.points == 5);
  CHECK(x_rate.spread_sum == Unsigned128{2 * (0 + 5)} * kFigureUnit);
  CHECK(x_rate.spread_most == Unsigned128{2 * 5} * kFigureUnit);
  const Sensitivity& x_ttft = summary.sensitivities[1];
  CHECK(x_ttft.spread_sum == Unsigned128{2 * 1 + 3} * kFigureUnit);  // 6 - 5, and 9 - 7.5, twice
  // y: x = 0 and x = 1; with x = 2 there is one point left.
  const Sensitivity& y_rate = summary.sensitivities[2];
  CHECK(y_rate.groups == 2);
  CHECK(y_rate.spread_sum == Unsigned128{2 * (9 + 9)} * kFigureUnit);
}

TEST_CASE("sweep summary: the front agrees with comparing all pairs") {
  Table table;
  std::vector<std::pair<unsigned, unsigned>> values;
  unsigned state = 7;
  for (std::size_t i = 0; i < 60; ++i) {
    state = state * 1'103'515'245U + 12'345U;
    values.emplace_back((state >> 16) % 12, (state >> 24) % 12);
    const std::string rate = std::to_string(values.back().first);
    const std::string late = std::to_string(values.back().second);
    table.point(i, 0, {rate.c_str(), rate.c_str()}, {late.c_str(), late.c_str()});
  }
  std::vector<std::size_t> expected;
  for (std::size_t i = 0; i < values.size(); ++i) {
    bool beaten = false;
    for (const auto& other : values) {
      beaten |=
          other.first >= values[i].first && other.second <= values[i].second && other != values[i];
    }
    if (!beaten) expected.push_back(i);
  }
  std::vector<std::size_t> front = summarize(table.result).fronts.at(0).points;
  std::sort(front.begin(), front.end());
  CHECK(front == expected);
}

}  // namespace
}  // namespace pinfold::sim
