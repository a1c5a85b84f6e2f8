#include "sim/metrics/latency.h"

#include <algorithm>

namespace pinfold::sim {
namespace {

__extension__ using Wide = unsigned __int128;

std::int64_t wide_divide_half_up(Wide numerator, Wide denominator) {
  return static_cast<std::int64_t>((2 * numerator + denominator) / (2 * denominator));
}

}  // namespace

std::int64_t divide_half_up(std::uint64_t numerator, std::uint64_t denominator) {
  return wide_divide_half_up(numerator, denominator);
}

LatencyStats LatencySamples::stats() {
  LatencyStats stats;
  for (Sample& recent : recent_) {
    if (recent.times > 0) samples_.push_back(recent);
    recent = {};
  }
  if (samples_.empty()) return stats;
  std::sort(samples_.begin(), samples_.end(),
            [](const Sample& a, const Sample& b) { return a.ns < b.ns; });
  Wide sum = 0;
  std::vector<std::uint64_t> count_upto;  // samples at or before each entry
  count_upto.reserve(samples_.size());
  for (const Sample& sample : samples_) {
    stats.samples += sample.times;
    sum += static_cast<Wide>(static_cast<std::uint64_t>(sample.ns)) * sample.times;
    count_upto.push_back(stats.samples);
  }
  stats.mean_ns = wide_divide_half_up(sum, stats.samples);

  const auto nth = [&](std::uint64_t index) {
    const auto at = std::upper_bound(count_upto.begin(), count_upto.end(), index);
    return samples_[static_cast<std::size_t>(at - count_upto.begin())].ns;
  };
  // The q-th percentile lies at index q * (n - 1) / 100, between two order statistics.
  const auto percentile = [&](std::uint64_t q) {
    const Wide scaled = static_cast<Wide>(q) * (stats.samples - 1);
    const std::uint64_t below = static_cast<std::uint64_t>(scaled / 100);
    const std::uint64_t rest = static_cast<std::uint64_t>(scaled % 100);
    const std::int64_t low = nth(below);
    if (rest == 0) return low;
    const std::uint64_t gap = static_cast<std::uint64_t>(nth(below + 1) - low);
    return low + wide_divide_half_up(static_cast<Wide>(gap) * rest, 100);
  };
  stats.p50_ns = percentile(50);
  stats.p90_ns = percentile(90);
  stats.p99_ns = percentile(99);
  return stats;
}

}  // namespace pinfold::sim
