#pragma once
// Did the engine keep up? A run in which many still wait when the last request arrives measures the
// backlog, and every figure of it depends on how long the trace is.

#include <cstdint>

namespace pinfold::sim {

/// The queue as arriving requests found it, the arriving one not counted.
struct ArrivalQueue {
  bool open_loop = true;             // arrivals do not wait for ends
  std::uint64_t early_arrivals = 0;  // the first three quarters of the trace's requests ...
  std::uint64_t early_waiting = 0;   // ... and the sum of the queue lengths that they found
  std::uint64_t late_arrivals = 0;   // the last quarter
  std::uint64_t late_waiting = 0;
  std::uint64_t at_last_arrival = 0;

  std::uint64_t arrivals() const { return early_arrivals + late_arrivals; }

  /// The rule: the last request to arrive finds at least max(8, 1 % of all requests that arrived)
  /// waiting. An engine that keeps up has a queue that does not depend on the length of the trace; one
  /// that serves 99 % of the load, or less, leaves 1 % or more of the requests behind. A closed loop
  /// chooses its own queue and is never called saturated.
  bool saturated() const;
};

/// Takes arrivals in order.
class QueueWatch {
 public:
  /// `requests` of 0: nobody knows how many there will be, and all arrivals are early ones.
  QueueWatch(std::uint64_t requests, bool open_loop)
      : early_(requests == 0 ? UINT64_MAX : requests - requests / 4) {
    queue_.open_loop = open_loop;
  }

  void arrive(std::uint64_t waiting) {
    const bool early = queue_.early_arrivals < early_;
    ++(early ? queue_.early_arrivals : queue_.late_arrivals);
    (early ? queue_.early_waiting : queue_.late_waiting) += waiting;
    queue_.at_last_arrival = waiting;
  }

  const ArrivalQueue& queue() const { return queue_; }

 private:
  std::uint64_t early_;
  ArrivalQueue queue_;
};

}  // namespace pinfold::sim
