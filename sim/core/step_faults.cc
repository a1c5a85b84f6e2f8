#include "sim/core/step_faults.h"

#include <algorithm>

#include "sim/core/draw.h"

namespace pinfold::sim {

std::int64_t given_delay_ns(const FaultConfig& fault, std::uint64_t step) {
  std::int64_t delay_ns = 0;
  for (const Fault& one : fault.given) {
    if (one.kind == FaultKind::kCopyDelay && one.step == step) delay_ns += one.delay_ns;
  }
  return delay_ns;
}

bool step_fails(const RunConfig& config, std::uint64_t step) {
  const std::vector<std::uint32_t>& given = config.fault.failed_steps;
  if (std::find(given.begin(), given.end(), step) != given.end()) return true;
  const std::uint32_t permille = config.fault.step_failed_permille;
  return permille > 0 && draw_permille(config.seed, Stream::kFault, step, 1) < permille;
}

bool storm_hits(const RunConfig& config, std::uint64_t step, std::uint64_t request) {
  return draw_permille(config.seed, Stream::kFault, request, step) <
         config.fault.abort_storm_permille;
}

}  // namespace pinfold::sim
