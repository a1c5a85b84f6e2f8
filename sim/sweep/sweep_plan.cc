#include "sim/sweep/sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/resolved_config.h"
#include "sim/sweep/held_memory.h"

namespace pinfold::sim {
namespace {

constexpr const char* kBlocksPath = "engine.num_blocks";

class Planner {
 public:
  Planner(const SweepSpec& spec, const RunConfig& base) : spec_(spec), base_(base) {
    const std::vector<std::string> paths = swept_paths(spec);
    hold_ = spec.hold.value_or(Hold::kMemory);
    holds_ = std::none_of(paths.begin(), paths.end(), sizes_pool);
  }

  SweepConfig config_of(std::vector<std::size_t> steps, const std::string* seed) const {
    SweepConfig result;
    for (std::size_t axis = 0; axis < steps.size(); ++axis) {
      for (const Setting& setting : spec_.axes[axis].steps[steps[axis]]) {
        result.settings.push_back(setting);
      }
    }
    result.steps = std::move(steps);
    std::vector<Setting> settings = result.settings;
    if (seed != nullptr) settings.push_back({"seed", *seed});
    const Outcome<RunConfig> config = resolve(std::move(settings));
    if (!config) {
      result.invalid = describe(config.error());
      result.seed = seed != nullptr ? *seed : fmt::format("{}", base_.seed);
      return result;
    }
    result.seed = fmt::format("{}", config.value().seed);
    result.json = resolved_json(config.value());
    result.digest = config_digest(config.value());
    result.pool = pool_figures(config.value());
    return result;
  }

 private:
  Outcome<RunConfig> resolve(std::vector<Setting> settings) const {
    if (holds_ && hold_ == Hold::kBlocks) {
      settings.push_back({kBlocksPath, fmt::format("{}", base_.engine.num_blocks)});
    }
    Outcome<RunConfig> config = load_with(spec_.base, settings);
    // Memory that is given in bytes sizes each pool anew by itself.
    const bool counted = base_.memory.source == PoolSource::kNumBlocks;
    if (!config || !holds_ || hold_ != Hold::kMemory || !counted) return config;
    const HeldMemory held = held_memory(base_);
    const std::uint64_t ids = block_ids_from(held, config.value());
    if (ids == config.value().engine.num_blocks) return config;
    if (ids < 2) {
      InputError error;
      error.path = "hold";
      error.key = kBlocksPath;
      error.found =
          fmt::format("room for {} block id{} in the memory that is held ({} {})", ids,
                      ids == 1 ? "" : "s", held.amount, held.bytes_known ? "bytes" : "positions");
      error.expected = "room for at least 2";
      return error;
    }
    settings.push_back({kBlocksPath, fmt::format("{}", ids)});
    return load_with(spec_.base, settings);
  }

  const SweepSpec& spec_;
  const RunConfig& base_;
  Hold hold_ = Hold::kMemory;
  bool holds_ = true;
};

/// The next combination of steps, the last axis first; false after the last one.
bool advance(std::vector<std::size_t>& steps, const std::vector<SweepAxis>& axes) {
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    if (++steps[axis] < axes[axis].steps.size()) return true;
    steps[axis] = 0;
  }
  return false;
}

}  // namespace

std::vector<InputError> base_mistakes(const SweepSpec& spec) {
  std::vector<InputError> mistakes;
  if (load_config(spec.base, &mistakes)) return {};
  for (InputError& error : mistakes) {
    error.hint += fmt::format("{}a sweep's base configuration has to be valid without its settings",
                              error.hint.empty() ? "" : "; ");
  }
  return mistakes;
}

Outcome<SweepPlan> plan_sweep(const SweepSpec& spec) {
  const Outcome<LoadedConfig> base = load_config(spec.base);
  if (!base) return base.error();
  SweepPlan plan;
  plan.seeds = std::max<std::size_t>(spec.seeds.size(), 1);
  std::size_t cells = spec.traces.size() * plan.seeds;
  for (const SweepAxis& axis : spec.axes) {
    cells = std::min(cells * axis.steps.size(), kMostCells + 1);
  }
  if (cells > kMostCells) {
    InputError error;
    error.path = "sweep";
    error.found = fmt::format("more than {} cells", kMostCells);
    error.expected = "at most so many";
    error.hint = "several sweeps, or fewer values";
    return error;
  }
  const Planner planner(spec, base.value().config);
  std::vector<std::size_t> steps(spec.axes.size(), 0);
  do {
    if (spec.seeds.empty()) plan.configs.push_back(planner.config_of(steps, nullptr));
    for (const std::string& seed : spec.seeds) {
      plan.configs.push_back(planner.config_of(steps, &seed));
    }
  } while (advance(steps, spec.axes));
  for (std::size_t trace = 0; trace < spec.traces.size(); ++trace) {
    for (std::size_t config = 0; config < plan.configs.size(); ++config) {
      plan.cells.push_back({trace, config});
    }
  }
  return plan;
}

}  // namespace pinfold::sim
