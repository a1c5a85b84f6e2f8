#pragma once
// Slots of one pool by who owns them: the ledger's small sister for state slots and draft slots.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/metrics/position_class.h"

namespace pinfold::sim {

/// Strongest owner first, as for positions.
enum class SlotClass : std::uint8_t {
  kRunning,  // of a running sequence
  kPinned,   // only of forks that wait
  kParked,   // of nobody, kept by a fence
  kFree,
};
inline constexpr std::size_t kSlotClasses = 4;
inline constexpr std::array<const char*, kSlotClasses> kSlotClassNames{"running", "pinned",
                                                                       "parked", "free"};

/// Slot-time by class over a run.
struct SlotTotals {
  std::uint64_t usable = 0;
  std::array<PositionNs, kSlotClasses> slot_ns{};
  PositionNs capacity_ns = 0;  // usable slots times the duration, counted on its own
  /// When the most slots were not free for the first time: how many of each class.
  std::array<std::uint32_t, kSlotClasses> at_peak{};
  std::uint32_t peak() const { return at_peak[0] + at_peak[1] + at_peak[2]; }
};

/// Told of every change; each costs O(1). A broken law throws InvariantViolation.
class SlotLedger {
 public:
  explicit SlotLedger(std::uint32_t ids);

  void acquire(std::uint32_t slot);
  void pin(std::uint32_t slot);
  /// The fork that pinned it runs and keeps it.
  void adopt(std::uint32_t slot);
  void release(std::uint32_t slot, SlotClass owner);
  void park(std::uint32_t slot, SlotClass owner);
  void unpark(std::uint32_t slot);

  void advance_by(std::uint64_t ns);
  const std::array<std::uint32_t, kSlotClasses>& slots() const { return now_; }
  SlotTotals totals() const;

 private:
  /// Owners of one slot; [kFree] is not used.
  using Owners = std::array<std::uint32_t, kSlotClasses - 1>;

  static SlotClass class_of(const Owners& owners);
  void change(std::uint32_t slot, SlotClass owner, bool more);

  std::vector<Owners> owners_;
  std::array<std::uint32_t, kSlotClasses> now_{};
  std::array<std::uint32_t, kSlotClasses> at_peak_{};
  std::array<PositionNs, kSlotClasses> slot_ns_{};
  std::uint64_t duration_ns_ = 0;
};

}  // namespace pinfold::sim
