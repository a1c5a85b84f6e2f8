#pragma once
// When hidden stops come. Without drafts a decode row yields one token a step, so the step that yields
// a sequence's last token is known as soon as its row joins; it changes only when the row leaves.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/core/live_request.h"

namespace pinfold::sim {

/// The steps in which sequences yield their last token: a min-heap by (step, sequence) with lazy
/// deletion. The step itself stands in the member, so that an entry of an ended one is stale.
class Stops {
 public:
  /// The sequence yields its last token in `step` unless forgotten.
  void set(std::uint32_t sequence, Member& member, std::uint64_t step) {
    member.stop_step = step;
    heap_.push_back({step, sequence, ++member.stop_version});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  /// The row leaves the batch at `step`: a stop in that step or later will not happen there.
  static void leave(Member& member, std::uint64_t step) {
    if (member.stop_step >= step) forget(member);
  }

  static void forget(Member& member) {
    member.stop_step = 0;
    ++member.stop_version;
  }

  /// True while a stop is set that has not been taken.
  static bool has(const Member& member) { return member.stop_step != 0; }

  /// Calls `visit(sequence, member)` for every stop due in `step`, in sequence order, and forgets it.
  template <class Members, class Visit>
  void take_due(std::uint64_t step, Members& members, Visit visit) {
    while (!heap_.empty() && heap_.front().step <= step) {
      const Entry entry = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end(), later);
      heap_.pop_back();
      Member* const member = members.find(entry.sequence);
      if (member == nullptr || member->stop_version != entry.version) continue;
      member->stop_step = 0;
      visit(entry.sequence, *member);
    }
  }

 private:
  struct Entry {
    std::uint64_t step;
    std::uint32_t sequence;
    std::uint32_t version;
  };
  static bool later(const Entry& a, const Entry& b) {
    return a.step != b.step ? a.step > b.step : a.sequence > b.sequence;
  }

  std::vector<Entry> heap_;
};

}  // namespace pinfold::sim
