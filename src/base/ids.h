#pragma once
// The id types. An id names one thing and has no arithmetic; a step number and a ticket are ordered.

#include <cstdint>

namespace pinfold {

/// An id that a pool issues: a block of B token positions, one state slot or draft slot, or a place in
/// the host tier for one of the first two (one pool class manages them all). Id 0 is never issued: in a
/// block table it means "no block", as a copy's destination "release only" (rule O2).
enum class BlockId : std::uint32_t {};
inline constexpr BlockId kNoBlock{0};

/// A request's generation state. Given by the caller, strictly increasing, never reused; the order
/// of ids is the order of arrival.
enum class SequenceId : std::uint32_t {};

/// Number of a dispatched step, counted from 1. An empty plan is no step and takes no number.
enum class StepNumber : std::uint64_t {};

/// A point in a lane's queue. Monotone per lane and never reused, so a stale completion can never
/// report success for later work; 0 means "nothing to wait for".
enum class Ticket : std::uint64_t {};

constexpr std::uint32_t index_of(BlockId id) { return static_cast<std::uint32_t>(id); }
constexpr std::uint32_t value_of(SequenceId id) { return static_cast<std::uint32_t>(id); }
constexpr std::uint64_t value_of(StepNumber step) { return static_cast<std::uint64_t>(step); }
constexpr std::uint64_t value_of(Ticket ticket) { return static_cast<std::uint64_t>(ticket); }

/// The pools of an engine. One class serves all (pool/pool.h).
enum class PoolKind : std::uint8_t { kBlocks, kStateSlots, kDraftSlots, kHostBlocks, kHostStates };
inline constexpr std::uint32_t kPoolKinds = 5;

/// In-order device queues. Work on one lane completes in the order in which it was queued.
enum class Lane : std::uint8_t { kCompute, kCopy, kHostToDevice, kDeviceToHost };
inline constexpr std::uint32_t kLanes = 4;

constexpr std::uint32_t index_of(PoolKind kind) { return static_cast<std::uint32_t>(kind); }
constexpr std::uint32_t index_of(Lane lane) { return static_cast<std::uint32_t>(lane); }

/// The word a person reads: "block", "state slot", ...
constexpr const char* name_of(PoolKind kind) {
  switch (kind) {
    case PoolKind::kBlocks: return "block";
    case PoolKind::kStateSlots: return "state slot";
    case PoolKind::kDraftSlots: return "draft slot";
    case PoolKind::kHostBlocks: return "host block";
    case PoolKind::kHostStates: return "host state";
  }
  return "?";
}

}  // namespace pinfold
