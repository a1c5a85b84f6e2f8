#pragma once
// One file, whole or not at all.

#include <optional>
#include <string>
#include <string_view>

#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// Whether FILE can be written: its folder is there and may be written into, and what has its name, if
/// anything, is a file. `flag` stands in errors. Changes nothing.
std::optional<InputError> check_whole_file(const std::string& flag, const std::string& path);

/// Writes `content` as FILE.partial, which then takes FILE's name; an earlier file stays until then, and
/// after an error. Interrupts wait meanwhile.
std::optional<InputError> write_whole_file(const std::string& flag, const std::string& path,
                                           std::string_view content);

/// Moves FILE.partial, which is complete, in FILE's place; removes it where that fails.
std::optional<InputError> publish_whole_file(const std::string& flag, const std::string& path);

/// "FILE.partial"
std::string partial_of(const std::string& path);

}  // namespace pinfold::sim
