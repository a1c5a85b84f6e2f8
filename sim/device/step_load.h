#pragma once
// What a step has to do, in the counts that cost models are made of.

#include <cstdint>

#include "engine/scheduler.h"

namespace pinfold::sim {

struct StepLoad {
  std::uint64_t prompt_rows = 0;       // P: of all chunks
  std::uint64_t decode_rows = 0;       // D: a row that verifies d drafts counts 1 + d
  std::uint64_t context = 0;           // KV: key positions that decode rows read
  std::uint64_t chunks = 0;            // of prompts
  std::uint64_t prompt_positions = 0;  // of all chunks: past + chunk
  std::uint64_t pairs = 0;      // Q: query-key pairs, sum of chunk * past + chunk * (chunk + 1) / 2
  std::uint64_t head_rows = 0;  // rows that yield a token: D and chunks that end their prompt
};

/// O(chunks). A step has at most 2^30 rows and a position is below 2^30, so every sum fits 64 bits.
StepLoad load_of(const StepPlan& plan);

}  // namespace pinfold::sim
