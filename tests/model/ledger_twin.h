#pragma once
// The position ledger's twin: recounts every class from the scheduler's tables, position by position,
// and shares no code with the ledger. What the scheduler does not say (drafts in flight, copies whose
// fence has not passed) it takes from an account of the steps in flight, kept from the plans.

#include <array>
#include <cstdint>
#include <string>

#include "sim/metrics/ledger.h"
#include "tests/model/world.h"

namespace pinfold::model {

/// One instant, counted from nothing.
struct Recount {
  std::array<std::int64_t, 9> positions{};  // in the order of DESIGN: committed first, free last
  std::int64_t saved = 0;
  std::int64_t pairs = 0, ascending = 0, descending = 0;
  std::array<std::uint32_t, 4> state_slots{};  // running, pinned, parked, free
  std::array<std::uint32_t, 4> draft_slots{};
};

/// O(blocks of the pool + positions of the tables).
Recount recount(const Scheduler& scheduler, const std::deque<MirrorStep>& flying);

/// Where a ledger differs from the recount, as a person reads it; empty: nowhere.
std::string difference(const sim::Ledger& ledger, const Recount& twin);

/// A ledger that follows a world.
class WatchedLedger {
 public:
  explicit WatchedLedger(const SchedulerOptions& options);

  /// Reads what the journal has more than last time; then time passes.
  void read(World& world);
  /// The same, and the journal forgets what was read.
  void take(World& world);
  /// Compares with the twin.
  std::string check(const World& world) const {
    return difference(ledger_, recount(world.scheduler, world.flying));
  }
  const sim::Ledger& ledger() const { return ledger_; }

 private:
  sim::Ledger ledger_;
  std::size_t read_ = 0;
  std::int64_t now_ns_ = 0;
};

}  // namespace pinfold::model
