#include "sim/core/copy_fences.h"

#include "sim/core/step_faults.h"

namespace pinfold::sim {

bool CopyFences::launch(std::uint64_t step, Ticket ticket, std::int64_t done_ns) {
  ++copy_steps_;
  const bool blocks = config_.fork.wait == FenceWait::kBlock;
  if (config_.fault.copy_lost == copy_steps_ ||
      is_given(config_.fault, FaultKind::kCopyLost, step)) {
    ++lost_;
    lost_ticket_ = ticket;
    lost_step_ = step;
    host_waits_ = blocks;
    return false;
  }
  if (!blocks) fences_.push_back({done_ns, ticket});
  return blocks;
}

std::string CopyFences::lost_wait() const {
  return "the host waits for the copies of step " + std::to_string(lost_step_) +
         ", and their event was lost: ticket " + std::to_string(value_of(lost_ticket_)) +
         " of the " + name_of(lane()) + " lane";
}

}  // namespace pinfold::sim
