#include "sim/sweep/bisect.h"

#include <algorithm>

#include "base/check.h"

namespace pinfold::sim {
namespace {

__extension__ using Wide = unsigned __int128;

bool close_enough(std::uint64_t lower, std::uint64_t upper, Tolerance tolerance) {
  return upper - lower <= 1 ||
         Wide{upper - lower} * tolerance.denominator <= Wide{lower} * tolerance.numerator;
}

}  // namespace

Bracket bisect(std::uint64_t start, std::uint64_t least, std::uint64_t most, Tolerance tolerance,
               const std::function<bool(std::uint64_t)>& meets) {
  PINFOLD_CHECK(least >= 1 && least <= start && start <= most, "bisect", "a start out of range");
  Bracket bracket;
  std::uint64_t value = start;
  for (;;) {
    const bool met = meets(value);
    (met ? bracket.meets : bracket.fails) = value;
    if (bracket.meets && bracket.fails) break;
    if (value == (met ? least : most)) return bracket;
    value = met ? std::max(value / 2, least) : (value > most / 2 ? most : value * 2);
  }
  while (!close_enough(*bracket.fails, *bracket.meets, tolerance)) {
    const std::uint64_t middle = *bracket.fails + (*bracket.meets - *bracket.fails) / 2;
    (meets(middle) ? bracket.meets : bracket.fails) = middle;
  }
  return bracket;
}

}  // namespace pinfold::sim
