#pragma once
// Whose step times a run has, as a result says it.

#include <cstdint>
#include <optional>
#include <string>

#include "sim/config/run_config.h"

namespace pinfold::sim {

/// The device's part of it; nothing where costs are plain coefficients.
struct DeviceProvenance {
  std::string model;
  std::string gpu;
  std::string engine;  // with its version
  std::uint32_t tensor_parallel_size = 1;
  std::string variant;
  std::string fit;
  std::optional<HeldOutError> error;
  std::string source;
  std::string digest;
};

struct CostProvenance {
  std::string name = "none";
  std::optional<DeviceProvenance> device;
  std::string block_size_effect = "not modelled";  // which times depend on the block size
};

CostProvenance cost_provenance(const RunConfig& config);

}  // namespace pinfold::sim
