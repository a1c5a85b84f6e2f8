#include "sim/core/simulate.h"

#include "sim/core/simulation.h"

namespace pinfold::sim {

RunResult simulate(RequestSource& source, const RunConfig& config, const RunOptions& options) {
  return Simulation(source, config, options).run();
}

RunResult simulate(const Trace& trace, const RunConfig& config, const RunOptions& options) {
  TraceSource source(trace);
  return simulate(source, config, options);
}

}  // namespace pinfold::sim
