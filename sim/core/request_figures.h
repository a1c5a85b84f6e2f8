#pragma once
// The benchmark's figures: requests, tokens and latencies of the requests that count.

#include <cstdint>

#include "sim/core/live_request.h"
#include "sim/core/run_result.h"
#include "sim/metrics/latency.h"
#include "sim/metrics/measurement.h"
#include "sim/trace/request.h"

namespace pinfold::sim {

/// Requests outside the measured window run like the others and count in none of these.
class RequestFigures {
 public:
  /// `measure` must outlive it. `expected`: requests that the source says it has; 0: nobody knows.
  RequestFigures(const Measurement& measure, std::uint64_t expected);

  /// Whether there are requests that do not count.
  bool windowed() const { return windowed_; }
  bool counts(std::int64_t arrival_ns) const { return !windowed_ || measure_.counts(arrival_ns); }

  void arrive(std::int64_t arrival_ns);
  /// Tokens that `rows` rows yield, each so long after the last one of its row.
  void add_itl(std::int64_t ns, std::uint64_t rows = 1) { itl_.add(ns, rows); }
  /// A sequence ends with more than one token.
  void add_tpot(std::int64_t ns) { tpot_.add(ns); }
  void end(const LiveRequest& request, std::int64_t now_ns);

  /// All of it, once every request has arrived or never will.
  void put_into(RunResult& result);

 private:
  void complete(const LiveRequest& request, std::int64_t now_ns);

  const Measurement& measure_;
  const bool windowed_;
  std::int64_t first_ns_ = kNeverNs;  // arrival
  std::int64_t last_end_ns_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t never_ = 0;
  std::uint64_t aborted_ = 0;
  std::uint64_t good_ = 0;
  std::uint64_t input_tokens_ = 0;
  std::uint64_t output_tokens_ = 0;
  LatencySamples ttft_, tpot_, itl_, e2el_, queue_;
};

}  // namespace pinfold::sim
