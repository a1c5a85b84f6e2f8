#include "sim/device/forward_time.h"

#include <algorithm>

#include "sim/device/curve_time.h"

namespace pinfold::sim {
namespace {

// The bounds that device files keep (sim/config/device_file.cc): a part is at most 10^15 ns, that is
// 10^21 fs; counts are below 2^42, pairs below 2^61 and priced in fs, at most 10^15 each. The largest
// product is then below 10^34, and 128 bits hold 3 * 10^38.
constexpr std::uint64_t kFsPerPs = 1000;

std::uint64_t clipped_ps(Wide ps) {
  return static_cast<std::uint64_t>(std::min<Wide>(ps, kLongestPartPs));
}

std::uint64_t from_fs(Wide fs) { return clipped_ps(fs / kFsPerPs); }

/// Attention of one layer at D rows of KV / D positions: linear in positions, then in rows.
Wide decode_layer_ps(const TableModel& model, const StepLoad& load) {
  if (load.decode_rows == 0) return 0;
  const auto at_node = [&](std::size_t node) {
    return curve_ps(model.decode_layer[node], load.context, load.decode_rows);
  };
  const std::vector<std::uint32_t>& nodes = model.decode_rows;
  if (load.decode_rows <= nodes.front()) return at_node(0);
  const std::size_t last = nodes.size() - 1;
  if (load.decode_rows >= nodes[last]) return at_node(last) * load.decode_rows / nodes[last];
  const auto above = std::upper_bound(nodes.begin(), nodes.end(), load.decode_rows);
  const auto at = static_cast<std::size_t>(above - nodes.begin());
  const Wide low = nodes[at - 1];
  const Wide high = nodes[at];
  return (at_node(at - 1) * (high - load.decode_rows) + at_node(at) * (load.decode_rows - low)) /
         (high - low);
}

/// Attention of one layer over a whole prompt: beyond what was measured it grows with the square.
Wide whole_prompt_layer_ps(const Curve& curve, Wide rows) {
  const std::uint32_t last = curve.rows.back();
  if (rows <= last) return curve_ps(curve, rows);
  return std::min<Wide>(curve_ps(curve, last) * rows * rows / (Wide{last} * last), kLongestPartPs);
}

Wide chunk_layer_ps(const Curve& curve, const Chunk& chunk) {
  const Wide past = chunk.first.value;
  const Wide all = past + chunk.count.value;
  return whole_prompt_layer_ps(curve, all) * (all * all - past * past) / (all * all);
}

}  // namespace

std::uint64_t linear_ps(const LinearModel& model, const StepLoad& load) {
  const Wide ps = model.step_ps + Wide{model.prompt_row_ps} * load.prompt_rows +
                  Wide{model.decode_row_ps} * load.decode_rows +
                  Wide{model.context_position_ps} * load.context;
  return from_fs(ps * kFsPerPs + Wide{model.pair_fs} * load.pairs);
}

std::uint64_t roofline_ps(const RooflineModel& model, const StepLoad& load) {
  const std::uint64_t rows = load.prompt_rows + load.decode_rows;
  const Wide ps = model.step_ps + Wide{model.row_from_knee_ps} * std::max(rows, model.knee_rows) +
                  Wide{model.row_ps} * rows + Wide{model.decode_row_ps} * load.decode_rows +
                  Wide{model.context_position_ps} * load.context;
  return from_fs(ps * kFsPerPs + Wide{model.pair_fs} * load.pairs);
}

std::uint64_t knots_ps(const KnotsModel& model, const StepLoad& load) {
  Wide ps = curve_ps(model.dense, load.prompt_rows + load.decode_rows) +
            curve_ps(model.head, load.head_rows);
  if (load.decode_rows > 0) ps += model.any_decode_ps;
  ps += Wide{model.decode_row_ps} * load.decode_rows +
        Wide{model.context_position_ps} * load.context + Wide{model.chunk_ps} * load.chunks +
        Wide{model.prompt_position_ps} * load.prompt_positions;
  return from_fs(ps * kFsPerPs + Wide{model.pair_fs} * load.pairs);
}

std::uint64_t table_ps(const TableModel& model, const StepLoad& load, const StepPlan& plan) {
  Wide layer = decode_layer_ps(model, load);
  for (const Chunk& chunk : plan.chunks) layer += chunk_layer_ps(model.prompt_layer, chunk);
  return clipped_ps(layer * model.layers +
                    curve_ps(model.dense, load.prompt_rows + load.decode_rows) +
                    curve_ps(model.head, load.head_rows));
}

std::uint64_t forward_ps(const ForwardModel& model, const StepLoad& load, const StepPlan& plan) {
  // Not std::visit: a chain of two comparisons is what a step can afford, and reads as what it is.
  if (const auto* linear = std::get_if<LinearModel>(&model)) return linear_ps(*linear, load);
  if (const auto* knots = std::get_if<KnotsModel>(&model)) return knots_ps(*knots, load);
  if (const auto* roofline = std::get_if<RooflineModel>(&model))
    return roofline_ps(*roofline, load);
  return table_ps(std::get<TableModel>(model), load, plan);
}

}  // namespace pinfold::sim
