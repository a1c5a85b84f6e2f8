#pragma once
// The named invariants beside a run: reads the journal as it grows and ends the run at the first
// finding.

#include <optional>

#include "sim/check/invariants.h"

namespace pinfold::sim {

/// Off unless `on`: then every member returns at once. Throws InvariantViolation with the invariant's
/// name and the finding.
class InvariantWatch {
 public:
  /// `every_pass`: also what needs a look before and after each plan (I6, I11, the plan's gauges).
  InvariantWatch(const SchedulerOptions& options, bool on, bool every_pass)
      : every_pass_(every_pass) {
    if (on) invariants_.emplace(options);
  }

  void arrived(SequenceId id, const RequestSpec& spec, Answer answer) {
    if (!invariants_) return;
    invariants_->expect(id, spec.prompt, spec.limit, spec.stop);
    invariants_->answered(id, answer);
  }
  void before_plan(const Scheduler& scheduler) {
    if (every_pass_) invariants_->before_plan(scheduler);
  }
  void after_plan(Scheduler& scheduler, const StepPlan& plan) {
    if (!every_pass_) return;
    read(scheduler);
    invariants_->after_plan(scheduler, plan);
    judge();
  }
  /// Between two verbs; before the journal is cleared at the latest.
  void read(Scheduler& scheduler) {
    if (!invariants_) return;
    const std::span<const std::byte> unread = scheduler.journal().unread();
    invariants_->consume(unread.subspan(read_));
    read_ = unread.size();
  }
  void cleared() { read_ = 0; }
  /// With the library's own audit whenever the pools are looked at whole.
  void audit(Scheduler& scheduler) {
    if (!invariants_) return;
    read(scheduler);
    const bool whole = invariants_->audit_changes(scheduler);
    judge();
    if (whole) scheduler.audit();
  }
  void at_drain(Scheduler& scheduler) {
    if (!invariants_) return;
    read(scheduler);
    invariants_->audit(scheduler);
    invariants_->at_drain(scheduler);
    judge();
  }

 private:
  void judge() const {
    if (invariants_->findings().empty()) return;
    const Finding& first = invariants_->findings().first().front();
    throw InvariantViolation(name_of(first.check), first.text);
  }

  std::optional<Invariants> invariants_;
  bool every_pass_;
  std::size_t read_ = 0;
};

}  // namespace pinfold::sim
