#include "sim/device/step_load.h"

namespace pinfold::sim {

StepLoad load_of(const StepPlan& plan) {
  StepLoad load;
  // Rows that are computed again behind a loaded state cost what they cost the first time.
  load.prompt_rows = std::uint64_t{plan.prompt_rows} + plan.recovered_rows;
  load.decode_rows = std::uint64_t{plan.decode_rows} + plan.draft_rows;
  load.context = plan.context_rows;
  load.chunks = plan.chunks.size();
  load.head_rows = load.decode_rows;
  for (const Chunk& chunk : plan.chunks) {
    const std::uint64_t rows = std::uint64_t{chunk.count.value} + chunk.recovered.value;
    const std::uint64_t past = chunk.first.value - chunk.recovered.value;
    load.prompt_positions += past + rows;
    load.pairs += rows * past + rows * (rows + 1) / 2;
    if (chunk.last) ++load.head_rows;
  }
  return load;
}

}  // namespace pinfold::sim
