#pragma once
// How many different numbers there are, in memory that does not depend on it.

#include <cstdint>
#include <vector>

namespace pinfold::sim {

/// Exact up to 2^20 different numbers. Beyond, it keeps those whose hash ends in more and more zero bits
/// (Wegman's adaptive sampling): the count is then off by about 0.1 % (one standard deviation).
class DistinctCount {
 public:
  static constexpr std::uint64_t kExact = std::uint64_t{1} << 20;

  void add(std::uint64_t number);
  std::uint64_t count() const { return kept_ << level_; }
  bool exact() const { return level_ == 0; }

 private:
  bool insert(std::uint64_t hash);
  void thin_out();

  std::vector<std::uint64_t> slots_;  // hashes; 0: empty. Made when the first number comes
  std::uint64_t kept_ = 0;
  unsigned level_ = 0;  // zero bits that a kept hash ends in
  bool has_zero_ = false;
};

}  // namespace pinfold::sim
