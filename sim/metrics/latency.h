#pragma once
// Latency samples and their exact statistics, as vLLM's benchmark defines them: linear interpolation
// between order statistics (numpy's percentile), in integer nanoseconds, rounded half up.

#include <array>
#include <cstdint>
#include <vector>

namespace pinfold::sim {

/// Exact order statistics. All 0 without samples.
struct LatencyStats {
  std::uint64_t samples = 0;
  std::int64_t mean_ns = 0;
  std::int64_t p50_ns = 0;
  std::int64_t p90_ns = 0;
  std::int64_t p99_ns = 0;
};

/// A bag of durations, each with the number of times it occurred: a step gives one inter-token latency
/// to all of its rows.
class LatencySamples {
 public:
  void add(std::int64_t ns, std::uint64_t times = 1) {
    if (times == 0) return;
    Sample& recent = recent_[static_cast<std::uint64_t>(ns) * kSpread >> (64 - kRecentBits)];
    if (recent.ns == ns) {
      recent.times += times;
      return;
    }
    if (recent.times > 0) samples_.push_back(recent);
    recent = {ns, times};
  }

  /// Sorts the samples. O(n log n).
  LatencyStats stats();

 private:
  struct Sample {
    std::int64_t ns = 0;
    std::uint64_t times = 0;
  };
  // Many steps take equally long, so equal durations meet here first and few are left to sort. Which
  // ones do is no matter: the statistics see a bag.
  static constexpr std::uint32_t kRecentBits = 8;
  static constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15u;
  std::array<Sample, 1u << kRecentBits> recent_{};
  std::vector<Sample> samples_;
};

/// (numerator / denominator) rounded half up, for non-negative values.
std::int64_t divide_half_up(std::uint64_t numerator, std::uint64_t denominator);

}  // namespace pinfold::sim
