#include "sim/device/step_cost.h"

namespace pinfold::sim {

StepCost step_cost(const CostConfig& cost, const StepPlan& plan) {
  StepCost result;
  for (const Copy& copy : plan.copies) {
    if (copy.to == kNoBlock) continue;  // release only: nothing moves
    result.copies_ps +=
        copy.pool == PoolKind::kStateSlots ? cost.state_copy_ps : cost.block_copy_ps;
  }
  result.forward_ps = cost.step_base_ps + cost.row_ps * (plan.decode_rows + plan.draft_rows) +
                      cost.prompt_token_ps * plan.prompt_rows +
                      cost.context_token_ps * plan.context_rows;
  return result;
}

}  // namespace pinfold::sim
