#include "sim/core/scenario.h"

namespace pinfold::sim {

const char* name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kStepFailed: return "step_failed";
    case FaultKind::kStepLost: return "step_lost";
    case FaultKind::kCopyLost: return "copy_lost";
    case FaultKind::kCopyDelay: return "copy_delay";
  }
  return "?";
}

Trace trace_of(const Scenario& scenario) {
  Trace trace;
  trace.name = scenario.path;
  for (const ScenarioRequest& request : scenario.requests) {
    trace.requests.push_back(request.request);
    trace.requests.back().drafts = request.drafts;
    if (!request.request.prefix_ids.empty()) trace.id_block = scenario.config.engine.block_size;
  }
  return trace;
}

}  // namespace pinfold::sim
