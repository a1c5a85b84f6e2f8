#pragma once
// Times between and beyond the nodes of a measured curve, in integer picoseconds.

#include <cstdint>

#include "sim/config/device.h"

namespace pinfold::sim {

__extension__ typedef unsigned __int128 Wide;

/// The first node's time below it, linear between nodes, proportional beyond the last; 0 for 0 rows.
/// Rows are `numerator / denominator`; rounded down.
Wide curve_ps(const Curve& curve, Wide numerator, Wide denominator = 1);

}  // namespace pinfold::sim
