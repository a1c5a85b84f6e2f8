#pragma once
// The fast way to read a line of a recorded journal: the form in which `run --record` writes them, byte
// for byte. Every other spelling is left to the JSON reader, which explains what is wrong with it.

#include <string_view>
#include <vector>

#include "base/journal.h"

namespace pinfold::sim {

/// Fills `record` and `ids` and returns true if `line` has exactly that form. Otherwise false; what
/// they hold is then not defined.
bool scan_event(std::string_view line, Record& record, std::vector<BlockId>& ids);

}  // namespace pinfold::sim
