#include "sim/metrics/saturation.h"

#include <algorithm>

namespace pinfold::sim {

bool ArrivalQueue::saturated() const {
  const std::uint64_t least = std::max<std::uint64_t>(8, (arrivals() + 99) / 100);
  return open_loop && at_last_arrival >= least;
}

}  // namespace pinfold::sim
