#include "sim/metrics/latency.h"

#include <algorithm>
#include <bit>

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

void LatencySamples::merge_equal() {
  std::sort(samples_.begin(), samples_.end(),
            [](const Sample& a, const Sample& b) { return a.ns < b.ns; });
  std::size_t kept = 0;
  for (const Sample& sample : samples_) {
    if (kept > 0 && samples_[kept - 1].ns == sample.ns) {
      samples_[kept - 1].times += sample.times;
    } else {
      samples_[kept++] = sample;
    }
  }
  samples_.resize(kept);
}

// Half of the room is enough to go on; else a duration keeps its 10 leading digits and becomes the middle of
// those that share them.
void LatencySamples::make_room() {
  merge_equal();
  if (samples_.size() <= kEntries / 2) return;
  exact_ = false;
  for (Sample& sample : samples_) {
    const std::uint64_t ns = static_cast<std::uint64_t>(sample.ns);
    const unsigned digits = static_cast<unsigned>(std::bit_width(ns));
    if (digits <= 10) continue;
    const unsigned lost = digits - 10;
    const std::uint64_t middle = (ns >> lost << lost) | (std::uint64_t{1} << (lost - 1));
    sample.ns = static_cast<std::int64_t>(middle);
  }
  merge_equal();
}

LatencyStats LatencySamples::stats() {
  LatencyStats stats;
  for (Sample& recent : recent_) {
    if (recent.times > 0) keep(recent);
    recent = {};
  }
  if (samples_.empty()) return stats;
  stats.exact = exact_;
  merge_equal();
  std::vector<std::uint64_t> count_upto;  // samples at or before each entry
  count_upto.reserve(samples_.size());
  for (const Sample& sample : samples_) {
    stats.samples += sample.times;
    count_upto.push_back(stats.samples);
  }
  stats.mean_ns = wide_divide_half_up(sum_, stats.samples);

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
  for (std::size_t step = 0; step <= LatencyStats::kSteps; ++step) {
    const Wide scaled = static_cast<Wide>(stats.samples - 1) * step / LatencyStats::kSteps;
    stats.distribution_ns.push_back(nth(static_cast<std::uint64_t>(scaled)));
  }
  return stats;
}

}  // namespace pinfold::sim
