#pragma once
// The pool: one class for blocks, state slots, draft slots and host blocks (rule O2).
//
// Lifecycle of an id:
//   free     on the free list; owners 0
//   owned    at least one owner: a block table's entry, a pin, or a hold
//   parked   owned, and every owner is a hold: let go by its tables, kept by a fence (rule O9)
//   idle     owners 0, content kept for reuse: available like a free id, but taken after those; a pool
//            without reuse has none
//
// A hold is an owner that waits for a fence instead of belonging to a table. Moving an owner from a
// table to a fence is park(): the owner count does not change.
//
// Law 1: free + idle + owned == usable.
// Law 2: sum of owner counts == table entries + pins + holds, so sum of holds <= sum of owners.
// audit() proves both against the pool's own records; the scheduler's audit adds the tables.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/counts.h"
#include "base/ids.h"
#include "pool/idle_ids.h"

namespace pinfold {

/// In which order release() walks a table. kReverse is the chapter's: the last block goes first.
enum class ReleaseOrder : std::uint8_t { kReverse, kForward };
/// Which free id take() issues: kFifo the one free for longest (the chapter's), kLifo the latest.
enum class FreeOrder : std::uint8_t { kFifo, kLifo };

struct PoolOptions {
  /// Ids including the never-issued 0, as engines log it; at least 1. usable() is one less.
  std::uint32_t ids = 1;
  ReleaseOrder release_order = ReleaseOrder::kReverse;
  FreeOrder free_order = FreeOrder::kFifo;
  PoolKind kind = PoolKind::kBlocks;  // named in violations
  bool reuse = false;                 // ids may be kept idle
  Eviction eviction = Eviction::kLru;
};

/// Hands out ids and counts their owners. Allocates all its memory at construction. "No room" is the
/// caller's to ask first (pool/demand.h); a broken rule throws InvariantViolation: take() and pin()
/// then changed nothing, release(), park() and unpark() stop at the faulty id (the drops before it
/// stand). Costs: O(ids passed), audit() O(ids of the pool).
class Pool {
 public:
  explicit Pool(const PoolOptions& options);

  PoolKind kind() const { return options_.kind; }
  std::uint32_t ids() const { return options_.ids; }
  BlockCount usable() const { return BlockCount(options_.ids - 1); }
  /// Ids that take() could issue now: the only definition of "available".
  BlockCount available() const { return BlockCount(free_count_ + idle_.size()); }
  BlockCount owned() const { return BlockCount(options_.ids - 1 - free_count_ - idle_.size()); }
  BlockCount idle() const { return BlockCount(idle_.size()); }
  bool is_idle(BlockId id) const { return idle_.contains(id); }
  /// Ids held by no table, only by fences.
  BlockCount parked() const { return BlockCount(parked_); }
  std::uint32_t owners(BlockId id) const;
  std::uint32_t holds(BlockId id) const;
  /// Ids issued since construction.
  std::uint64_t acquired() const { return acquired_; }
  /// Idle ids that got an owner again since construction.
  std::uint64_t revived() const { return revived_; }
  /// Ids that became free or idle since construction. Law 3: acquired() + revived() == freed() + owned().
  std::uint64_t freed() const { return freed_; }
  /// The most ids that were owned at once.
  BlockCount peak_owned() const { return BlockCount(peak_owned_); }

  /// Issues out.size() ids from the front of the free list, then idle ones in the order of eviction;
  /// their owner count becomes 1. Needs out.size() <= available(). Returns how many were idle, the last
  /// ones of `out`: their content is gone.
  std::size_t take(std::span<BlockId> out);

  /// The content of a live id is worth keeping from now on: without owner it will be idle, not free.
  /// Needs a pool with reuse.
  void keep(BlockId id);
  bool keeps(BlockId id) const { return !kept_.empty() && kept_[checked_index(id)] != 0; }

  /// Adds one owner to each id, live or idle; an idle one leaves its place in the order of eviction.
  /// O(1) an id.
  void share(std::span<const BlockId> ids);

  /// Whether each id can take one more owner: an id counts up to 65,535 of them.
  bool can_pin(std::span<const BlockId> ids) const;

  /// Adds one owner to each id. Pinning a free id is a violation: sharing starts from a live one.
  void pin(std::span<const BlockId> ids);

  /// Removes one owner from each id, walking `table` in the release order; an id whose count comes
  /// to 0 goes to the back of the free list, or idle if it is kept. Unpin is the same operation.
  void release(std::span<const BlockId> table);

  /// Turns one table owner of each id into a hold. Counts do not change.
  void park(std::span<const BlockId> ids);

  /// Removes one hold of each id, in the order given (already the release order).
  void unpark(std::span<const BlockId> ids);

  /// The free ids in the order in which take() would issue them; for audits, hashes and displays.
  std::vector<BlockId> free_list() const;
  /// The idle ids in the order of eviction.
  std::vector<BlockId> idle_list() const { return idle_.list(); }
  /// The ids whose content is kept, live or idle; by age where that decides eviction, else by id.
  std::vector<BlockId> kept_list() const;

  /// Walks every record and proves laws 1 and 2 and that the free list names each free id once.
  void audit() const;

 private:
  // Order of the free list is the rule, the structure is free: a ring of ids is many times faster
  // than links threaded through the records once ids are shuffled, because pops and pushes stay
  // sequential in memory. The linked list is the twin in tests/model.
  struct Owners {
    std::uint16_t all = 0;    // owners of any kind
    std::uint16_t holds = 0;  // those of them that are holds
  };

  // Cold paths of the checks, out of line: a check costs its loop one compare and one branch.
  [[noreturn]] void throw_outside(BlockId id) const;
  [[noreturn]] void throw_owners(const char* rule, const char* what, BlockId id) const;
  std::string describe(BlockId id) const;

  std::uint32_t checked_index(BlockId id) const {
    const std::uint32_t index = index_of(id);
    // One compare for both faults: index 0 wraps around.
    if (index - 1 >= options_.ids - 1) [[unlikely]] {
      if (kMutantsBuild) return 0;  // id 0's record: a sink
      throw_outside(id);
    }
    return index;
  }
  void drop(BlockId id);
  void unpin(BlockId id);  // of an id with other owners
  void unpark_one(BlockId id);
  void push_free(BlockId id);  // or idle
  // The common case, in bulk: leading ids whose only owner is a table's (release) or a hold (unpark)
  // become free. Returns how many there were.
  template <class Next>
  std::size_t free_sole(std::size_t count, std::uint32_t sole, Next next);

  PoolOptions options_;
  std::vector<Owners> owners_;  // by id
  std::vector<BlockId> ring_;   // power of two; [head_, head_ + free_count_) are the free ids
  IdleIds idle_;
  std::vector<std::uint8_t> kept_;  // by id; empty without reuse
  std::uint32_t mask_ = 0;
  std::uint32_t head_ = 0;
  std::uint32_t free_count_ = 0;
  std::uint32_t parked_ = 0;
  std::uint32_t peak_owned_ = 0;
  std::uint64_t acquired_ = 0;
  std::uint64_t freed_ = 0;
  std::uint64_t revived_ = 0;
};

}  // namespace pinfold
