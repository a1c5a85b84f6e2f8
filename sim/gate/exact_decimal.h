#pragma once
// Arithmetic on decimals as results print them, exact at any length: sums of 128 bits are figures too.

#include <string>
#include <string_view>

namespace pinfold::sim {

// Arguments are digits with at most one point and an optional minus sign; results are the shortest such
// text ("0.5", "12", "-3").

/// |a - b|
std::string distance(std::string_view a, std::string_view b);

/// `a` times `b`; the signs are ignored.
std::string product_of_magnitudes(std::string_view a, std::string_view b);

/// `now` against `old` in percent, signed, with one digit behind the point rounded half away from zero:
/// "+12.5%". Empty where `old` is 0.
std::string change_in_percent(std::string_view old, std::string_view now);

}  // namespace pinfold::sim
