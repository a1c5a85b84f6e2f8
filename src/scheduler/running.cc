// Rule O6: in the plan, in running order, give back surplus at once and grow by the exact shortfall.

#include "scheduler/core.h"
#include "scheduler/victim.h"

namespace pinfold {

void Core::plan_running(Pass& pass) {
  const std::uint32_t budget = options_.token_budget.value;
  pass.draft_room = budget - decodes_;
  collect_visits(pass.step);
  for (const Visit& visit : visits_) {
    Sequence& sequence = store_[visit.slot];
    if (sequence.join != visit.join) continue;  // preempted earlier in this pass
    if (sequence.steady) {
      if (pools_.blocks().available().value > 0) {
        acquire_blocks(sequence, BlockCount(1));  // a steady row crosses one block at a time
        if (stores_states()) save_state(pass, sequence, next_position(sequence));
        continue;
      }
      make_explicit(visit.slot);
    }
    if (sequence.phase == Phase::kDecode) plan_row(pass, visit.slot);
  }
  pass.budget -= steady_rows_;
  if (steady_rows_ > 0) pass.plan.empty = false;
}

void Core::plan_row(Pass& pass, SlotIndex slot) {
  Sequence& sequence = store_[slot];
  const TokenCount room = sequence.spec.limit - sequence.emitted - sequence.tokens_in_flight;
  const bool goes_on = room.value > 0 && sequence.freezers == 0;
  if (!goes_on) {
    give_back_surplus(sequence, need_without_row(sequence.rows, options_.block_size));
    if (sequence.in_batch) note(Verb::kLeave, sequence);
    leave_batch(sequence, pass.plan.left);
    return;
  }
  TokenCount drafts = drafts_wanted(pass, sequence, room);
  RowCounts rows = sequence.rows;
  if (mutant_is(Mutant::kShrinkOnOptimisticCount) ||
      (mutant_is(Mutant::kShrinkUnordered) && options_.fence == FenceMode::kUnorderedWriters)) {
    rows.in_flight = TokenCount(static_cast<std::uint32_t>(sequence.flights.size()));
  }
  const BlockCount need = need_with_row(rows, drafts, options_.block_size);
  give_back_surplus(sequence, need);
  switch (make_room(pass, slot, drafts)) {
    case Room::kFits: plan_decode_row(pass, sequence, drafts); return;
    case Room::kSitOut: sit_out(pass, sequence); return;
    case Room::kGone: return;
  }
}

// Drafts are clipped by what the request may still yield, by the model's length, by the budget (a
// verify row costs 1 + d, and every running row keeps its own row), and need a draft slot.
TokenCount Core::drafts_wanted(const Pass& pass, const Sequence& sequence, TokenCount room) const {
  if (sequence.spec.drafts.value == 0) return TokenCount(0);
  const bool has_slot =
      sequence.draft != kNoBlock || pools_.of(PoolKind::kDraftSlots).available().value > 0;
  if (!has_slot) return TokenCount(0);
  if (mutant_is(Mutant::kUnseededDrafts) && odd_call(2) == 1) return TokenCount(0);
  const TokenCount next = sequence.rows.processed + sequence.rows.in_flight + TokenCount(1);
  const TokenCount length_room = options_.max_model_len - std::min(next, options_.max_model_len);
  return std::min(
      {sequence.spec.drafts, room - TokenCount(1), length_room, TokenCount(pass.draft_room)});
}

void Core::give_back_surplus(Sequence& sequence, BlockCount need) {
  if (sequence.table.size() <= need.value) return;
  if (mutant_is(Mutant::kSurplusKept)) return;
  // Surplus lies beyond C + F: no dispatched row writes there, so it is released, never parked.
  const std::span<const BlockId> surplus = std::span(sequence.table).subspan(need.value);
  note_ids(Verb::kRelease, PoolKind::kBlocks, sequence, surplus);
  pools_.blocks().release(surplus);
  sequence.table.resize(need.value);
}

// Brings the table up to its need, or says why not. The order is rule O6's: (1) sit out while parked
// blocks cover the shortfall, (2) cut drafts, (3) preempt.
Core::Room Core::make_room(Pass& pass, SlotIndex slot, TokenCount& drafts) {
  Pool& blocks = pools_.blocks();
  Sequence& sequence = store_[slot];
  const std::uint32_t least = options_.growth_check == GrowthCheck::kOneFree ? 1 : 0;
  while (true) {
    RowCounts rows = sequence.rows;
    if (mutant_is(Mutant::kInFlightNotNeeded)) rows.in_flight = TokenCount(0);
    TokenCount more = drafts;
    if (mutant_is(Mutant::kDraftsBeyondTable)) more = TokenCount(0);
    if (mutant_is(Mutant::kNeedOneTooMany) && drafts.value == 0) more += TokenCount(1);
    const std::uint32_t need = need_with_row(rows, more, options_.block_size).value;
    const std::uint32_t held = static_cast<std::uint32_t>(sequence.table.size());
    const std::uint32_t shortfall = need > held ? need - held : 0;
    const std::uint32_t wanted = std::max(shortfall, least);
    if (wanted <= blocks.available().value) {
      const bool more_than_asked =
          mutant_is(Mutant::kGrowthAccumulates) && shortfall > 0 && blocks.available().value > 100;
      acquire_blocks(sequence, BlockCount(shortfall + (more_than_asked ? 1 : 0)));
      return Room::kFits;
    }
    const std::uint32_t parked = mutant_is(Mutant::kPreemptsForParked) ? 0 : blocks.parked().value;
    if (wanted <= blocks.available().value + parked) return Room::kSitOut;
    const TokenCount row_end = sequence.rows.processed + sequence.rows.in_flight + TokenCount(1);
    const std::uint32_t base = std::max(sequence.rows.history, row_end).value;
    const std::uint64_t reach =
        std::uint64_t{held + blocks.available().value} * options_.block_size.value;
    if (drafts.value > 0 && shortfall > 0 && reach >= base && blocks.available().value >= least) {
      const TokenCount kept(static_cast<std::uint32_t>(reach - base));
      stats_.drafts_cut += (drafts - kept).value;
      drafts = kept;
      continue;
    }
    // Drafts preempt nobody: parked blocks that cover the row without them are worth a step's wait.
    const std::uint32_t row_need = blocks_for(TokenCount(base), options_.block_size).value;
    const std::uint32_t row_wanted = std::max(row_need > held ? row_need - held : 0, least);
    if (row_wanted <= blocks.available().value + parked) return Room::kSitOut;
    // The one that joined last is still being loaded: it gives nothing back before that has passed, and is
    // a victim like any other then.
    if (!loading_.empty()) return Room::kSitOut;
    const SlotIndex victim = newest_victim(running_);
    if (victim == slot) {
      // Draft rows in flight are an upper bound: their result may shrink this very need, and giving
      // everything up would free nothing before that result anyway.
      for (const Flight& flight : sequence.flights) {
        if (flight.decode && flight.rows.value > 1) return Room::kSitOut;
      }
      ++stats_.self_preemptions;
    }
    leave_batch(store_[victim], pass.plan.left);
    preempt(victim);
    pass.preempted = true;
    if (victim == slot) return Room::kGone;
  }
}

void Core::sit_out(Pass& pass, Sequence& sequence) {
  // Keeps rule O4 without a further row: gives back what only drafts reserved, takes nothing.
  give_back_surplus(sequence, need_without_row(sequence.rows, options_.block_size));
  ++stats_.sat_out;
  pass.sat_out = true;
  note(Verb::kSitOut, sequence);
  leave_batch(sequence, pass.plan.left);
}

void Core::plan_decode_row(Pass& pass, Sequence& sequence, TokenCount drafts) {
  StepPlan& plan = pass.plan;
  if (stores_states()) save_state(pass, sequence, next_position(sequence));
  if (drafts.value > 0 && sequence.draft == kNoBlock) {
    sequence.draft = acquire_slot(PoolKind::kDraftSlots, sequence);
  }
  if (!sequence.in_batch) {
    sequence.in_batch = true;
    note(Verb::kJoin, sequence, sequence.rows.history.value, sequence.rows.processed.value);
    plan.joined.push_back(
        {sequence.id, sequence.epoch, sequence.emitted + sequence.tokens_in_flight});
  }
  const TokenCount width = drafts + TokenCount(1);
  if (drafts.value > 0) {
    note(Verb::kDrafts, sequence, drafts.value);
    plan.drafted.push_back({sequence.id, sequence.epoch, drafts});
    stats_.drafts_planned += drafts.value;
  }
  sequence.flights.push({StepNumber{pass.step}, sequence.epoch, true, width, width});
  sequence.rows.in_flight += width;
  sequence.tokens_in_flight += width;
  sequence.last_step = StepNumber{pass.step};
  plan.context_rows += (sequence.rows.processed + sequence.rows.in_flight).value;
  if (mutant_is(Mutant::kInFlightMiscounted) && options_.overlap == 0) {
    sequence.rows.in_flight -= drafts;
  }
  plan.decode_rows += 1;
  plan.draft_rows += drafts.value;
  pass.budget -= width.value;
  pass.draft_room -= drafts.value;
  plan.empty = false;
}

}  // namespace pinfold
