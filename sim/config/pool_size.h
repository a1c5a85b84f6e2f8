#pragma once
// Rules O13 and O14 for a configuration: what a block and a state slot take, where one GPU's memory
// goes, and how many requests that is. Integer arithmetic throughout.

#include <cstdint>
#include <optional>
#include <string>

#include "engine/sizing.h"
#include "sim/config/run_config.h"

namespace pinfold::sim {

/// GiB as bytes, rounded down.
ByteCount bytes_of_gib(Rational gib);

/// One block on one GPU: the key-value cache, whose heads tensor parallelism splits (each GPU holds at
/// least one), and the compressed caches, which every GPU holds whole. 0 if the model says neither.
ByteCount block_bytes_of(const RunConfig& config);

/// One state slot on one GPU; every GPU holds it whole. 0 for a model without state.
ByteCount slot_bytes_of(const RunConfig& config);

/// What a store keeps of one state slot on one GPU (rule O14); 0 for a model without state.
ByteCount stored_state_bytes_of(const RunConfig& config);

/// One GPU's memory. Sized from the device:
///   budget == weights + activation_peak + non_torch + state reserved + blocks + remainder.
/// Sized from what the engine left, or from its block count, only the parts behind it are known.
struct MemorySplit {
  PoolSource source = PoolSource::kNumBlocks;
  ByteCount device;
  ByteCount budget;  // what the engine may use; from available_gib: that
  ByteCount weights;
  ByteCount activation_peak;
  ByteCount non_torch;  // with the collectives' buffers
  ByteCount block;      // bytes of one; 0: the model's shape is not known
  ByteCount slot;
  Sizing sizing;
};

/// Where the memory goes; `sizing` holds a fault if nothing can run.
MemorySplit split_memory(const RunConfig& config);

/// Ids that a pool may count here.
inline constexpr std::uint64_t kBlockIdsMax = std::uint64_t{1} << 26;

/// Why nothing can run, with its numbers, as an error shows it.
struct PoolFault {
  std::string found;
  std::string expected;
  std::string hint;
};

/// The fault of a split; none: it has 2 to kBlockIdsMax block ids.
std::optional<PoolFault> find_pool_fault(const MemorySplit& split);

/// A request's lengths in tokens.
struct RequestShape {
  std::uint32_t prompt = 1;  // at least 1
  std::uint32_t output = 1;
};

/// Blocks at the last step of a request (rule O4): prompt + max(output, 1) - 1 positions are written;
/// a hidden stop adds the rows planned before its result came and their drafts, up to max_model_len.
std::uint64_t blocks_needed(const RunConfig& config, const RequestShape& shape);

/// Which limit is met first when many equal requests run.
enum class Binding : std::uint8_t { kBlocks, kStateSlots, kRunLimit };

/// Requests of one shape that run at once in the worst case: all at their largest need.
struct Concurrency {
  std::uint64_t need = 0;                   // blocks of one request
  std::uint64_t by_blocks = 0;              // floor(usable blocks / need)
  std::optional<std::uint64_t> by_slots{};  // usable state slots, if the model has state
  std::uint64_t run_limit = 0;              // max_num_seqs
  std::uint64_t largest = 0;                // the least of them
  Binding binds = Binding::kBlocks;  // the one that is it; blocks before slots before the limit
};

/// `split` must have no fault.
Concurrency concurrency_of(const RunConfig& config, const MemorySplit& split,
                           const RequestShape& shape);

/// The same with one more percent: of the device's memory, of what is available, or of the block count.
struct OnePercent {
  ByteCount bytes;  // 0 where the pool was given by its count
  MemorySplit split;
};
OnePercent one_percent_more(const RunConfig& config);

}  // namespace pinfold::sim
