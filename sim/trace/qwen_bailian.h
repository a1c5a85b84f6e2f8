#pragma once
// The Qwen-Bailian traces: JSON Lines of chats in seconds, blocks of 16 tokens, the last one partly filled.
// Each row is a turn's whole context. The last block's hash can change between turns.

#include "sim/trace/table_schema.h"

namespace pinfold::sim {

/// A chat's turns are one session, named by its first; a parent outside the trace makes a first turn. How
/// long a request took is not recorded, so a delay is the time between arrivals: the most that it can have
/// been. One record a row is kept, since any may be a parent.
TableSchema qwen_bailian();

}  // namespace pinfold::sim
