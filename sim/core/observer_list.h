#pragma once
// Several observers of a run as one.

#include <vector>

#include "sim/core/run_observer.h"

namespace pinfold::sim {

/// Passes every call on to each observer, in the order in which they were added. They must outlive it.
class ObserverList final : public RunObserver {
 public:
  void add(RunObserver& observer) { all_.push_back(&observer); }
  /// nullptr while it is empty: a run that nobody watches need not say anything.
  RunObserver* get() { return all_.empty() ? nullptr : this; }

  void on_arrival(std::uint32_t request, std::int64_t arrival_ns) override {
    for (RunObserver* const one : all_) one->on_arrival(request, arrival_ns);
  }
  void on_sequence(SequenceId id, std::uint32_t request, std::uint32_t sample) override {
    for (RunObserver* const one : all_) one->on_sequence(id, request, sample);
  }
  void on_wait(Cause cause, std::int64_t from_ns, std::int64_t to_ns) override {
    for (RunObserver* const one : all_) one->on_wait(cause, from_ns, to_ns);
  }
  void on_records(std::span<const std::byte> records, std::int64_t now_ns) override {
    for (RunObserver* const one : all_) one->on_records(records, now_ns);
  }
  void on_first_token(std::uint32_t request, std::int64_t now_ns) override {
    for (RunObserver* const one : all_) one->on_first_token(request, now_ns);
  }
  void on_end(std::uint32_t request, std::int64_t now_ns) override {
    for (RunObserver* const one : all_) one->on_end(request, now_ns);
  }

 private:
  std::vector<RunObserver*> all_;
};

}  // namespace pinfold::sim
