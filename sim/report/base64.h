#pragma once
// Bytes inside JSON.

#include <cstdint>
#include <string>
#include <vector>

namespace pinfold::sim {

/// RFC 4648, with padding.
std::string base64(const std::vector<std::uint8_t>& bytes);

}  // namespace pinfold::sim
