#include "sim/sweep/axis_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/decimal_text.h"

namespace pinfold::sim {
namespace {

__extension__ using Wide = unsigned __int128;

InputError wrong(const std::string& flag, std::string found, std::string expected,
                 std::string hint = {}) {
  InputError error;
  error.path = flag;
  error.found = std::move(found);
  error.expected = std::move(expected);
  error.hint = std::move(hint);
  return error;
}

/// Parts between commas outside brackets.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts{""};
  int depth = 0;
  for (const char letter : text) {
    depth += letter == '[' ? 1 : letter == ']' ? -1 : 0;
    if (letter == ',' && depth <= 0) {
      parts.emplace_back();
    } else {
      parts.back() += letter;
    }
  }
  return parts;
}

/// KEY and the text behind `=`.
struct KeyAndRest {
  std::string key;
  std::string rest;
};

Outcome<KeyAndRest> split_key(const std::string& flag, const std::string& text,
                              const std::string& expected) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return wrong(flag, in_quotes(text), expected);
  }
  return KeyAndRest{text.substr(0, equals), text.substr(equals + 1)};
}

/// An axis of one option with these values, each checked and none twice.
Outcome<SweepAxis> axis_of(const std::string& flag, const std::string& key,
                           const std::vector<std::string>& values) {
  SweepAxis axis;
  axis.name = key;
  for (const std::string& value : values) {
    if (value.empty()) return wrong(flag, "an empty value for " + key, "values between commas");
    const Outcome<std::string> text = option_text({key, value, flag});
    if (!text) return text.error();
    const std::vector<Setting> step{{key, text.value()}};
    if (std::find(axis.steps.begin(), axis.steps.end(), step) != axis.steps.end()) {
      return wrong(flag, fmt::format("{}={} twice", key, text.value()), "each value once");
    }
    axis.steps.push_back(step);
  }
  return axis;
}

/// A decimal with at most 9 digits behind the point, below 10^12, in units of 10^-9.
constexpr std::uint64_t kUnit = 1'000'000'000;
std::optional<std::uint64_t> in_units(const std::string& text) {
  const std::optional<Rational> number = parse_decimal(text);
  if (!number || kUnit % number->denominator != 0) return std::nullopt;
  const Wide units = Wide{number->numerator} * (kUnit / number->denominator);
  if (units >= Wide{1'000'000'000'000} * kUnit) return std::nullopt;
  return static_cast<std::uint64_t>(units);
}

}  // namespace

Outcome<SweepAxis> parse_list_axis(const std::string& text) {
  const std::string flag = "-L " + text;
  const Outcome<KeyAndRest> parts = split_key(flag, text, "KEY=a,b,c");
  if (!parts) return parts.error();
  return axis_of(flag, parts.value().key, split(parts.value().rest));
}

Outcome<SweepAxis> parse_range_axis(const std::string& text) {
  constexpr std::size_t kMostValues = 10'000;
  const std::string flag = "-P " + text;
  const std::string expected = "KEY=LO:HI:*F or KEY=LO:HI:+S, as engine.max_num_seqs=32:512:*2";
  const Outcome<KeyAndRest> parts = split_key(flag, text, expected);
  if (!parts) return parts.error();
  const std::string& range = parts.value().rest;
  const std::size_t first = range.find(':');
  const std::size_t second = first == std::string::npos ? first : range.find(':', first + 1);
  if (second == std::string::npos || second + 2 >= range.size()) {
    return wrong(flag, in_quotes(range), expected);
  }
  const auto low = in_units(range.substr(0, first));
  const auto high = in_units(range.substr(first + 1, second - first - 1));
  const auto step = in_units(range.substr(second + 2));
  const char kind = range[second + 1];
  if (!low || !high || !step || (kind != '*' && kind != '+')) {
    return wrong(flag, in_quotes(range), expected);
  }
  if (*low > *high) return wrong(flag, in_quotes(range), "LO up to HI");
  const bool grows = kind == '*' ? *step > kUnit && *low > 0 : *step > 0;
  if (!grows) {
    return wrong(flag, in_quotes(range), "a step that grows",
                 "a factor above 1 from a LO above 0, or a summand above 0");
  }
  std::vector<std::string> values;
  for (Wide value = *low; value <= *high;) {
    values.push_back(decimal_text({static_cast<std::uint64_t>(value), kUnit}));
    if (values.size() > kMostValues) {
      return wrong(flag, in_quotes(range), fmt::format("at most {} values", kMostValues));
    }
    const Wide product = value * *step;
    if (kind == '*' && product % kUnit != 0) {
      return wrong(flag, in_quotes(range), "values with at most 9 digits behind the point");
    }
    value = kind == '*' ? product / kUnit : value + *step;
  }
  return axis_of(flag, parts.value().key, values);
}

Outcome<std::vector<std::string>> parse_figures(const std::string& flag, const std::string& text) {
  std::vector<std::string> figures;
  for (const std::string& name : split(text)) {
    if (auto error = check_figure(name)) {
      error->path = flag;
      return *error;
    }
    if (std::find(figures.begin(), figures.end(), name) != figures.end()) {
      return wrong(flag, name + " twice", "each figure once");
    }
    figures.push_back(name);
  }
  return figures;
}

Outcome<std::vector<std::string>> parse_seeds(const std::string& text) {
  const Outcome<SweepAxis> axis = axis_of("--seeds " + text, "seed", split(text));
  if (!axis) return axis.error();
  std::vector<std::string> seeds;
  for (const std::vector<Setting>& step : axis.value().steps) seeds.push_back(step[0].value);
  return seeds;
}

}  // namespace pinfold::sim
