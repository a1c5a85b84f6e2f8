#pragma once
// What a trace holds, counted as its requests come by, in memory that does not depend on their number.

#include <array>
#include <cstdint>

#include "sim/metrics/distinct_count.h"
#include "sim/metrics/quantiles.h"
#include "sim/trace/request.h"

namespace pinfold::sim {

/// Token counts of all requests, and how many lie in each power of two: 0, 1, 2-3, 4-7, ...
struct LengthSurvey {
  Quantiles tokens;
  std::array<std::uint64_t, 33> by_width{};

  void add(std::uint32_t count);
};

class TraceSurvey {
 public:
  __extension__ typedef unsigned __int128 Wide;

  void add(const TraceRequest& request);

  std::uint64_t requests = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
  LengthSurvey prompt;
  LengthSurvey output;
  DistinctCount sessions;
  std::uint64_t in_sessions = 0;  // requests that belong to one
  std::uint64_t forks = 0;
  std::uint64_t aborts = 0;
  std::uint64_t sampled = 0;  // requests for several completions
  std::uint64_t prefix_ids = 0;
  DistinctCount distinct_ids;

  std::int64_t span_ns() const { return last_ns - first_ns; }

  /// The coefficient of variation of the gaps between arrivals, as a fraction: their standard deviation
  /// (of the population) over their mean. Rounded down by less than one part in the denominator; both 0
  /// where there is no gap or all arrive at once.
  struct Ratio {
    std::uint64_t numerator = 0;
    std::uint64_t denominator = 0;
  };
  Ratio gap_variation() const;

 private:
  Wide gap_squares_ = 0;  // at most span squared, below 2^126
};

}  // namespace pinfold::sim
