#include "sim/gate/figure_tolerance.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/decimal_text.h"
#include "sim/gate/exact_decimal.h"
#include "sim/gate/figure_direction.h"
#include "sim/sweep/requirement.h"
#include "sim/trace/closest_word.h"

namespace pinfold::sim {
namespace {

constexpr std::string_view kExpected = "1% of the baseline's value, a number, or exact";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Digits with at most one point.
bool is_amount(std::string_view text) {
  return parse_decimal(text).has_value() &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

class ToleranceReader {
 public:
  explicit ToleranceReader(const std::string& source) : source_(source) {}

  Outcome<FigureTolerance> read(std::string_view part, std::size_t column) const {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return wrong(column, part.empty() ? "no tolerance" : in_quotes(part),
                   "a figure and how far it may be off", "as p99_ttft_ms=1%");
    }
    FigureTolerance tolerance;
    tolerance.pattern = std::string(trimmed(part.substr(0, equals)));
    if (auto error = check_pattern(tolerance.pattern, column)) return *error;
    const std::string_view value = trimmed(part.substr(equals + 1));
    const std::size_t place = column + equals + 1;
    if (value == "exact") return tolerance;
    const bool percent = value.ends_with('%');
    const std::string_view amount = percent ? value.substr(0, value.size() - 1) : value;
    if (!is_amount(amount)) {
      return wrong(place, value.empty() ? "no value" : in_quotes(value), std::string(kExpected));
    }
    tolerance.kind = percent ? FigureTolerance::Kind::kPercent : FigureTolerance::Kind::kAbsolute;
    tolerance.value = std::string(amount);
    return tolerance;
  }

 private:
  std::optional<InputError> check_pattern(const std::string& pattern, std::size_t column) const {
    const std::span<const std::string> figures = requirement_figures();
    const auto matching = [&](const std::string& figure) { return matches(pattern, figure); };
    if (std::any_of(figures.begin(), figures.end(), matching)) return std::nullopt;
    const std::vector<std::string_view> names(figures.begin(), figures.end());
    const auto close = closest_word(pattern, names);
    return wrong(column, "the unknown figure " + in_quotes(pattern),
                 "a figure of `pinfold run --format json`, or a pattern as p99_*",
                 close ? fmt::format("did you mean {}?", *close) : "");
  }

  InputError wrong(std::size_t column, std::string found, std::string expected,
                   std::string hint = {}) const {
    InputError error;
    error.path = source_;
    error.key = fmt::format("column {}", column);
    error.found = std::move(found);
    error.expected = std::move(expected);
    error.hint = std::move(hint);
    return error;
  }

  const std::string& source_;
};

}  // namespace

std::string FigureTolerance::text() const {
  switch (kind) {
    case Kind::kExact: return "exact";
    case Kind::kPercent: return value + "%";
    case Kind::kAbsolute: return value;
  }
  return "?";
}

Outcome<std::vector<FigureTolerance>> parse_tolerances(std::string_view text,
                                                       const std::string& source) {
  const ToleranceReader reader(source);
  std::vector<FigureTolerance> tolerances;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view part = text.substr(at, end - at);
    const std::size_t first = std::min(part.find_first_not_of(' '), part.size());
    Outcome<FigureTolerance> tolerance = reader.read(trimmed(part), at + first + 1);
    if (!tolerance) return tolerance.error();
    tolerances.push_back(std::move(tolerance.value()));
    at = end + 1;
  }
  return tolerances;
}

const FigureTolerance* tolerance_for(std::string_view figure,
                                     std::span<const FigureTolerance> tolerances) {
  const FigureTolerance* found = nullptr;
  for (const FigureTolerance& tolerance : tolerances) {
    if (matches(tolerance.pattern, figure)) found = &tolerance;
  }
  return found;
}

bool within(std::string_view old, std::string_view now, const FigureTolerance& tolerance) {
  const std::string apart = distance(old, now);
  switch (tolerance.kind) {
    case FigureTolerance::Kind::kExact: return apart == "0";
    case FigureTolerance::Kind::kAbsolute: return compare_decimals(apart, tolerance.value) <= 0;
    case FigureTolerance::Kind::kPercent:
      return compare_decimals(product_of_magnitudes(apart, "100"),
                              product_of_magnitudes(old, tolerance.value)) <= 0;
  }
  return false;
}

}  // namespace pinfold::sim
