#include "sim/trace/fixed_point.h"

#include <array>
#include <bit>

#include "base/check.h"

namespace pinfold::sim {
namespace {

__extension__ typedef unsigned __int128 Wide;

// ln(1 + 2^-k) * 2^64 for k = 1 to 64, rounded to the nearest integer.
constexpr std::array<std::uint64_t, 64> kLogs{
    0x67CC8FB2FE612FCBu, 0x391FEF8F35344358u, 0x1E27076E2AF2E5EAu, 0x0F85186008B15331u,
    0x07E0A6C39E0CC013u, 0x03F815161F807C7Au, 0x01FE02A6B1067890u, 0x00FF805515885E02u,
    0x007FE00AA6AC439Au, 0x003FF8015515621Fu, 0x001FFE002AA6AB11u, 0x000FFF8005551559u,
    0x0007FFE000AAA6ABu, 0x0003FFF800155515u, 0x0001FFFE0002AAA7u, 0x0000FFFF80005555u,
    0x00007FFFE0000AABu, 0x00003FFFF8000155u, 0x00001FFFFE00002Bu, 0x00000FFFFF800005u,
    0x000007FFFFE00001u, 0x000003FFFFF80000u, 0x000001FFFFFE0000u, 0x000000FFFFFF8000u,
    0x0000007FFFFFE000u, 0x0000003FFFFFF800u, 0x0000001FFFFFFE00u, 0x0000000FFFFFFF80u,
    0x00000007FFFFFFE0u, 0x00000003FFFFFFF8u, 0x00000001FFFFFFFEu, 0x0000000100000000u,
    0x0000000080000000u, 0x0000000040000000u, 0x0000000020000000u, 0x0000000010000000u,
    0x0000000008000000u, 0x0000000004000000u, 0x0000000002000000u, 0x0000000001000000u,
    0x0000000000800000u, 0x0000000000400000u, 0x0000000000200000u, 0x0000000000100000u,
    0x0000000000080000u, 0x0000000000040000u, 0x0000000000020000u, 0x0000000000010000u,
    0x0000000000008000u, 0x0000000000004000u, 0x0000000000002000u, 0x0000000000001000u,
    0x0000000000000800u, 0x0000000000000400u, 0x0000000000000200u, 0x0000000000000100u,
    0x0000000000000080u, 0x0000000000000040u, 0x0000000000000020u, 0x0000000000000010u,
    0x0000000000000008u, 0x0000000000000004u, 0x0000000000000002u, 0x0000000000000001u};
constexpr Fixed kLogTwo = Fixed{0xB17217F7D1CF79ACu};
// ln(2 pi) / 2.
constexpr Fixed kHalfLogTwoPi = Fixed{0xEB3F8E4325F5A535u};

int width(Wide value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  const auto low = static_cast<std::uint64_t>(value);
  return static_cast<int>(high != 0 ? 64 + std::bit_width(high) : std::bit_width(low));
}

Wide magnitude(Fixed value) {
  return value < 0 ? -static_cast<Wide>(value) : static_cast<Wide>(value);
}

Fixed with_sign(Wide value, bool negative) {
  PINFOLD_CHECK(value >> 127 == 0, "trace", "a fixed-point number that does not fit");
  return negative ? -static_cast<Fixed>(value) : static_cast<Fixed>(value);
}

/// ln of mantissa * 2^-64, which lies in [1, 2]: it is multiplied by 1 + 2^-k, k = 1, 2, ..., as long as it
/// stays below 2; the logarithms of these factors are what it lacks to ln 2.
Fixed log_of_mantissa(Wide mantissa) {
  constexpr Wide kTwo = Wide{1} << 65;
  Fixed missing = 0;
  for (unsigned k = 1; k <= 64; ++k) {
    const Wide larger = mantissa + (mantissa >> k);
    if (larger > kTwo) continue;
    mantissa = larger;
    missing += kLogs[k - 1];
  }
  return kLogTwo - missing - static_cast<Fixed>((kTwo - mantissa) / 2);
}

/// ln of value * 2^-shift.
Fixed log_of(Wide value, int shift) {
  const int bits = width(value) - 1;
  const Wide mantissa = bits <= 64 ? value << (64 - bits) : value >> (bits - 64);
  return log_of_mantissa(mantissa) + (bits - shift) * kLogTwo;
}

}  // namespace

Fixed fixed_ratio(std::uint64_t numerator, std::uint64_t denominator) {
  const Wide whole = numerator / denominator;
  const Wide rest = (Wide{numerator % denominator} << 64) / denominator;
  return with_sign((whole << 64) + rest, false);
}

Fixed multiply(Fixed a, Fixed b) {
  const Wide x = magnitude(a);
  const Wide y = magnitude(b);
  const Wide x_high = x >> 64;
  const Wide y_high = y >> 64;
  const Wide x_low = static_cast<std::uint64_t>(x);
  const Wide y_low = static_cast<std::uint64_t>(y);
  const Wide middle = (x_low * y_low >> 64);
  PINFOLD_CHECK(x_high * y_high >> 63 == 0, "trace", "a fixed-point product that does not fit");
  const Wide sum = (x_high * y_high << 64) + x_high * y_low + x_low * y_high + middle;
  return with_sign(sum, (a < 0) != (b < 0));
}

Fixed divide(Fixed a, Fixed b) {
  Wide x = magnitude(a);
  const Wide y = magnitude(b);
  PINFOLD_CHECK(y != 0, "trace", "a fixed-point division by 0");
  Wide quotient = x / y;
  Wide rest = x % y;
  PINFOLD_CHECK(quotient >> 63 == 0, "trace", "a fixed-point quotient that does not fit");
  for (int bit = 0; bit < 64; ++bit) {  // rest < y < 2^127, so that it can be doubled
    rest <<= 1;
    quotient <<= 1;
    if (rest < y) continue;
    rest -= y;
    quotient |= 1;
  }
  return with_sign(quotient, (a < 0) != (b < 0));
}

Fixed natural_log(Fixed x) {
  PINFOLD_CHECK(x > 0, "trace", "the logarithm of no positive number");
  return log_of(static_cast<Wide>(x), 64);
}

Fixed exponential(Fixed x) {
  PINFOLD_CHECK(x <= fixed_of(43), "trace", "an exponential that does not fit");
  if (x < fixed_of(-45)) return 0;
  Fixed twos = x / kLogTwo;
  Fixed rest = x - twos * kLogTwo;
  if (rest < 0) {
    rest += kLogTwo;
    --twos;
  }
  Wide value = Wide{1} << 64;
  for (unsigned k = 1; k <= 64; ++k) {
    const Fixed log = kLogs[k - 1];
    if (rest < log) continue;
    rest -= log;
    value += value >> k;
  }
  value += static_cast<Wide>(rest);  // e^rest - 1 is rest, that small
  const int shift = static_cast<int>(twos);
  return static_cast<Fixed>(shift >= 0 ? value << shift : value >> -shift);
}

Fixed square_root(Fixed x) {
  PINFOLD_CHECK(x >= 0, "trace", "the root of a negative number");
  // The root of x * 2^64, digit by digit, two bits of x at a time.
  const Wide value = static_cast<Wide>(x);
  Wide root = 0;
  Wide rest = 0;
  for (int bit = 126; bit >= -64; bit -= 2) {
    const Wide pair = bit >= 0 ? value >> bit & 3 : 0;
    rest = rest << 2 | pair;
    const Wide trial = (root << 2) | 1;
    root <<= 1;
    if (rest < trial) continue;
    rest -= trial;
    root |= 1;
  }
  return static_cast<Fixed>(root);
}

Fixed log_gamma(Fixed x) {
  PINFOLD_CHECK(x >= kFixedOne >> 20 && x <= fixed_of(std::int64_t{1} << 40), "trace",
                "log_gamma out of its range");
  // Gamma(x) = Gamma(x + 1) / x, until Stirling's series is good enough.
  Fixed below = 0;
  for (; x < fixed_of(32); x += kFixedOne) below += natural_log(x);
  const Fixed inverse = divide(kFixedOne, x);
  const Fixed square = multiply(inverse, inverse);
  Fixed series = kFixedOne / 12;
  Fixed term = square;
  series -= term / 360;
  term = multiply(term, square);
  series += term / 1'260;
  term = multiply(term, square);
  series -= term / 1'680;
  term = multiply(term, square);
  series += term / 1'188;
  return multiply(x - kFixedOne / 2, natural_log(x)) - x + kHalfLogTwoPi +
         multiply(series, inverse) - below;
}

Fixed power(Fixed x, Fixed exponent) {
  if (x == 0) return exponent == 0 ? kFixedOne : Fixed{0};
  const Fixed log = natural_log(x);
  // Bounds first: a product beyond them would not fit.
  constexpr int kLargest = 43;
  const Wide limit =
      Wide{1} << 62;  // log and exponent are below 2^31 each, or the result is out of range
  const bool huge = (magnitude(log) >> 64) * ((magnitude(exponent) >> 64) + 1) > limit;
  const bool grows = (log > 0) == (exponent > 0);
  if (huge) return grows ? exponential(fixed_of(kLargest)) : Fixed{0};
  const Fixed product = multiply(log, exponent);
  return exponential(product > fixed_of(kLargest) ? fixed_of(kLargest) : product);
}

Fixed minus_log_uniform(std::uint64_t u) { return -log_of((Wide{u} << 1) + 1, 65); }

}  // namespace pinfold::sim
