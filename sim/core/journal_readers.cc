#include "sim/core/journal_readers.h"

#include <span>

#include "sim/core/engine_options.h"

namespace pinfold::sim {
namespace {

ShadowOptions shadow_options(const RunConfig& config) {
  const SchedulerOptions engine = engine_options(config, true);
  ShadowOptions options;
  options.block_size = engine.block_size.value;
  options.block_ids = engine.block_ids;
  options.state_ids = engine.state_ids;
  options.draft_ids = engine.draft_ids;
  options.copy_lane = engine.copy_lane == CopyLane::kSeparate ? Lane::kCopy : Lane::kCompute;
  options.state_slots = engine.state == Switch::kOn;
  options.fences_always = engine.fence == FenceMode::kAlways;
  return options;
}

LedgerOptions ledger_options(const SchedulerOptions& engine) {
  return {engine.block_size.value, engine.block_ids, engine.state_ids, engine.draft_ids};
}

}  // namespace

JournalReaders::JournalReaders(Scheduler& scheduler, const RunConfig& config,
                               const RunOptions& options, std::uint32_t id_block)
    : scheduler_(scheduler),
      audit_every_(options.audit_every),
      observer_(options.observer),
      reuse_(config.prefix.reuse),
      watch_(scheduler.options(), options.audit_every > 0, options.audit_every == 1),
      prefix_classes_(id_block, config.engine.block_size) {
  scheduler.journal().set_enabled(true);
  if (options.shadow) shadow_.emplace(shadow_options(config));
  if (options.ledger) ledger_.emplace(ledger_options(scheduler.options()));
}

void JournalReaders::tell_observer(std::int64_t now_ns) {
  const std::span<const std::byte> records = scheduler_.journal().unread().subspan(told_);
  told_ += records.size();
  if (!records.empty()) observer_->on_records(records, now_ns);
}

void JournalReaders::audit() {
  const std::uint64_t due = scheduler_.journal().events() / audit_every_;
  if (due == audits_) return;
  audits_ = due;
  watch_.audit(scheduler_);
  if (observer_ == nullptr) return;
  tell_ledger();
  observer_->on_audit(scheduler_, ledger_ ? &*ledger_ : nullptr);
}

void JournalReaders::drain_all() {
  tell_ledger();
  ledger_told_ = 0;
  watch_.read(scheduler_);
  watch_.cleared();
  digest_.update(scheduler_.journal().unread());
  if (shadow_) shadow_->consume(scheduler_.journal().unread());
  if (reuse_) prefix_classes_.consume(scheduler_.journal().unread());
  scheduler_.journal().clear();
  told_ = 0;
}

void JournalReaders::drain_timed() {
  digest_timed_.update(std::as_bytes(std::span(timed_).first(timed_count_)));
  timed_count_ = 0;
}

void JournalReaders::close_ledger(RunResult& result) {
  tell_ledger();
  if (ledger_) result.ledger = ledger_->totals();
}

void JournalReaders::take_findings(RunResult& result) const {
  if (!shadow_ || shadow_->finding_count() == 0) return;
  result.verdict = Verdict::kViolation;
  result.verdict_detail += std::to_string(shadow_->finding_count()) + " findings in shadow memory";
  for (const ShadowFinding& finding : shadow_->findings()) {
    result.verdict_detail +=
        "\n  " + finding.rule + " at event " + std::to_string(finding.event) + ": " + finding.text;
  }
}

void JournalReaders::finish(std::int64_t now_ns, RunResult& result) {
  if (observer_ != nullptr) tell_observer(now_ns);
  drain_all();
  drain_timed();
  take_findings(result);
  result.prefix_ids = prefix_classes_.counts();
  result.events = scheduler_.journal().events();
  result.digest = digest_.value();
  result.digest_timed = digest_timed_.value();
}

}  // namespace pinfold::sim
