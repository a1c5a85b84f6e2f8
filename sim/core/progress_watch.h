#pragma once
// Does the run get anywhere? Sequences that take each other's blocks in turn compute the same rows for ever.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace pinfold::sim {

/// Decision 12. Progress is a row or a token that had not been computed before. Rows computed again come to an
/// end by themselves unless somebody loses them once more, so a pass counts against the limit only if somebody was
/// put into the queue again since the one before it.
class ProgressWatch {
 public:
  /// The sequence lost its rows and waits again.
  void requeue(std::uint32_t sequence) {
    ++victims_[sequence].times;
    last_victim_ = sequence;
    requeued_ = true;
  }
  /// The first one that takes blocks, or waits for them, behind a requeue.
  void take(std::uint32_t sequence) {
    if (!last_victim_ || *last_victim_ == sequence) return;
    victims_[*last_victim_].taker = sequence;
    last_victim_.reset();
  }
  /// A step was planned.
  void pass(bool progress) {
    if (!progress) {
      passes_ += requeued_ ? 1 : 0;
    } else if (requeued_ || passes_ > 0) {
      passes_ = 0;
      victims_.clear();
      last_victim_.reset();
    }
    requeued_ = false;
  }

  /// `live`: sequences that have not ended.
  bool stands_still(std::uint64_t live) const { return passes_ > 4 * live + 64; }
  /// What goes round, in words.
  std::string text() const;

 private:
  struct Victim {
    std::uint64_t times = 0;
    std::optional<std::uint32_t> taker{};  // of its blocks, the last time that one was seen
  };

  std::map<std::uint32_t, Victim> victims_;  // since the last progress, by sequence
  std::optional<std::uint32_t> last_victim_{};
  bool requeued_ = false;  // since the last pass
  std::uint64_t passes_ = 0;
};

}  // namespace pinfold::sim
