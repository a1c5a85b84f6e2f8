#pragma once
// Bytes of copies that were queued and that the host does not know to have ended, by lane.

#include <array>
#include <cstdint>
#include <deque>
#include <span>

#include "engine/scheduler.h"
#include "sim/config/run_config.h"

namespace pinfold::sim {

/// What a copy moves on one GPU; 0 where the configuration does not say what a block takes.
struct CopySizes {
  std::uint64_t block = 0;  // on the device
  std::uint64_t state_slot = 0;
  std::uint64_t stored_block = 0;  // between device and external store
  std::uint64_t stored_state = 0;
};

/// A block moved to or from the store takes what the model says, or else what the device file's geometry does.
CopySizes copy_sizes_of(const RunConfig& config);

/// Follows a run by its journal. A copy in the compute lane ends with its step's result at the latest, every
/// other one when its ticket has passed or is given up.
class BytesInFlight {
 public:
  /// `copy_lane`: the lane of copies on the device.
  BytesInFlight(const CopySizes& sizes, Lane copy_lane) : sizes_(sizes), copy_lane_(copy_lane) {}

  /// Records in order, with their ids.
  void take(const Record& record, std::span<const BlockId> ids);

  std::uint64_t on(Lane lane) const { return bytes_[index_of(lane)]; }

 private:
  struct Pending {
    std::uint64_t ticket;
    std::uint64_t bytes;
  };

  void queue(Lane lane, std::uint64_t ticket, std::uint64_t bytes);
  void pass(Lane lane, std::uint64_t ticket);

  CopySizes sizes_;
  Lane copy_lane_;
  std::uint64_t steps_ = 0;  // planned
  std::array<std::deque<Pending>, kLanes> pending_;
  std::array<std::uint64_t, kLanes> bytes_{};
};

}  // namespace pinfold::sim
