#pragma once
// Real numbers as integers with 64 bits behind the point, and the functions that distributions need:
// sums, shifts and tables only, so that the same draw gives the same bits on every machine.

#include <cstdint>

namespace pinfold::sim {

/// Value times 2^64; from -2^63 to 2^63.
__extension__ typedef __int128 Fixed;

inline constexpr Fixed kFixedOne = Fixed{1} << 64;

constexpr Fixed fixed_of(std::int64_t value) { return Fixed{value} * kFixedOne; }
/// numerator / denominator, rounded down; the denominator below 2^63 and not 0.
Fixed fixed_ratio(std::uint64_t numerator, std::uint64_t denominator);

/// Rounded towards 0. The result must fit.
Fixed multiply(Fixed a, Fixed b);
/// Rounded towards 0. `b` must not be 0 and the result must fit.
Fixed divide(Fixed a, Fixed b);

/// The functions below are off by less than 2^-52, relative or absolute, whichever is more; log_gamma() by
/// less than 2^-48.
Fixed natural_log(Fixed x);  // x > 0
Fixed exponential(Fixed x);  // 0 below -45; x at most 43
Fixed square_root(Fixed x);  // x >= 0
Fixed log_gamma(Fixed x);    // x from 2^-20 to 2^40
/// x to the power of `exponent`, x >= 0, within exponential()'s range: beyond it, its largest value.
Fixed power(Fixed x, Fixed exponent);

/// -ln of (u + 1/2) / 2^64: an exponential variate with mean 1 for a uniform u.
Fixed minus_log_uniform(std::uint64_t u);

}  // namespace pinfold::sim
