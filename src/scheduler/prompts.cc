// Chunks of unfinished prompts, then admissions (rules O3 and O5).

#include <algorithm>

#include "scheduler/core.h"

namespace pinfold {

void Core::plan_prompts(Pass& pass) {
  for (const SlotIndex slot : active_) {
    if (pass.budget == 0) return;
    Sequence& sequence = store_[slot];
    if (sequence.phase != Phase::kPrefill) continue;
    if (sequence.freezers > 0) continue;
    if (value_of(sequence.last_step) == pass.step) continue;  // a fork that joined in this pass
    if (mutant_is(Mutant::kPromptLosesOwner) && value_of(sequence.last_step) + 1 < pass.step)
      continue;
    plan_chunk(pass, sequence);
  }
}

void Core::plan_chunk(Pass& pass, Sequence& sequence) {
  const TokenCount first = sequence.rows.processed + sequence.rows.in_flight;
  const TokenCount left = sequence.prompt_end - first;
  // Rows computed again behind a loaded state come in one piece, even where they pass the budget.
  const TokenCount recovered = rows_to_recover(sequence);
  const std::uint32_t rest = pass.budget > recovered.value ? pass.budget - recovered.value : 1;
  const TokenCount count = cut_at_boundary(sequence, first, std::min(left, TokenCount(rest)));
  if (stores_states()) save_state(pass, sequence, first.value);
  PINFOLD_CHECK(count.value > 0, "O5", "a chunk of no rows");
  const bool last = count == left;
  const TokenCount tokens(last && sequence.spec.limit > sequence.emitted ? 1 : 0);
  note(Verb::kChunk, sequence, count.value, first.value);
  pass.plan.chunks.push_back(
      {sequence.id, sequence.epoch, first, count, last, sequence.emitted, recovered});
  pass.plan.recovered_rows += recovered.value;
  stats_.recovered_rows += recovered.value;
  if (first < sequence.computed_high) {
    stats_.recomputed_rows += (std::min(first + count, sequence.computed_high) - first).value;
  }
  sequence.flights.push({StepNumber{pass.step}, sequence.epoch, false, count, tokens});
  sequence.rows.in_flight += count;
  sequence.tokens_in_flight += tokens;
  sequence.last_step = StepNumber{pass.step};
  if (last) {
    sequence.phase = Phase::kDecode;
    ++decodes_;
  }
  pass.budget -= std::min(pass.budget, (recovered + count).value);
  pass.plan.prompt_rows += count.value;
  pass.plan.empty = false;
}

void Core::plan_admissions(Pass& pass) {
  if (mutant_is(Mutant::kLoadsHoldEverything)) {
    end_loads(passed_.upto[index_of(Lane::kHostToDevice)], false);
  }
  while (!waiting_.empty()) {
    Cause cause = Cause::kNone;
    if (pass.preempted || pass.sat_out) {
      cause = Cause::kPressure;  // decision 4
    } else if (pass.fork_refused) {
      cause = Cause::kFork;  // decision 7
    } else {
      cause = try_admit(pass, waiting_.front());
    }
    if (cause == Cause::kNone) continue;  // it runs now, or it ended
    if (cause == Cause::kFork) {
      Sequence& head = store_[waiting_.front()];
      answer_later(head, cause, demand_of(head));
    }
    pass.plan.cause = cause;
    return;
  }
  if (!forks_.empty()) pass.plan.cause = Cause::kFork;
}

Cause Core::try_admit(Pass& pass, SlotIndex slot) {
  Sequence& sequence = store_[slot];
  if (at_run_limit()) return Cause::kRunLimit;
  if (pass.budget == 0) return Cause::kBudget;
  Demand demand = demand_of(sequence);
  if (mutant_is(Mutant::kChunkAdmitted)) {
    demand.of(PoolKind::kBlocks) =
        blocks_for(std::min(sequence.rows.history, TokenCount(pass.budget)), options_.block_size);
  }
  // Only after the last planned step of its former life: its late token is known then, and its old
  // rows are never in flight beside new ones (decision 4).
  if (value_of(sequence.last_step) > done_) {
    answer_later(sequence, Cause::kFence, demand);
    return Cause::kFence;
  }
  Availability availability = pools_.answer(demand);
  Prefix prefix;
  if (!sequence.prefix.empty() && availability.answer != Answer::kNever) {
    prefix = find_prefix(sequence, found_);
    demand = demand_behind(sequence, prefix);
    if (mutant_is(Mutant::kLoadsHoldEverything) && prefix.from_host()) {
      demand.of(PoolKind::kBlocks) = prefix.loads + prefix.revived;
    }
    availability = pools_.answer(demand);
  }
  if (mutant_is(Mutant::kLaterOnEmptyPool) && pools_.blocks().owned().value == 0 &&
      sequence.later_causes == 0) {
    availability.answer = Answer::kLater;
  }
  switch (availability.answer) {
    case Answer::kNever:
      note(Verb::kAnswer, sequence, demand.of(PoolKind::kBlocks).value, 0,
           static_cast<std::uint16_t>(Answer::kNever));
      ++stats_.answered_never;
      finish(slot, EndReason::kNever);
      return Cause::kNone;
    case Answer::kLater: {
      const Cause cause = availability.pool == PoolKind::kBlocks ? Cause::kBlocks : Cause::kSlot;
      if (mutant_is(Mutant::kPartialTake)) acquire_blocks(sequence, pools_.blocks().available());
      if (mutant_is(Mutant::kSlotKeptAfterRefusal) && cause == Cause::kBlocks &&
          options_.state == Switch::kOn && sequence.state == kNoBlock) {
        sequence.state = acquire_slot(PoolKind::kStateSlots, sequence);
      }
      if (mutant_is(Mutant::kRefusalKeepsPins) && !sequence.prefix.empty()) {
        pools_.blocks().share(found_.blocks);
      }
      if (mutant_is(Mutant::kRefusalForgetsDrafts)) sequence.spec.drafts = TokenCount(0);
      answer_later(sequence, cause, demand);
      return cause;
    }
    case Answer::kOk: break;
  }
  if (!sequence.prefix.empty()) book_prefix(sequence, prefix);
  answer_ok(sequence, demand);
  waiting_.pop_front();
  if (options_.state == Switch::kOn) {
    sequence.state = acquire_slot(PoolKind::kStateSlots, sequence);
  }
  BlockCount need = blocks_for(sequence.rows.history, options_.block_size);
  if (mutant_is(Mutant::kChunkAdmitted)) need = demand.of(PoolKind::kBlocks);
  if (mutant_is(Mutant::kLoadsHoldEverything) && prefix.from_host()) {
    need = prefix.blocks + prefix.loads;
  }
  if (!sequence.prefix.empty()) share_prefix(pass, sequence, prefix, found_.blocks);
  acquire_blocks(sequence, need - prefix.blocks);
  if (prefix.tail != kNoBlock) copy_tail(pass, sequence, prefix);
  sequence.prompt_end = sequence.rows.history;
  if (mutant_is(Mutant::kResumeFromPrompt)) sequence.prompt_end = sequence.spec.prompt;
  if (prefix.from_host()) {
    queue_load(slot, prefix, found_);
    return Cause::kNone;
  }
  join_running(slot, Phase::kPrefill);
  plan_chunk(pass, sequence);
  return Cause::kNone;
}

// Counts are per request; the journal says so again only when the cause changes, so that a full pool
// does not write a record per pass.
void Core::answer_later(Sequence& sequence, Cause cause, const Demand& demand) {
  const std::uint8_t value = static_cast<std::uint8_t>(cause);
  if (sequence.last_cause != value) {
    sequence.last_cause = value;
    note(Verb::kAnswer, sequence, demand.of(PoolKind::kBlocks).value,
         demand.of(PoolKind::kStateSlots).value,
         static_cast<std::uint16_t>(static_cast<unsigned>(Answer::kLater) | unsigned{value} << 8));
  }
  const std::uint8_t bit = static_cast<std::uint8_t>(1u << value);
  if ((sequence.later_causes & bit) != 0) return;
  if (sequence.later_causes == 0) ++stats_.answered_later;
  sequence.later_causes = static_cast<std::uint8_t>(sequence.later_causes | bit);
  if (cause == Cause::kBlocks) ++stats_.later_blocks;
  if (cause == Cause::kSlot) ++stats_.later_slot;
  if (cause == Cause::kFence) ++stats_.later_fence;
  if (cause == Cause::kFork) ++stats_.later_fork;
}

void Core::answer_ok(Sequence& sequence, const Demand& demand) {
  sequence.last_cause = 0;
  note(Verb::kAnswer, sequence, demand.of(PoolKind::kBlocks).value,
       demand.of(PoolKind::kStateSlots).value, static_cast<std::uint16_t>(Answer::kOk));
  if (!sequence.admitted_before) ++stats_.answered_ok;
  sequence.admitted_before = true;
}

}  // namespace pinfold
