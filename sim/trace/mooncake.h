#pragma once
// Mooncake's JSON Lines and those that follow them: an arrival, two lengths and the hashes of the prompt's
// blocks, each of which stands for the block and all before it.

#include "sim/trace/table_schema.h"

namespace pinfold::sim {

/// Milliseconds, blocks of 512 tokens, the last one partly filled. AIPerf's additions are read: `session_id`,
/// and `delay` (milliseconds from the end of the session's turn before), with which `timestamp` may be
/// missing: the turn then arrives `delay` after the one before it arrived. One record a session is kept.
TableSchema mooncake();

/// vLLM's timed traces: the same in seconds, with blocks of 16 tokens.
TableSchema vllm_timed();

}  // namespace pinfold::sim
