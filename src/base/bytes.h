#pragma once
// Bytes: device memory, layouts, traffic. 64 bits wide, so they are no Count; sums, differences and
// products are checked all the same.

#include <compare>
#include <cstdint>

#include "base/check.h"

namespace pinfold {

/// A number of bytes. Passing the range or falling below zero throws InvariantViolation.
struct ByteCount {
  std::uint64_t value = 0;

  constexpr ByteCount() = default;
  explicit constexpr ByteCount(std::uint64_t initial) : value(initial) {}

  constexpr ByteCount& operator+=(ByteCount other) {
    PINFOLD_CHECK(other.value <= UINT64_MAX - value, "counts", "bytes passed their range");
    value += other.value;
    return *this;
  }
  constexpr ByteCount& operator-=(ByteCount other) {
    PINFOLD_CHECK(other.value <= value, "counts", "bytes fell below zero");
    value -= other.value;
    return *this;
  }
  friend constexpr ByteCount operator+(ByteCount a, ByteCount b) { return a += b; }
  friend constexpr ByteCount operator-(ByteCount a, ByteCount b) { return a -= b; }
  friend constexpr ByteCount operator*(ByteCount bytes, std::uint64_t times) {
    PINFOLD_CHECK(times == 0 || bytes.value <= UINT64_MAX / times, "counts",
                  "bytes passed their range");
    return ByteCount(bytes.value * times);
  }
  friend constexpr auto operator<=>(ByteCount, ByteCount) = default;
};

/// The least multiple of `unit` that holds `bytes`. `unit` must not be 0.
constexpr ByteCount padded(ByteCount bytes, std::uint64_t unit) {
  const std::uint64_t over = bytes.value % unit;
  return over == 0 ? bytes : bytes + ByteCount(unit - over);
}

}  // namespace pinfold
