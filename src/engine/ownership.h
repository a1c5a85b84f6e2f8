#pragma once
// Ownership without a scheduler: the verbs of chapter 4 on block tables, over the real pools. Whoever
// decides elsewhere what happens (an ownership-event file, another engine's log) drives this class;
// Scheduler decides itself and does not use it.
//
// Lifecycle of a sequence:
//   live          owns one reference to each block of its table and, with state, to its slot
//   waiting fork  the same, as pins on its parent's blocks and slot; it may not write
//   gone          finished: it owns nothing. Its release list, if it was a fork, stays until released
//
// Law: sum of owner counts == table entries + release-list entries + holds, in each pool. audit()
// proves it.

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/fence.h"
#include "base/journal.h"
#include "pool/demand.h"
#include "pool/fence_holds.h"

namespace pinfold {

struct OwnershipOptions {
  std::uint32_t num_blocks = 1;                  // ids, block 0 counted
  TokenCount block_size{1};                      // at least 1
  std::optional<std::uint32_t> num_state_slots;  // ids, slot 0 counted; none: no state
  ReleaseOrder release_order = ReleaseOrder::kReverse;
  FreeOrder free_order = FreeOrder::kFifo;
};

/// A copy on the copy lane, in which copies run in the order of their tickets.
struct QueuedCopy {
  PoolKind pool = PoolKind::kBlocks;  // a whole block or a whole state slot
  BlockId from = kNoBlock;
  BlockId to = kNoBlock;
  Ticket ticket{};
};

/// What a fork no longer needs of its parent, still pinned: the sources of its copies and the later
/// blocks, in table order (rule O9).
struct ReleaseList {
  std::vector<BlockId> slots;
  std::vector<BlockId> blocks;
};

/// When a fork's release list is released. kNow is safe only where every later writer is queued behind
/// the copies; kAfterCopies is rule O9.
enum class SourceRelease : std::uint8_t { kNow, kAfterCopies };

/// Block tables and their pools. "No room" is an answer that changed nothing; a call that breaks a rule
/// (an unknown sequence, a fork beyond its parent's table, a second release) throws InvariantViolation.
/// Costs: O(blocks touched + queued copies), audit() and free_list() O(ids).
class Ownership {
 public:
  explicit Ownership(const OwnershipOptions& options);

  /// Rule O3 for a request of this size. Takes nothing.
  Availability answer(BlockCount blocks, BlockCount slots) const;

  /// Takes blocks for `tokens` positions and, with state, one slot (rule O5).
  Availability admit(SequenceId id, TokenCount tokens);

  /// Brings the table of a live sequence to ceil(positions / B) blocks: grows by the exact shortfall or
  /// gives the surplus back at once (rule O6).
  Availability resize(SequenceId id, TokenCount positions);

  /// The child pins the parent's whole table and its slot and becomes a waiting fork (rule O8).
  /// `processed` rows must lie inside the parent's table; at least 1.
  void fork(SequenceId child, SequenceId parent, TokenCount processed);

  /// Makes a waiting fork live: it keeps the complete blocks, takes a slot and, if `processed` ends
  /// inside a block, a tail of its own, and queues the copies into them, slot first. All sources go
  /// to its release list. On LATER it keeps waiting with its pins.
  Availability separate(SequenceId child);

  /// Releases the child's list, slots first, or hands it to a fence behind the copies queued so far.
  void release_sources(SequenceId child, SourceRelease when);

  /// The oldest queued copy has run; releases what waited for it, in the order in which it began to.
  void copy_done();

  /// Lets go of slot and table. What a queued copy still writes into parks until the copy has run.
  void finish(SequenceId id);

  bool is_live(SequenceId id) const { return sequences_.contains(id) && !is_waiting(id); }
  bool is_waiting(SequenceId id) const;
  std::span<const BlockId> table(SequenceId id) const { return at(id).table; }
  /// None without state.
  std::optional<BlockId> slot(SequenceId id) const { return at(id).slot; }
  /// None if the sequence is no fork, is still waiting, or has released its list.
  const ReleaseList* release_list(SequenceId child) const;

  /// Copies that have not run, oldest first.
  std::span<const QueuedCopy> queued_copies() const { return queued_; }
  const Pool& pool(PoolKind kind) const { return pools_.of(kind); }
  /// Ids that have an owner but stand in no table: pins and holds. Rising.
  std::vector<BlockId> owned_outside_tables(PoolKind kind) const;

  /// Proves the law above, and the pools' own.
  void audit() const;

 private:
  struct Sequence {
    std::vector<BlockId> table;
    std::optional<BlockId> slot;
    std::optional<TokenCount> fork_at;  // of a waiting fork: its processed rows
  };

  Sequence& at(SequenceId id);
  const Sequence& at(SequenceId id) const;
  void check_new(SequenceId id) const;
  bool has_state() const { return options_.num_state_slots.has_value(); }
  BlockId take_one(PoolKind kind);
  void queue_copy(PoolKind kind, BlockId from, BlockId to);
  std::vector<BlockId> in_release_order(std::vector<BlockId> ids) const;
  std::vector<std::uint32_t> table_entries(PoolKind kind) const;

  OwnershipOptions options_;
  Pools pools_;
  FenceHolds holds_;
  Journal journal_;  // switched off
  std::map<SequenceId, Sequence> sequences_;
  std::map<SequenceId, ReleaseList> release_lists_;
  std::vector<QueuedCopy> queued_;
  std::uint64_t tickets_ = 0;  // copies queued since the start
  Passed passed_;
};

}  // namespace pinfold
