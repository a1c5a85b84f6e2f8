#pragma once
// Fractions printed as decimals by integer arithmetic: the same digits on every machine.

#include <cstdint>
#include <string>

namespace pinfold::sim {

__extension__ typedef unsigned __int128 Unsigned128;

/// `numerator / denominator` with `places` digits behind the point (no point for 0), rounded half up.
/// `denominator` must not be 0; `numerator * 2 * 10^places` must fit 128 bits.
std::string decimal(Unsigned128 numerator, Unsigned128 denominator, std::uint32_t places);

/// Nanoseconds in another unit. Negative values do not occur: simulated time starts at 0.
std::string seconds(std::int64_t value_ns, std::uint32_t places);
std::string milliseconds(std::int64_t value_ns, std::uint32_t places);

}  // namespace pinfold::sim
