#pragma once
// The time that requests wait, by what the head of the queue waited for.

#include <array>
#include <cstdint>
#include <vector>

#include "sim/core/run_observer.h"
#include "sim/core/wait_reason.h"

namespace pinfold::sim {

/// Waiting requests waited since the last plan for what refused the head then; those that arrived
/// later waited for the running step. One that arrives at a plan's very time counts as seen by it, behind
/// it too (in a closed loop, where its predecessor's end was heard): readers of the run tell these times
/// apart and nothing else. Sums over requests, never over one by itself.
class WaitBook {
 public:
  void start_at(std::int64_t ns) { upto_ns_ = ns; }

  /// A sequence that waits since `since_ns`, and that no plan has looked at.
  void arrive(std::int64_t since_ns) { arrived_.push_back(since_ns); }

  /// Books everybody's time up to now. The observer may be null.
  void account(std::int64_t now_ns, RunObserver* observer) {
    if (observer != nullptr && now_ns > upto_ns_) observer->on_wait(cause_, upto_ns_, now_ns);
    add(wait_of(cause_), std::uint64_t{waiting_} * static_cast<std::uint64_t>(now_ns - upto_ns_));
    for (const std::int64_t arrival : arrived_) {
      const std::int64_t step_ends_ns = arrival <= upto_ns_ ? upto_ns_ : now_ns;
      add(Wait::kStep, static_cast<std::uint64_t>(step_ends_ns - arrival));
      add(wait_of(cause_), static_cast<std::uint64_t>(now_ns - step_ends_ns));
    }
    arrived_.clear();
    upto_ns_ = now_ns;
  }

  /// What refused the head of the queue in the plan.
  void refuse(Cause cause) { cause_ = cause; }

  /// How many wait from here on, all of whose time is booked.
  void set_waiting(std::uint32_t count) { waiting_ = count; }

  std::int64_t booked_ns(Wait reason) const {
    return static_cast<std::int64_t>(wait_ns_[static_cast<std::size_t>(reason)]);
  }

 private:
  void add(Wait reason, std::uint64_t ns) { wait_ns_[static_cast<std::size_t>(reason)] += ns; }

  Cause cause_ = Cause::kNone;
  std::uint32_t waiting_ = 0;
  std::int64_t upto_ns_ = 0;
  std::vector<std::int64_t> arrived_;  // since the last plan
  std::array<std::uint64_t, kWaits> wait_ns_{};
};

}  // namespace pinfold::sim
