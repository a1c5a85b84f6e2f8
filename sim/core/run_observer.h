#pragma once
// Whoever watches a run while it happens. Nothing it does reaches the run.

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/scheduler.h"

namespace pinfold::sim {

class Ledger;

/// Calls come in the order of simulated time. Each member does nothing unless it is overridden.
class RunObserver {
 public:
  virtual ~RunObserver() = default;

  /// A request arrives; what the scheduler answered is in the records that follow.
  virtual void on_arrival(std::uint32_t /*request*/, std::int64_t /*arrival_ns*/) {}

  /// A sequence of a request is about to be added or forked; sample 0 computes the prompt. In a trace
  /// without samples and forks the sequence's id is the request's number.
  virtual void on_sequence(SequenceId /*id*/, std::uint32_t /*request*/, std::uint32_t /*sample*/) {
  }

  /// From `from_ns` to `to_ns` every request that the last plan left waiting waited for `cause`, what
  /// refused the head of the queue; a request that arrived after `from_ns` waited for the running step.
  virtual void on_wait(Cause /*cause*/, std::int64_t /*from_ns*/, std::int64_t /*to_ns*/) {}

  /// Whole journal records, each once, with the time at which they happened.
  virtual void on_records(std::span<const std::byte> /*records*/, std::int64_t /*now_ns*/) {}

  /// A step was planned; its records came before.
  virtual void on_plan(const StepPlan& /*plan*/) {}

  /// After each audit that RunOptions::audit_every asks for: the engine and the ledger (null where there
  /// is none) as they stand. Their records came before.
  virtual void on_audit(const Scheduler& /*scheduler*/, const Ledger* /*ledger*/) {}

  /// A request's first token reached the host.
  virtual void on_first_token(std::uint32_t /*request*/, std::int64_t /*now_ns*/) {}

  /// A request has ended: all its sequences, or it was given up before it had one. The records of its
  /// sequences' ends may follow, with the same time.
  virtual void on_end(std::uint32_t /*request*/, std::int64_t /*now_ns*/) {}
};

}  // namespace pinfold::sim
