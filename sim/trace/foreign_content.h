#pragma once
// Files that are no trace in text form, recognised by how they begin.

#include <optional>
#include <string>
#include <string_view>

#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// What is wrong with a file that begins with `text` (all of it, where it is short): a Git LFS pointer, the
/// path that a symbolic link left behind, a pickle, a table of columns, an archive, binary data. The
/// message says what to do instead; `expected` is what should have been there.
std::optional<InputError> foreign_content(std::string_view text, const std::string& path,
                                          const std::string& expected);

}  // namespace pinfold::sim
