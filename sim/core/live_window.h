#pragma once
// Values by a rising number, kept only while they live: memory follows the span of the live numbers.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace pinfold::sim {

/// A map from numbers that are added in rising order. Finding, adding and removing are O(1), removing
/// amortised.
template <class T>
class LiveWindow {
 public:
  std::size_t size() const { return live_; }

  /// nullptr where the number was removed or never added.
  T* find(std::uint64_t number) {
    if (number < base_ || number - base_ >= slots_.size()) return nullptr;
    Slot& slot = slots_[static_cast<std::size_t>(number - base_)];
    return slot.live ? &slot.value : nullptr;
  }

  /// The value of a live number.
  T& operator[](std::uint64_t number) {
    T* const value = find(number);
    PINFOLD_CHECK(value != nullptr, "requests", "no live number " + std::to_string(number));
    return *value;
  }

  /// A fresh value; the number must be greater than every one before it. References to others end.
  T& add(std::uint64_t number) {
    if (live_ == 0) {
      slots_.clear();
      dead_ = 0;
      base_ = number;
    }
    PINFOLD_CHECK(number >= base_ + slots_.size(), "requests", "numbers must rise");
    slots_.resize(static_cast<std::size_t>(number - base_) + 1);
    slots_.back().live = true;
    ++live_;
    return slots_.back().value;
  }

  /// Forgets a live number. References to others end.
  void remove(std::uint64_t number) {
    PINFOLD_CHECK(find(number) != nullptr, "requests", "no such number lives");
    slots_[static_cast<std::size_t>(number - base_)] = Slot{};
    --live_;
    while (dead_ < slots_.size() && !slots_[dead_].live) ++dead_;
    if (dead_ > 1024 && dead_ * 2 > slots_.size()) {
      slots_.erase(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(dead_));
      base_ += dead_;
      dead_ = 0;
    }
  }

  /// Calls `visit(number, value)` for every live one, in rising order.
  template <class Visit>
  void for_each(Visit visit) {
    for (std::size_t n = dead_; n < slots_.size(); ++n) {
      if (slots_[n].live) visit(base_ + n, slots_[n].value);
    }
  }

 private:
  struct Slot {
    T value{};
    bool live = false;
  };
  std::vector<Slot> slots_;  // by number - base_
  std::size_t dead_ = 0;     // leading slots that are not live
  std::uint64_t base_ = 0;
  std::size_t live_ = 0;
};

}  // namespace pinfold::sim
