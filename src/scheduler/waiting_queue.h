#pragma once
// Requests that hold nothing and wait to be admitted, in queue order: priority, then arrival.

#include <algorithm>
#include <deque>

#include "sequence/sequence_store.h"

namespace pinfold {

/// A sorted queue. Ids increase with arrival, so (priority, id) is the whole order and a preempted
/// request comes back to its old place. Arrivals go to the back in O(1); the rest is O(log n) to find
/// and O(n) to move.
class WaitingQueue {
 public:
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  SlotIndex front() const { return entries_.front().slot; }
  void pop_front() { entries_.pop_front(); }

  void insert(const Sequence& sequence, SlotIndex slot) {
    const Entry entry{sequence.spec.priority, sequence.id, slot};
    if (entries_.empty() || before(entries_.back(), entry)) {
      entries_.push_back(entry);
    } else {
      entries_.insert(std::lower_bound(entries_.begin(), entries_.end(), entry, before), entry);
    }
  }

  void erase(const Sequence& sequence) {
    const Entry entry{sequence.spec.priority, sequence.id, kNoSlot};
    const auto found = std::lower_bound(entries_.begin(), entries_.end(), entry, before);
    PINFOLD_CHECK(found != entries_.end(), "queues", "a waiting sequence is in no queue");
    PINFOLD_CHECK(found->id == sequence.id, "queues", "a waiting sequence is in no queue");
    if (kMutantsBuild && (found == entries_.end() || found->id != sequence.id)) return;
    entries_.erase(found);
  }

  /// Calls `visit(slot)` in queue order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Entry& entry : entries_) visit(entry.slot);
  }

 private:
  struct Entry {
    std::uint32_t priority;
    SequenceId id;
    SlotIndex slot;
  };
  static bool before(const Entry& a, const Entry& b) {
    return a.priority != b.priority ? a.priority < b.priority : a.id < b.id;
  }

  std::deque<Entry> entries_;
};

}  // namespace pinfold
