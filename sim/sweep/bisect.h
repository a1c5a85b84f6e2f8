#pragma once
// Where a yes begins: the search behind `pinfold capacity`.

#include <cstdint>
#include <functional>
#include <optional>

namespace pinfold::sim {

/// How close the two ends of a bracket come: upper <= lower x (1 + numerator / denominator).
struct Tolerance {
  std::uint64_t numerator = 1;
  std::uint64_t denominator = 100;
};

/// Both ends have been asked; neither is assumed.
struct Bracket {
  std::optional<std::uint64_t> meets;  // the least value for which the answer was yes ...
  std::optional<std::uint64_t> fails;  // ... and the greatest below it for which it was no
};

/// Looks for the least value that meets, from `least` to `most` (`least` at least 1), starting at `start`:
/// doubles or halves until the answer changes, then bisects until the bracket is within tolerance, or its
/// ends are neighbours. Without `meets`, not even `most` did; without `fails`, even `least` met. What it
/// finds is a place where the answer changes; it is the only one if a value that meets is followed by
/// others that do.
Bracket bisect(std::uint64_t start, std::uint64_t least, std::uint64_t most, Tolerance tolerance,
               const std::function<bool(std::uint64_t)>& meets);

}  // namespace pinfold::sim
