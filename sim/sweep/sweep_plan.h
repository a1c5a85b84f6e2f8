#pragma once
// A sweep's cells: every configuration on every trace.

#include <cstddef>
#include <string>
#include <vector>

#include "sim/core/run_fields.h"
#include "sim/sweep/sweep_spec.h"

namespace pinfold::sim {

/// One step of each axis, with one seed.
struct SweepConfig {
  std::vector<std::size_t> steps;  // of each axis
  std::vector<Setting> settings;   // of all axes
  std::string seed;
  std::string invalid;  // why nothing can run; empty: it can, and the rest is filled in
  std::string json;     // resolved
  std::string digest;
  std::vector<ReportField> pool;  // sim/sweep/held_memory.h
};

struct SweepCell {
  std::size_t trace = 0;   // of the spec
  std::size_t config = 0;  // of the plan
};

/// Cells by trace, then by configuration: the last axis changes fastest but for the seed, which changes
/// faster still.
struct SweepPlan {
  std::vector<SweepConfig> configs;
  std::vector<SweepCell> cells;
  std::size_t seeds = 1;  // neighbouring configurations that differ in nothing else
};

inline constexpr std::size_t kMostCells = 100'000;

/// What is wrong with the base configuration. It must be valid without any setting of the axes: it says
/// which memory is held.
std::vector<InputError> base_mistakes(const SweepSpec& spec);

/// The cells of a spec that passed check_spec, on a base without mistakes. Settings that do not go
/// together make an invalid cell and no error.
Outcome<SweepPlan> plan_sweep(const SweepSpec& spec);

}  // namespace pinfold::sim
