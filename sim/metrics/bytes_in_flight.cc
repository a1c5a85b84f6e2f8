#include "sim/metrics/bytes_in_flight.h"

#include "sim/config/pool_size.h"

namespace pinfold::sim {

CopySizes copy_sizes_of(const RunConfig& config) {
  CopySizes sizes;
  sizes.block = block_bytes_of(config).value;
  sizes.state_slot = slot_bytes_of(config).value;
  sizes.stored_block = sizes.block;
  if (sizes.block == 0 && config.cost.device) {
    sizes.stored_block = config.cost.device->copy.bytes_per_position * config.engine.block_size;
  }
  sizes.stored_state = stored_state_bytes_of(config).value;
  return sizes;
}

// Step k has tickets 2k - 1, behind its copies, and 2k, behind its rows.
void BytesInFlight::take(const Record& record, std::span<const BlockId> ids) {
  const bool state = record.pool == PoolKind::kStateSlots;
  switch (record.verb) {
    case Verb::kCopyQueued:
      if (ids[1] == kNoBlock) return;  // it only gives a source back
      return queue(copy_lane_, 2 * (steps_ + 1) - 1, state ? sizes_.state_slot : sizes_.block);
    case Verb::kStep: ++steps_; return;
    case Verb::kResult: return pass(Lane::kCompute, std::uint64_t{record.sequence} * 2);
    case Verb::kLoad:
    case Verb::kSave: {
      const Lane lane = record.verb == Verb::kLoad ? Lane::kHostToDevice : Lane::kDeviceToHost;
      const std::uint64_t each = state ? sizes_.stored_state : sizes_.stored_block;
      return queue(lane, record.aux, ids.size() / 2 * each);
    }
    case Verb::kPassed: return pass(Lane{static_cast<std::uint8_t>(record.count)}, record.aux);
    default: return;
  }
}

void BytesInFlight::queue(Lane lane, std::uint64_t ticket, std::uint64_t bytes) {
  pending_[index_of(lane)].push_back({ticket, bytes});
  bytes_[index_of(lane)] += bytes;
}

void BytesInFlight::pass(Lane lane, std::uint64_t ticket) {
  std::deque<Pending>& pending = pending_[index_of(lane)];
  while (!pending.empty() && pending.front().ticket <= ticket) {
    bytes_[index_of(lane)] -= pending.front().bytes;
    pending.pop_front();
  }
}

}  // namespace pinfold::sim
