#pragma once
// Numbers in traces, read exactly: a decimal is taken as the rational number it writes and rounded once.

#include <cstdint>
#include <optional>
#include <string_view>

namespace pinfold::sim {

/// Reads a decimal (`12`, `0.25`, `1e-05`, `-3.5`) times 10^`places`, rounded to the nearest integer, halves
/// away from zero. Nothing if the text is no decimal or the result does not fit.
std::optional<std::int64_t> scaled_decimal(std::string_view text, int places);

/// Reads a decimal integer without sign. Nothing if it is none or does not fit 64 bits.
std::optional<std::uint64_t> unsigned_integer(std::string_view text);

}  // namespace pinfold::sim
