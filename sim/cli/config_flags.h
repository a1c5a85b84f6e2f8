#pragma once
// A configuration as commands take it: files, an engine's flags, and overrides.

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "sim/config/parse.h"

namespace pinfold::sim {

struct ConfigFlags {
  std::vector<std::string> files;          // --config, each beats the ones before it
  std::optional<std::string> vllm_args{};  // --vllm-args
  std::vector<FlagValue> values{};         // flags of the command itself that are options
  std::vector<std::string> overrides{};    // --set
};

/// The same without what a command has to print: where the configuration comes from.
Outcome<ConfigSources> sources_of(const ConfigFlags& flags);

/// The configuration. Which of the engine's flags changed nothing goes to `err`, a line each, and so do all
/// mistakes but the last, which is the error.
Outcome<LoadedConfig> load_config(const ConfigFlags& flags, std::ostream& err);

}  // namespace pinfold::sim
