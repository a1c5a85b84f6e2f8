#pragma once
// Fences: which work must have finished before an id may be reused (rule O9).

#include <array>

#include "base/ids.h"

namespace pinfold {

/// What to wait for, one ticket per lane; ticket 0 waits for nothing on that lane. A lost completion
/// is simply a ticket that never passes.
struct Fence {
  std::array<Ticket, kLanes> ticket{};
  friend bool operator==(const Fence&, const Fence&) = default;
};

/// How far each lane has come. Tickets only grow.
struct Passed {
  std::array<Ticket, kLanes> upto{};
  friend bool operator==(const Passed&, const Passed&) = default;
};

/// A fence on one lane.
constexpr Fence fence_on(Lane lane, Ticket ticket) {
  Fence fence;
  fence.ticket[index_of(lane)] = ticket;
  return fence;
}

/// True if every lane has come as far as the fence asks.
constexpr bool has_passed(const Fence& fence, const Passed& passed) {
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    if (fence.ticket[lane] > passed.upto[lane]) return false;
  }
  return true;
}

}  // namespace pinfold
