#include "sim/device/step_cost.h"

#include <algorithm>

#include "base/counts.h"
#include "sim/device/curve_time.h"
#include "sim/device/fitted_range.h"
#include "sim/device/forward_time.h"
#include "sim/device/step_load.h"

namespace pinfold::sim {
namespace {

constexpr std::uint64_t kPsPerSecond = 1'000'000'000'000;

/// A block of a device file's geometry: its bytes over the bandwidth, and its pieces.
Wide block_copy_ps(const CopyModel& copy, std::uint32_t block_size) {
  const Wide bytes = Wide{copy.bytes_per_position} * block_size;
  return bytes * kPsPerSecond / copy.bytes_per_s + Wide{copy.piece_ps} * copy.pieces_per_block;
}

std::uint64_t copies_ps(const CostConfig& cost, std::uint32_t block_size, const StepPlan& plan) {
  Wide blocks = 0;
  Wide states = 0;
  for (const Copy& copy : plan.copies) {
    if (copy.to == kNoBlock) continue;  // release only: nothing moves
    ++(copy.pool == PoolKind::kBlocks ? blocks : states);
  }
  if (blocks + states == 0) return 0;
  Wide ps = states * cost.state_copy_ps;
  if (cost.device) {
    ps += cost.device->copy.latency_ps + blocks * block_copy_ps(cost.device->copy, block_size);
  } else {
    ps += blocks * cost.block_copy_ps;
  }
  return static_cast<std::uint64_t>(std::min<Wide>(ps, kLongestPartPs));
}

/// Entries of block tables that attention reads; of decode rows together, which is at most one entry a
/// row too few.
Wide table_entries(std::uint32_t block_size, const StepPlan& plan) {
  Wide entries = div_ceil<std::uint64_t>(plan.context_rows, block_size);
  for (const Chunk& chunk : plan.chunks) {
    entries +=
        div_ceil<std::uint64_t>(std::uint64_t{chunk.first.value} + chunk.count.value, block_size);
  }
  return entries;
}

}  // namespace

StepCost step_cost(const CostConfig& cost, std::uint32_t block_size, const StepPlan& plan) {
  StepCost result;
  if (!plan.copies.empty()) result.copies_ps = copies_ps(cost, block_size, plan);
  const StepLoad load = load_of(plan);
  Wide ps = 0;
  if (cost.device) {
    ps = Wide{forward_ps(cost.device->forward, load, plan)} * cost.scale.numerator /
             cost.scale.denominator +
         cost.host_ps;
    result.limits_passed = limits_passed(cost.device->range, load, plan);
    const auto* table = std::get_if<TableModel>(&cost.device->forward);
    if (table != nullptr && beyond_decode_table(*table, load)) {
      result.limits_passed |= 1U << static_cast<std::uint32_t>(Limit::kContextPerRowMax);
    }
  } else {
    ps = linear_ps({.step_ps = cost.step_base_ps,
                    .prompt_row_ps = cost.prompt_token_ps,
                    .decode_row_ps = cost.row_ps,
                    .context_position_ps = cost.context_token_ps,
                    .pair_fs = 0},
                   load);
  }
  if (cost.table_entry_ps > 0) ps += table_entries(block_size, plan) * cost.table_entry_ps;
  result.forward_ps = static_cast<std::uint64_t>(std::min<Wide>(ps, kLongestPartPs));
  return result;
}

}  // namespace pinfold::sim
