#pragma once
// Faults that a configuration gives to steps, by number or drawn.

#include <cstdint>

#include "sim/config/run_config.h"

namespace pinfold::sim {

/// Whether the configuration names this fault for this step.
inline bool is_given(const FaultConfig& fault, FaultKind kind, std::uint64_t step) {
  for (const Fault& one : fault.given) {
    if (one.kind == kind && one.step == step) return true;
  }
  return false;
}

/// What the configuration adds to the copies of this step.
std::int64_t given_delay_ns(const FaultConfig& fault, std::uint64_t step);

/// Whether any step may fail ...
inline bool steps_fail(const FaultConfig& fault) {
  return !fault.failed_steps.empty() || fault.step_failed_permille > 0;
}
/// ... and whether this one does: named, or drawn from the seed. It commits nothing.
bool step_fails(const RunConfig& config, std::uint64_t step);

/// Whether the storm of this step makes the client of this request give up, drawn from the seed.
bool storm_hits(const RunConfig& config, std::uint64_t step, std::uint64_t request);

}  // namespace pinfold::sim
