#pragma once
// A journal record in words.

#include <span>
#include <string>

#include "engine/scheduler.h"

namespace pinfold::sim {

/// "sequence 12 takes blocks 5, 6 and 7"; long lists are cut in the middle.
std::string words_of(const Record& record, std::span<const BlockId> ids);

/// Whether the record is about a sequence, and not about a step or a lane.
bool names_sequence(Verb verb);

/// "5, 6, 7", or "5, 6, 7, 8, ... 40, 41 (24)"; "none" for no id.
std::string ids_text(std::span<const BlockId> ids);

}  // namespace pinfold::sim
