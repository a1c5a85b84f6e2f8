#include "sim/cli/config_flags.h"

#include <span>

#include "sim/config/vllm_arguments.h"

namespace pinfold::sim {
namespace {

void print(std::span<const std::string> notes, std::ostream& err) {
  for (const std::string& note : notes) err << "pinfold: note: " << note << '\n';
}

}  // namespace

Outcome<LoadedConfig> load_config(const ConfigFlags& flags, std::ostream& err) {
  ConfigSources sources{.files = flags.files, .flags = flags.values, .overrides = flags.overrides};
  std::vector<std::string> notes;
  if (flags.vllm_args) {
    Outcome<VllmArguments> arguments = parse_vllm_arguments(*flags.vllm_args);
    if (!arguments) return arguments.error();
    sources.imported = std::move(arguments.value().values);
    notes = std::move(arguments.value().notes);
  }
  Outcome<LoadedConfig> loaded = load_config(sources);
  if (!loaded) return loaded;
  print(notes, err);
  print(loaded.value().notes, err);
  return loaded;
}

}  // namespace pinfold::sim
