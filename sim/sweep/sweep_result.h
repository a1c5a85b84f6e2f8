#pragma once
// A sweep with what its cells found.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/sweep/run_tasks.h"
#include "sim/sweep/sweep_plan.h"

namespace pinfold::sim {

struct SweepResult {
  std::string version;
  SweepSpec spec;
  SweepPlan plan;
  std::vector<std::string> trace_digests;  // of spec.traces
  /// One for each trace and configuration that are different and could be tried, in order of their digests.
  std::vector<RunRecord> records;
  std::vector<std::optional<std::size_t>>
      record_of;  // of each cell; nothing: its configuration is invalid

  const SweepConfig& config(std::size_t cell) const {
    return plan.configs[plan.cells[cell].config];
  }
  /// A cell's outcome, from its configuration or from its run.
  RunStatus status(std::size_t cell) const;
  const std::string& reason(std::size_t cell) const;
  /// The text of one of a cell's figures (pool.* too), or nothing where it has no value.
  std::optional<std::string> figure(std::size_t cell, const std::string& name) const;
};

}  // namespace pinfold::sim
