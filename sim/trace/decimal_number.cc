#include "sim/trace/decimal_number.h"

#include <charconv>
#include <limits>

namespace pinfold::sim {
namespace {

__extension__ typedef unsigned __int128 Unsigned128;

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

}  // namespace

std::optional<std::int64_t> scaled_decimal(std::string_view text, int places) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const bool negative = at != end && *at == '-';
  if (negative) ++at;

  // 30 digits fit 128 bits with room for rounding; a digit behind them counts as zero, which is less than
  // half of what is kept: such numbers have no nanosecond left in them.
  constexpr int kKept = 30;
  Unsigned128 value = 0;
  int kept = 0;
  int exponent = places;
  bool any = false;
  for (; at != end && is_digit(*at); ++at, any = true) {
    if (kept < kKept) {
      value = value * 10 + static_cast<unsigned>(*at - '0');
      if (value != 0) ++kept;
    } else {
      ++exponent;
    }
  }
  if (!any) return std::nullopt;
  if (at != end && *at == '.') {
    const char* const point = ++at;
    for (; at != end && is_digit(*at); ++at) {
      if (kept < kKept) {
        value = value * 10 + static_cast<unsigned>(*at - '0');
        if (value != 0) ++kept;
        --exponent;
      }
    }
    if (at == point) return std::nullopt;
  }
  if (at != end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at != end && *at == '+') ++at;
    int power = 0;
    const auto [stop, failure] = std::from_chars(at, end, power);
    if (failure != std::errc() || power > 1000 || power < -1000) return std::nullopt;
    at = stop;
    exponent += power;
  }
  if (at != end) return std::nullopt;

  constexpr auto kMost = static_cast<Unsigned128>(std::numeric_limits<std::int64_t>::max());
  for (; exponent > 0 && value != 0; --exponent) {
    value *= 10;
    if (value > kMost) return std::nullopt;
  }
  // All digits but the last are dropped; that one decides, and what stood behind it can only be more.
  for (; exponent < -1 && value != 0; ++exponent) value /= 10;
  if (exponent == -1) value = (value + 5) / 10;
  if (value > kMost) return std::nullopt;
  const auto magnitude = static_cast<std::int64_t>(value);
  return negative ? -magnitude : magnitude;
}

std::optional<std::uint64_t> unsigned_integer(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace pinfold::sim
