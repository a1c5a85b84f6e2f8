#pragma once
// The resolved configuration of a run: the only form in which a configuration travels. Parsing and its
// errors are sim/config/parse.h's; every field here has been checked there.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/scheduler.h"

namespace pinfold::sim {

/// An exact fraction, as decimals in a configuration are read ("1.2" is 6/5 or 12/10).
struct Rational {
  std::uint64_t numerator = 0;
  std::uint64_t denominator = 1;
};

/// engine.* (the keys are the field names)
struct EngineConfig {
  std::string profile = "deepinfer";
  std::uint32_t block_size = 16;       // token positions a block
  std::uint32_t num_blocks = 262'144;  // ids, block 0 counted, as engines log it
  std::uint32_t overlap = 1;           // 0, 1 or 2: step k+1 is planned once result k-overlap is in
  std::uint32_t max_num_seqs = 256;
  Rational slot_factor{12, 10};                 // state ids = floor(factor * max_num_seqs) + 1
  std::uint32_t max_num_batched_tokens = 2048;  // at least max_num_seqs
  std::uint32_t max_model_len = 131'072;        // token positions
  ReleaseOrder release_order = ReleaseOrder::kReverse;
  FreeOrder free_order = FreeOrder::kFifo;
  std::string victim = "newest";                       // only "newest" exists so far
  std::string preemption = "recompute";                // only "recompute" exists so far
  std::uint32_t watermark = 0;                         // blocks; only 0 exists so far
  FenceMode fence = FenceMode::kAlways;                // "always" | "unordered_writers"
  GrowthCheck growth_check = GrowthCheck::kShortfall;  // "shortfall" | "one_free"
};

/// model.*
struct ModelConfig {
  bool state_slots = false;                       // one state slot a running request
  std::uint32_t window_tokens = 0;                // 0: no sliding window
  std::uint32_t ring_tokens = 0;                  // >= window + drafts where there is a window
  std::vector<std::uint32_t> compression_ratios;  // block_size must be a multiple of each
};

/// workload.*
struct WorkloadConfig {
  StopMode stop = StopMode::kHidden;  // "hidden" | "known"
  Rational time_scale{1, 1};          // arrival times are multiplied by it
  std::uint32_t concurrency = 0;      // 0: open loop, arrivals as in the trace; N: N requests live
  std::uint32_t drafts = 0;           // draft tokens proposed a step, 0..8
  std::uint32_t draft_acceptance_permille = 700;  // chance that one more draft is accepted
};

/// fork.*
struct ForkConfig {
  bool demote = true;                       // "on" | "off"
  SoleOwner sole_owner = SoleOwner::kCopy;  // "copy" | "adopt"
};

/// cost.*: the linear model. A step costs base + per_row * rows + per_prompt_token * prompt tokens +
/// per_context_token * key positions read by decode rows, in integer picoseconds.
struct CostConfig {
  std::uint64_t step_base_ps = 8'000'000'000;
  std::uint64_t row_ps = 20'000'000;
  std::uint64_t prompt_token_ps = 40'000'000;
  std::uint64_t context_token_ps = 0;
  std::uint64_t block_copy_ps = 10'000'000;
  std::uint64_t state_copy_ps = 10'000'000;
};

struct RunConfig {
  EngineConfig engine;
  ModelConfig model;
  WorkloadConfig workload;
  ForkConfig fork;
  CostConfig cost;
  std::uint64_t seed = 0;
};

}  // namespace pinfold::sim
