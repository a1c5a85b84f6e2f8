#include "sim/sweep/requirement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/trace/closest_word.h"

namespace pinfold::sim {
namespace {

struct Sign {
  std::string_view text;
  Comparison comparison;
};

// Longer signs first: `<=` starts with `<`.
constexpr std::array<Sign, 6> kSigns{
    Sign{"<=", Comparison::kAtMost}, Sign{">=", Comparison::kAtLeast},
    Sign{"==", Comparison::kEqual},  Sign{"!=", Comparison::kNotEqual},
    Sign{"<", Comparison::kLess},    Sign{">", Comparison::kGreater},
};

/// Every optional figure is asked for once, so that the list is complete.
std::vector<ReportField> figures_of_any_run() {
  RunResult result;
  result.verdict = Verdict::kStall;  // has a detail
  result.goodput = {.ttft_ns = 0, .tpot_ns = 0, .e2el_ns = 0};
  result.prefix_reuse = true;
  result.store = true;
  result.measured_to_ns = Measurement::kForever;
  return run_fields(result, Provenance{});
}

const std::vector<ReportField>& known_figures() {
  static const std::vector<ReportField> figures = figures_of_any_run();
  return figures;
}

bool is_blank(char letter) { return letter == ' ' || letter == '\t' || letter == '\n'; }
bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

bool is_decimal(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view rest = text.substr(std::min(point + 1, text.size()));
  const auto digits = [](std::string_view part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), is_digit);
  };
  return digits(whole) && (point == text.size() || digits(rest));
}

bool is_truth(std::string_view text) { return text == "true" || text == "false"; }

/// Whether a figure is a number, by what it is in some run; sums of 128 bits are printed as text.
bool is_number(const ReportField& known) {
  const std::string_view text = known.text;
  switch (known.kind) {
    case ReportField::Kind::kNumber: return !is_truth(text);
    // A digest has leading zeros, a number has none.
    case ReportField::Kind::kText: return is_decimal(text) && !text.starts_with("00");
    case ReportField::Kind::kNone: break;
  }
  // A device's properties are words but for its errors.
  return !known.name.starts_with("device.") || known.name.ends_with("_percent");
}

constexpr const char* kDecimalExpected = "a decimal, as 500 or 0.25";

/// One comma-separated part, without the blanks around it.
struct Part {
  std::string_view text;
  std::size_t column;  // of its first byte, from 1
};

std::vector<Part> parts_of(std::string_view text) {
  std::vector<Part> parts;
  std::size_t at = 0;
  for (;;) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::size_t first = at;
    std::size_t last = end;
    while (first < last && is_blank(text[first])) ++first;
    while (last > first && is_blank(text[last - 1])) --last;
    parts.push_back({text.substr(first, last - first), first + 1});
    if (end == text.size()) return parts;
    at = end + 1;
  }
}

class RequirementReader {
 public:
  explicit RequirementReader(const std::string& source) : source_(source) {}

  Outcome<Requirement> read(const Part& part) const {
    const std::size_t at = part.text.find_first_of("<>=!~");
    if (part.text.empty()) {
      return wrong(part.column, "no requirement", "a figure, a comparison and a value",
                   "as p99_ttft_ms<=500");
    }
    if (at == std::string_view::npos) {
      return wrong(part.column, in_quotes(part.text), "a comparison behind the figure",
                   "one of < <= == != >= >");
    }
    Requirement requirement;
    std::string_view figure = part.text.substr(0, at);
    while (!figure.empty() && is_blank(figure.back())) figure.remove_suffix(1);
    requirement.figure = std::string(figure);
    const ReportField* known = nullptr;
    for (const ReportField& field : known_figures()) {
      if (field.name == figure) known = &field;
    }
    if (known == nullptr) return unknown_figure(part, figure);

    std::string_view rest = part.text.substr(at);
    const std::string_view signs =
        rest.substr(0, std::min(rest.find_first_not_of("<>=!~"), rest.size()));
    const auto sign = std::find_if(kSigns.begin(), kSigns.end(),
                                   [&](const Sign& one) { return one.text == signs; });
    if (sign == kSigns.end()) {
      return wrong(part.column + at, in_quotes(signs), "one of < <= == != >= >",
                   signs == "=" ? "equality is ==" : "");
    }
    requirement.comparison = sign->comparison;
    requirement.number = is_number(*known);
    rest.remove_prefix(signs.size());
    while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
    requirement.value = std::string(rest);
    const std::size_t column = part.column + part.text.size() - rest.size();
    if (auto error = check_value(*known, requirement, column, part.column + at)) return *error;
    return requirement;
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

 private:
  InputError unknown_figure(const Part& part, std::string_view figure) const {
    const std::span<const std::string> names = requirement_figures();
    const std::vector<std::string_view> views(names.begin(), names.end());
    std::string found = figure.empty() ? "no figure" : "the unknown figure " + in_quotes(figure);
    std::string hint = "`pinfold run --format csv` names them all";
    if (const auto close = closest_word(figure, views)) {
      hint = fmt::format("did you mean {}?", *close);
    } else {
      // "peak_owned" alone: the figure of a group that ends so.
      for (const std::string_view name : views) {
        if (figure.empty() || !name.ends_with("." + std::string(figure))) continue;
        hint = fmt::format("did you mean {}?", name);
        break;
      }
    }
    return wrong(part.column, std::move(found), "a figure of `pinfold run --format json`",
                 std::move(hint));
  }

  std::optional<InputError> check_value(const ReportField& known, const Requirement& requirement,
                                        std::size_t column, std::size_t sign_column) const {
    const std::string& value = requirement.value;
    if (value.empty()) {
      return wrong(column, "no value", requirement.number ? kDecimalExpected : "a word");
    }
    if (requirement.number) {
      if (is_decimal(value)) return std::nullopt;
      const std::size_t digits = std::min(value.find_first_not_of("0123456789."), value.size());
      return wrong(column, in_quotes(value), kDecimalExpected,
                   is_decimal(value.substr(0, digits))
                       ? "the unit is the figure's own and stands in its name"
                       : "");
    }
    if (is_truth(known.text) && !is_truth(value)) {
      return wrong(column, in_quotes(value), "true or false");
    }
    if (requirement.comparison == Comparison::kEqual ||
        requirement.comparison == Comparison::kNotEqual) {
      return std::nullopt;
    }
    return wrong(sign_column, in_quotes(text_of(requirement.comparison)),
                 "== or !=", requirement.figure + " is a word");
  }

  const std::string& source_;
};

bool holds(Comparison comparison, int order) {
  switch (comparison) {
    case Comparison::kLess: return order < 0;
    case Comparison::kAtMost: return order <= 0;
    case Comparison::kEqual: return order == 0;
    case Comparison::kNotEqual: return order != 0;
    case Comparison::kAtLeast: return order >= 0;
    case Comparison::kGreater: return order > 0;
  }
  return false;
}

/// Of two decimals without a sign.
int compare_magnitudes(std::string_view a, std::string_view b) {
  struct Parts {
    std::string_view whole;
    std::string_view fraction;
  };
  const auto split = [](std::string_view text) {
    const std::size_t point = std::min(text.find('.'), text.size());
    Parts parts{text.substr(0, point), text.substr(std::min(point + 1, text.size()))};
    while (!parts.whole.empty() && parts.whole.front() == '0') parts.whole.remove_prefix(1);
    while (!parts.fraction.empty() && parts.fraction.back() == '0') parts.fraction.remove_suffix(1);
    return parts;
  };
  const Parts left = split(a);
  const Parts right = split(b);
  if (left.whole.size() != right.whole.size()) {
    return left.whole.size() < right.whole.size() ? -1 : 1;
  }
  const int whole = left.whole.compare(right.whole);
  // Without trailing zeros the shorter of two fractions with a common start is the smaller one.
  const int order = whole != 0 ? whole : left.fraction.compare(right.fraction);
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

bool is_zero(std::string_view text) { return text.find_first_not_of("-0.") == std::string::npos; }

}  // namespace

std::string_view text_of(Comparison comparison) {
  for (const Sign& sign : kSigns) {
    if (sign.comparison == comparison) return sign.text;
  }
  return "?";
}

std::string Requirement::text() const {
  return fmt::format("{}{}{}", figure, text_of(comparison), value);
}

std::span<const std::string> requirement_figures() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const ReportField& field : known_figures()) list.push_back(field.name);
    return list;
  }();
  return names;
}

Outcome<std::vector<Requirement>> parse_requirements(std::string_view text,
                                                     const std::string& source) {
  const RequirementReader reader(source);
  std::vector<Requirement> requirements;
  for (const Part& part : parts_of(text)) {
    const Outcome<Requirement> requirement = reader.read(part);
    if (!requirement) return requirement.error();
    for (const Requirement& other : requirements) {
      if (other.text() != requirement.value().text()) continue;
      return reader.wrong(part.column, in_quotes(part.text) + " twice", "it once");
    }
    requirements.push_back(requirement.value());
  }
  return requirements;
}

int compare_decimals(std::string_view a, std::string_view b) {
  const bool a_negative = a.starts_with('-') && !is_zero(a);
  const bool b_negative = b.starts_with('-') && !is_zero(b);
  if (a_negative != b_negative) return a_negative ? -1 : 1;
  if (a.starts_with('-')) a.remove_prefix(1);
  if (b.starts_with('-')) b.remove_prefix(1);
  return a_negative ? compare_magnitudes(b, a) : compare_magnitudes(a, b);
}

std::optional<std::string> unmet(const Requirement& requirement,
                                 std::span<const ReportField> figures) {
  for (const ReportField& field : figures) {
    if (field.name != requirement.figure) continue;
    if (field.kind == ReportField::Kind::kNone) break;
    const int words = field.text == requirement.value ? 0 : 1;
    const int order = requirement.number ? compare_decimals(field.text, requirement.value) : words;
    if (holds(requirement.comparison, order)) return std::nullopt;
    return field.text;
  }
  return "no value";
}

}  // namespace pinfold::sim
