#include "sim/report/check_report.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace pinfold::sim {
namespace {

TEST_CASE("xml: markup, quotes, line ends, control characters and broken UTF-8") {
  CHECK(xml_escaped("a<b>&\"'c") == "a&lt;b&gt;&amp;&quot;&#39;c");
  CHECK(xml_escaped("]]>") == "]]&gt;");
  CHECK(xml_escaped("a\nb\tc\rd") == "a&#10;b&#9;c&#13;d");
  CHECK(xml_escaped(std::string_view("a\0b\x1b[31m", 8)) ==
        "a\xEF\xBF\xBD"
        "b\xEF\xBF\xBD[31m");
  CHECK(xml_escaped("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80") ==
        "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
  CHECK(xml_escaped("\xC3(") == "\xEF\xBF\xBD(");                                // cut off
  CHECK(xml_escaped("\xC0\xAF") == "\xEF\xBF\xBD\xEF\xBF\xBD");                  // overlong
  CHECK(xml_escaped("\xED\xA0\x80") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // surrogate
  CHECK(xml_escaped("\xEF\xBF\xBE") == "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // U+FFFE
  CHECK(xml_escaped("\xF4\x90\x80\x80").size() == 12);                           // beyond U+10FFFF
}

TEST_CASE("github: data and properties are escaped as the runner reads them") {
  CHECK(github_data("100% of\r\na:b,c") == "100%25 of%0D%0Aa:b,c");
  CHECK(github_property("100% of\r\na:b,c") == "100%25 of%0D%0Aa%3Ab%2Cc");
  CHECK(github_data("\x1b[31m") == "?[31m");
}

CheckResult with_worse(std::size_t rows) {
  CheckResult result;
  result.name = "n";
  result.state = CheckState::kFailed;
  for (std::size_t n = 0; n < rows; ++n) {
    FigureChange row;
    row.figure = "f" + std::to_string(n);
    row.old = "1";
    row.now = "2";
    row.change = "+1 (+100.0%)";
    row.tolerance = "exact";
    row.better = Better::kLower;
    row.verdict = ChangeVerdict::kWorse;
    result.figures.push_back(row);
  }
  return result;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_CASE("github: nine of a kind, then how many more") {
  const CheckResult nine = with_worse(9);
  CHECK(lines_of(check_github({&nine, 1})) == 9);
  const CheckResult twelve = with_worse(12);
  const std::string text = check_github({&twelve, 1});
  CHECK(lines_of(text) == 10);
  CHECK(text.ends_with("::error title=pinfold check::3 more\n"));
  CHECK(text.starts_with(
      "::error title=pinfold check n::f0: 1 -> 2, +1 (+100.0%25), tolerance exact\n"));
}

}  // namespace
}  // namespace pinfold::sim
