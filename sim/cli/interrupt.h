#pragma once
// SIGINT and SIGTERM while there is something to clean up.

#include <csignal>

#include "sim/core/run_observer.h"

namespace pinfold::sim {

/// Thrown out of a run that is to end.
struct Interrupted {};

/// While one lives, a signal is only noted. At most one at a time.
class InterruptsNoted {
 public:
  InterruptsNoted();
  ~InterruptsNoted();
  InterruptsNoted(const InterruptsNoted&) = delete;
  InterruptsNoted& operator=(const InterruptsNoted&) = delete;

  /// Throws Interrupted where a signal has come.
  static void check();
};

/// While one lives, a signal waits: what is being written is finished first.
class InterruptsHeld {
 public:
  InterruptsHeld();
  ~InterruptsHeld();
  InterruptsHeld(const InterruptsHeld&) = delete;
  InterruptsHeld& operator=(const InterruptsHeld&) = delete;

 private:
  sigset_t before_;
};

/// Ends a run by throwing Interrupted, between two events of it.
class InterruptWatch final : public RunObserver {
 public:
  void on_records(std::span<const std::byte>, std::int64_t) override { InterruptsNoted::check(); }
};

}  // namespace pinfold::sim
