#pragma once
// Latency samples and their exact statistics, as vLLM's benchmark defines them: linear interpolation
// between order statistics (numpy's percentile), in integer nanoseconds, rounded half up.

#include <array>
#include <cstdint>
#include <vector>

namespace pinfold::sim {

/// Order statistics. All 0 without samples.
struct LatencyStats {
  bool exact = true;  // else percentiles are off by at most 1 part in LatencySamples::kBound
  std::uint64_t samples = 0;
  std::int64_t mean_ns = 0;
  std::int64_t p50_ns = 0;
  std::int64_t p90_ns = 0;
  std::int64_t p99_ns = 0;
  /// The samples at 0, 1/kSteps, ... 1 of their order, rounded down to one; empty without samples.
  static constexpr std::size_t kSteps = 200;
  std::vector<std::int64_t> distribution_ns{};
};

/// A bag of durations, each with the number of times it occurred: a step gives one inter-token latency
/// to all of its rows. Exact while at most 2^20 entries hold it; then durations are rounded to 10 binary
/// digits, so that memory does not grow with the run.
class LatencySamples {
 public:
  static constexpr std::size_t kEntries = std::size_t{1} << 20;
  static constexpr std::uint64_t kBound = 1024;

  void add(std::int64_t ns, std::uint64_t times = 1) {
    if (times == 0) return;
    Sample& recent = recent_[static_cast<std::uint64_t>(ns) * kSpread >> (64 - kRecentBits)];
    if (recent.ns == ns) {
      recent.times += times;
      return;
    }
    if (recent.times > 0) keep(recent);
    recent = {ns, times};
  }

  /// Takes the memory that it may ever need at once: for runs of a length that nobody knows.
  void take_memory() {
    samples_.resize(kEntries);
    samples_.clear();
  }

  /// Sorts the samples. O(n log n).
  LatencyStats stats();

 private:
  struct Sample {
    std::int64_t ns = 0;
    std::uint64_t times = 0;
  };
  void keep(const Sample& sample) {
    sum_ += static_cast<Wide>(static_cast<std::uint64_t>(sample.ns)) * sample.times;
    samples_.push_back(sample);
    if (samples_.size() == kEntries) make_room();
  }
  void make_room();
  void merge_equal();

  __extension__ typedef unsigned __int128 Wide;
  // Many steps take equally long, so equal durations meet here first and few are left to sort. Which
  // ones do is no matter: the statistics see a bag.
  static constexpr std::uint32_t kRecentBits = 8;
  static constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15u;
  std::array<Sample, 1u << kRecentBits> recent_{};
  std::vector<Sample> samples_;
  Wide sum_ = 0;  // of what samples_ held before any rounding
  bool exact_ = true;
};

/// (numerator / denominator) rounded half up, for non-negative values.
std::int64_t divide_half_up(std::uint64_t numerator, std::uint64_t denominator);

}  // namespace pinfold::sim
