#pragma once
// When hidden stops come. Without drafts a decode row yields one token a step, so the step that yields
// a request's last token is known as soon as its row joins; it changes only when the row leaves.

#include <algorithm>
#include <cstdint>
#include <vector>

namespace pinfold::sim {

/// The steps in which requests yield their last token: a min-heap by (step, request) with lazy
/// deletion. Requests are trace indices.
class Stops {
 public:
  explicit Stops(std::size_t requests) : step_of_(requests, 0), version_of_(requests, 0) {}

  /// Request yields its last token in `step` unless forgotten.
  void set(std::uint32_t request, std::uint64_t step) {
    step_of_[request] = step;
    heap_.push_back({step, request, ++version_of_[request]});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  /// The row leaves the batch at `step`: a stop in that step or later will not happen there.
  void leave(std::uint32_t request, std::uint64_t step) {
    if (step_of_[request] < step) return;
    step_of_[request] = 0;
    ++version_of_[request];
  }

  /// True while a stop is set that has not been taken.
  bool has(std::uint32_t request) const { return step_of_[request] != 0; }

  /// Calls `visit(request)` for every stop due in `step`, in request order, and forgets it.
  template <class Visit>
  void take_due(std::uint64_t step, Visit visit) {
    while (!heap_.empty() && heap_.front().step <= step) {
      const Entry entry = heap_.front();
      std::pop_heap(heap_.begin(), heap_.end(), later);
      heap_.pop_back();
      if (version_of_[entry.request] != entry.version) continue;
      step_of_[entry.request] = 0;
      visit(entry.request);
    }
  }

 private:
  struct Entry {
    std::uint64_t step;
    std::uint32_t request;
    std::uint32_t version;
  };
  static bool later(const Entry& a, const Entry& b) {
    return a.step != b.step ? a.step > b.step : a.request > b.request;
  }

  std::vector<std::uint64_t> step_of_;
  std::vector<std::uint32_t> version_of_;
  std::vector<Entry> heap_;
};

}  // namespace pinfold::sim
