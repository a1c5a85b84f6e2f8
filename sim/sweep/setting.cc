#include "sim/sweep/setting.h"

#include <fmt/format.h>

#include <algorithm>

namespace pinfold::sim {

bool sizes_pool(std::string_view path) {
  return path == "engine.num_blocks" || path == "memory.available_gib" ||
         path == "memory.device_gib";
}

Outcome<RunConfig> load_with(const ConfigSources& base, std::span<const Setting> settings) {
  ConfigSources sources = base;
  bool pool_is_set = false;
  for (const Setting& setting : settings) {
    pool_is_set |= sizes_pool(setting.path);
    sources.flags.push_back(
        {setting.path, setting.value, fmt::format("{}={}", setting.path, setting.value)});
  }
  // Overrides stand in the same layer, where an option may be set once, and the pool be sized once.
  std::erase_if(sources.overrides, [&](const std::string& text) {
    const std::string_view path = std::string_view(text).substr(0, text.find('='));
    return (pool_is_set && sizes_pool(path)) ||
           std::any_of(settings.begin(), settings.end(),
                       [&](const Setting& setting) { return setting.path == path; });
  });
  Outcome<LoadedConfig> loaded = load_config(sources);
  if (!loaded) return loaded.error();
  return std::move(loaded.value().config);
}

}  // namespace pinfold::sim
