// Rule O8: a fork pins its parent's whole table and state slot, then separates what must be private.

#include <algorithm>

#include "scheduler/core.h"
#include "scheduler/tickets.h"

namespace pinfold {
namespace {

// Holds wait for work that is ahead in the same lane, and nobody reads through them later: a fork may
// write on where another one's copy is queued (decision 13).
bool is_sole_owner(const Pool& pool, BlockId id) { return pool.owners(id) - pool.holds(id) == 1; }

}  // namespace

Answer Core::fork(SequenceId parent_id, SequenceId child_id, const RequestSpec& spec,
                  const PromptKeys& keys) {
  PINFOLD_CHECK(spec.prompt.value >= 1, "O3", "a request has a prompt");
  const SlotIndex parent_slot = store_.find(parent_id);
  SequenceView parent;
  if (parent_slot != kNoSlot) parent = view(parent_id);
  const bool runs = parent.phase == Phase::kPrefill || parent.phase == Phase::kDecode;
  if (parent_slot == kNoSlot || !runs || parent.rows.processed.value == 0 || !can_share(parent)) {
    ++stats_.forks_missed;
    Sequence named;
    named.id = child_id;
    note(Verb::kForkMissed, named, 0, value_of(parent_id));
    return add(child_id, spec, keys);
  }

  RequestSpec bounded = spec;
  const TokenCount known = std::max(spec.prompt, parent.rows.processed + TokenCount(1));
  if (known <= options_.max_model_len) {
    bounded.limit = std::min(spec.limit, options_.max_model_len - known + TokenCount(1));
  }
  if (!fits_ever(bounded, known)) {
    bounded.prompt = known;  // what it would have to compute: never a shorter request in its place
    return add(child_id, bounded, keys);
  }

  const SlotIndex slot = store_.create(child_id);
  Sequence& child = store_[slot];
  child.spec = bounded;
  // Until it pins, it may still become an ordinary request with its own prompt; pin_parent() clips
  // again for the rows it then shares.
  child.spec.limit = std::min(spec.limit, options_.max_model_len - spec.prompt + TokenCount(1));
  child.rows.history = spec.prompt;
  child.parent = parent_id;
  child.parent_epoch = parent.epoch;
  note(Verb::kArrive, child, spec.prompt.value, spec.limit.value);
  remember_keys(child, keys);
  forks_.push_back(slot);
  if (options_.state == Switch::kOff) {
    pin_parent(child, parent);
    return Answer::kOk;
  }
  // A state slot cannot be cut back: the parent sits out from now on, its rows in flight settle, and
  // only then is there a state that belongs to exactly C rows.
  make_explicit(parent_slot);
  ++store_[parent_slot].freezers;
  child.phase = Phase::kForkSettling;
  const bool settled = parent.rows.in_flight.value == 0 || mutant_is(Mutant::kStateMovedOn);
  if (settled) pin_parent(child, view(parent_id));
  return Answer::kOk;
}

// An id counts a bounded number of owners; beyond it a fork shares nothing. Nor does it share a state that
// is not whole yet.
bool Core::can_share(const SequenceView& parent) const {
  if (rows_to_recover(store_[store_.find(parent.id)]) > TokenCount(0)) return false;
  const std::span<const BlockId> state(&parent.state, parent.state == kNoBlock ? 0 : 1);
  return pools_.blocks().can_pin(parent.table) && pools_.of(PoolKind::kStateSlots).can_pin(state);
}

void Core::pin_parent(Sequence& child, const SequenceView& parent) {
  TokenCount shared = parent.rows.processed;
  if (mutant_is(Mutant::kForkOfUncommitted)) shared += parent.rows.in_flight;
  child.phase = Phase::kForkPinned;
  child.rows.processed = shared;
  child.computed_high = shared;
  // If the parent's own shared rows have not been filled yet, neither have the child's (decision 9).
  child.fork_step = store_[store_.find(parent.id)].fork_step;
  if (child.spec.prompt <= shared) {
    // Nothing of its own to compute: it goes on from the parent's next token. A request that yields
    // nothing has one row to compute all the same, as a prompt.
    child.decode_fork = child.spec.limit.value > 0;
    child.rows.history = shared + TokenCount(1);
    child.spec.prompt = child.rows.history;
    child.spec.limit = std::min(child.spec.limit,
                                options_.max_model_len - std::min(shared, options_.max_model_len));
  }
  child.table.assign(parent.table.begin(), parent.table.end());
  if (mutant_is(Mutant::kPinOfFree) && !pools_.blocks().free_list().empty()) {
    child.table.push_back(pools_.blocks().free_list().back());
  }
  note(Verb::kFork, child, shared.value, value_of(parent.id));
  note_ids(Verb::kPin, PoolKind::kBlocks, child, child.table);
  pools_.blocks().pin(child.table);
  if (parent.state != kNoBlock) {
    child.state = parent.state;
    const std::span<const BlockId> state(&child.state, 1);
    note_ids(Verb::kPin, PoolKind::kStateSlots, child, state);
    pools_.of(PoolKind::kStateSlots).pin(state);
  }
}

void Core::unfreeze_parent(const Sequence& child) {
  if (options_.state == Switch::kOff) return;
  const SlotIndex slot = store_.find(child.parent);
  if (slot == kNoSlot) return;
  Sequence& parent = store_[slot];
  if (parent.epoch != child.parent_epoch) return;  // preempted since: it froze for nobody
  PINFOLD_CHECK(parent.freezers > 0, "O8", "a fork's parent was not frozen");
  --parent.freezers;
}

// The parent left before its state had settled: there is nothing to share.
void Core::miss_settling_children(SequenceId parent) {
  for (std::size_t n = 0; n < forks_.size();) {
    const SlotIndex slot = forks_[n];
    const bool lost = store_[slot].phase == Phase::kForkSettling && store_[slot].parent == parent;
    if (!lost) {
      ++n;
      continue;
    }
    forks_.erase(forks_.begin() + static_cast<std::ptrdiff_t>(n));
    miss_fork(slot);
  }
}

void Core::miss_fork(SlotIndex slot) {
  Sequence& child = store_[slot];
  ++stats_.forks_missed;
  note(Verb::kForkMissed, child, 0, value_of(child.parent));
  child.phase = Phase::kWaiting;
  waiting_.insert(child, slot);
}

Core::ForkShape Core::shape_of(const Sequence& child) const {
  const TokenCount block_size = options_.block_size;
  const TokenCount processed = child.rows.processed;
  ForkShape shape;
  shape.decode = child.decode_fork;
  const BlockCount holding = blocks_for(processed, block_size);  // blocks with processed rows
  const bool ends_inside = processed.value % block_size.value != 0;
  // Decode path: the last block that holds processed rows is copied even when it is full.
  shape.copy_tail = shape.decode || ends_inside;
  if (shape.copy_tail && options_.sole_owner == SoleOwner::kAdopt) {
    const BlockId tail = child.table[holding.value - 1];
    // Whoever finds a published block is an owner to come.
    const bool findable = pools_.blocks().keeps(tail) && !mutant_is(Mutant::kAdoptsPublished);
    if (is_sole_owner(pools_.blocks(), tail) && !findable) shape.copy_tail = false;
  }
  if (mutant_is(Mutant::kSharedBlockInPlace)) shape.copy_tail = false;
  if (const SlotIndex parent = store_.find(child.parent);
      mutant_is(Mutant::kTailOfLeavingParent) && parent != kNoSlot &&
      store_[parent].emitted + store_[parent].tokens_in_flight >= store_[parent].spec.limit) {
    shape.copy_tail = false;
  }
  shape.shared = shape.copy_tail ? holding - BlockCount(1) : holding;
  const BlockCount need = blocks_for(child.rows.history, block_size);
  shape.fresh = need - shape.shared;
  if (child.state != kNoBlock) {
    const bool sole = is_sole_owner(pools_.of(PoolKind::kStateSlots), child.state);
    shape.clone_state = !(sole && options_.sole_owner == SoleOwner::kAdopt);
    if (mutant_is(Mutant::kSharedStateInPlace)) shape.clone_state = false;
    if (mutant_is(Mutant::kAdoptedStateInPlace) && options_.sole_owner == SoleOwner::kAdopt) {
      shape.clone_state = false;
    }
  }
  return shape;
}

// Whatever holds a settled fork back later, it has its parent's rows from now on.
void Core::pin_settled_forks() {
  const std::vector<SlotIndex> forks = forks_;
  for (const SlotIndex slot : forks) {
    Sequence& child = store_[slot];
    if (child.phase != Phase::kForkSettling) continue;
    const SequenceView parent = view(child.parent);
    if (parent.rows.in_flight.value > 0) continue;
    if (can_share(parent)) {
      pin_parent(child, parent);
    } else {
      unfreeze_parent(child);
      forks_.erase(std::find(forks_.begin(), forks_.end(), slot));
      miss_fork(slot);
    }
  }
}

void Core::plan_forks(Pass& pass) {
  if (forks_.empty()) return;
  if (options_.state == Switch::kOn) pin_settled_forks();
  while (!forks_.empty()) {
    // No fork in a pass that preempted or in which a sequence sat out (decision 4).
    const bool pressure = pass.preempted || pass.sat_out;
    const Cause cause = pressure ? Cause::kPressure : try_fork(pass, forks_.front());
    if (cause == Cause::kNone) continue;  // it runs now, or it ended
    pass.fork_refused = true;
    return;
  }
}

Cause Core::try_fork(Pass& pass, SlotIndex slot) {
  Sequence& child = store_[slot];
  if (child.phase == Phase::kForkSettling) return Cause::kFence;
  const ForkShape shape = shape_of(child);
  Demand demand;
  demand.of(PoolKind::kBlocks) = shape.fresh;
  if (shape.clone_state) demand.of(PoolKind::kStateSlots) = BlockCount(1);
  if (mutant_is(Mutant::kCopyBlockNotAsked) && shape.copy_tail) {
    demand.of(PoolKind::kBlocks) = shape.fresh - BlockCount(1);
  }
  if (!fits_ever(child.spec, child.rows.history)) {
    note(Verb::kAnswer, child, shape.fresh.value, 0, static_cast<std::uint16_t>(Answer::kNever));
    ++stats_.answered_never;
    finish(slot, EndReason::kNever);
    pass.fork_ended = true;
    return Cause::kNone;
  }
  if (at_run_limit()) return Cause::kRunLimit;
  if (pass.budget == 0) return Cause::kBudget;
  Cause cause = Cause::kNone;
  const Availability availability = pools_.answer(demand);
  if (holds_.has_copies()) {
    cause = Cause::kFence;  // one list of copy sources at a time
  } else if (availability.answer != Answer::kOk) {
    cause = availability.pool == PoolKind::kBlocks ? Cause::kBlocks : Cause::kSlot;
  }
  if (cause != Cause::kNone) {
    answer_later(child, cause, demand);
    return cause;
  }
  answer_ok(child, demand);
  grant_fork(pass, slot, shape);
  return Cause::kNone;
}

// Everything is there: separate, queue the copies, and take part in this very step.
void Core::grant_fork(Pass& pass, SlotIndex slot, const ForkShape& shape) {
  Sequence& child = store_[slot];
  StepPlan& plan = pass.plan;
  const Ticket ticket = copy_ticket(pass.step);
  const std::size_t hold_blocks = step_copies_.blocks.size();

  // 1. The sources: whatever the child does not keep. Its pins on them pass to the release list.
  for (std::size_t n = shape.shared.value; n < child.table.size(); ++n) {
    step_copies_.blocks.push_back(child.table[n]);
  }
  const std::span<const BlockId> sources = std::span(step_copies_.blocks).subspan(hold_blocks);
  if (!sources.empty()) {
    note_ids(Verb::kPark, PoolKind::kBlocks, child, sources,
             static_cast<std::uint32_t>(value_of(ticket)));
    pools_.blocks().park(sources);
  }
  child.table.resize(shape.shared.value);

  // 2. Its own blocks; the first one receives the tail.
  acquire_blocks(child, shape.fresh);
  const TokenCount before(shape.shared.value * options_.block_size.value);
  for (std::size_t n = 0; n < sources.size(); ++n) {
    const bool copied = n == 0 && shape.copy_tail;
    const BlockId to = copied ? child.table[shape.shared.value] : kNoBlock;
    queue_block_copy(plan, child, sources[n], to,
                     copied ? child.rows.processed - before : TokenCount(0));
  }

  // 3. Its own state slot.
  if (shape.clone_state) {
    const BlockId from = child.state;
    step_copies_.states.push_back(from);
    note_ids(Verb::kPark, PoolKind::kStateSlots, child, std::span(&from, 1),
             static_cast<std::uint32_t>(value_of(ticket)));
    pools_.of(PoolKind::kStateSlots).park(std::span(&from, 1));
    child.state = acquire_slot(PoolKind::kStateSlots, child);
    const std::array<BlockId, 2> ids{from, child.state};
    note_ids(Verb::kCopyQueued, PoolKind::kStateSlots, child, ids, 0);
    plan.copies.push_back({PoolKind::kStateSlots, from, child.state, TokenCount(0)});
    ++stats_.state_copies;
  }
  const bool copies = shape.copy_tail || shape.clone_state;
  if (copies) child.copy_ticket = ticket;
  step_copies_.from = child.id;
  if (mutant_is(Mutant::kDestinationListed) && shape.copy_tail) {
    step_copies_.blocks.push_back(child.table[shape.shared.value]);
  }

  // 4. It runs: its first row, or its first chunk, is in this step.
  forks_.erase(forks_.begin());
  unfreeze_parent(child);
  ++stats_.forks;
  if (copies) child.fork_step = StepNumber{pass.step};
  child.prompt_end = child.rows.history;
  if (!child.prefix.empty()) start_publishing(child, BlockCount(0), kRootNode);
  if (shape.decode) {
    child.prompt_end = child.rows.processed;
    join_running(slot, Phase::kDecode);
    plan_decode_row(pass, child, TokenCount(0));
  } else {
    join_running(slot, Phase::kPrefill);
    plan_chunk(pass, child);
  }
}

// `valid` rows count; without a destination the source is only released.
void Core::queue_block_copy(StepPlan& plan, const Sequence& sequence, BlockId from, BlockId to,
                            TokenCount valid) {
  Copy copy{PoolKind::kBlocks, from, to, valid};
  if (to != kNoBlock) {
    if (options_.tail_copy == TailCopy::kWholeBlock) copy.rows = options_.block_size;
    if (mutant_is(Mutant::kTailCopyShort)) copy.rows = valid - TokenCount(1);
    ++stats_.block_copies;
  }
  if (mutant_is(Mutant::kBlockZeroCopied) && to == kNoBlock) copy.from = kNoBlock;
  const std::array<BlockId, 2> ids{copy.from, to};
  note_ids(Verb::kCopyQueued, PoolKind::kBlocks, sequence, ids, copy.rows.value);
  plan.copies.push_back(copy);
}

// The fork gives its pins back and is requeued with its whole prompt (decision 7).
void Core::demote_fork(SlotIndex slot) {
  forks_.erase(std::find(forks_.begin(), forks_.end(), slot));
  Sequence& child = store_[slot];
  unfreeze_parent(child);
  if (mutant_is(Mutant::kPinLeakedOnDemotion) && !child.table.empty()) child.table.pop_back();
  ++stats_.sharing_lost;
  note(Verb::kDemote, child, child.rows.history.value);
  let_go(child);
  child.rows.processed = TokenCount(0);
  child.decode_fork = false;
  child.fork_step = StepNumber{};
  child.phase = Phase::kWaiting;
  waiting_.insert(child, slot);
}

// Nothing runs, nothing is pending, and forks wait with pins.
bool Core::demote_youngest_fork() {
  if (forks_.empty()) return false;
  demote_fork(forks_.back());
  return true;
}

}  // namespace pinfold
