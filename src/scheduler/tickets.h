#pragma once
// Tickets of the compute lane: every step has two, so no table of tickets is needed. Its copies run
// ahead of its forward.

#include "base/ids.h"

namespace pinfold {

constexpr Ticket copy_ticket(std::uint64_t step) { return Ticket{2 * step - 1}; }
constexpr Ticket step_ticket(std::uint64_t step) { return Ticket{2 * step}; }

}  // namespace pinfold
