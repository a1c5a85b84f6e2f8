#include "sim/sweep/requirement.h"

#include <doctest/doctest.h>

#include <vector>

namespace pinfold::sim {
namespace {

std::string error_of(std::string_view text) {
  const auto outcome = parse_requirements(text, "--slo");
  return outcome ? "" : describe(outcome.error());
}

TEST_CASE("requirement: every comparison, blanks and several at once") {
  const auto outcome = parse_requirements(
      " p99_ttft_ms<=500 ,preemptions == 0,completed>=10, mean_itl_ms <9.5,blocks.peak_owned!=3,"
      "output_throughput>1, verdict==ok, saturated!=true",
      "--slo");
  REQUIRE(outcome);
  std::vector<std::string> texts;
  for (const Requirement& one : outcome.value()) texts.push_back(one.text());
  CHECK(texts == std::vector<std::string>{"p99_ttft_ms<=500", "preemptions==0", "completed>=10",
                                          "mean_itl_ms<9.5", "blocks.peak_owned!=3",
                                          "output_throughput>1", "verdict==ok", "saturated!=true"});
}

TEST_CASE("requirement: what is wrong is placed by its column and explained") {
  struct Case {
    std::string_view text;
    std::string_view error;
  };
  // Columns are counted by hand, from 1.
  const Case cases[] = {
      {"", "column 1: found no requirement"},
      {"  ", "column 3: found no requirement"},
      {"preemptions==0,", "column 16: found no requirement"},
      {",preemptions==0", "column 1: found no requirement"},
      {"preemptions", "column 1: found \"preemptions\", expected a comparison"},
      {"preemption==0", "column 1: found the unknown figure \"preemption\""},
      {"preemption==0", "(did you mean preemptions?)"},
      {"p99_tft_ms<=5", "(did you mean p99_ttft_ms?)"},
      {"peak_owned<=5", "(did you mean blocks.peak_owned?)"},
      {"zzz<=5", "(`pinfold run --format csv` names them all)"},
      {"<=5", "column 1: found no figure"},
      {"preemptions=0", "column 12: found \"=\", expected one of < <= == != >= > (equality is ==)"},
      {"preemptions=<0", "column 12: found \"=<\""},
      {"preemptions=>0", "column 12: found \"=>\""},
      {"preemptions<>0", "column 12: found \"<>\""},
      {"preemptions~0", "column 12: found \"~\""},
      {"preemptions !0", "column 13: found \"!\""},
      {"preemptions<=", "column 14: found no value"},
      {"preemptions<= ", "column 14: found no value"},
      {"preemptions<=x", "column 14: found \"x\", expected a decimal"},
      {"preemptions<=500ms", "stands in its name"},
      {"preemptions<=1e3", "column 14: found \"1e3\""},
      {"preemptions<=1.", "column 14: found \"1.\""},
      {"preemptions<=.5", "column 14: found \".5\""},
      {"preemptions<=1.2.3", "column 14: found \"1.2.3\""},
      {"preemptions<=1 2", "column 14: found \"1 2\""},
      {"preemptions<=+1", "column 14: found \"+1\""},
      {"preemptions<=--1", "column 14: found \"--1\""},
      {"verdict<=ok", "column 8: found \"<=\", expected == or != (verdict is a word)"},
      {"digest>1", "column 7: found \">\""},
      {"saturated==maybe", "column 12: found \"maybe\", expected true or false"},
      {"saturated<true", "column 10: found \"<\""},
      {"preemptions==0, preemptions==0", "column 17: found \"preemptions==0\" twice"},
      {"preemptions==0, completed==x", "column 28: found \"x\""},
  };
  for (const Case& one : cases) {
    CAPTURE(one.text);
    const std::string error = error_of(one.text);
    CAPTURE(error);
    CHECK(error.starts_with("--slo: column "));
    CHECK(error.find(one.error) != std::string::npos);
  }
}

TEST_CASE("requirement: decimals are compared exactly") {
  struct Case {
    std::string_view a, b;
    int order;
  };
  const Case cases[] = {
      {"1", "1.000", 0},
      {"0.1", "0.10", 0},
      {"0.3", "0.30000000000000004", -1},  // what binary floating point makes of 0.1 + 0.2
      {"9", "10", -1},
      {"10.5", "10.49", 1},
      {"007", "7", 0},
      {"340282366920938463463374607431768211455", "340282366920938463463374607431768211456", -1},
      {"-1", "1", -1},
      {"-2", "-1", -1},
      {"-0", "0.00", 0},
      {"-0.5", "-0.25", -1},
      {"0", "0.000000001", -1},
  };
  for (const Case& one : cases) {
    CAPTURE(one.a);
    CAPTURE(one.b);
    CHECK(compare_decimals(one.a, one.b) == one.order);
    CHECK(compare_decimals(one.b, one.a) == -one.order);
  }
}

TEST_CASE("requirement: a run meets it or shows what it has instead") {
  using Kind = ReportField::Kind;
  const std::vector<ReportField> figures{{"p99_ttft_ms", Kind::kNumber, "500.000000"},
                                         {"preemptions", Kind::kNumber, "3"},
                                         {"verdict", Kind::kText, "stall"},
                                         {"saturated", Kind::kNumber, "false"},
                                         {"p99_tpot_ms", Kind::kNone, ""}};
  const auto found = [&](std::string_view text) {
    const auto requirements = parse_requirements(text, "--slo");
    REQUIRE(requirements);
    return unmet(requirements.value().front(), figures).value_or("met");
  };
  CHECK(found("p99_ttft_ms<=500") == "met");
  CHECK(found("p99_ttft_ms<500") == "500.000000");
  CHECK(found("p99_ttft_ms>=500") == "met");
  CHECK(found("p99_ttft_ms==500") == "met");
  CHECK(found("preemptions>3") == "3");
  CHECK(found("preemptions!=3") == "3");
  CHECK(found("preemptions!=4") == "met");
  CHECK(found("verdict==ok") == "stall");
  CHECK(found("verdict!=ok") == "met");
  CHECK(found("saturated==false") == "met");
  CHECK(found("saturated!=false") == "false");
  // A figure without samples meets nothing.
  CHECK(found("p99_tpot_ms<=1000") == "no value");
  CHECK(found("p99_tpot_ms!=1") == "no value");
  CHECK(found("completed==1") == "no value");
}

}  // namespace
}  // namespace pinfold::sim
