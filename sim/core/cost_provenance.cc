#include "sim/core/cost_provenance.h"

#include <fmt/format.h>

namespace pinfold::sim {

CostProvenance cost_provenance(const RunConfig& config) {
  const CostConfig& cost = config.cost;
  CostProvenance provenance;
  provenance.name = cost.device_name;
  const bool entries = cost.table_entry_ps > 0;
  if (!cost.device) {
    provenance.block_size_effect = entries ? "table entries" : "not modelled";
    return provenance;
  }
  provenance.block_size_effect = entries ? "copies and table entries" : "copies only";
  const Device& device = *cost.device;
  provenance.device = DeviceProvenance{
      .model = device.model,
      .gpu = device.gpu,
      .engine = fmt::format("{} {}", device.engine, device.engine_version),
      .tensor_parallel_size = config.engine.tensor_parallel_size,
      .variant = cost.variant,
      .fit = std::string(kFitNames[static_cast<std::size_t>(cost.fit)]),
      .error = device.error,
      .source = device.source,
      .digest = device.digest,
  };
  return provenance;
}

}  // namespace pinfold::sim
