#pragma once
// The laws of a made-up trace, as flags say them. Everything here throws UsageError.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/decimal_text.h"
#include "sim/trace/synthetic_trace.h"

namespace pinfold::sim {

/// `count` positive decimals with colons between them.
std::vector<Rational> positive_decimals(const std::string& flag, std::string_view text,
                                        std::size_t count, const std::string& expected);

/// A whole number up to 100000.
std::uint32_t whole_number(const std::string& flag, const std::string& text, Rational value);

/// Of a number of seconds.
std::int64_t nanoseconds(Rational value);

/// "poisson", "gamma:2", ...
ArrivalLaw arrival_law(const std::string& flag, const std::string& text);

/// "uniform:10:20", "exponential:300", ...; every length is at least `least`.
LengthRange length_law(const std::string& flag, const std::string& text, std::uint32_t least);

}  // namespace pinfold::sim
