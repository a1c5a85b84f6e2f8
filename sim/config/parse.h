#pragma once
// A configuration from text: strict JSON (sim/config/json_reader.h) and overrides, checked against the
// option table and across options. What comes out is complete and valid.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sim/config/run_config.h"
#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// Reads the configuration in `path` (the defaults where there is none), then applies `overrides`, each
/// `engine.block_size=64`, in order. Unknown keys, values of the wrong kind or outside their range,
/// options without effect and options that contradict each other are errors: with line and column in a
/// file, with the flag otherwise. An option that an override switches off keeps its details in the file.
Outcome<RunConfig> load_config(const std::optional<std::string>& path,
                               std::span<const std::string> overrides);

/// The same from memory; `name` stands for the path.
Outcome<RunConfig> parse_config(std::string_view json, const std::string& name,
                                std::span<const std::string> overrides = {});

}  // namespace pinfold::sim
