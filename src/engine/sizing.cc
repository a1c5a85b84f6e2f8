#include "engine/sizing.h"

namespace pinfold {
namespace {

/// Fills in the state's part.
void reserve_state(Sizing& sizing, const std::optional<StateSizing>& state) {
  if (!state.has_value()) return;
  sizing.state_ids = slot_ids(state->factor, state->max_num_seqs);
  sizing.state = state->slot_bytes * sizing.state_ids;
  sizing.state_reserved = sizing.state * 2;
}

SizingFault fault_of_counts(const Sizing& sizing) {
  if (sizing.block_ids < 2) return SizingFault::kTooFewBlocks;
  if (sizing.block_ids > kPoolIdsMax) return SizingFault::kTooManyIds;
  if (sizing.state_ids > kPoolIdsMax) return SizingFault::kTooManyIds;
  return SizingFault::kNone;
}

}  // namespace

std::uint64_t slot_ids(SlotFactor factor, std::uint32_t max_num_seqs) {
  PINFOLD_CHECK(factor.denominator > 0, "O13", "a slot factor with denominator 0");
  // 32 x 32 bits never pass 64; the division rounds down, as the rule says.
  const std::uint64_t scaled = std::uint64_t{factor.numerator} * max_num_seqs;
  return scaled / factor.denominator + 1;
}

Sizing size_from_memory(const ProfiledMemory& memory, ByteCount block_bytes,
                        const std::optional<StateSizing>& state) {
  Sizing sizing;
  reserve_state(sizing, state);
  const ByteCount taken = memory.weights + memory.activations + sizing.state_reserved;
  if (taken > memory.device) {
    sizing.fault = SizingFault::kMemory;
    sizing.lacking = taken - memory.device;
    return sizing;
  }
  const ByteCount left = memory.device - taken;
  if (block_bytes.value == 0) {
    sizing.fault = SizingFault::kEmptyBlock;
    sizing.remainder = left;
    return sizing;
  }
  sizing.block_ids = left.value / block_bytes.value;
  sizing.blocks = block_bytes * sizing.block_ids;
  sizing.remainder = left - sizing.blocks;
  sizing.fault = fault_of_counts(sizing);
  return sizing;
}

Sizing size_from_logged_blocks(std::uint64_t block_ids, ByteCount block_bytes,
                               const std::optional<StateSizing>& state) {
  Sizing sizing;
  reserve_state(sizing, state);
  sizing.block_ids = block_ids;
  sizing.fault = block_bytes.value == 0 ? SizingFault::kEmptyBlock : fault_of_counts(sizing);
  if (sizing.ok()) sizing.blocks = block_bytes * block_ids;
  return sizing;
}

std::string describe(const Sizing& sizing) {
  switch (sizing.fault) {
    case SizingFault::kNone: return "";
    case SizingFault::kMemory:
      return "weights, activations and twice the state (" +
             std::to_string(sizing.state_reserved.value) + " bytes) pass the device memory by " +
             std::to_string(sizing.lacking.value) + " bytes";
    case SizingFault::kTooFewBlocks:
      return std::to_string(sizing.block_ids) +
             " block ids, expected at least 2: block 0 is never issued";
    case SizingFault::kTooManyIds:
      return std::to_string(sizing.block_ids) + " block ids and " +
             std::to_string(sizing.state_ids) + " state ids, expected at most " +
             std::to_string(kPoolIdsMax) + " each";
    case SizingFault::kEmptyBlock: return "a block of 0 bytes, expected at least 1";
  }
  return "?";
}

}  // namespace pinfold
