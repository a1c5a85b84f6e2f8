#pragma once
// The thread-safe facade: one scheduler behind one lock. The only file of the library that knows threads.
//
// Every public verb takes the lock and forwards; what needs more than one call of the scheduler is a
// private `..._nolock`, which runs with the lock held. Nothing returned refers to the scheduler: spans
// become copies. Sequence ids are given here, under the lock, because the order of ids is the order of
// arrival and two threads could not agree on it outside.

#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/scheduler.h"

namespace pinfold {

/// A new request's id and the answer at its arrival. With kNever the id is used up and not kept.
struct Arrival {
  SequenceId id{};
  Answer answer = Answer::kOk;
};

/// A sequence as it was at one moment. `view.table` is empty: the table is beside it.
struct SequenceSnapshot {
  SequenceView view;
  std::vector<BlockId> table;
};

/// One pool's counts at one moment.
struct PoolCounts {
  BlockCount usable;
  BlockCount available;
  BlockCount owned;
  BlockCount parked;
};

/// What Scheduler promises, from any number of threads. Each call is one step in one order that all
/// threads agree on; two calls in a row are not one step, so what a plan's rows own is read inside
/// plan_step (its `read`): another thread may abort a sequence as soon as the lock is free.
/// Results and tickets must still come in their order (on_step_complete, on_passed): one thread, or
/// threads that agree among themselves.
class LockedScheduler {
 public:
  explicit LockedScheduler(const SchedulerOptions& options) : scheduler_(options) {}

  Arrival add(const RequestSpec& spec, const PromptKeys& keys = {}) {
    const std::lock_guard lock(mutex_);
    return add_nolock(spec, keys);
  }
  Arrival fork(SequenceId parent, const RequestSpec& spec, const PromptKeys& keys = {}) {
    const std::lock_guard lock(mutex_);
    return fork_nolock(parent, spec, keys);
  }
  bool abort(SequenceId id) {
    const std::lock_guard lock(mutex_);
    return scheduler_.abort(id);
  }

  /// Fills `plan`, a buffer of the caller's, which no other thread may use meanwhile.
  void plan_step(StepPlan& plan) {
    plan_step(plan, [](const Scheduler&) {});
  }
  /// The same; then calls `read(scheduler)` before the lock is free, so that the tables of the planned
  /// rows can be copied. `read` must not call this object (the lock is not recursive).
  template <class Read>
  void plan_step(StepPlan& plan, Read read) {
    const std::lock_guard lock(mutex_);
    scheduler_.plan_step(plan);
    read(std::as_const(scheduler_));
  }
  void on_step_complete(const StepResult& result) {
    const std::lock_guard lock(mutex_);
    scheduler_.on_step_complete(result);
  }
  void on_passed(Lane lane, Ticket ticket) {
    const std::lock_guard lock(mutex_);
    scheduler_.on_passed(lane, ticket);
  }

  void on_lost(Lane lane, Ticket ticket) {
    const std::lock_guard lock(mutex_);
    scheduler_.on_lost(lane, ticket);
  }
  /// Copies between device and host queued since the last call, in order. Each is taken by exactly one
  /// caller.
  std::vector<Transfer> take_transfers() {
    const std::lock_guard lock(mutex_);
    const std::span<const Transfer> queued = scheduler_.transfers();
    std::vector<Transfer> taken(queued.begin(), queued.end());
    scheduler_.clear_transfers();
    return taken;
  }

  /// Ends since the last call, in order. Each end is taken by exactly one caller.
  std::vector<Ended> take_ended() {
    const std::lock_guard lock(mutex_);
    return take_ended_nolock();
  }
  /// Journal bytes since the last call, likewise.
  std::vector<std::byte> take_journal() {
    const std::lock_guard lock(mutex_);
    return take_journal_nolock();
  }
  void set_journal_enabled(bool enabled) {
    const std::lock_guard lock(mutex_);
    scheduler_.journal().set_enabled(enabled);
  }

  /// None: no such live sequence, perhaps any more.
  std::optional<SequenceSnapshot> view(SequenceId id) const {
    const std::lock_guard lock(mutex_);
    return view_nolock(id);
  }
  PoolCounts pool(PoolKind kind) const {
    const std::lock_guard lock(mutex_);
    return pool_nolock(kind);
  }
  std::vector<SequenceId> running() const {
    const std::lock_guard lock(mutex_);
    return scheduler_.running();
  }
  std::vector<SequenceId> waiting() const {
    const std::lock_guard lock(mutex_);
    return scheduler_.waiting();
  }
  std::vector<SequenceId> waiting_forks() const {
    const std::lock_guard lock(mutex_);
    return scheduler_.waiting_forks();
  }
  std::vector<WaitReason> explain_wait() const {
    const std::lock_guard lock(mutex_);
    return scheduler_.explain_wait();
  }
  std::uint32_t unfinished() const {
    const std::lock_guard lock(mutex_);
    return scheduler_.unfinished();
  }
  bool nothing_pending() const {
    const std::lock_guard lock(mutex_);
    return scheduler_.nothing_pending();
  }
  SchedulerOptions options() const {
    const std::lock_guard lock(mutex_);
    return scheduler_.options();
  }
  SchedulerStats stats() const {
    const std::lock_guard lock(mutex_);
    return scheduler_.stats();
  }
  std::uint64_t state_hash() const {
    const std::lock_guard lock(mutex_);
    return scheduler_.state_hash();
  }
  void audit() const {
    const std::lock_guard lock(mutex_);
    scheduler_.audit();
  }

 private:
  Arrival add_nolock(const RequestSpec& spec, const PromptKeys& keys) {
    const SequenceId id{next_id_++};
    return {id, scheduler_.add(id, spec, keys)};
  }
  Arrival fork_nolock(SequenceId parent, const RequestSpec& spec, const PromptKeys& keys) {
    const SequenceId id{next_id_++};
    return {id, scheduler_.fork(parent, id, spec, keys)};
  }
  std::vector<Ended> take_ended_nolock() {
    const std::span<const Ended> ended = scheduler_.ended();
    std::vector<Ended> taken(ended.begin(), ended.end());
    scheduler_.clear_ended();
    return taken;
  }
  std::vector<std::byte> take_journal_nolock() {
    const std::span<const std::byte> unread = scheduler_.journal().unread();
    std::vector<std::byte> taken(unread.begin(), unread.end());
    scheduler_.journal().clear();
    return taken;
  }
  std::optional<SequenceSnapshot> view_nolock(SequenceId id) const {
    if (!scheduler_.knows(id)) return std::nullopt;
    SequenceSnapshot snapshot{scheduler_.view(id), {}};
    snapshot.table.assign(snapshot.view.table.begin(), snapshot.view.table.end());
    snapshot.view.table = {};
    return snapshot;
  }
  PoolCounts pool_nolock(PoolKind kind) const {
    const Pool& pool = scheduler_.pools().of(kind);
    return {pool.usable(), pool.available(), pool.owned(), pool.parked()};
  }

  mutable std::mutex mutex_;
  Scheduler scheduler_;
  std::uint32_t next_id_ = 0;
};

}  // namespace pinfold
