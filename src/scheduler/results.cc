// Rule O7: rows are in flight from dispatch until the result is processed; then C advances by all rows
// and is corrected to what was accepted, in one call. Decision 2: commit all, then ends, in join order.

#include <algorithm>
#include <utility>

#include "scheduler/core.h"
#include "scheduler/tickets.h"

namespace pinfold {

void Core::on_passed(Lane lane, Ticket ticket) {
  if (ticket > passed_.upto[index_of(lane)]) {
    journal_.append({Verb::kPassed, PoolKind::kBlocks, 0, 0, index_of(lane),
                     static_cast<std::uint32_t>(value_of(ticket))});
  }
  pass(lane, ticket);
}

// Nothing that waits for `ticket` will ever be carried out, and nothing of it touches storage any more.
void Core::on_lost(Lane lane, Ticket ticket) {
  PINFOLD_CHECK(lane == Lane::kHostToDevice || lane == Lane::kDeviceToHost, "O16",
                "only what the store queued can be given up");
  if (ticket > passed_.upto[index_of(lane)]) {
    journal_.append({Verb::kPassed, PoolKind::kBlocks, 1, 0, index_of(lane),
                     static_cast<std::uint32_t>(value_of(ticket))});
  }
  pass(lane, ticket, true);
}

void Core::pass(Lane lane, Ticket ticket, bool lost) {
  Ticket& upto = passed_.upto[index_of(lane)];
  PINFOLD_CHECK(ticket >= upto, "O9",
                "a lane passed ticket " + std::to_string(value_of(ticket)) + " after ticket " +
                    std::to_string(value_of(upto)));
  PINFOLD_CHECK(lane != Lane::kCompute || ticket <= step_ticket(planned_), "O9",
                "a ticket passed that was never issued");
  PINFOLD_CHECK(lane != Lane::kCopy || ticket <= copy_ticket(planned_), "O9",
                "a ticket passed that was never issued");
  PINFOLD_CHECK(lane != Lane::kHostToDevice || value_of(ticket) <= load_tickets_, "O9",
                "a ticket passed that was never issued");
  PINFOLD_CHECK(lane != Lane::kDeviceToHost || value_of(ticket) <= save_tickets_, "O9",
                "a ticket passed that was never issued");
  if (ticket == upto) return;
  upto = ticket;
  if (lane == Lane::kDeviceToHost) end_saves(ticket, lost);
  if (!holds_.empty()) holds_.advance(passed_, pools_, journal_);
  if (lane == Lane::kHostToDevice) end_loads(ticket, lost);
}

void Core::on_step_complete(const StepResult& result) {
  const std::uint64_t step = value_of(result.step);
  PINFOLD_CHECK(
      step == done_ + 1, "O15",
      "result of step " + std::to_string(step) + " after result " + std::to_string(done_));
  PINFOLD_CHECK(step <= planned_, "O15", "result of a step that was never dispatched");
  const bool failed = result.failed || step <= failed_upto_;
  journal_.append({Verb::kResult, PoolKind::kBlocks, 0, static_cast<std::uint32_t>(step), 0,
                   result.failed ? 1u
                   : failed      ? 2u
                                 : 0u});

  // 1. Fences that passed.
  if (step_ticket(step) > passed_.upto[index_of(Lane::kCompute)]) {
    pass(Lane::kCompute, step_ticket(step));
  }

  // 2. Commits. A failed step, or one dispatched behind it, commits nothing.
  due_.clear();
  if (failed && !mutant_is(Mutant::kFailedStepCommitted)) {
    if (result.failed) fail_steps(step);  // again, if a step behind a failed one fails too
  } else {
    const std::span<const RowResult> exceptions(result.exceptions, result.exception_count);
    name_exceptions(exceptions);
    for (const std::vector<SlotIndex>* list : {&active_, &late_}) {
      for (const SlotIndex slot : *list) {
        const Flights& flights = store_[slot].flights;
        if (flights.empty()) continue;
        if (flights.front().step == result.step) commit(slot, exceptions);
      }
    }
    for (const RowResult& row : exceptions) {
      const SlotIndex slot = store_.find(row.sequence);
      PINFOLD_CHECK(slot == kNoSlot || store_[slot].exception == 0, "O7",
                    "a result for a row that was not in the step");
    }
    if (!late_.empty())
      std::erase_if(late_, [&](SlotIndex slot) { return store_[slot].flights.empty(); });
  }
  done_ = step;

  // 3. Blocks that these rows completed can be found from here on.
  if (reuse_) publish_due(step);

  // 4. Ends.
  end_due();
}

void Core::name_exceptions(std::span<const RowResult> exceptions) {
  std::uint32_t number = 0;
  for (const RowResult& row : exceptions) {
    ++number;
    const SlotIndex slot = store_.find(row.sequence);
    if (slot == kNoSlot) continue;  // ended meanwhile: an overrun row, or aborted
    make_explicit(slot);
    PINFOLD_CHECK(store_[slot].exception == 0, "O7", "two results for one row");
    store_[slot].exception = number;
  }
}

void Core::commit(SlotIndex slot, std::span<const RowResult> exceptions) {
  Sequence& sequence = store_[slot];
  const Flight flight = sequence.flights.pop();
  const bool late = flight.epoch != sequence.epoch && !mutant_is(Mutant::kStaleResultAccepted);
  const RowResult* exception =
      sequence.exception == 0 ? nullptr : &exceptions[sequence.exception - 1];
  if (kMutantsBuild && sequence.exception > exceptions.size()) exception = nullptr;
  sequence.exception = 0;
  TokenCount accepted = flight.decode ? TokenCount(1) : flight.tokens;
  bool stop = false;
  if (exception != nullptr) {
    PINFOLD_CHECK(exception->epoch == flight.epoch, "O7",
                  "a result of epoch " + std::to_string(exception->epoch) + " for a row of epoch " +
                      std::to_string(flight.epoch));
    accepted = exception->accepted;
    stop = exception->ended;
    note(Verb::kCommit, sequence, accepted.value, stop ? 1 : 0);
  }
  PINFOLD_CHECK(accepted <= flight.tokens, "O7", "more tokens than the step could yield");
  PINFOLD_CHECK(!flight.decode || accepted.value >= 1, "O7", "a decode row yields a token");
  if (flight.decode) stats_.drafts_accepted += accepted.value - 1;

  const TokenCount rows = flight.decode ? accepted : flight.rows;
  if (late) {
    // The late token still counts; no count of the new epoch is touched (decision 4).
    sequence.late_rows += rows;
    sequence.computed_high = std::max(sequence.computed_high, sequence.late_rows);
  } else {
    sequence.rows.in_flight -=
        mutant_is(Mutant::kInFlightMiscounted) && options_.overlap == 0 && flight.decode
            ? TokenCount(1)
            : flight.rows;
    sequence.tokens_in_flight -= flight.tokens;
    sequence.rows.processed += rows;
    sequence.computed_high = std::max(sequence.computed_high, sequence.rows.processed);
    if (sequence.rows.processed.value >= sequence.prefix.due_at) publish_due_.push_back(slot);
  }
  sequence.rows.history += accepted;
  sequence.emitted += accepted;
  if (late && mutant_is(Mutant::kLateTokenTwice)) sequence.emitted += accepted;
  const TokenCount computed = late ? sequence.late_rows : sequence.rows.processed;
  TokenCount limit = sequence.spec.limit;
  if (mutant_is(Mutant::kLimitPassed)) limit += TokenCount(1);
  const bool at_limit = sequence.emitted >= limit && computed >= sequence.prompt_end;
  if (stop || at_limit) {
    due_.push_back(slot);
    sequence.stopped = stop;
  }
}

// In join order. Those that wait have join number 0: they ended by a late result and go first, in the
// order in which they were preempted.
void Core::end_due() {
  if (due_.empty()) return;
  std::stable_sort(due_.begin(), due_.end(),
                   [&](SlotIndex a, SlotIndex b) { return store_[a].join < store_[b].join; });
  for (const SlotIndex slot : due_) {
    finish(slot, store_[slot].stopped ? EndReason::kStop : EndReason::kLimit);
  }
}

// Rows of the steps behind a failed one no longer count in F, but the device still writes them: what lies
// beyond the need parks behind the last of them (rule O9).
void Core::park_surplus(Sequence& sequence) {
  const BlockCount need = need_without_row(sequence.rows, options_.block_size);
  const Ticket wait = step_ticket(value_of(sequence.last_step));
  const bool written = wait > passed_.upto[index_of(Lane::kCompute)];
  if (options_.fence != FenceMode::kAlways || !written) {
    give_back_surplus(sequence, need);
    return;
  }
  if (sequence.table.size() <= need.value) return;
  Hold hold;
  hold.fence = fence_on(Lane::kCompute, wait);
  hold.from = sequence.id;
  hold.blocks.assign(sequence.table.begin() + need.value, sequence.table.end());
  if (options_.release_order == ReleaseOrder::kReverse) {
    std::reverse(hold.blocks.begin(), hold.blocks.end());
  }
  note_ids(Verb::kPark, PoolKind::kBlocks, sequence, hold.blocks,
           static_cast<std::uint32_t>(value_of(wait)));
  pools_.blocks().park(hold.blocks);
  sequence.table.resize(need.value);
  holds_.add(std::move(hold));
  ++stats_.parked;
}

// Decision 9: nothing of the failed step or of the steps behind it is committed. Sequences whose state
// slot has moved on, or whose private storage was never filled, start over; the others run again.
void Core::fail_steps(std::uint64_t step) {
  failed_upto_ = planned_;
  if (!mutant_is(Mutant::kFailedSaveStored)) void_saves(step);
  const std::vector<SlotIndex> running = running_;
  std::vector<SlotIndex> lost;
  for (const SlotIndex slot : running) {
    make_explicit(slot);
    Sequence& sequence = store_[slot];
    if (sequence.flights.empty()) continue;
    sequence.flights.clear();
    sequence.rows.in_flight = TokenCount(0);
    sequence.tokens_in_flight = TokenCount(0);
    if (sequence.in_batch) note(Verb::kLeave, sequence);
    leave_batch(sequence, left_pending_);
    if (sequence.phase == Phase::kDecode && sequence.rows.processed < sequence.prompt_end) {
      sequence.phase = Phase::kPrefill;
      --decodes_;
    }
    const bool unfilled = value_of(sequence.fork_step) >= step;
    if (options_.state == Switch::kOn || unfilled) {
      lost.push_back(slot);
    } else {
      park_surplus(sequence);
    }
  }
  for (const SlotIndex slot : late_) store_[slot].flights.clear();
  late_.clear();
  while (!lost.empty()) {
    preempt(lost.back());
    lost.pop_back();
  }
  // A waiting fork may have pinned blocks that the failed copies were to fill.
  const std::vector<SlotIndex> forks = forks_;
  for (const SlotIndex slot : forks) {
    const Sequence& child = store_[slot];
    if (child.phase == Phase::kForkPinned && value_of(child.fork_step) >= step) demote_fork(slot);
  }
}

}  // namespace pinfold
