#pragma once
// Quantities. Each is its own type, so tokens never meet blocks without a named conversion; sums and
// differences are checked, because a count that wraps is a fault and never a large number.

#include <compare>
#include <cstdint>

#include "base/check.h"

namespace pinfold {

/// A non-negative quantity in units of `Unit`. Adding past the range or subtracting below zero
/// throws InvariantViolation.
template <class Unit>
struct Count {
  std::uint32_t value = 0;

  constexpr Count() = default;
  explicit constexpr Count(std::uint32_t initial) : value(initial) {}

  constexpr Count& operator+=(Count other) {
    PINFOLD_CHECK(other.value <= UINT32_MAX - value, "counts", "a count passed its range");
    value += other.value;
    return *this;
  }
  constexpr Count& operator-=(Count other) {
    PINFOLD_CHECK(other.value <= value, "counts", "a count fell below zero");
    if (kMutantsBuild && other.value > value) value = other.value;
    value -= other.value;
    return *this;
  }
  friend constexpr Count operator+(Count a, Count b) { return a += b; }
  friend constexpr Count operator-(Count a, Count b) { return a -= b; }
  friend constexpr auto operator<=>(Count, Count) = default;
};

/// Token positions, rows or tokens: the unit of histories, drafts and budgets.
using TokenCount = Count<struct TokenUnit>;
/// Blocks, or ids of another pool.
using BlockCount = Count<struct BlockUnit>;

/// Rounds up. `divisor` must not be 0.
template <class T>
constexpr T div_ceil(T dividend, T divisor) {
  return static_cast<T>(dividend / divisor + (dividend % divisor != 0 ? 1 : 0));
}

/// Blocks that `tokens` positions occupy when a block holds `block_size` of them: ceil (rule O4).
constexpr BlockCount blocks_for(TokenCount tokens, TokenCount block_size) {
  return BlockCount(div_ceil(tokens.value, block_size.value));
}

/// Blocks that are complete within `tokens` positions: floor.
constexpr BlockCount full_blocks_in(TokenCount tokens, TokenCount block_size) {
  return BlockCount(tokens.value / block_size.value);
}

}  // namespace pinfold
