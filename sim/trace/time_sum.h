#pragma once
// Sums of times that a trace names. Each of them fits 63 bits, a sum need not.

#include <cstdint>
#include <optional>

namespace pinfold::sim {

/// No request arrives later than 146 years after the first: a run's clock, 63 bits too, goes on from there.
inline constexpr std::int64_t kLatestNs = std::int64_t{1} << 62;

/// `a_ns` + `b_ns`; nothing where 63 bits do not hold it: more than 292 years.
inline std::optional<std::int64_t> time_sum(std::int64_t a_ns, std::int64_t b_ns) {
  std::int64_t sum_ns = 0;
  if (__builtin_add_overflow(a_ns, b_ns, &sum_ns)) return std::nullopt;
  return sum_ns;
}

}  // namespace pinfold::sim
