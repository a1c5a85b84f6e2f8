#include <fmt/format.h>

#include "sim/report/check_report.h"
#include "sim/report/difference_text.h"

namespace pinfold::sim {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Bytes of the UTF-8 sequence at `at`, 0 where there is none that XML 1.0 may hold.
std::size_t sequence_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t n) {
    return at + n < text.size() ? static_cast<unsigned char>(text[at + n]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) {
    return first >= 0x20 || first == '\t' || first == '\n' || first == '\r' ? 1 : 0;
  }
  std::size_t length = 0;
  if (first >= 0xC2 && first <= 0xDF) length = 2;
  if ((first & 0xF0U) == 0xE0U) length = 3;
  if (first >= 0xF0 && first <= 0xF4) length = 4;
  for (std::size_t n = 1; n < length; ++n) {
    if ((byte(n) & 0xC0U) != 0x80U) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second >= 0xA0;
  const bool beyond = first == 0xF4 && second >= 0x90;
  const bool no_character = first == 0xEF && second == 0xBF && byte(2) >= 0xBE;  // U+FFFE, U+FFFF
  return overlong || surrogate || beyond || no_character ? 0 : length;
}

struct Case {
  std::string name;
  std::string failure;  // empty: it passed
};

std::vector<Case> cases_of(const CheckResult& result) {
  std::vector<Case> cases;
  for (const RequirementResult& row : result.requirements) {
    cases.push_back({row.requirement.text(),
                     row.holds ? ""
                               : fmt::format("required {}, found {}", row.requirement.text(),
                                             row.found.empty() ? "no value" : row.found)});
  }
  for (const FigureChange& row : result.figures) {
    if (row.better == Better::kNeither) continue;
    std::string failure;
    if (row.verdict == ChangeVerdict::kWorse) {
      failure = fmt::format("{}: baseline {}, now {}, change {}, tolerance {}", row.figure,
                            row.old.empty() ? "no value" : row.old,
                            row.now.empty() ? "no value" : row.now,
                            row.change.empty() ? "-" : row.change, row.tolerance);
    }
    cases.push_back({row.figure + " against the baseline", std::move(failure)});
  }
  return cases;
}

void add_suite(std::string& xml, const CheckResult& result) {
  const std::string name = xml_escaped(result.name);
  const std::vector<Case> cases = cases_of(result);
  std::size_t failures = 0;
  for (const Case& one : cases) failures += one.failure.empty() ? 0U : 1U;
  const bool error = result.state == CheckState::kNotComparable;
  xml += fmt::format(R"(  <testsuite name="{}" tests="{}" failures="{}" errors="{}" skipped="0">)"
                     "\n",
                     name, cases.size() + (error ? 1 : 0), failures, error ? 1 : 0);
  for (const Case& one : cases) {
    xml += fmt::format(R"(    <testcase classname="{}" name="{}")", name, xml_escaped(one.name));
    if (one.failure.empty()) {
      xml += "/>\n";
    } else {
      xml += fmt::format(">\n      <failure message=\"{0}\">{0}</failure>\n    </testcase>\n",
                         xml_escaped(one.failure));
    }
  }
  if (error) {
    std::string reasons;
    for (const std::string& reason : result.incomparable) reasons += reason + '\n';
    xml += fmt::format(
        "    <testcase classname=\"{0}\" name=\"baseline\">\n      <error message=\"not "
        "comparable\">{1}</error>\n    </testcase>\n",
        name, xml_escaped(reasons));
  }
  std::string output;
  if (result.difference) output += difference_text(*result.difference, "baseline", "now");
  for (const std::string& note : result.notes) output += note + '\n';
  if (!output.empty()) xml += "    <system-out>" + xml_escaped(output) + "</system-out>\n";
  xml += "  </testsuite>\n";
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string xml;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_at(text, at);
    if (length == 0) {
      xml += kReplacement;
      ++at;
      continue;
    }
    switch (text[at]) {
      case '&': xml += "&amp;"; break;
      case '<': xml += "&lt;"; break;
      case '>': xml += "&gt;"; break;
      case '"': xml += "&quot;"; break;
      case '\'': xml += "&#39;"; break;
      // A parser turns these into blanks in an attribute.
      case '\t': xml += "&#9;"; break;
      case '\n': xml += "&#10;"; break;
      case '\r': xml += "&#13;"; break;
      default: xml += text.substr(at, length);
    }
    at += length;
  }
  return xml;
}

std::string check_junit(std::span<const CheckResult> results) {
  std::string suites;
  for (const CheckResult& result : results) add_suite(suites, result);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"pinfold check\">\n" +
         suites + "</testsuites>\n";
}

}  // namespace pinfold::sim
