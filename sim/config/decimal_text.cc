#include "sim/config/decimal_text.h"

#include <fmt/format.h>

#include <cstdlib>
#include <numeric>

#include "base/check.h"

namespace pinfold::sim {
namespace {

constexpr int kMostDigits = 18;  // 10^18 fits 64 bits

std::uint64_t power_of_ten(int exponent) {
  std::uint64_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

/// A decimal taken apart: value = digits * 10^exponent.
struct Scientific {
  std::uint64_t digits = 0;
  int exponent = 0;
};

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

/// Removes the leading digits from `rest` and returns them.
std::string_view take_digits(std::string_view& rest) {
  std::size_t count = 0;
  while (count < rest.size() && is_digit(rest[count])) ++count;
  const std::string_view digits = rest.substr(0, count);
  rest.remove_prefix(count);
  return digits;
}

bool append(std::string_view digits, Scientific& number) {
  for (const char digit : digits) {
    if (number.digits >= power_of_ten(kMostDigits - 1)) return false;
    number.digits = 10 * number.digits + static_cast<std::uint64_t>(digit - '0');
  }
  return true;
}

std::optional<int> exponent_of(std::string_view rest) {
  if (rest.empty()) return 0;
  if (rest[0] != 'e' && rest[0] != 'E') return std::nullopt;
  rest.remove_prefix(1);
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  const std::string_view digits = take_digits(rest);
  if (digits.empty() || digits.size() > 3 || !rest.empty()) return std::nullopt;
  int exponent = 0;
  for (const char digit : digits) exponent = 10 * exponent + (digit - '0');
  return negative ? -exponent : exponent;
}

std::optional<Scientific> parse_scientific(std::string_view rest) {
  Scientific number;
  const std::string_view whole = take_digits(rest);
  const bool leading_zero = whole.size() > 1 && whole[0] == '0';
  if (whole.empty() || leading_zero || !append(whole, number)) return std::nullopt;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    std::string_view fraction = take_digits(rest);
    if (fraction.empty()) return std::nullopt;
    while (fraction.ends_with('0')) fraction.remove_suffix(1);
    if (!append(fraction, number)) return std::nullopt;
    number.exponent = -static_cast<int>(fraction.size());
  }
  const std::optional<int> exponent = exponent_of(rest);
  if (!exponent) return std::nullopt;
  number.exponent += *exponent;
  return number;
}

}  // namespace

std::optional<Rational> parse_decimal(std::string_view text) {
  std::optional<Scientific> number = parse_scientific(text);
  if (!number) return std::nullopt;
  if (number->digits == 0) return Rational{0, 1};
  while (number->digits % 10 == 0) {
    number->digits /= 10;
    ++number->exponent;
  }
  Rational value{number->digits, 1};
  if (std::abs(number->exponent) > kMostDigits) return std::nullopt;
  const std::uint64_t scale = power_of_ten(std::abs(number->exponent));
  if (number->exponent >= 0) {
    if (value.numerator > power_of_ten(kMostDigits) / scale) return std::nullopt;
    value.numerator *= scale;
  } else {
    value.denominator = scale;
  }
  const std::uint64_t divisor = std::gcd(value.numerator, value.denominator);
  return Rational{value.numerator / divisor, value.denominator / divisor};
}

std::string decimal_text(Rational value) {
  std::string text = fmt::format_int(value.numerator / value.denominator).str();
  std::uint64_t rest = value.numerator % value.denominator;
  if (rest != 0) text += '.';
  for (int digits = 0; rest != 0; ++digits) {
    PINFOLD_CHECK(digits < kMostDigits, "decimals", "a fraction that no decimal writes exactly");
    // rest < denominator <= 10^18, so ten times it fits 64 bits.
    text += static_cast<char>('0' + 10 * rest / value.denominator);
    rest = 10 * rest % value.denominator;
  }
  return text;
}

}  // namespace pinfold::sim
