#include "sim/cli/config_flags.h"

#include <span>

#include "sim/cli/exit_code.h"
#include "sim/config/vllm_arguments.h"

namespace pinfold::sim {
namespace {

void print(std::span<const std::string> notes, std::ostream& err) {
  for (const std::string& note : notes) err << "pinfold: note: " << note << '\n';
}

}  // namespace

Outcome<ConfigSources> sources_of(const ConfigFlags& flags) {
  ConfigSources sources{.files = flags.files, .flags = flags.values, .overrides = flags.overrides};
  if (flags.vllm_args) {
    Outcome<VllmArguments> arguments = parse_vllm_arguments(*flags.vllm_args);
    if (!arguments) return arguments.error();
    sources.imported = std::move(arguments.value().values);
  }
  return sources;
}

Outcome<LoadedConfig> load_config(const ConfigFlags& flags, std::ostream& err) {
  const Outcome<ConfigSources> sources = sources_of(flags);
  if (!sources) return sources.error();
  std::vector<InputError> mistakes;
  Outcome<LoadedConfig> loaded = load_config(sources.value(), &mistakes);
  if (!loaded) {
    // The caller says the last one, and ends.
    for (std::size_t n = 0; n + 1 < mistakes.size(); ++n) {
      fail(err, ExitCode::kUsageError, mistakes[n]);
    }
    return mistakes.back();
  }
  const RunConfig& config = loaded.value().config;
  if (config.engine.fence == FenceMode::kUnorderedWriters &&
      config.fork.copy_lane == CopyLane::kSeparate) {
    loaded.value().notes.emplace_back(
        "engine.fence=unordered_writers with fork.copy_lane=separate is not safe: a copy may come "
        "before the step "
        "that still writes its block (`pinfold explore "
        "configs/zoo/43_copy_lane.fence_unordered_writers.json`)");
  }
  if (flags.vllm_args) print(parse_vllm_arguments(*flags.vllm_args).value().notes, err);
  print(loaded.value().notes, err);
  return loaded;
}

}  // namespace pinfold::sim
