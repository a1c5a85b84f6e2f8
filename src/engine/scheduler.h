#pragma once
// The library's surface. An engine, a simulator, a fuzzer and a model checker drive the same verbs:
//
//   add, fork, abort          requests come and go at any time
//   plan_step                 what the next step does, as a delta
//   on_step_complete          a step's result reached the host
//   on_passed                 a lane came as far as a ticket
//   explain_wait, view, ...   reading; changes nothing
//
// The library is sans-IO: no clock, randomness, files, logs, threads or globals. The ownership rules
// O1..O16 are the contract; DESIGN names them and each header says which one it implements.

#include <span>
#include <vector>

#include "scheduler/core.h"

namespace pinfold {

/// Allocator and scheduler of one engine. A regular value: copying it forks the world.
///
/// A broken rule throws InvariantViolation; the object must then only be read. "No room" is never an
/// exception: the request waits, and explain_wait() says for what.
class Scheduler {
 public:
  /// Checks the options and allocates the pools. Throws InvariantViolation for options that break a
  /// rule (B of 0, overlap above 2, a token budget below max_sequences).
  explicit Scheduler(const SchedulerOptions& options) : core_(options) {}

  /// Queues a request. `id` must be greater than every id before it. kNever: the prompt exceeds
  /// max_model_len, or its least footprint exceeds an empty pool (rule O3); it is then not kept. The
  /// limit is clipped so that prompt + limit - 1 <= max_model_len. O(1) for arrivals in order.
  ///
  /// `keys` say what the blocks hold (sequence/request.h); with options().reuse the request shares
  /// published blocks when it is admitted, and publishes its own as results complete them. They are copied.
  Answer add(SequenceId id, const RequestSpec& spec, const PromptKeys& keys = {}) {
    return core_.add(id, spec, keys);
  }

  /// Queues a fork of a live parent at its settled count C (rule O8). A prompt that goes on beyond C
  /// takes the prompt path: complete blocks are shared, the tail is copied if C ends inside a block.
  /// Otherwise the decode path: the child inherits C + 1 known tokens and yields `limit` new ones. A
  /// parent that does not run, or with C = 0, makes it an ordinary request (stats().forks_missed).
  Answer fork(SequenceId parent, SequenceId child, const RequestSpec& spec,
              const PromptKeys& keys = {}) {
    return core_.fork(parent, child, spec, keys);
  }

  /// Ends a request in any phase. Storage that queued work may still touch parks behind it. Results
  /// that come later are ignored. False: no such live request.
  bool abort(SequenceId id) { return core_.abort(id); }

  /// Plans and dispatches the next step, or leaves `plan.empty` (no step; plan.left and plan.cause
  /// still hold). At most options().overlap steps may be in flight (rule O15). Allocates nothing once
  /// its buffers have grown; costs O(rows that change), or O(running) with the fast path off.
  void plan_step(StepPlan& plan) { core_.plan_step(plan); }

  /// Takes the result of the oldest step in flight (rule O7). Rows not named among the exceptions
  /// yielded one token and go on; a chunk that ends a prompt yielded one token. Ends are reported in
  /// ended(). Implies on_passed() of the step's ticket.
  void on_step_complete(const StepResult& result) { core_.on_step_complete(result); }

  /// The lane has finished everything up to `ticket`; what waited for that is released (rule O9).
  /// Monotone per lane.
  void on_passed(Lane lane, Ticket ticket) { core_.on_passed(lane, ticket); }

  /// The lane will never carry out what waits for `ticket`, and touches nothing of it any more: it counts
  /// as passed, what was to be saved cannot be found, and whoever waited for the load computes its rows
  /// instead. For lanes host-to-device and device-to-host; a completion that comes later is stale and
  /// must not be reported.
  void on_lost(Lane lane, Ticket ticket) { core_.on_lost(lane, ticket); }

  /// Copies between device and host queued since the last clear_transfers(), in order; each is reported
  /// by on_passed() of its lane. A state's save is never reported before the result of the step before
  /// the one that stages it (Transfer::after). Empty without a store (options().host_block_ids).
  std::span<const Transfer> transfers() const { return core_.transfers(); }
  void clear_transfers() { core_.clear_transfers(); }

  /// Ends since the last clear_ended(), in the order in which they happened.
  std::span<const Ended> ended() const { return core_.ended(); }
  void clear_ended() { core_.clear_ended(); }

  const SchedulerOptions& options() const { return core_.options(); }
  const SchedulerStats& stats() const { return core_.stats(); }
  const Pools& pools() const { return core_.pools(); }
  const FenceHolds& holds() const { return core_.holds(); }
  Journal& journal() { return core_.journal(); }

  bool knows(SequenceId id) const { return core_.knows(id); }
  /// A live sequence. Throws for an unknown one.
  SequenceView view(SequenceId id) const { return core_.view(id); }
  std::vector<SequenceId> running() const { return core_.running(); }
  std::vector<SequenceId> waiting() const { return core_.waiting(); }
  std::vector<SequenceId> waiting_forks() const { return core_.forks(); }
  /// Admitted sequences whose loads have not passed, in order of admission.
  std::vector<SequenceId> loading() const { return core_.loading(); }
  std::uint32_t unfinished() const { return core_.unfinished(); }
  std::uint32_t waiting_count() const { return core_.waiting_count(); }
  std::uint32_t running_count() const { return core_.running_count(); }
  std::uint32_t loading_count() const { return core_.loading_count(); }
  StepNumber planned() const { return core_.planned(); }
  StepNumber done() const { return core_.done(); }
  /// True if nothing is in flight and no fence holds anything: an empty plan now means a stall.
  bool nothing_pending() const { return core_.planned() == core_.done() && core_.holds().empty(); }

  /// Why each unfinished sequence that does not run waits: the stall report. O(unfinished).
  std::vector<WaitReason> explain_wait() const { return core_.explain_wait(); }
  /// Tells states apart; equal for worlds that will behave alike, whatever step they are at and with
  /// the fast path on or off. O(state).
  std::uint64_t state_hash() const { return core_.state_hash(); }
  /// Proves every law of the pools, tables, queues and counts. O(state).
  void audit() const { core_.audit(); }

 private:
  Core core_;
};

}  // namespace pinfold
