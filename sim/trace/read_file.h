#pragma once
// A whole file as text.

#include <string>

#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// Reads a file, or a pipe to its end. A missing or unreadable file and a directory are errors that
/// say which of them it is; `wanted` names what should have been there ("a trace").
Outcome<std::string> read_file(const std::string& path, const std::string& wanted);

}  // namespace pinfold::sim
