#pragma once
// What repeats a run.

#include <cstdint>
#include <string>

#include "sim/core/cost_provenance.h"

namespace pinfold::sim {

struct Provenance {
  std::string version;
  std::string trace;          // as the user named it
  std::string trace_digest;   // hexadecimal, of the requests
  std::string config_digest;  // hexadecimal, of the resolved configuration
  std::uint64_t seed = 0;
  CostProvenance cost = {};
};

}  // namespace pinfold::sim
