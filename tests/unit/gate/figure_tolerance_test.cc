#include "sim/gate/figure_tolerance.h"

#include <doctest/doctest.h>

#include "sim/gate/exact_decimal.h"
#include "sim/gate/figure_change.h"
#include "sim/sweep/requirement.h"

namespace pinfold::sim {
namespace {

FigureTolerance tolerance(const std::string& value) {
  const auto parsed = parse_tolerances("preemptions=" + value, "--tolerance");
  REQUIRE(parsed);
  return parsed.value().front();
}

bool near(std::string_view old, std::string_view now, const std::string& value) {
  return within(old, now, tolerance(value));
}

std::string error_of(std::string_view text) {
  const auto outcome = parse_tolerances(text, "--tolerance");
  return outcome ? "" : describe(outcome.error());
}

ReportField number(const std::string& name, const std::string& text) {
  return {name, ReportField::Kind::kNumber, text};
}

FigureChange compared(const std::string& figure, const std::string& old, const std::string& now,
                      const std::string& tolerances = "") {
  std::vector<FigureTolerance> list;
  if (!tolerances.empty()) list = parse_tolerances(tolerances, "--tolerance").value();
  const ReportField before = number(figure, old);
  const ReportField after = number(figure, now);
  return compare_figures({&before, 1}, {&after, 1}, list).front();
}

TEST_CASE("decimals: distances, products and changes are exact") {
  CHECK(distance("1.25", "1.2") == "0.05");
  CHECK(distance("1.2", "1.25") == "0.05");
  CHECK(distance("3", "3.000") == "0");
  CHECK(distance("-1", "2.5") == "3.5");
  CHECK(distance("1000", "999.999999") == "0.000001");
  CHECK(distance("14452144039217808000000000000000000000", "1") ==
        "14452144039217807999999999999999999999");
  CHECK(product_of_magnitudes("1.5", "100") == "150");
  CHECK(product_of_magnitudes("0", "7.5") == "0");
  CHECK(product_of_magnitudes("0.25", "0.5") == "0.125");
  CHECK(product_of_magnitudes("99999999999999999999", "99999999999999999999") ==
        "9999999999999999999800000000000000000001");
}

TEST_CASE("decimals: a change in percent has one digit, rounded half away from zero") {
  CHECK(change_in_percent("200", "250") == "+25.0%");
  CHECK(change_in_percent("200", "150") == "-25.0%");
  CHECK(change_in_percent("3", "4") == "+33.3%");
  CHECK(change_in_percent("3", "5") == "+66.7%");
  CHECK(change_in_percent("2000", "2001") == "+0.1%");  // 0.05 %, half
  CHECK(change_in_percent("2000", "1999") == "-0.1%");
  CHECK(change_in_percent("1", "1") == "+0.0%");
  CHECK(change_in_percent("0.000", "1").empty());
}

TEST_CASE("tolerance: percent, absolute and exact stop at the last digit") {
  // 1 % of 1000 is 10.
  CHECK(near("1000", "1010", "1%"));
  CHECK(near("1000", "990", "1%"));
  CHECK_FALSE(near("1000", "1010.000001", "1%"));
  CHECK_FALSE(near("1000", "989.999999", "1%"));
  // 0.5 % of 612.5 is 3.0625.
  CHECK(near("612.5", "615.5625", "0.5%"));
  CHECK_FALSE(near("612.5", "615.5626", "0.5%"));
  CHECK(near("0", "0.000", "50%"));
  CHECK_FALSE(near("0", "0.000001", "50%"));  // nothing is near to none
  CHECK(near("7", "10", "3"));
  CHECK_FALSE(near("7", "10.0001", "3"));
  CHECK(near("1.250", "1.25", "exact"));
  CHECK_FALSE(near("1.250", "1.2500001", "exact"));
}

TEST_CASE("tolerance: what is wrong is placed by its column") {
  CHECK(error_of("p99_ttft_ms") ==
        "--tolerance: column 1: found \"p99_ttft_ms\", expected a figure and how far it may be off "
        "(as "
        "p99_ttft_ms=1%)");
  CHECK(error_of("preemptions=1, preemption=2") ==
        "--tolerance: column 16: found the unknown figure \"preemption\", expected a figure of "
        "`pinfold run --format json`, or a pattern as p99_* (did you mean preemptions?)");
  CHECK(error_of("preemptions=-1").find("column 13: found \"-1\"") != std::string::npos);
  CHECK(error_of("preemptions=1e3").find("found \"1e3\"") != std::string::npos);
  CHECK(error_of("preemptions=%").find("found \"%\"") != std::string::npos);
  CHECK(error_of("preemptions=").find("found no value") != std::string::npos);
  CHECK(error_of("").find("found no tolerance") != std::string::npos);
  CHECK(error_of("x*=1").find("unknown figure") != std::string::npos);
  CHECK(error_of(" *_ms = 1% ,preemptions=exact").empty());
}

TEST_CASE("tolerance: the last pattern that matches counts") {
  const auto list = parse_tolerances("*=1%,*_ms=2%,p99_ttft_ms=exact", "--tolerance").value();
  CHECK(tolerance_for("p99_ttft_ms", list)->text() == "exact");
  CHECK(tolerance_for("p50_ttft_ms", list)->text() == "2%");
  CHECK(tolerance_for("steps", list)->text() == "1%");
  CHECK(tolerance_for("steps", {}) == nullptr);
}

TEST_CASE("patterns: a star is any number of characters") {
  CHECK(matches("*", ""));
  CHECK(matches("p9*_ms", "p99_ttft_ms"));
  CHECK(matches("*a*b", "xaxbxb"));
  CHECK_FALSE(matches("p9*_ms", "p99_ttft"));
  CHECK_FALSE(matches("steps", "steps_"));
}

TEST_CASE("directions: the table knows every figure of a run") {
  std::string unknown;
  for (const std::string& figure : requirement_figures()) {
    if (!direction_is_known(figure)) unknown += figure + ' ';
  }
  CHECK(unknown == "");  // say in figure_direction.cc which way it is better
}

TEST_CASE("figures: judged by their direction, worse only beyond the tolerance") {
  CHECK(compared("preemptions", "5", "5").verdict == ChangeVerdict::kSame);
  CHECK(compared("preemptions", "5", "4").verdict == ChangeVerdict::kBetter);
  CHECK(compared("preemptions", "5", "6").verdict == ChangeVerdict::kWorse);
  CHECK(compared("preemptions", "5", "6", "preemptions=1").verdict == ChangeVerdict::kWithin);
  CHECK(compared("preemptions", "5", "6").change == "+1 (+20.0%)");
  CHECK(compared("preemptions", "0", "6").change == "+6");
  CHECK(compared("output_throughput", "100.0", "101").verdict == ChangeVerdict::kBetter);
  CHECK(compared("output_throughput", "100.0", "99").verdict == ChangeVerdict::kWorse);
  CHECK(compared("adjacency.ascending_ppm", "7", "8").verdict == ChangeVerdict::kWorse);
  CHECK(compared("adjacency.ascending_ppm", "7", "6").verdict == ChangeVerdict::kWorse);
  CHECK(compared("events", "7", "6").verdict == ChangeVerdict::kChanged);
  CHECK(compared("events", "7", "6", "events=exact").verdict == ChangeVerdict::kWorse);
  CHECK(compared("events", "7", "6", "*=exact").verdict == ChangeVerdict::kChanged);
  CHECK(compared("verdict", "ok", "stall").verdict == ChangeVerdict::kWorse);
  CHECK(compared("verdict", "stall", "ok").verdict == ChangeVerdict::kBetter);
  CHECK(compared("saturated", "true", "false").verdict == ChangeVerdict::kBetter);
  CHECK(compared("p99_ttft_ms", "5.0", "").verdict == ChangeVerdict::kWorse);
  CHECK(compared("p99_ttft_ms", "", "5.0").verdict == ChangeVerdict::kChanged);
  CHECK(compared("digest", "0123456789012345", "0123456789012346").change.empty());
}

TEST_CASE("figures: those of one run alone are shown and not judged") {
  const ReportField old = number("preemptions", "1");
  const ReportField now = number("sat_out", "1");
  const auto rows = compare_figures({&old, 1}, {&now, 1}, {});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].verdict == ChangeVerdict::kNew);
  CHECK(rows[1].verdict == ChangeVerdict::kGone);
  CHECK_FALSE(any_worse(rows));
}

}  // namespace
}  // namespace pinfold::sim
