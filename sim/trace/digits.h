#pragma once
// Decimal digits, eight at a time: numbers in traces have any length, and a loop over their digits would
// guess its end wrong for most of them.

#include <bit>
#include <cstdint>
#include <cstring>

namespace pinfold::sim {

/// The value of up to eight digits at `at`, where eight bytes must be readable; `at` is moved behind them.
/// Returns how many there were.
inline unsigned eight_digits(const char*& at, std::uint64_t& value) {
  if constexpr (std::endian::native != std::endian::little) {
    value = 0;
    unsigned count = 0;
    for (; count < 8 && *at >= '0' && *at <= '9'; ++count) {
      value = value * 10 + static_cast<unsigned>(*at++ - '0');
    }
    return count;
  }
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  word ^= 0x3030303030303030u;  // a digit's byte is now its value
  const std::uint64_t others =
      (((word & 0x7F7F7F7F7F7F7F7Fu) + 0x7676767676767676u) | word) & 0x8080808080808080u;
  const unsigned count = others == 0 ? 8 : static_cast<unsigned>(std::countr_zero(others)) / 8;
  at += count;
  // The first digit is in the lowest byte. Zeros ahead of the digits make them eight; pairs of neighbours
  // are then joined three times.
  word = count == 0 ? 0 : word << (64 - 8 * count);
  word = (word * 10 + (word >> 8)) & 0x00FF00FF00FF00FFu;
  word = (word * 100 + (word >> 16)) & 0x0000FFFF0000FFFFu;
  value = (word * 10'000 + (word >> 32)) & 0xFFFFFFFFu;
  return count;
}

/// A number of up to 19 digits, which 64 bits hold. Returns how many there were, 20 for more than 19.
inline unsigned all_digits(const char*& at, std::uint64_t& value) {
  unsigned count = eight_digits(at, value);
  if (count < 8) return count;
  for (unsigned digit = 0; (digit = static_cast<unsigned char>(*at) - unsigned{'0'}) < 10; ++at) {
    if (++count > 19) return 20;
    value = value * 10 + digit;
  }
  return count;
}

}  // namespace pinfold::sim
