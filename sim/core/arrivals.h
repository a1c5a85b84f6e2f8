#pragma once
// What clients do, in order of time: requests arrive, and some are given up.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "sim/config/run_config.h"
#include "sim/trace/request.h"

namespace pinfold::sim {

/// A request that arrives now.
struct Arrival {
  std::uint64_t number = 0;  // in the trace, from 0
  std::int64_t at_ns = 0;
  TraceRequest asked{};
};

/// Turns a source's requests into arrivals and aborts under the configured workload. Holds one request
/// ahead, and in closed sessions the turns that wait for the one before them.
class Arrivals {
 public:
  /// Both must outlive it.
  Arrivals(RequestSource& source, const RunConfig& config);

  /// When the next request arrives; kNeverNs: none does by itself.
  std::int64_t next_ns() const {
    return delayed_.empty() ? ahead_ns_ : std::min(ahead_ns_, delayed_.front().at_ns);
  }
  /// Takes the next request that has arrived by `now_ns`; false: none has. In a closed loop the next one of
  /// the trace has if `live` is below the concurrency.
  bool take(std::int64_t now_ns, std::uint64_t live, Arrival& arrival) {
    const bool due =
        closed_loop() ? ahead_valid_ && live < config_.workload.concurrency : next_ns() <= now_ns;
    return due && take_due(now_ns, arrival);
  }

  /// A request has ended: in closed sessions its next turn arrives after its delay.
  void note_end(std::uint64_t session, std::int64_t now_ns);

  /// When the next client gives up.
  std::int64_t next_abort_ns() const { return aborts_.empty() ? kNeverNs : aborts_.front().at_ns; }
  /// Takes the number of the next request that was given up by `now_ns`; it may have ended.
  bool take_abort(std::int64_t now_ns, std::uint64_t& number) {
    return next_abort_ns() <= now_ns && take_due_abort(number);
  }

  /// Whether any request is still to come.
  bool more() const { return ahead_valid_ || held_ > 0 || !delayed_.empty(); }
  /// For the books of a run that ended early: requests that never arrived, with the time at which they
  /// would have (kNeverNs in a closed loop).
  bool take_unarrived(std::int64_t& at_ns);

  /// Requests taken from the source.
  std::uint64_t numbered() const { return next_number_; }

 private:
  struct Delayed {
    std::int64_t at_ns;
    std::uint64_t number;
    TraceRequest asked;
  };
  struct Abort {
    std::int64_t at_ns;
    std::uint64_t number;
  };
  struct Session {
    bool busy = false;
    std::deque<Delayed> held{};
  };

  bool closed_loop() const { return config_.workload.concurrency > 0; }
  bool closed_sessions() const { return config_.workload.sessions == Sessions::kClosed; }
  std::int64_t scaled(std::int64_t trace_ns) const;
  bool take_due(std::int64_t now_ns, Arrival& arrival);
  bool take_due_abort(std::uint64_t& number);
  void read_ahead();
  void complete(Arrival& arrival);

  RequestSource& source_;
  const RunConfig& config_;
  TraceRequest ahead_;
  bool ahead_valid_ = false;
  std::int64_t ahead_ns_ = kNeverNs;
  std::uint64_t next_number_ = 0;
  std::map<std::uint64_t, Session> sessions_;  // those with a live or a held turn
  std::uint64_t held_ = 0;
  std::vector<Delayed> delayed_;  // min-heap by (time, number)
  std::vector<Abort> aborts_;     // min-heap by (time, number)
};

}  // namespace pinfold::sim
