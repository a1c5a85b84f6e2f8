#pragma once
// Rule O13: how many blocks and state slots an engine has. The number of slots follows from the request
// limit, the number of blocks from whatever memory is left after a profiling run.

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace pinfold {

/// Slots per running request, exact: 12/10 is 1.2. The denominator must not be 0.
struct SlotFactor {
  std::uint32_t numerator = 12;
  std::uint32_t denominator = 10;
};

/// floor(factor * max_num_seqs) + 1 ids, the never-issued id 0 counted; so floor(factor * max_num_seqs)
/// are usable. Exact, 64 bits wide.
std::uint64_t slot_ids(SlotFactor factor, std::uint32_t max_num_seqs);

/// The state reservation; a model without state has none.
struct StateSizing {
  ByteCount slot_bytes;  // one slot (StateLayout::slot)
  std::uint32_t max_num_seqs = 0;
  SlotFactor factor{};
};

/// What a profiling run found, per device.
struct ProfiledMemory {
  ByteCount device;  // what the engine may use
  ByteCount weights;
  ByteCount activations;  // at their peak
};

enum class SizingFault : std::uint8_t {
  kNone,
  kMemory,        // weights + activations + twice the state pass the device's memory
  kTooFewBlocks,  // fewer than two block ids: block 0 is never issued, so nothing could run
  kTooManyIds,    // more than kPoolIdsMax ids in a pool
  kEmptyBlock,    // a block of 0 bytes
};

/// The most ids a pool can count.
inline constexpr std::uint64_t kPoolIdsMax = std::uint64_t{1} << 31;

/// The pools and where the memory went. Law: without a fault, and sized from memory,
///   device == weights + activations + 2 x state + blocks + remainder.
struct Sizing {
  SizingFault fault = SizingFault::kNone;
  std::uint64_t block_ids = 0;  // block 0 counted, as engines log it
  std::uint64_t state_ids = 1;  // slot 0 counted; 1: the model has no state
  ByteCount state;              // one reservation: ids x bytes, slot 0 counted
  ByteCount state_reserved;     // twice that: the slots, and the state store with its copy buffer
  ByteCount blocks;             // block ids x bytes
  ByteCount remainder;          // less than one block
  ByteCount lacking;            // with kMemory: what the device lacks before the first block

  bool ok() const { return fault == SizingFault::kNone; }
};

/// Device memory minus weights, activations and twice the state reservation becomes blocks, rounded
/// down. A fault comes with the numbers computed so far.
Sizing size_from_memory(const ProfiledMemory& memory, ByteCount block_bytes,
                        const std::optional<StateSizing>& state);

/// An engine's own block count instead, as it logged it (block 0 counted): nothing is subtracted, and
/// remainder is 0.
Sizing size_from_logged_blocks(std::uint64_t block_ids, ByteCount block_bytes,
                               const std::optional<StateSizing>& state);

/// The fault for a person, with its numbers; "" without one.
std::string describe(const Sizing& sizing);

}  // namespace pinfold
