#pragma once
// A sweep compares settings on the same memory: where a block or the state slots change size, the block
// count follows.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/config/run_config.h"
#include "sim/core/run_fields.h"

namespace pinfold::sim {

/// The memory of one GPU that a pool takes (rule O13).
struct HeldMemory {
  bool bytes_known = false;  // false: the model's shape is not known, and `amount` counts positions
  std::uint64_t amount =
      0;  // block ids x a block, block 0 counted, and twice the state slots' bytes
};

HeldMemory held_memory(const RunConfig& config);

/// How many block ids `config` gets from that memory: floor((amount - twice its state slots) / its
/// block), which may be too few to run. Where bytes are known on one side only, the count stays.
std::uint64_t block_ids_from(const HeldMemory& held, const RunConfig& config);

inline constexpr std::array<std::string_view, 4> kPoolFigures{"pool.block_ids", "pool.positions",
                                                              "pool.state_ids", "pool.bytes"};

/// The pool's size as figures: block ids (block 0 counted), positions that can be owned, state ids (slot 0
/// counted), and bytes on one GPU with twice the state slots (no value where they are not known).
std::vector<ReportField> pool_figures(const RunConfig& config);

}  // namespace pinfold::sim
