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
  if (flags.vllm_args) print(parse_vllm_arguments(*flags.vllm_args).value().notes, err);
  print(loaded.value().notes, err);
  return loaded;
}

}  // namespace pinfold::sim
