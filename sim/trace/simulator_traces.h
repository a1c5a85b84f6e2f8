#pragma once
// Request lists that other simulators and benchmarks read.

#include "sim/trace/table_schema.h"

namespace pinfold::sim {

/// Vidur: `arrived_at,num_prefill_tokens,num_decode_tokens`, seconds; without times all arrive at once.
TableSchema vidur_csv();

/// splitwise-sim: `arrival_timestamp`, `prompt_size`, `token_size`, seconds.
TableSchema splitwise_csv();

/// LLMServingSim: JSON Lines in nanoseconds.
TableSchema llm_serving_sim();

/// RAGPulse: JSON Lines, seconds as strings. Its hashes name chunks of a prompt wherever they stand and not
/// prefixes, so they are not given.
TableSchema rag_pulse();

/// TraceLab's replay CSV: milliseconds; `input_len` is what a round adds to `prefix_len`, and all rounds
/// carry the arrival of their session. A later round arrives, at the earliest, `tool_wait_after_ms` of
/// the round before it after that one.
TableSchema trace_lab_replay();

}  // namespace pinfold::sim
