#include "sim/report/expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/config/decimal_text.h"
#include "sim/trace/closest_word.h"

namespace pinfold::sim {
namespace {

bool holds(const ExpectedValue& expected, const ReportField& field) {
  if (field.kind == ReportField::Kind::kText)
    return expected.is_text && expected.text == field.text;
  if (expected.is_text) return false;
  if (field.kind == ReportField::Kind::kNone || expected.text.empty()) {
    return field.kind == ReportField::Kind::kNone && expected.text.empty();
  }
  if (expected.text == field.text) return true;
  const std::optional<Rational> a = parse_decimal(expected.text);
  const std::optional<Rational> b = parse_decimal(field.text);
  return a && b && a->numerator == b->numerator && a->denominator == b->denominator;
}

std::string shown(const std::string& text) { return text.empty() ? "null" : text; }

}  // namespace

std::vector<std::string> differences(std::span<const ExpectedValue> expected,
                                     std::span<const ReportField> found) {
  std::vector<std::string_view> names;
  for (const ReportField& field : found) names.push_back(field.name);
  std::vector<std::string> texts;
  for (const ExpectedValue& value : expected) {
    const auto field = std::find_if(found.begin(), found.end(), [&](const ReportField& candidate) {
      return candidate.name == value.name;
    });
    if (field == found.end()) {
      const auto close = closest_word(value.name, names);
      texts.push_back(fmt::format("{}: no figure of a run has this name{}", value.name,
                                  close ? fmt::format(" (did you mean {}?)", *close) : ""));
    } else if (!holds(value, *field)) {
      texts.push_back(fmt::format("{}: found {}, expected {}", value.name, shown(field->text),
                                  shown(value.text)));
    }
  }
  return texts;
}

}  // namespace pinfold::sim
