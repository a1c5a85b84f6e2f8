#include "scheduler/core.h"

#include <algorithm>
#include <utility>

#include "scheduler/tickets.h"

namespace pinfold {
namespace {

// A prefix can be shared only up to where every kind of storage has it, and no state slot keeps a state
// of an earlier count: with state and without a store nothing is ever found, so nothing is kept either.
bool stores(const SchedulerOptions& options) {
  return options.reuse == Switch::kOn && options.host_block_ids > 1;
}

bool reuses(const SchedulerOptions& options) {
  return options.reuse == Switch::kOn && (options.state == Switch::kOff || stores(options));
}

std::array<PoolOptions, kPoolKinds> pool_options(const SchedulerOptions& options) {
  const auto pool = [&](PoolKind kind, std::uint32_t ids, bool keeps = false) {
    return PoolOptions{ids,   options.release_order, options.free_order, kind,
                       keeps, options.eviction};
  };
  const bool store = stores(options);
  const bool states = store && options.state == Switch::kOn;
  return {pool(PoolKind::kBlocks, options.block_ids, reuses(options)),
          pool(PoolKind::kStateSlots, options.state_ids),
          pool(PoolKind::kDraftSlots, options.draft_ids),
          pool(PoolKind::kHostBlocks, store ? options.host_block_ids : 1, store),
          pool(PoolKind::kHostStates, states ? options.host_state_ids : 1, states)};
}

}  // namespace

Core::Core(const SchedulerOptions& options)
    : options_(options),
      // The chapter's literal growth test asks something of every row in every step, so no row is
      // steady under it.
      fast_(options.fast_path == Switch::kOn && options.growth_check == GrowthCheck::kShortfall),
      reuse_(reuses(options)),
      store_on_(stores(options)),
      pools_(pool_options(options)),
      prefixes_(reuse_ ? options.block_ids : 0, pools_.of(PoolKind::kHostBlocks).ids(),
                pools_.of(PoolKind::kHostStates).ids()) {
  PINFOLD_CHECK(options.block_size.value > 0, "O1", "a block holds at least one position");
  PINFOLD_CHECK(options.overlap < kFlightsMax, "O15", "overlap is 0, 1 or 2");
  PINFOLD_CHECK(options.max_sequences > 0, "options", "at least one sequence runs");
  PINFOLD_CHECK(options.token_budget.value >= options.max_sequences, "options",
                "the token budget gives every running sequence a row");
  PINFOLD_CHECK(options.max_model_len.value > 0, "options", "a sequence has a position");
  PINFOLD_CHECK(options.max_model_len.value < (std::uint32_t{1} << 30), "options",
                "positions and drafts fit 32 bits");
  if (store_on_) {
    PINFOLD_CHECK(options.store_interval.value > 0 &&
                      options.store_interval.value % options.block_size.value == 0,
                  "O16", "boundaries are multiples of the block size");
    PINFOLD_CHECK(options.fence == FenceMode::kAlways, "O16",
                  "a lane of its own is not queued behind a step that still writes");
    staged_.resize(options.state_ids);
  }
  if (fast_) wheel_.resize(options.block_size.value);
}

// ---- records ---------------------------------------------------------------------------------------

void Core::note(Verb verb, const Sequence& sequence, std::uint32_t count, std::uint32_t aux,
                std::uint16_t detail) {
  journal_.append({verb, PoolKind::kBlocks, detail, value_of(sequence.id), count, aux});
}

void Core::note_ids(Verb verb, PoolKind pool, const Sequence& sequence,
                    std::span<const BlockId> ids, std::uint32_t aux) {
  journal_.append(
      {verb, pool, 0, value_of(sequence.id), static_cast<std::uint32_t>(ids.size()), aux}, ids);
}

// ---- arrival ---------------------------------------------------------------------------------------

bool Core::fits_ever(const RequestSpec& spec, TokenCount prompt) const {
  if (prompt > options_.max_model_len) return false;
  if (options_.state == Switch::kOn && pools_.of(PoolKind::kStateSlots).usable().value == 0) {
    return false;
  }
  const TokenCount least =
      spec.stop == StopMode::kKnown ? positions_of(prompt, spec.limit) : prompt;
  if (mutant_is(Mutant::kLastTokenWritten)) {
    return blocks_for(least + TokenCount(1), options_.block_size) <= pools_.blocks().usable();
  }
  return blocks_for(least, options_.block_size) <= pools_.blocks().usable();
}

Answer Core::add(SequenceId id, const RequestSpec& spec, const PromptKeys& keys) {
  PINFOLD_CHECK(spec.prompt.value >= 1, "O3", "a request has a prompt");
  RequestSpec bounded = spec;
  if (spec.prompt <= options_.max_model_len) {
    bounded.limit = std::min(spec.limit, options_.max_model_len - spec.prompt + TokenCount(1));
  }
  const bool fits = fits_ever(bounded, spec.prompt);
  if (!fits) {
    store_.skip(id);
    Sequence refused;
    refused.id = id;
    note(Verb::kArrive, refused, spec.prompt.value, spec.limit.value);
    note(Verb::kAnswer, refused, 0, 0, static_cast<std::uint16_t>(Answer::kNever));
    ++stats_.answered_never;
    return Answer::kNever;
  }
  const SlotIndex slot = store_.create(id);
  Sequence& sequence = store_[slot];
  sequence.spec = bounded;
  sequence.rows.history = spec.prompt;
  note(Verb::kArrive, sequence, spec.prompt.value, spec.limit.value);
  remember_keys(sequence, keys);
  waiting_.insert(sequence, slot);
  return Answer::kOk;
}

// ---- storage ---------------------------------------------------------------------------------------

Demand Core::demand_of(const Sequence& sequence) const {
  Demand demand;
  demand.of(PoolKind::kBlocks) = blocks_for(sequence.rows.history, options_.block_size);
  if (options_.state == Switch::kOn) demand.of(PoolKind::kStateSlots) = BlockCount(1);
  return demand;
}

void Core::acquire_blocks(Sequence& sequence, BlockCount count) {
  if (count.value == 0) return;
  const std::size_t before = sequence.table.size();
  sequence.table.resize(before + count.value);
  const std::span<BlockId> fresh = std::span(sequence.table).subspan(before);
  const std::size_t evicted = pools_.blocks().take(fresh);
  if (evicted > 0) forget(sequence, fresh.last(evicted));
  if (mutant_is(Mutant::kBlockZeroInTable) && before == 3) fresh[0] = kNoBlock;
  note_ids(Verb::kAcquire, PoolKind::kBlocks, sequence, fresh);
}

BlockId Core::acquire_slot(PoolKind pool, const Sequence& sequence) {
  BlockId slot = kNoBlock;
  pools_.of(pool).take(std::span(&slot, 1));
  if (mutant_is(Mutant::kDraftPinnedTwice) && pool == PoolKind::kDraftSlots) {
    pools_.of(pool).pin(std::span(&slot, 1));
  }
  note_ids(Verb::kAcquire, pool, sequence, std::span(&slot, 1));
  return slot;
}

// Rule O10: draft slot, state slot and every block reference, once. What a dispatched step or a queued
// copy may still touch parks behind it (rule O9).
void Core::let_go(Sequence& sequence) {
  Ticket wait{};
  if (options_.fence == FenceMode::kAlways && value_of(sequence.last_step) > done_) {
    wait = step_ticket(value_of(sequence.last_step));
  }
  const Ticket passed = passed_.upto[index_of(Lane::kCompute)];
  if (sequence.copy_ticket > passed && !mutant_is(Mutant::kDestinationFreed)) {
    wait = std::max(wait, sequence.copy_ticket);
  }
  if (mutant_is(Mutant::kFencePromisedEarly) && wait > passed && stats_.forks == 0) {
    wait = Ticket{value_of(wait) - 1};
  }

  Lane lane = Lane::kCompute;
  Behind behind = Behind::kStep;
  bool park = wait > passed;
  const bool filled = sequence.load_ticket <= passed_.upto[index_of(Lane::kHostToDevice)];
  if (!filled && !mutant_is(Mutant::kLoadDestinationFreed)) {
    lane = Lane::kHostToDevice;  // admitted since, so no step has touched it
    behind = Behind::kLoad;
    wait = sequence.load_ticket;
    park = true;
  }
  const std::uint32_t aux = static_cast<std::uint32_t>(value_of(wait));
  const auto note_let_go = [&](PoolKind pool, std::span<const BlockId> ids) {
    journal_.append({park ? Verb::kPark : Verb::kRelease, pool, static_cast<std::uint16_t>(behind),
                     value_of(sequence.id), static_cast<std::uint32_t>(ids.size()), park ? aux : 0},
                    ids);
  };
  Hold hold;
  const auto let_go_slot = [&](PoolKind pool, BlockId& slot, std::vector<BlockId>& held) {
    if (slot == kNoBlock) return;
    const std::span<const BlockId> ids(&slot, 1);
    if (mutant_is(Mutant::kDraftPinnedTwice) && pool == PoolKind::kDraftSlots) {
      pools_.of(pool).release(ids);
    }
    note_let_go(pool, ids);
    if (park) {
      pools_.of(pool).park(ids);
      held.push_back(slot);
    } else {
      pools_.of(pool).release(ids);
    }
    slot = kNoBlock;
  };
  let_go_slot(PoolKind::kDraftSlots, sequence.draft, hold.drafts);
  let_go_slot(PoolKind::kStateSlots, sequence.state, hold.states);
  if (!sequence.table.empty()) {
    if (park) {
      hold.blocks.assign(sequence.table.begin(), sequence.table.end());
      if (options_.release_order == ReleaseOrder::kReverse) {
        std::reverse(hold.blocks.begin(), hold.blocks.end());
      }
      note_let_go(PoolKind::kBlocks, hold.blocks);
      pools_.blocks().park(hold.blocks);
    } else {
      if (mutant_is(Mutant::kListedTwice)) sequence.table.push_back(sequence.table.back());
      if (mutant_is(Mutant::kLeakOnFinish)) sequence.table.pop_back();
      note_let_go(PoolKind::kBlocks, sequence.table);
      pools_.blocks().release(sequence.table);
    }
    sequence.table.clear();
  }
  if (park && (!hold.blocks.empty() || !hold.states.empty() || !hold.drafts.empty())) {
    if (mutant_is(Mutant::kFenceStoredEarly) && value_of(wait) > value_of(passed) + 2) {
      wait = Ticket{value_of(wait) - 2};
    }
    if (mutant_is(Mutant::kParkedWithoutEvent) && running_.size() > 2 &&
        pools_.blocks().available().value > 100) {
      wait = Ticket{value_of(step_ticket(planned_)) + 2};
    }
    hold.fence = fence_on(lane, wait);
    hold.behind = behind;
    hold.from = sequence.id;
    holds_.add(std::move(hold));
    ++stats_.parked;
  }
  sequence.copy_ticket = Ticket{};
  sequence.load_ticket = Ticket{};
  sequence.load_rows = TokenCount(0);
  if (reuse_) stop_publishing(sequence);
}

// ---- membership ------------------------------------------------------------------------------------

std::size_t Core::position_in(const std::vector<SlotIndex>& list, std::uint64_t join) const {
  const auto found = std::lower_bound(
      list.begin(), list.end(), join,
      [&](SlotIndex slot, std::uint64_t wanted) { return store_[slot].join < wanted; });
  return static_cast<std::size_t>(found - list.begin());
}

void Core::join_running(SlotIndex slot, Phase phase) {
  Sequence& sequence = store_[slot];
  sequence.join = ++joins_;
  sequence.phase = phase;
  running_.push_back(slot);
  active_.push_back(slot);
  if (phase == Phase::kDecode) ++decodes_;
}

void Core::leave_running(SlotIndex slot) {
  make_explicit(slot);
  Sequence& sequence = store_[slot];
  for (std::vector<SlotIndex>* list : {&running_, &active_}) {
    const std::size_t at = position_in(*list, sequence.join);
    PINFOLD_CHECK(at < list->size(), "queues", "a running sequence is not in its list");
    PINFOLD_CHECK((*list)[at] == slot, "queues", "a running sequence is not in its list");
    if (kMutantsBuild && (at >= list->size() || (*list)[at] != slot)) continue;
    list->erase(list->begin() + static_cast<std::ptrdiff_t>(at));
  }
  if (sequence.phase == Phase::kDecode) --decodes_;
  sequence.join = 0;
}

void Core::leave_batch(Sequence& sequence, std::vector<Left>& left) {
  if (!sequence.in_batch) return;
  sequence.in_batch = false;
  left.push_back({sequence.id, sequence.epoch});
}

void Core::finish(SlotIndex slot, EndReason reason) {
  Sequence& sequence = store_[slot];
  switch (sequence.phase) {
    case Phase::kWaiting: waiting_.erase(sequence); break;
    case Phase::kForkSettling:
    case Phase::kForkPinned:
      unfreeze_parent(sequence);
      forks_.erase(std::find(forks_.begin(), forks_.end(), slot));
      break;
    case Phase::kLoading:
      loading_.erase(std::find(loading_.begin(), loading_.end(), slot));
      ++stats_.loads_aborted;
      break;
    case Phase::kPrefill:
    case Phase::kDecode:
      leave_running(slot);
      if (!forks_.empty()) miss_settling_children(sequence.id);
      break;
  }
  if (const auto late = std::find(late_.begin(), late_.end(), slot); late != late_.end()) {
    late_.erase(late);
  }
  std::erase_if(left_pending_, [&](const Left& left) { return left.sequence == sequence.id; });
  const bool aborted = reason == EndReason::kAborted;
  if (mutant_is(aborted ? Mutant::kUnfencedAbort : Mutant::kUnfencedFinish)) {
    sequence.last_step = StepNumber{};
  }
  if (mutant_is(Mutant::kSlotLeakedOnAbort) && aborted) sequence.state = kNoBlock;
  let_go(sequence);
  note(Verb::kEnd, sequence, sequence.emitted.value, 0, static_cast<std::uint16_t>(reason));
  ended_.push_back({sequence.id, reason, sequence.spec.prompt, sequence.emitted, sequence.epoch});
  store_.retire(slot);
}

bool Core::abort(SequenceId id) {
  const SlotIndex slot = store_.find(id);
  if (slot == kNoSlot) return false;
  finish(slot, EndReason::kAborted);
  return true;
}

// Preemption by recompute: everything is let go, the known tokens stay, and prefill starts over with
// them. Rows in flight still deliver their tokens (results.cc).
void Core::preempt(SlotIndex slot) {
  Sequence& sequence = store_[slot];
  leave_running(slot);
  if (!forks_.empty()) miss_settling_children(sequence.id);
  ++stats_.preemptions;
  note(Verb::kPreempt, sequence, sequence.rows.history.value, sequence.rows.in_flight.value);
  if (mutant_is(Mutant::kUnfencedPreemption)) sequence.last_step = StepNumber{};
  const BlockId draft = sequence.draft;
  if (mutant_is(Mutant::kWaitingHolder)) sequence.draft = kNoBlock;
  let_go(sequence);
  if (mutant_is(Mutant::kWaitingHolder)) sequence.draft = draft;
  ++sequence.epoch;
  sequence.late_rows = sequence.rows.processed;
  sequence.rows.processed = TokenCount(0);
  sequence.rows.in_flight = TokenCount(0);
  sequence.tokens_in_flight = TokenCount(0);
  sequence.freezers = 0;
  sequence.in_batch = false;
  sequence.fork_step = StepNumber{};
  const bool lost = mutant_is(Mutant::kVictimLeavesQueues) && sequence.phase == Phase::kPrefill;
  sequence.phase = Phase::kWaiting;
  if (!lost) waiting_.insert(sequence, slot);
  if (!sequence.flights.empty()) late_.push_back(slot);
}

// ---- one step --------------------------------------------------------------------------------------

// Decision 2: running sequences in join order (growth is here), waiting forks, unfinished prompts, new
// admissions.
void Core::plan_pass(Pass& pass) {
  plan_running(pass);
  plan_forks(pass);
  plan_prompts(pass);
  plan_admissions(pass);
}

void Core::plan_step(StepPlan& plan) {
  PINFOLD_CHECK(planned_ - done_ <= options_.overlap, "O15",
                "step " + std::to_string(planned_ + 1) + " is planned before result " +
                    std::to_string(planned_ - options_.overlap) + " was processed");
  plan.clear();
  plan.left.swap(left_pending_);
  left_pending_.clear();
  while (true) {
    Pass pass{plan, planned_ + 1, options_.token_budget.value, 0, false, false, false, false};
    plan_pass(pass);
    if (!plan.empty) {
      dispatch(pass);
      return;
    }
    // An empty plan is no step. With nothing in flight and nothing to wait for, a pass that preempted
    // somebody or ended a fork has made room that the next pass may hand out, and a waiting fork may be
    // what holds everything; each shrinks what is left to try, so the loop ends.
    if (!nothing_pending()) return;
    if (pass.preempted || pass.fork_ended) continue;
    if (options_.demote == Switch::kOff) return;
    if (!demote_youngest_fork()) return;
  }
}

void Core::dispatch(Pass& pass) {
  StepPlan& plan = pass.plan;
  planned_ = pass.step;
  plan.step = StepNumber{pass.step};
  plan.step_ticket = step_ticket(pass.step);
  if (!plan.copies.empty()) {
    plan.copy_ticket = copy_ticket(pass.step);
    Hold& hold = step_copies_;
    if (!hold.states.empty() || !hold.blocks.empty()) {
      // Lists are walked in the release order, in reverse unless asked otherwise; states first, then
      // blocks (rule O9).
      if (options_.release_order == ReleaseOrder::kReverse) {
        std::reverse(hold.states.begin(), hold.states.end());
        std::reverse(hold.blocks.begin(), hold.blocks.end());
      }
      hold.fence = fence_on(copy_lane(), plan.copy_ticket);
      hold.behind = Behind::kCopy;
      const bool early = mutant_is(Mutant::kEarlyRelease) ||
                         (mutant_is(Mutant::kSourceUnpinned) && !hold.blocks.empty() &&
                          pools_.blocks().owners(hold.blocks.front()) > 1);
      if (early) hold.fence = Fence{};
      holds_.add(std::exchange(step_copies_, Hold{}));
      if (early) holds_.advance(passed_, pools_, journal_);
    }
  }
  plan.decode_rows += steady_rows_;
  plan.context_rows += steady_context_ + (mutant_is(Mutant::kContextForgotten) ? 0 : steady_rows_);
  steady_context_ += steady_rows_;
  journal_.append({Verb::kStep, PoolKind::kBlocks, 0, static_cast<std::uint32_t>(pass.step),
                   plan.decode_rows + plan.draft_rows, plan.prompt_rows});
  if (fast_) promote_steady(pass.step);
}

}  // namespace pinfold
