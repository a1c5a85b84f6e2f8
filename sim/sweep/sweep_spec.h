#pragma once
// What a sweep varies, and on what.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/parse.h"
#include "sim/sweep/setting.h"
#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// What changes together: each step sets its options, and every step is crossed with every step of the
/// other axes.
struct SweepAxis {
  std::string name;  // "engine.block_size", keys that vary together joined by "+", or "list"
  std::vector<std::vector<Setting>> steps;
};

struct SweepTrace {
  std::string name;  // as it is written, in results
  std::string path;  // from the working directory
};

/// What stays the same where a setting changes the bytes of a block or of the state slots.
enum class Hold : std::uint8_t {
  kMemory,  // bytes of the pool and twice the state slots: the block count follows (sim/sweep/held_memory.h)
  kBlocks,  // engine.num_blocks
};

struct SweepSpec {
  std::string learnt;  // what this sweep taught; shown with the result
  std::vector<SweepTrace> traces;
  ConfigSources base;
  std::vector<SweepAxis> axes;
  std::vector<std::string> seeds;  // values of `seed`; empty: the base's
  std::optional<Hold> hold;        // nothing: memory, unless the sweep says the block count itself
  std::vector<std::string> figures;  // to show; empty: kShownFigures
  std::vector<std::string> front;    // of the Pareto front; empty: by default
};

/// Options that the axes set, each once, in their order.
std::vector<std::string> swept_paths(const SweepSpec& spec);

/// What is wrong across a spec's parts, each with its own place: a key that is swept twice, or
/// that sizes the pool while memory is held. `source` names the spec.
std::vector<InputError> check_spec(const SweepSpec& spec, const std::string& source);

/// The figures that a sweep can show: numbers of `pinfold run --format json`, and those of the pool itself
/// (sim/sweep/held_memory.h).
std::span<const std::string_view> sweep_figures();

/// The mistake in a figure's name, without its place; nothing if it is one.
std::optional<InputError> check_figure(const std::string& name);

}  // namespace pinfold::sim
