#pragma once
// Loads from the external store, from their queueing to their end, as the journal tells them.

#include <cstdint>
#include <map>

#include "engine/scheduler.h"

namespace pinfold::sim {

/// One admission's load. Its request runs nothing until it has passed.
struct StoreLoad {
  enum class State : std::uint8_t {
    kQueued,
    kPassed,
    kLost,     // given up: its request starts over
    kAborted,  // its request ended
  };
  State state = State::kQueued;
  std::int64_t since_ns = 0;
  std::int64_t end_ns = 0;   // unless queued
  std::uint32_t blocks = 0;  // to be loaded
  std::uint32_t states = 0;
  std::uint32_t tokens = 0;  // found on the device; once passed: those that it spared

  std::int64_t time_ns() const { return end_ns - since_ns; }
};

class StoreLoads {
 public:
  /// The load that the record is about, as it stands behind it; null: it is about none. A load of blocks and of
  /// a state is told in two records. Valid until the next call.
  const StoreLoad* take(const Record& record, std::int64_t now_ns);

  /// By sequence: those that have not ended.
  const std::map<std::uint32_t, StoreLoad>& pending() const { return pending_; }

 private:
  std::map<std::uint32_t, StoreLoad> pending_;
  StoreLoad ended_;
  std::uint32_t found_by_ = 0;  // the sequence admitted last ...
  std::uint32_t found_ = 0;     // ... and the tokens that it found on the device
};

}  // namespace pinfold::sim
