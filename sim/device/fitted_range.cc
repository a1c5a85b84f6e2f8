#include "sim/device/fitted_range.h"

#include <algorithm>

namespace pinfold::sim {

std::uint32_t limits_passed(const FittedRange& range, const StepLoad& load, const StepPlan& plan) {
  std::uint32_t passed = 0;
  const auto pass = [&](Limit limit, bool beyond) {
    if (beyond) passed |= 1U << static_cast<std::uint32_t>(limit);
  };
  // Value against limit; both may be multiplied by what the value is a mean over.
  const auto at_most = [&](Limit limit, std::uint64_t value, std::uint64_t times = 1) {
    const auto& most = range[static_cast<std::size_t>(limit)];
    if (most) pass(limit, value > *most * times);
  };
  const auto at_least = [&](Limit limit, std::uint64_t value, std::uint64_t times = 1) {
    const auto& least = range[static_cast<std::size_t>(limit)];
    if (least) pass(limit, value < *least * times);
  };

  at_most(Limit::kPromptRowsMax, load.prompt_rows);
  at_most(Limit::kChunksMax, load.chunks);
  for (const Chunk& chunk : plan.chunks) {
    at_least(Limit::kChunkRowsMin, chunk.count.value);
    at_most(Limit::kChunkRowsMax, chunk.count.value);
    at_most(Limit::kPastRowsMax, chunk.first.value);
  }
  at_most(Limit::kDecodeRowsMax, load.decode_rows);
  if (load.decode_rows > 0) {
    at_least(Limit::kContextPerRowMin, load.context, load.decode_rows);
    at_most(Limit::kContextPerRowMax, load.context, load.decode_rows);
  }
  at_most(Limit::kPositionsMax, load.context + load.prompt_positions);
  return passed;
}

bool beyond_decode_table(const TableModel& model, const StepLoad& load) {
  if (load.decode_rows == 0) return false;
  const std::vector<std::uint32_t>& nodes = model.decode_rows;
  const auto at = std::lower_bound(nodes.begin(), nodes.end(), load.decode_rows);
  if (at == nodes.end()) return true;
  const Curve& curve = model.decode_layer[static_cast<std::size_t>(at - nodes.begin())];
  return load.context > curve.rows.back() * load.decode_rows;
}

}  // namespace pinfold::sim
