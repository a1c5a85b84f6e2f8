#include "sim/core/simulation.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "sim/core/engine_options.h"
#include "sim/core/scheduler_figures.h"
#include "sim/core/step_faults.h"
#include "sim/device/step_cost.h"

namespace pinfold::sim {

Simulation::Simulation(RequestSource& source, const RunConfig& config, const RunOptions& options)
    : config_(config),
      options_(options),
      observer_(options.observer),
      scheduler_(engine_options(config, options.fast_path)),
      readers_(scheduler_, config, options, config.prefix.reuse ? source.id_block() : 0),
      figures_(options.measure, source.expected()),
      queue_watch_(source.expected(), config.workload.concurrency == 0),
      arrivals_(source, config),
      prefix_keys_(config.prefix.reuse ? source.id_block() : 0, config.engine.block_size),
      lanes_(config),
      fences_(config),
      store_(config) {}

RunResult Simulation::run() {
  try {
    loop();
    readers_.close_ledger(result_);
  } catch (const InvariantViolation& violation) {
    result_.verdict = Verdict::kViolation;
    result_.verdict_detail = std::string(violation.what()) + ", at event " +
                             std::to_string(scheduler_.journal().events());
    readers_.drop_ledger();
  }
  return summarise();
}

void Simulation::loop() {
  if (arrivals_.next_ns() != kNeverNs) now_ = first_ns_ = arrivals_.next_ns();
  waits_.start_at(now_);
  readers_.start_at(now_);
  while (true) {
    fences_.pass(now_, scheduler_);
    if (store_.on()) pass_transfers();
    take_aborts();
    take_arrivals();
    if (!pending_forks_.empty()) release_forks();
    const bool may_plan = frames_.size() <= config_.engine.overlap;
    if (may_plan) plan();
    if (fences_.host_waits()) return stall(fences_.lost_wait());
    if (may_plan && !plan_.empty) continue;  // as far ahead as the overlap allows
    const bool result_lost =
        !frames_.empty() && is_given(config_.fault, FaultKind::kStepLost, frames_.front().step);
    const bool in_flight = !frames_.empty() && !result_lost;
    const std::int64_t fence_ns = fences_.next_ns();
    const std::int64_t link_ns = store_.on() ? store_.next_ns() : kNeverNs;
    const bool awaits = fence_ns != kNeverNs || link_ns != kNeverNs;
    if (may_plan && !in_flight && scheduler_.unfinished() > 0 && !awaits) {
      if (const std::string what = blockade(); !what.empty()) return stall(what);
    }
    if (progress_.stands_still(scheduler_.running_count() + scheduler_.waiting_count())) {
      return stall(progress_.text());
    }
    // A client may be heard at once only if the overlap has room for another step.
    const std::int64_t client_ns = std::min(arrivals_.next_ns(), arrivals_.next_abort_ns());
    const std::int64_t idle_ns = in_flight ? kNeverNs : fence_ns;
    const std::int64_t next_ns = std::min({client_ns, idle_ns, link_ns});
    if (may_plan && next_ns != kNeverNs && (!in_flight || next_ns < frames_.front().done_ns)) {
      if (!in_flight && !result_lost && scheduler_.unfinished() == 0 && !arrivals_.more() &&
          idle_ns == kNeverNs && link_ns == kNeverNs) {
        return;  // only clients of ended requests are left to give up
      }
      // A client that came and gave up while the host was busy is heard of now.
      advance_to(std::max(next_ns, now_));
    } else if (result_lost) {
      return stall("the result of step " + std::to_string(frames_.front().step) + " was lost");
    } else if (in_flight) {
      complete();
    } else {
      return;
    }
  }
}

// Why nothing happens any more where nothing is in flight and no event on its way; empty: clients may
// come.
std::string Simulation::blockade() const {
  if (scheduler_.nothing_pending()) return "nothing is in flight and nothing can run";
  if (fences_.any_lost()) return "nothing can run but what waits for a lost fence";
  const std::string lost = store_.lost_text();
  return lost.empty() ? "" : "nothing can run but what waits for " + lost;
}

void Simulation::advance_to(std::int64_t ns) {
  PINFOLD_CHECK(ns >= now_, "time", "time went back");
  if (ns == now_) return;
  readers_.advance(now_, ns);
  const std::uint64_t owned = scheduler_.pools().blocks().owned().value;
  owned_ns_ += static_cast<Wide>(owned) * static_cast<std::uint64_t>(ns - now_);
  loading_ns_ += scheduler_.loading_count() * static_cast<std::uint64_t>(ns - now_);
  now_ = ns;
}

void Simulation::plan() {
  waits_.account(now_, observer_);
  const std::uint64_t requeued = requeues();
  const std::uint64_t recomputed = scheduler_.stats().recomputed_rows;
  const std::size_t unread = scheduler_.journal().unread().size();
  readers_.watch().before_plan(scheduler_);
  scheduler_.plan_step(plan_);
  readers_.watch().after_plan(scheduler_, plan_);
  readers_.plan(plan_, now_);
  waits_.refuse(plan_.cause);
  if (!plan_.left.empty()) note_left();
  note_admitted();
  if (requeues() != requeued) note_requeued(unread, true);
  if (!scheduler_.ended().empty()) take_ends();
  waits_.set_waiting(scheduler_.waiting_count());
  if (!plan_.empty) {
    const std::uint64_t redone = scheduler_.stats().recomputed_rows - recomputed;
    progress_.pass(plan_.decode_rows > 0 || plan_.prompt_rows > redone);
    launch();
  }
  if (store_.on()) store_.queue(scheduler_, now_, staged_ns_);
  readers_.drain(now_);
}

void Simulation::note_admitted() {
  if (scheduler_.loading_count() > 0) {
    for (const SequenceId id : scheduler_.loading()) stop_waiting(members_[value_of(id)]);
  }
  for (const Chunk& chunk : plan_.chunks) stop_waiting(members_[value_of(chunk.sequence)]);
}

void Simulation::stop_waiting(Member& member) {
  if (member.waiting_since_ns == kNotYet) return;
  member.waited_ns += now_ - member.waiting_since_ns;
  member.waiting_since_ns = kNotYet;
}

// Neither a plan nor a result names who was put into the queue again; the journal does, in what was
// written since byte `from`.
void Simulation::note_requeued(std::size_t from, bool by_plan) {
  const std::span<const std::byte> bytes = scheduler_.journal().unread();
  for (std::size_t at = from; at < bytes.size();) {
    Record record;
    std::memcpy(&record, bytes.data() + at, sizeof record);
    at += sizeof record + ids_after(record) * sizeof(BlockId);
    if (record.verb == Verb::kAcquire || record.verb == Verb::kSitOut) {
      progress_.take(record.sequence);
    }
    if (record.verb == Verb::kPreempt || record.verb == Verb::kDemote) {
      progress_.requeue(record.sequence);
    }
    const bool requeued = record.verb == Verb::kPreempt || record.verb == Verb::kDemote ||
                          record.verb == Verb::kForkMissed;
    Member* const member = requeued ? members_.find(record.sequence) : nullptr;
    if (member == nullptr || member->waiting_since_ns != kNotYet) continue;
    if (!scheduler_.knows(SequenceId{record.sequence})) continue;
    if (scheduler_.view(SequenceId{record.sequence}).phase != Phase::kWaiting) continue;
    member->waiting_since_ns = now_;
    if (!by_plan) waits_.arrive(now_);
  }
}

void Simulation::note_left() {
  for (const Left& left : plan_.left) {
    Member* const member = members_.find(value_of(left.sequence));
    if (member == nullptr) continue;
    const std::uint64_t next_step = value_of(scheduler_.done()) + frames_.size() + 1;
    member->left_step = next_step;
    if (figures_.windowed() && counts(*member)) --rows_counted_;
    if (drafting()) {
      leave_batch(*member);
    } else if (hidden()) {
      Stops::leave(*member, next_step);
    }
    if (std::exchange(member->voided, false)) continue;
    if (frames_.empty()) {
      member->last_token_ns = last_result_ns_;
    } else {
      frames_.back().leaving.push_back(left.sequence);
    }
  }
}

void Simulation::launch() {
  const std::uint64_t step = value_of(plan_.step);
  const std::int64_t planned_ns = now_;
  if (config_.cost.plan_ps > 0) advance_to(now_ + lanes_.plan_ns());
  Frame& frame = frames_.push();
  frame.step = step;
  frame.planned_ns = planned_ns;
  frame.going_on = figures_.windowed() ? rows_counted_ : plan_.decode_rows - plan_.joined.size();
  if (!plan_.joined.empty()) note_joined(frame);
  if (!plan_.chunks.empty()) note_last_chunks(frame);
  if (drafting()) {
    frame.rows = batch_;
    for (const Drafted& row : plan_.drafted) {
      frame.rows[members_[value_of(row.sequence)].batch_index].drafts = row.drafts;
    }
  }
  const StepCost cost = step_cost(config_.cost, config_.engine.block_size, plan_);
  result_.out_of_range.note(cost.limits_passed);
  const bool copies = value_of(plan_.copy_ticket) != 0;
  const StepTimes times = lanes_.launch(step, cost, copies, now_);
  staged_ns_ = times.staged_ns;
  frame.done_ns = times.done_ns;
  ++result_.steps;
  if (copies && fences_.launch(step, plan_.copy_ticket, times.copies_done_ns)) {
    advance_to(std::max(now_, times.copies_done_ns));
    scheduler_.on_passed(fences_.lane(), plan_.copy_ticket);
  }
}

void Simulation::note_joined(Frame& frame) {
  frame.joined.swap(plan_.joined);
  for (const Joined& joined : frame.joined) {
    Member& member = members_[value_of(joined.sequence)];
    member.join_step = frame.step;
    member.left_step = 0;
    if (figures_.windowed() && counts(member)) ++rows_counted_;
    expect_stop(joined.sequence, member, joined.epoch, joined.tokens_before.value, frame.step);
    if (drafting()) {
      member.batch_index = static_cast<std::uint32_t>(batch_.size());
      batch_.push_back({joined.sequence, joined.epoch, TokenCount(0)});
    }
  }
}

void Simulation::note_last_chunks(Frame& frame) {
  for (const Chunk& chunk : plan_.chunks) {
    if (!chunk.last) continue;
    frame.last_chunks.push_back(chunk);
    Member& member = members_[value_of(chunk.sequence)];
    // Any other stop is known once its row joins, which may be later than the next step.
    const bool only_token = chunk.tokens_before.value + 1 >= member.output;
    if (only_token) {
      expect_stop(chunk.sequence, member, chunk.epoch, chunk.tokens_before.value, frame.step);
    }
  }
}

// Without drafts a row yields one token a step and `before` tokens precede its first one, so the step
// of its last one is known.
void Simulation::expect_stop(SequenceId id, Member& member, std::uint32_t epoch,
                             std::uint32_t before, std::uint64_t step) {
  if (!hidden() || drafting()) return;
  const std::uint32_t output = std::max(member.output, std::uint32_t{1});
  if (before >= output) return;  // an overrun row: its stop is in flight
  if (Stops::has(member)) return;
  stops_.set(value_of(id), member, step + (output - before) - 1);
  member.stop_epoch = epoch;
}

void Simulation::pass_transfers() {
  TransferNews news;
  while (store_.take_news(now_, scheduler_.done(), news)) {
    const std::uint64_t requeued = requeues();
    const std::size_t unread = scheduler_.journal().unread().size();
    if (news.lost) {
      waits_.account(now_, observer_);
      scheduler_.on_lost(news.lane, news.ticket);
    } else {
      scheduler_.on_passed(news.lane, news.ticket);
    }
    if (requeues() == requeued) continue;
    note_requeued(unread, true);
    waits_.set_waiting(scheduler_.waiting_count());
  }
}

void Simulation::stall(const std::string& what) {
  waits_.account(now_, observer_);  // what still waits has waited until now
  result_.verdict = Verdict::kStall;
  result_.stall = stall_report(scheduler_, what);
  result_.verdict_detail = describe(*result_.stall);
}

void Simulation::check_drained() {
  scheduler_.audit();
  if (scheduler_.unfinished() > 0) return;
  readers_.watch().at_drain(scheduler_);
  for (const PoolKind kind : {PoolKind::kBlocks, PoolKind::kStateSlots, PoolKind::kDraftSlots}) {
    PINFOLD_CHECK(scheduler_.pools().of(kind).owned().value == 0, "O10",
                  std::string("at the end somebody owns a ") + name_of(kind));
  }
}

// What a lost event leaves behind when everybody has gone.
void Simulation::report_lost() {
  if (result_.verdict != Verdict::kOk || scheduler_.holds().empty()) return;
  const Pools& pools = scheduler_.pools();
  const std::string blocks =
      "everything has ended, and " + std::to_string(pools.blocks().parked().value) + " blocks";
  if (const std::string lost = store_.on() ? store_.lost_text() : ""; !lost.empty()) {
    return stall(blocks + " stay parked behind " + lost);
  }
  if (!fences_.any_lost()) return;
  stall(blocks + " and " + std::to_string(pools.of(PoolKind::kStateSlots).parked().value) +
        " state slots stay parked behind a lost event: ticket " +
        std::to_string(value_of(fences_.lost_ticket())) + " of the copy lane, step " +
        std::to_string(fences_.lost_step()));
}

RunResult Simulation::summarise() {
  report_lost();
  if (result_.verdict == Verdict::kOk) {
    try {
      check_drained();
    } catch (const InvariantViolation& violation) {
      result_.verdict = Verdict::kViolation;
      result_.verdict_detail = violation.what();
    }
  }
  readers_.finish(now_, result_);
  // A request that never arrived, because the run stalled, arrives as in the trace.
  std::int64_t at_ns = 0;
  while (arrivals_.take_unarrived(at_ns)) figures_.arrive(at_ns);
  figures_.put_into(result_);
  put_scheduler_figures(scheduler_, config_, result_);
  result_.trace_requests = arrivals_.numbered();
  if (result_.trace_requests > 0) {
    result_.run_ns = std::max<std::int64_t>(last_end_ns_ - first_ns_, 0);
  }
  result_.arrival_queue = queue_watch_.queue();
  put_waits();
  result_.prefix_reuse = config_.prefix.reuse;
  result_.store = store_.on();
  result_.store_bytes_in = store_.bytes_in();
  result_.store_bytes_out = store_.bytes_out();
  result_.store_load_ns = loading_ns_;
  result_.blocks_owned_ns_high = static_cast<std::uint64_t>(owned_ns_ >> 64);
  result_.blocks_owned_ns_low = static_cast<std::uint64_t>(owned_ns_);
  return result_;
}

void Simulation::put_waits() {
  result_.wait_total_ns = waited_in_all();
  result_.wait_blocks_ns = waits_.booked_ns(Wait::kBlocks);
  result_.wait_slot_ns = waits_.booked_ns(Wait::kSlot);
  result_.wait_fence_ns = waits_.booked_ns(Wait::kFence);
  result_.wait_fork_ns = waits_.booked_ns(Wait::kFork);
  result_.wait_run_limit_ns = waits_.booked_ns(Wait::kRunLimit);
  result_.wait_budget_ns = waits_.booked_ns(Wait::kBudget);
  result_.wait_step_ns = waits_.booked_ns(Wait::kStep);
}

// Ended or not.
std::int64_t Simulation::waited_in_all() {
  std::int64_t total_ns = waited_ended_ns_;
  members_.for_each([&](std::uint64_t, const Member& member) {
    total_ns += member.waited_ns;
    if (member.waiting_since_ns != kNotYet) total_ns += now_ - member.waiting_since_ns;
  });
  return total_ns;
}

}  // namespace pinfold::sim
