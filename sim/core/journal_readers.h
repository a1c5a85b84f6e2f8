#pragma once
// Who reads a run's journal while it grows: its observer, the ledger, the checks, shadow memory and the
// digests. Nothing they do reaches the run.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/check/invariant_watch.h"
#include "sim/check/shadow.h"
#include "sim/core/simulate.h"
#include "sim/metrics/ledger.h"
#include "sim/metrics/prefix_classes.h"
#include "sim/record/digest.h"

namespace pinfold::sim {

class JournalReaders {
 public:
  /// `id_block`: tokens that a prefix id of the trace stands for. All but the last must outlive it.
  JournalReaders(Scheduler& scheduler, const RunConfig& config, const RunOptions& options,
                 std::uint32_t id_block);

  InvariantWatch& watch() { return watch_; }
  PrefixClasses& prefix_classes() { return prefix_classes_; }

  void start_at(std::int64_t ns) {
    if (ledger_) ledger_->start_at(ns);
  }
  /// Time goes on: what happened until now happened at `now_ns`.
  void advance(std::int64_t now_ns, std::int64_t to_ns) {
    if (observer_ != nullptr) tell_observer(now_ns);
    if (!ledger_) return;
    tell_ledger();
    ledger_->advance_to(to_ns);
  }
  void plan(const StepPlan& plan, std::int64_t now_ns) {
    if (observer_ == nullptr) return;
    tell_observer(now_ns);
    observer_->on_plan(plan);
  }
  /// A step's result is there: for the digest of what happened when.
  void complete(std::uint64_t step, std::int64_t planned_ns, std::int64_t done_ns) {
    timed_[timed_count_++] = {step, static_cast<std::uint64_t>(planned_ns),
                              static_cast<std::uint64_t>(done_ns)};
    if (timed_count_ == timed_.size()) drain_timed();
  }

  /// Clears the journal once it is long enough, and audits where one is due. Between two verbs only.
  void drain(std::int64_t now_ns) {
    if (observer_ != nullptr) tell_observer(now_ns);
    if (scheduler_.journal().unread().size() >= kDrainBytes) drain_all();
    if (audit_every_ > 0) audit();
  }

  /// The ledger takes in what happened at the last instant.
  void close_ledger(RunResult& result);
  /// The books are not worth reading after a broken rule.
  void drop_ledger() { ledger_.reset(); }

  /// Reads the rest; then digests and the findings of shadow memory go into the result.
  void finish(std::int64_t now_ns, RunResult& result);

 private:
  void tell_observer(std::int64_t now_ns);
  // What happened since the last time happened at this one: time stands still until it is told.
  void tell_ledger() {
    if (!ledger_) return;
    ledger_->consume(scheduler_.journal().unread().subspan(ledger_told_));
    ledger_told_ = scheduler_.journal().unread().size();
  }
  void audit();
  void drain_all();
  void drain_timed();
  void take_findings(RunResult& result) const;

  // Hashing much at once costs a small part of hashing a record at a time.
  static constexpr std::size_t kDrainBytes = 16 * 1024;

  Scheduler& scheduler_;
  const std::uint64_t audit_every_;
  RunObserver* const observer_;
  const bool reuse_;
  InvariantWatch watch_;
  PrefixClasses prefix_classes_;
  std::optional<Shadow> shadow_;
  std::optional<Ledger> ledger_;
  Digest digest_;
  Digest digest_timed_;
  std::size_t told_ = 0;         // journal bytes that the observer has seen ...
  std::size_t ledger_told_ = 0;  // ... and the ledger
  std::uint64_t audits_ = 0;
  // Step, time planned, time done: not yet in the timed digest.
  std::array<std::array<std::uint64_t, 3>, 512> timed_{};
  std::size_t timed_count_ = 0;
};

}  // namespace pinfold::sim
