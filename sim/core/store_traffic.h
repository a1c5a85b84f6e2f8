#pragma once
// Loads from the external store and saves to it, on the link between device and host, as the host hears
// of them.

#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "engine/scheduler.h"
#include "sim/config/run_config.h"
#include "sim/device/host_link.h"
#include "sim/trace/request.h"

namespace pinfold::sim {

/// What the host hears of a transfer: it has passed, or it was given up.
struct TransferNews {
  Lane lane = Lane::kHostToDevice;  // or kDeviceToHost
  Ticket ticket{};
  bool lost = false;
};

class StoreTraffic {
 public:
  /// `config` must outlive it.
  explicit StoreTraffic(const RunConfig& config);

  /// Whether there is a store; without one nothing below is called.
  bool on() const { return on_; }

  /// Takes what the scheduler queued since the last call, one transfer for each ticket. States that the
  /// step launched last writes are there from `staged_ns` on.
  void queue(Scheduler& scheduler, std::int64_t now_ns, std::int64_t staged_ns);

  /// The next news until now, oldest first; false: there is none. A state's save ends behind the result of
  /// the step that wrote the state; `done` is the last step with a result.
  bool take_news(std::int64_t now_ns, StepNumber done, TransferNews& news);

  /// When the host next hears of the store; kNeverNs: nothing is on its way. What ended and is not told yet
  /// waits for a step's result.
  std::int64_t next_ns() const;

  /// The ticket of a lost event that no later one has proved, in words; empty: there is none.
  std::string lost_text() const;

  std::uint64_t bytes_in() const { return bytes_in_; }
  std::uint64_t bytes_out() const { return bytes_out_; }

 private:
  /// A load or save that is given up at a time unless it has passed.
  struct Lease {
    std::int64_t at_ns;
    Lane lane;
    Ticket ticket;
  };
  struct StagedSave {
    Ticket ticket;
    std::uint64_t step;
  };
  /// What the host was told of a lane.
  struct StoreLane {
    Ticket passed{};
    Ticket lost{};
    std::uint32_t seen = 0;
  };

  static std::size_t index_of(Lane lane) { return lane == Lane::kHostToDevice ? 0 : 1; }
  std::uint64_t bytes_of(PoolKind pool) const {
    return pool == PoolKind::kStateSlots ? state_bytes_ : block_bytes_;
  }
  bool is_lost(Lane lane, Ticket ticket);

  const RunConfig& config_;
  const bool on_;
  const std::uint64_t block_bytes_;
  const std::uint64_t state_bytes_;
  HostLink link_;
  std::deque<StagedSave> staged_;  // saves of states, in order
  std::deque<Lease> leases_;       // in order
  std::array<StoreLane, 2> lanes_{};
  std::uint64_t bytes_in_ = 0;
  std::uint64_t bytes_out_ = 0;
};

}  // namespace pinfold::sim
