#pragma once
// One option of a configuration, set on top of it.

#include <span>
#include <string>
#include <string_view>

#include "sim/config/parse.h"

namespace pinfold::sim {

/// An option and its value, as `--set` takes them.
struct Setting {
  std::string path;   // "engine.block_size"
  std::string value;  // "64"

  friend bool operator==(const Setting&, const Setting&) = default;
};

/// Whether the option is one of the three figures of which the latest sizes the pool.
bool sizes_pool(std::string_view path);

/// `base` with the settings, which beat everything in it.
Outcome<RunConfig> load_with(const ConfigSources& base, std::span<const Setting> settings);

}  // namespace pinfold::sim
