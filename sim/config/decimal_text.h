#pragma once
// Decimals as users write them, kept exact.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/run_config.h"

namespace pinfold::sim {

/// Reads a JSON number (`1.2`, `5e-1`, `-3`) as a reduced fraction: 1.2 and 1.20 are both 6/5. Nothing
/// if the text is no JSON number, is negative, or needs more than 18 digits before or behind the point.
std::optional<Rational> parse_decimal(std::string_view text);

/// The shortest decimal of a fraction whose denominator has no prime factors but 2 and 5, as all have
/// that parse_decimal reads: "1.2", "0.5", "3".
std::string decimal_text(Rational value);

}  // namespace pinfold::sim
