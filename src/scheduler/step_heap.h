#pragma once
// Steady rows by the step that concerns them next: the fast path's calendar.

#include <algorithm>
#include <vector>

#include "sequence/sequence_store.h"

namespace pinfold {

/// A min-heap by (step, join). An entry is stale once its row's generation has changed; stale ones leave
/// when they come up, or when there are too many of them.
class StepHeap {
 public:
  struct Entry {
    std::uint64_t step;
    std::uint64_t join;
    std::uint64_t generation;
    SlotIndex slot;
  };

  void push(const Entry& entry) {
    entries_.push_back(entry);
    std::push_heap(entries_.begin(), entries_.end(), later);
  }

  /// Takes every entry of a step up to `step`, in order, and calls `visit(slot)` for those that hold.
  template <class Visit>
  void take_due(std::uint64_t step, const SequenceStore& store, Visit visit) {
    while (!entries_.empty() && entries_.front().step <= step) {
      const Entry entry = entries_.front();
      std::pop_heap(entries_.begin(), entries_.end(), later);
      entries_.pop_back();
      if (store[entry.slot].generation == entry.generation) visit(entry.slot);
    }
  }

  /// Entries of rows that left early stay until they are due, which may be never: keeps the heap within
  /// a constant factor of the `live` ones.
  void prune(std::uint32_t live, const SequenceStore& store) {
    if (entries_.size() <= 64 + 4 * std::size_t{live}) return;
    std::erase_if(entries_, [&](const Entry& entry) {
      return store[entry.slot].generation != entry.generation;
    });
    std::make_heap(entries_.begin(), entries_.end(), later);
  }

 private:
  static bool later(const Entry& a, const Entry& b) {
    return a.step != b.step ? a.step > b.step : a.join > b.join;
  }

  std::vector<Entry> entries_;
};

}  // namespace pinfold
