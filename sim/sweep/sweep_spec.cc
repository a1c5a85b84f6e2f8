#include "sim/sweep/sweep_spec.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/sweep/held_memory.h"
#include "sim/sweep/requirement.h"
#include "sim/trace/closest_word.h"

namespace pinfold::sim {
namespace {

/// Options that an axis sets in any of its steps.
std::vector<std::string> paths_of(const SweepAxis& axis) {
  std::vector<std::string> paths;
  for (const std::vector<Setting>& step : axis.steps) {
    for (const Setting& setting : step) {
      if (std::find(paths.begin(), paths.end(), setting.path) == paths.end()) {
        paths.push_back(setting.path);
      }
    }
  }
  return paths;
}

InputError wrong(const std::string& source, std::string key, std::string found,
                 std::string expected, std::string hint = {}) {
  InputError error;
  error.path = source;
  error.key = std::move(key);
  error.found = std::move(found);
  error.expected = std::move(expected);
  error.hint = std::move(hint);
  return error;
}

}  // namespace

std::vector<std::string> swept_paths(const SweepSpec& spec) {
  std::vector<std::string> paths;
  for (const SweepAxis& axis : spec.axes) {
    for (std::string& path : paths_of(axis)) paths.push_back(std::move(path));
  }
  return paths;
}

std::vector<InputError> check_spec(const SweepSpec& spec, const std::string& source) {
  std::vector<InputError> errors;
  const std::vector<std::string> paths = swept_paths(spec);
  std::vector<std::string> sizing;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string& path = paths[i];
    if (std::find(paths.begin(), paths.begin() + static_cast<std::ptrdiff_t>(i), path) !=
        paths.begin() + static_cast<std::ptrdiff_t>(i)) {
      errors.push_back(wrong(source, path, "an option that is varied twice", "it once"));
    }
    if (path == "seed") {
      errors.push_back(wrong(source, path, "a seed as a key", "seeds apart",
                             "\"seeds\": [0, 1] or --seeds 0,1: intervals are over seeds"));
    }
    if (sizes_pool(path)) sizing.push_back(path);
  }
  for (const std::string& text : spec.base.overrides) {
    if (text.starts_with("seed=") && !spec.seeds.empty()) {
      errors.push_back(wrong(source, "seeds", "seeds beside --set " + text, "one of the two"));
    }
  }
  if (sizing.size() > 1) {
    errors.push_back(wrong(source, sizing[1], "a second figure that sizes the pool",
                           "one of engine.num_blocks, memory.available_gib, memory.device_gib",
                           sizing[0] + " is varied too"));
  }
  if (!sizing.empty() && spec.hold) {
    errors.push_back(wrong(source, "hold", spec.hold == Hold::kMemory ? "\"memory\"" : "\"blocks\"",
                           "no hold where the sweep itself says the pool's size",
                           sizing[0] + " is varied"));
  }
  if (spec.axes.empty() && spec.seeds.size() < 2 && spec.traces.size() < 2) {
    errors.push_back(wrong(source, "", "nothing that varies",
                           "a grid, a list, several seeds or several traces"));
  }
  return errors;
}

std::span<const std::string_view> sweep_figures() {
  static const std::vector<std::string_view> figures = [] {
    std::vector<std::string_view> names(std::begin(kPoolFigures), std::end(kPoolFigures));
    RunResult any;
    any.prefix_reuse = true;  // or its figures are left out
    for (const ReportField& field : run_fields(any, Provenance{})) {
      if (field.kind == ReportField::Kind::kText || field.name == "saturated") continue;
      // The list outlives the fields: names are those of the requirements.
      for (const std::string& known : requirement_figures()) {
        if (known == field.name && known != "seed") names.push_back(known);
      }
    }
    return names;
  }();
  return figures;
}

std::optional<InputError> check_figure(const std::string& name) {
  const std::span<const std::string_view> known = sweep_figures();
  if (std::find(known.begin(), known.end(), name) != known.end()) return std::nullopt;
  const std::optional<std::string_view> close = closest_word(name, known);
  return wrong("", "", "the unknown figure " + in_quotes(name),
               "a number of `pinfold run --format json`, or pool.*",
               close ? fmt::format("did you mean {}?", *close)
                     : "`pinfold run --format csv` names them all");
}

}  // namespace pinfold::sim
