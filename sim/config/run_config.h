#pragma once
// The resolved configuration of a run: the only form in which a configuration travels. Parsing and its
// errors are sim/config/parse.h's; every field here has been checked there.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/scheduler.h"
#include "sim/config/device.h"
#include "sim/config/fault.h"

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
  std::uint32_t tensor_parallel_size = 1;              // GPUs that share each layer
};

/// model.*: what a model stores for its tokens. sim/config/pool_size.h turns it into bytes.
struct ModelConfig {
  // The ordinary key-value cache: one row a position, in each of `layers` layers; 0: there is none.
  std::uint32_t layers = 0;
  std::uint32_t kv_heads = 1;              // of the whole model
  std::uint32_t head_dim = 128;            // elements of a key, and of a value
  std::uint32_t kv_bytes_per_element = 2;  // 2: bf16 or fp16, 1: fp8
  Rational weights_gib{0, 1};              // of the whole model

  bool state_slots = false;                       // one state slot a running request
  std::uint32_t window_tokens = 0;                // 0: no sliding window
  std::uint32_t ring_tokens = 0;                  // >= window + drafts where there is a window
  std::vector<std::uint32_t> compression_ratios;  // block_size must be a multiple of each
  // Beside each ratio: layers with such a cache, and bytes of one of its rows; all empty, or as many.
  std::vector<std::uint32_t> compression_layers;
  std::vector<std::uint32_t> compression_row_bytes;
  // A state slot: rings of `ring_tokens` rows in stored and dropped layers, and what does not depend
  // on a window.
  std::uint32_t ring_stored_layers = 0;
  std::uint32_t ring_dropped_layers = 0;
  std::uint32_t ring_row_bytes = 0;
  std::uint32_t compression_state_bytes = 0;  // of all layers
};

/// What decides engine.num_blocks.
enum class PoolSource : std::uint8_t {
  kNumBlocks,  // engine.num_blocks itself
  kAvailable,  // memory.available_gib
  kDevice,     // memory.device_gib and what is taken from it
};

/// memory.*: of one GPU, as an engine's start-up log says it.
struct MemoryConfig {
  PoolSource source = PoolSource::kNumBlocks;  // no option: whichever of the three was given last
  Rational device_gib{0, 1};
  Rational utilization{9, 10};
  Rational activation_peak_gib{0, 1};
  Rational non_torch_gib{0, 1};
  Rational collectives_gib{0, 1};  // taken only where tensor_parallel_size > 1
  Rational available_gib{0, 1};
};

/// When a turn of a conversation arrives: as in the trace, or some time after the turn before it ended.
enum class Sessions : std::uint8_t { kOpen, kClosed };

/// workload.*
struct WorkloadConfig {
  StopMode stop = StopMode::kHidden;  // "hidden" | "known"
  Rational time_scale{1, 1};          // arrival times are multiplied by it
  std::uint32_t concurrency = 0;      // 0: open loop, arrivals as in the trace; N: N requests live
  std::uint32_t drafts = 0;           // draft tokens proposed a step, 0..8
  std::uint32_t draft_acceptance_permille = 700;  // chance that one more draft is accepted
  // The chance at each draft position of a row, the last one for those behind it; empty: the same at all.
  std::vector<std::uint32_t> draft_acceptance_by_position;
  std::uint32_t samples = 1;              // completions of a prompt, where the trace does not say
  std::uint32_t samples_permille = 1000;  // of the requests that have so many
  std::uint32_t abort_permille = 0;       // of the requests whose client gives up ...
  std::uint64_t abort_within_ps =
      10'000'000'000'000;               // ... at a time within this after the arrival
  Sessions sessions = Sessions::kOpen;  // "open" | "closed"
};

/// How the host learns that copies are done: it stands still until then, or looks when it next plans.
enum class FenceWait : std::uint8_t { kBlock, kPoll };

/// prefix.*
struct PrefixConfig {
  bool reuse = false;                  // "on" | "off"
  Eviction eviction = Eviction::kLru;  // "lru" | "fifo"
};

/// Whether saves and loads share the bandwidth between device and host.
enum class Duplex : std::uint8_t { kFull, kHalf };

/// store.*: what the host keeps of prefixes (rule O16). Off without host_blocks.
struct StoreConfig {
  std::uint32_t host_blocks = 0;       // places for blocks
  std::uint32_t host_states = 1024;    // and for states, where the model has state slots
  std::uint32_t interval = 128;        // positions; saved and loaded up to multiples of it
  std::uint32_t recover_tokens = 128;  // rows computed again behind a loaded state
  Rational bandwidth_gb_s{50, 1};      // 10^9 bytes a second; 0: only the latency counts
  std::uint64_t latency_ps = 10'000'000;
  Duplex duplex = Duplex::kFull;  // "full" | "half"
  std::uint64_t lease_ps = 0;  // a load or save that has not passed by then is given up; 0: never
};

/// fork.*
struct ForkConfig {
  bool demote = true;                       // "on" | "off"
  SoleOwner sole_owner = SoleOwner::kCopy;  // "copy" | "adopt"
  CopyLane copy_lane = CopyLane::kCompute;  // "compute" | "separate"
  FenceWait wait = FenceWait::kBlock;       // "block" | "poll"
};

/// fault.*: what goes wrong on purpose. All off by default.
struct FaultConfig {
  std::uint32_t step_failed_permille = 0;   // chance that a step fails
  std::vector<std::uint32_t> failed_steps;  // steps that do, counted from 1
  std::uint64_t copy_delay_ps = 0;          // that the copies of every step take longer
  std::uint32_t copy_lost = 0;              // the event of the n-th step with copies never comes
  std::uint32_t load_lost = 0;              // nor that of the n-th load from the host
  std::uint32_t save_lost = 0;              // nor that of the n-th save
  std::uint32_t abort_storm_permille = 0;   // of the live requests, aborted at once ...
  std::uint32_t abort_storm_steps = 1'000;  // ... every so many steps
  std::vector<Fault> given{};               // no option: a scenario's, by step
};

/// cost.*: what a step costs, in integer picoseconds. Without a device: base + per_row * rows +
/// per_prompt_token * prompt tokens + per_context_token * key positions read by decode rows.
struct CostConfig {
  std::uint64_t step_base_ps = 8'000'000'000;
  std::uint64_t row_ps = 20'000'000;
  std::uint64_t prompt_token_ps = 40'000'000;
  std::uint64_t context_token_ps = 0;
  std::uint64_t block_copy_ps = 10'000'000;
  std::uint64_t state_copy_ps = 10'000'000;
  std::uint64_t table_entry_ps = 0;  // each block-table entry that attention reads
  std::uint64_t plan_ps = 0;         // the host plans a step; hidden behind a running one
  std::uint64_t copy_launch_ps = 0;  // a step's copies are launched, once for all of them

  // With a device: scale * its model's time + host.
  std::string device_name = "none";  // built-in name, path of a device file, or "none"
  std::string device_digest;         // of the file: filled in where it is not given
  std::string variant = "bf16";
  Fit fit = Fit::kTable;
  Rational scale{1, 1};
  std::uint64_t host_ps = 0;
  std::optional<Device> device;  // no option: what the options above name
};

struct RunConfig {
  EngineConfig engine;
  ModelConfig model;
  MemoryConfig memory;
  WorkloadConfig workload;
  PrefixConfig prefix;
  StoreConfig store;
  ForkConfig fork;
  FaultConfig fault;
  CostConfig cost;
  std::uint64_t seed = 0;
};

}  // namespace pinfold::sim
