#pragma once
// Scenario files: JSON with comments, read strictly. docs/scenarios.md is the manual.

#include <span>
#include <string>
#include <string_view>

#include "sim/config/json_reader.h"
#include "sim/core/scenario.h"
#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// Parses a whole file's text; `path` stands in errors, and `config.include` is relative to it. Unknown
/// keys, names of no request, arrivals out of order and what contradicts the configuration are errors
/// with line and column. `overrides` ("engine.overlap=0") beat the file's configuration.
Outcome<Scenario> parse_scenario(std::string_view text, const std::string& path,
                                 std::span<const std::string> overrides = {});
Outcome<Scenario> parse_scenario(const JsonValue& document, const std::string& path,
                                 std::span<const std::string> overrides = {});
Outcome<Scenario> read_scenario(const std::string& path,
                                std::span<const std::string> overrides = {});

/// The scenario on one line, without what it expects; the configuration holds what differs from the
/// defaults. Read again it is the same.
std::string scenario_text(const Scenario& scenario);

/// Whether a command takes this file for a scenario and not for a trace: its name ends in .json and it does
/// not look like a session trace.
bool is_scenario_file(const std::string& path);

}  // namespace pinfold::sim
