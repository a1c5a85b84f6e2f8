#pragma once
// When the device is free: its steps one behind the other, and their copies before them or beside the
// step before, in a lane of their own.

#include <algorithm>
#include <cstdint>

#include "sim/config/run_config.h"
#include "sim/core/step_faults.h"
#include "sim/device/step_cost.h"

namespace pinfold::sim {

/// When the parts of a launched step end.
struct StepTimes {
  std::int64_t copies_done_ns = 0;
  std::int64_t staged_ns = 0;  // states that a save has to take are copied aside
  std::int64_t done_ns = 0;
};

class DeviceLanes {
 public:
  /// `config` must outlive it.
  explicit DeviceLanes(const RunConfig& config) : config_(config) {}

  /// What the host spends on a plan.
  std::int64_t plan_ns() { return picoseconds_.take_ns(config_.cost.plan_ps); }

  /// Behind whatever its lane has queued.
  StepTimes launch(std::uint64_t step, const StepCost& cost, bool copies, std::int64_t now_ns) {
    StepTimes times;
    times.copies_done_ns = now_ns;
    std::int64_t start_ns = std::max(free_ns_, now_ns);
    if (copies) {
      // A lane of their own lets copies run beside an earlier step's forward; their own forward waits.
      const bool separate = config_.fork.copy_lane == CopyLane::kSeparate;
      std::int64_t& copy_lane_ns = separate ? copy_free_ns_ : free_ns_;
      times.copies_done_ns = std::max(copy_lane_ns, now_ns) +
                             picoseconds_.take_ns(cost.copies_ps + config_.cost.copy_launch_ps +
                                                  config_.fault.copy_delay_ps) +
                             given_delay_ns(config_.fault, step);
      copy_lane_ns = times.copies_done_ns;
      start_ns = std::max(start_ns, times.copies_done_ns);
    }
    if (cost.stages_ps > 0) start_ns += picoseconds_.take_ns(cost.stages_ps);
    times.staged_ns = start_ns;
    free_ns_ = start_ns + picoseconds_.take_ns(cost.forward_ps);
    times.done_ns = free_ns_;
    return times;
  }

 private:
  const RunConfig& config_;
  PicosecondClock picoseconds_;
  std::int64_t free_ns_ = 0;       // when the compute lane has nothing queued
  std::int64_t copy_free_ns_ = 0;  // and the copy lane, where copies have one
};

}  // namespace pinfold::sim
