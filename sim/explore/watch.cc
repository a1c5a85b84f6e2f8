#include "sim/explore/watch.h"

namespace pinfold::sim {
namespace {

ShadowOptions shadow_options(const SchedulerOptions& options) {
  ShadowOptions shadow;
  shadow.block_size = options.block_size.value;
  shadow.block_ids = options.block_ids;
  shadow.state_ids = options.state_ids;
  shadow.draft_ids = options.draft_ids;
  shadow.copy_lane = options.copy_lane == CopyLane::kSeparate ? Lane::kCopy : Lane::kCompute;
  shadow.state_slots = options.state == Switch::kOn;
  shadow.fences_always = options.fence == FenceMode::kAlways;
  return shadow;
}

}  // namespace

Watch::Watch(const SchedulerOptions& options)
    : invariants_(options), shadow_(shadow_options(options)) {}

void Watch::consume(std::span<const std::byte> journal) {
  invariants_.consume(journal);
  shadow_.consume(journal);
}

void Watch::audit(const Scheduler& scheduler, bool drained) {
  invariants_.audit(scheduler);
  if (drained) invariants_.at_drain(scheduler);
}

std::optional<Watch::Found> Watch::found() const {
  if (!invariants_.findings().empty()) {
    const Finding& first = invariants_.findings().first().front();
    return Found{name_of(first.check), first.text};
  }
  if (!shadow_.findings().empty()) {
    const ShadowFinding& first = shadow_.findings().front();
    return Found{"shadow", first.rule + ": " + first.text};
  }
  return std::nullopt;
}

}  // namespace pinfold::sim
