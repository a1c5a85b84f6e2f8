#pragma once
// Idle ids: without owner, content kept for reuse, in the order in which they will lose it.

#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace pinfold {

/// Which idle id loses its content first. kLru: the one idle for longest; a table is released tail
/// first, so a prefix outlives what follows it. kFifo: the one whose content was kept first; a hit
/// does not renew it.
enum class Eviction : std::uint8_t { kLru, kFifo };

/// The idle ids of a pool. Allocates its links at construction.
class IdleIds {
 public:
  /// `ids` counts id 0; 0 where nothing is ever idle.
  IdleIds(std::uint32_t ids, Eviction eviction);

  std::uint32_t size() const { return size_; }
  bool contains(BlockId id) const { return !links_.empty() && links_[index_of(id)].idle; }

  /// Notes that the id's content is worth keeping from now on: its age for kFifo.
  void keep(BlockId id);
  /// The id goes idle. O(1); kFifo O(log ids).
  void add(BlockId id);
  /// The id is used again, from wherever it stands. O(1).
  void remove(BlockId id);
  /// The next to lose its content leaves; there must be one. O(1); kFifo O(log ids).
  BlockId pop();

  /// In the order of pop(). O(size log size).
  std::vector<BlockId> list() const;
  /// Sorts ids by the time of their last keep().
  void sort_by_age(std::vector<BlockId>& ids) const;

 private:
  struct Link {
    std::uint32_t next = 0;  // kLru: a ring through id 0, which is never idle
    std::uint32_t previous = 0;
    std::uint64_t age = 0;  // kFifo: number of the keep()
    bool idle = false;
    bool in_heap = false;
  };
  using Entry = std::pair<std::uint64_t, BlockId>;

  Eviction eviction_;
  std::vector<Link> links_;  // by id
  // kFifo: a min-heap with at most one entry an id; entries of ids that are no longer idle stay
  // until they come up.
  std::vector<Entry> heap_;
  std::uint64_t kept_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace pinfold
