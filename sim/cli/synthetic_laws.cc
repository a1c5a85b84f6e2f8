#include "sim/cli/synthetic_laws.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "sim/cli/flag_value.h"

namespace pinfold::sim {
namespace {

Fixed fixed(Rational value) { return fixed_ratio(value.numerator, value.denominator); }

}  // namespace

std::vector<Rational> positive_decimals(const std::string& flag, std::string_view text,
                                        std::size_t count, const std::string& expected) {
  std::vector<Rational> values;
  std::string_view rest = text;
  for (;;) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::optional<Rational> value = parse_decimal(rest.substr(0, colon));
    if (!value || value->numerator == 0 || value->numerator / value->denominator > 1'000'000'000) {
      break;
    }
    values.push_back(*value);
    if (colon == rest.size()) {
      if (values.size() != count) break;
      return values;
    }
    rest.remove_prefix(colon + 1);
  }
  throw UsageError{flag + ": found " + in_quotes(text) + ", expected " + expected};
}
std::uint32_t whole_number(const std::string& flag, const std::string& text, Rational value) {
  if (value.denominator == 1 && value.numerator <= 100'000) {
    return static_cast<std::uint32_t>(value.numerator);
  }
  throw UsageError{flag + ": found " + in_quotes(text) + ", expected whole numbers up to 100000"};
}
std::int64_t nanoseconds(Rational value) {
  __extension__ typedef unsigned __int128 Wide;
  const Wide ns = Wide{value.numerator} * 1'000'000'000 / value.denominator;
  constexpr Wide kMost = Wide{10'000'000} * 1'000'000'000;
  if (ns <= kMost) return static_cast<std::int64_t>(ns);
  throw UsageError{"found a time of more than 10,000,000 s, expected at most so much"};
}

ArrivalLaw arrival_law(const std::string& flag, const std::string& text) {
  using Kind = ArrivalLaw::Kind;
  const char* const expected =
      "even, poisson, gamma:CV, weibull:SHAPE, onoff:ON_S:OFF_S or diurnal:PERIOD_S:PEAK";
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string name = text.substr(0, colon);
  const std::string_view rest = std::string_view(text).substr(std::min(colon + 1, text.size()));
  const auto parts = [&](std::size_t count) {
    return positive_decimals(flag, rest, count, expected);
  };
  ArrivalLaw law;
  if (text == "even" || text == "poisson") {
    law.kind = text == "even" ? Kind::kEven : Kind::kPoisson;
  } else if (name == "gamma" || name == "weibull") {
    law.kind = name == "gamma" ? Kind::kGamma : Kind::kWeibull;
    law.parameter = fixed(parts(1)[0]);
    // Beyond these the variates leave the range of the integers behind them.
    if (law.parameter < kFixedOne / 32 || law.parameter > fixed_of(32)) {
      throw UsageError{flag + ": found " + in_quotes(text) +
                       ", expected a parameter from 0.03125 to 32"};
    }
  } else if (name == "onoff") {
    const auto both = parts(2);
    law.kind = Kind::kOnOff;
    law.on_ns = nanoseconds(both[0]);
    law.off_ns = nanoseconds(both[1]);
    if (law.on_ns == 0) throw UsageError{flag + ": found no time on, expected some"};
  } else if (name == "diurnal") {
    const auto both = parts(2);
    law.kind = Kind::kDiurnal;
    law.period_ns = nanoseconds(both[0]);
    law.parameter = fixed(both[1]);
    if (law.parameter < kFixedOne) {
      throw UsageError{flag + ": found " + in_quotes(text) +
                       ", expected a peak of at least 1 trough"};
    }
  } else {
    throw UsageError{flag + ": found " + in_quotes(text) + ", expected " + expected};
  }
  return law;
}

LengthRange length_law(const std::string& flag, const std::string& text, std::uint32_t least) {
  const std::string_view all = text;
  const auto refuse = [&] {
    throw UsageError{flag + ": found " + (text.empty() ? "no value" : in_quotes(text)) +
                     ", expected uniform:LO:HI or one number, with counts from " +
                     std::to_string(least) +
                     " to 4294967295, exponential:MEAN or lognormal:MEDIAN:SIGMA"};
  };
  const auto number = [&](std::string_view digits) {
    std::uint32_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, value);
    if (failure != std::errc() || stop != end || value < least) refuse();
    return value;
  };
  // A law without an upper end gets one, so that prompt and output fit a request together.
  constexpr std::uint32_t kMost = 1u << 30;
  const std::size_t colon = std::min(all.find(':'), all.size());
  const std::string_view name = all.substr(0, colon);
  const std::string_view rest = all.substr(std::min(colon + 1, all.size()));
  if (name == "exponential") {
    return {least, kMost, LengthRange::Law::kExponential, number(rest), 0};
  }
  if (name == "lognormal") {
    const std::size_t second = std::min(rest.find(':'), rest.size());
    const std::optional<Rational> sigma =
        parse_decimal(rest.substr(std::min(second + 1, rest.size())));
    if (!sigma || sigma->numerator / sigma->denominator >= 8) refuse();
    return {least, kMost, LengthRange::Law::kLogNormal, number(rest.substr(0, second)),
            fixed(*sigma)};
  }
  if (colon == all.size()) return {.least = number(all), .most = number(all)};
  if (name != "uniform") refuse();
  const std::size_t second = std::min(rest.find(':'), rest.size());
  const LengthRange range{.least = number(rest.substr(0, second)),
                          .most = number(rest.substr(std::min(second + 1, rest.size())))};
  if (range.least <= range.most) return range;
  throw UsageError{flag + ": found " + in_quotes(text) + ", expected LO up to HI"};
}

}  // namespace pinfold::sim
