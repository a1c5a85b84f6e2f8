#pragma once
// How far a command is, on a terminal.

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>

namespace pinfold::sim {

/// One line on `err`, which must be a terminal, rewritten as things end, with the time left at the pace so
/// far. It is wiped out at the end.
class Progress {
 public:
  /// `ended` says what ends: "requests ended". `total` of 0: nobody knows how many there will be, and every
  /// `stride`-th is shown; else a thousandth at a time.
  Progress(std::ostream& err, std::uint64_t total, std::string ended, std::uint64_t stride = 1'000);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t ended);

 private:
  using Clock = std::chrono::steady_clock;

  std::ostream& err_;
  std::uint64_t total_;
  std::string ended_;
  std::uint64_t stride_;  // a terminal is slower than the simulation
  Clock::time_point start_;
  std::uint64_t next_ = 0;
  std::size_t shown_ = 0;
};

}  // namespace pinfold::sim
