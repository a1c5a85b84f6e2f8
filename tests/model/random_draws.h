#pragma once
// Random draws for tests: integers only, the same on every platform. The generator is SplitMix64
// (Steele, Lea, Flood 2014).

#include <cstdint>
#include <utility>
#include <vector>

namespace pinfold::model {

class RandomDraws {
 public:
  explicit RandomDraws(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    return mixed ^ (mixed >> 31);
  }

  /// One of 0 .. bound - 1; `bound` must not be 0. The bias of the remainder is below 2^-32.
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(next() % bound); }

  /// True in `percent` of 100 draws.
  bool chance(std::uint32_t percent) { return below(100) < percent; }

  /// Fisher and Yates.
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      std::swap(items[left - 1], items[below(static_cast<std::uint32_t>(left))]);
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace pinfold::model
