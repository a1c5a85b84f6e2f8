#pragma once
// Percentiles of many numbers in memory that does not depend on how many there are.

#include <cstdint>
#include <vector>

namespace pinfold::sim {

/// Exact for the first 2^20 numbers; from then on a histogram with 128 buckets to each power of two, whose
/// answers are at most 1/128 too high and never too low. All memory is taken at the beginning.
class Quantiles {
 public:
  static constexpr std::uint64_t kExact = std::uint64_t{1} << 20;
  /// 1/kBound is the largest relative error once the answers are not exact.
  static constexpr std::uint64_t kBound = 128;

  Quantiles() : samples_(kExact), counts_(kBuckets) {}

  void add(std::uint64_t value) {
    total_ += value;
    min_ = value < min_ ? value : min_;
    max_ = value > max_ ? value : max_;
    if (count_ < kExact) {
      samples_[count_++] = value;
      sorted_ = false;
      return;
    }
    if (count_++ == kExact) spill();
    ++counts_[bucket_of(value)];
  }

  std::uint64_t count() const { return count_; }
  /// Modulo 2^128.
  __extension__ typedef unsigned __int128 Total;
  Total total() const { return total_; }
  std::uint64_t min() const { return count_ == 0 ? 0 : min_; }
  std::uint64_t max() const { return max_; }
  bool exact() const { return count_ <= kExact; }

  /// Nearest rank: the smallest number that at least `percent` of all do not exceed; 0 without numbers.
  std::uint64_t at_percent(std::uint32_t percent);

 private:
  static constexpr unsigned kBits = 7;  // of a bucket's number within its power of two
  static constexpr std::size_t kBuckets = (64 - kBits + 1) << kBits;

  static std::size_t bucket_of(std::uint64_t value);
  static std::uint64_t last_of(std::size_t bucket);
  void spill();

  std::vector<std::uint64_t> samples_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  Total total_ = 0;
  std::uint64_t min_ = UINT64_MAX;
  std::uint64_t max_ = 0;
  bool sorted_ = false;
};

}  // namespace pinfold::sim
