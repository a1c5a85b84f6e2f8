#pragma once
// A sweep's result in text, JSON and CSV: equal results are equal bytes.

#include <string>

#include "sim/sweep/sweep_summary.h"

namespace pinfold::sim {

/// A table with a row for each setting (the mean over seeds, and its range), the best settings, the Pareto
/// front, what each axis moves, and why cells failed.
std::string sweep_text(const SweepResult& result, const SweepSummary& summary);

/// The same, with every cell's figures.
std::string sweep_json(const SweepResult& result, const SweepSummary& summary);

/// A row for each cell, with all figures.
std::string sweep_csv(const SweepResult& result);

/// The cells before any of them has run.
std::string plan_text(const SweepSpec& spec, const SweepPlan& plan);
std::string plan_json(const SweepSpec& spec, const SweepPlan& plan);

}  // namespace pinfold::sim
