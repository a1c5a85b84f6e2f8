#include "sim/config/decimal.h"

#include <algorithm>

#include "base/check.h"

namespace pinfold::sim {

std::string decimal(Unsigned128 numerator, Unsigned128 denominator, std::uint32_t places) {
  PINFOLD_CHECK(denominator != 0, "decimals", "a fraction over zero");
  Unsigned128 scale = 1;
  for (std::uint32_t i = 0; i < places; ++i) scale *= 10;
  PINFOLD_CHECK(numerator <= ~Unsigned128{0} / (2 * scale), "decimals", "a fraction out of range");
  // floor(x + 1/2) over whole units of the last place; the two parts keep 2 * denominator from
  // overflowing.
  const Unsigned128 scaled = numerator * scale;
  const Unsigned128 rest = scaled % denominator;
  Unsigned128 units = scaled / denominator + (rest >= denominator - rest ? 1 : 0);

  std::string digits;
  for (std::uint32_t count = 0; units != 0 || count <= places; ++count) {
    if (count == places && places != 0) digits += '.';
    digits += static_cast<char>('0' + static_cast<char>(units % 10));
    units /= 10;
  }
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string seconds(std::int64_t value_ns, std::uint32_t places) {
  PINFOLD_CHECK(value_ns >= 0, "decimals", "a negative time");
  return decimal(static_cast<std::uint64_t>(value_ns), 1'000'000'000, places);
}

std::string milliseconds(std::int64_t value_ns, std::uint32_t places) {
  PINFOLD_CHECK(value_ns >= 0, "decimals", "a negative time");
  return decimal(static_cast<std::uint64_t>(value_ns), 1'000'000, places);
}

}  // namespace pinfold::sim
