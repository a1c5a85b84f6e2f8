#pragma once
// What a ledger found, and the figures that follow from it.

#include <array>
#include <cstdint>

#include "sim/metrics/position_class.h"
#include "sim/metrics/slot_ledger.h"

namespace pinfold::sim {

/// Position-time by class over a run. `position_ns` sums to `capacity_ns`, which is counted on its own.
struct LedgerTotals {
  std::uint64_t positions = 0;    // usable blocks times the block size
  std::uint64_t duration_ns = 0;  // from the start to the last advance of time
  std::array<PositionNs, kPositionClasses> position_ns{};
  PositionNs capacity_ns = 0;  // positions times the duration
  /// Position-time that sharing saved: a block with k tables counts k - 1 times.
  PositionNs saved_ns = 0;
  /// Pairs of consecutive table entries, over all tables, times the time they stood; of them those
  /// whose second id is the first one plus 1 (ascending), and minus 1 (descending).
  PositionNs pair_ns = 0;
  PositionNs ascending_ns = 0;
  PositionNs descending_ns = 0;
  SlotTotals state_slots;
  SlotTotals draft_slots;

  PositionNs of(PositionClass position) const {
    return position_ns[static_cast<std::size_t>(position)];
  }
  /// All but what is free or idle.
  PositionNs owned_ns() const {
    PositionNs owned = 0;
    for (std::size_t n = 0; n <= static_cast<std::size_t>(PositionClass::kParked); ++n) {
      owned += position_ns[n];
    }
    return owned;
  }
  /// Owned position-time that holds no committed row. Its parts are the classes from kInFlight to
  /// kParked, so they sum to it.
  PositionNs fragmented_ns() const { return owned_ns() - of(PositionClass::kCommitted); }
};

}  // namespace pinfold::sim
