#pragma once
// What a scheduler is built with: plain values. Each has been checked by the time a Core exists.

#include <cstdint>

#include "pool/pool.h"
#include "sequence/sequence.h"

namespace pinfold {

/// What a release waits for. kAlways: every step that may still touch the storage (the default).
/// kUnorderedWriters: nothing but copies; the chapter's immediate release, safe only where every
/// later writer is queued behind the step on the same lane.
enum class FenceMode : std::uint8_t { kAlways, kUnorderedWriters };

/// When a running sequence may go on. kShortfall: its exact shortfall is available. kOneFree: the
/// chapter's literal test, at least one block free whether or not it grows.
enum class GrowthCheck : std::uint8_t { kShortfall, kOneFree };

/// What a fork that is the only owner left of its tail or state slot does: copy it like any other
/// (the chapter's), or keep it.
enum class SoleOwner : std::uint8_t { kCopy, kAdopt };

/// What a tail copy moves: the whole block, or its valid rows.
enum class TailCopy : std::uint8_t { kWholeBlock, kValidRows };

/// Where a fork's copies run: in the compute lane ahead of the step's forward, or in the copy lane, for
/// which the forward waits. Their sources are released when that lane has passed the plan's copy ticket.
enum class CopyLane : std::uint8_t { kCompute, kSeparate };

/// A two-valued switch with a name at the place of use.
enum class Switch : std::uint8_t { kOff, kOn };

/// Everything that decides what a scheduler does, and the fast path, which decides nothing.
struct SchedulerOptions {
  TokenCount block_size{16};        // B, positions a block
  std::uint32_t block_ids = 1;      // blocks, id 0 counted
  std::uint32_t state_ids = 1;      // state slots, id 0 counted; 1 where the model has no state
  std::uint32_t draft_ids = 1;      // draft slots, id 0 counted
  Switch state = Switch::kOff;      // every running sequence owns one state slot
  std::uint32_t max_sequences = 1;  // running at once
  TokenCount token_budget{1};       // rows a step, at least max_sequences
  TokenCount max_model_len{1};      // positions a sequence
  std::uint32_t overlap = 0;        // D of rule O15: 0, 1 or 2
  ReleaseOrder release_order = ReleaseOrder::kReverse;
  FreeOrder free_order = FreeOrder::kFifo;
  FenceMode fence = FenceMode::kAlways;
  GrowthCheck growth_check = GrowthCheck::kShortfall;
  SoleOwner sole_owner = SoleOwner::kCopy;
  TailCopy tail_copy = TailCopy::kWholeBlock;
  CopyLane copy_lane = CopyLane::kCompute;
  Switch reuse = Switch::kOff;  // blocks of equal prefixes are shared (scheduler/prefixes.cc)
  Eviction eviction = Eviction::kLru;
  // External store (scheduler/store.cc): the host keeps contents of blocks, and states.
  std::uint32_t host_block_ids = 1;  // places for blocks, id 0 counted; 1: no store
  std::uint32_t host_state_ids = 1;  // places for states, likewise
  TokenCount store_interval{128};    // saved and loaded in such pieces; a multiple of B
  TokenCount recovered_rows{0};      // rows computed again behind a loaded state (rule O14)
  Switch demote = Switch::kOn;       // before a stall, requeue the youngest waiting fork
  Switch fast_path = Switch::kOn;    // off: visit every row of every step; the same bytes
};

}  // namespace pinfold
