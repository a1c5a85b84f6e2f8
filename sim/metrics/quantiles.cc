#include "sim/metrics/quantiles.h"

#include <algorithm>
#include <bit>

namespace pinfold::sim {

/// Values below 2 * 128 have a bucket each; above, the highest eight bits choose it.
std::size_t Quantiles::bucket_of(std::uint64_t value) {
  const auto width = static_cast<unsigned>(std::bit_width(value));
  if (width <= kBits + 1) return value;
  const unsigned shift = width - kBits - 1;
  return (std::size_t{shift} << kBits) + static_cast<std::size_t>(value >> shift);
}

/// The largest value of a bucket.
std::uint64_t Quantiles::last_of(std::size_t bucket) {
  if (bucket < std::size_t{2} << kBits) return bucket;
  const std::size_t shift = (bucket >> kBits) - 1;
  const std::uint64_t high = bucket - (shift << kBits);
  return (high << shift) + ((std::uint64_t{1} << shift) - 1);
}

void Quantiles::spill() {
  for (const std::uint64_t value : samples_) ++counts_[bucket_of(value)];
}

std::uint64_t Quantiles::at_percent(std::uint32_t percent) {
  if (count_ == 0) return 0;
  __extension__ typedef unsigned __int128 Wide;
  std::uint64_t rank = static_cast<std::uint64_t>((Wide{count_} * percent + 99) / 100);
  if (rank == 0) rank = 1;
  if (exact()) {
    if (!sorted_) {
      std::sort(samples_.begin(), samples_.begin() + static_cast<std::ptrdiff_t>(count_));
      sorted_ = true;
    }
    return samples_[rank - 1];
  }
  std::uint64_t below = 0;
  for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
    below += counts_[bucket];
    if (below >= rank) return std::min(last_of(bucket), max_);
  }
  return max_;
}

}  // namespace pinfold::sim
