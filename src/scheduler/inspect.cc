// Reading a scheduler: views, wait reasons, the state hash and the audit. Nothing here changes it.

#include <algorithm>

#include "scheduler/core.h"
#include "scheduler/tickets.h"

namespace pinfold {

SequenceView Core::view(SequenceId id) const {
  const SlotIndex slot = store_.find(id);
  PINFOLD_CHECK(slot != kNoSlot, "ids", "no live sequence " + std::to_string(value_of(id)));
  const Sequence& sequence = store_[slot];
  SequenceView view;
  view.id = id;
  view.epoch = sequence.epoch;
  view.phase = sequence.phase;
  view.rows = rows_of(sequence);
  view.emitted = emitted_of(sequence);
  view.prompt_end = sequence.prompt_end;
  view.table = sequence.table;
  view.state = sequence.state;
  view.draft = sequence.draft;
  view.last_step = sequence.steady ? StepNumber{planned_} : sequence.last_step;
  view.frozen = sequence.freezers > 0;
  return view;
}

std::vector<SequenceId> Core::running() const {
  std::vector<SequenceId> ids;
  for (const SlotIndex slot : running_) ids.push_back(store_[slot].id);
  return ids;
}

std::vector<SequenceId> Core::waiting() const {
  std::vector<SequenceId> ids;
  waiting_.for_each([&](SlotIndex slot) { ids.push_back(store_[slot].id); });
  return ids;
}

std::vector<SequenceId> Core::loading() const {
  std::vector<SequenceId> ids;
  for (const SlotIndex slot : loading_) ids.push_back(store_[slot].id);
  return ids;
}

std::vector<SequenceId> Core::forks() const {
  std::vector<SequenceId> ids;
  for (const SlotIndex slot : forks_) ids.push_back(store_[slot].id);
  return ids;
}

// ---- why does it not run? --------------------------------------------------------------------------

std::vector<WaitReason> Core::explain_wait() const {
  std::vector<WaitReason> reasons;
  const auto for_demand = [&](WaitReason reason, const Demand& demand) {
    const Availability availability = pools_.answer(demand);
    if (availability.answer == Answer::kOk) return reason;
    const PoolKind kind = availability.pool;
    reason.cause = kind == PoolKind::kBlocks ? Cause::kBlocks : Cause::kSlot;
    reason.pool = kind;
    reason.lacking = demand.of(kind) - std::min(demand.of(kind), pools_.of(kind).available());
    if (const Hold* hold = holds_.first_with(kind); hold != nullptr) {
      reason.fence = hold->fence;
      reason.holder = hold->from;
      reason.has_holder = true;
    } else if (!loading_.empty()) {
      const Sequence& first = store_[loading_.front()];
      reason.holder = first.id;
      reason.has_holder = true;
      reason.fence = fence_on(Lane::kHostToDevice, first.load_ticket);
    } else if (!running_.empty()) {
      reason.holder = store_[running_.front()].id;
      reason.has_holder = true;
    } else if (!forks_.empty()) {
      reason.holder = store_[forks_.front()].id;
      reason.has_holder = true;
    }
    return reason;
  };
  for (const SlotIndex slot : running_) {
    const Sequence& sequence = store_[slot];
    WaitReason reason;
    reason.sequence = sequence.id;
    if (sequence.freezers > 0) {
      reason.cause = Cause::kFork;
      for (const SlotIndex fork : forks_) {
        if (store_[fork].parent != sequence.id) continue;
        reason.holder = store_[fork].id;
        reason.has_holder = true;
        break;
      }
      reasons.push_back(reason);
    } else if (sequence.phase == Phase::kDecode && !sequence.in_batch) {
      Demand demand;
      const std::uint32_t need =
          need_with_row(rows_of(sequence), TokenCount(0), options_.block_size).value;
      const std::uint32_t held = static_cast<std::uint32_t>(sequence.table.size());
      demand.of(PoolKind::kBlocks) = BlockCount(need > held ? need - held : 0);
      reason = for_demand(reason, demand);
      if (reason.cause != Cause::kNone) reasons.push_back(reason);
    }
  }
  for (const SlotIndex slot : loading_) {
    WaitReason reason;
    reason.sequence = store_[slot].id;
    reason.cause = Cause::kLoad;
    reason.fence = fence_on(Lane::kHostToDevice, store_[slot].load_ticket);
    reasons.push_back(reason);
  }
  for (const SlotIndex slot : forks_) {
    const Sequence& child = store_[slot];
    WaitReason reason;
    reason.sequence = child.id;
    reason.cause = slot == forks_.front() ? Cause::kNone : Cause::kFork;
    if (slot != forks_.front()) {
      reason.holder = store_[forks_.front()].id;
      reason.has_holder = true;
    }
    if (child.phase == Phase::kForkSettling) {
      reason.cause = Cause::kFence;
      reason.holder = child.parent;
      reason.has_holder = true;
      const std::uint64_t last = value_of(view(child.parent).last_step);
      if (last > done_) reason.fence = fence_on(Lane::kCompute, step_ticket(last));
    } else if (reason.cause == Cause::kNone) {
      const ForkShape shape = shape_of(child);
      Demand demand;
      demand.of(PoolKind::kBlocks) = shape.fresh;
      if (shape.clone_state) demand.of(PoolKind::kStateSlots) = BlockCount(1);
      reason = for_demand(reason, demand);
      if (reason.cause == Cause::kNone && at_run_limit()) {
        reason.cause = Cause::kRunLimit;
      }
      for (const Hold& hold : holds_.holds()) {
        if (reason.cause != Cause::kNone || hold.behind != Behind::kCopy) continue;
        reason.cause = Cause::kFence;  // one list of copy sources at a time
        reason.holder = hold.from;
        reason.has_holder = true;
        reason.fence = hold.fence;
      }
    }
    reasons.push_back(reason);
  }
  bool head = true;
  Found hits;
  waiting_.for_each([&](SlotIndex slot) {
    const Sequence& sequence = store_[slot];
    WaitReason reason;
    reason.sequence = sequence.id;
    if (value_of(sequence.last_step) > done_) {
      reason.cause = Cause::kFence;
      reason.fence = fence_on(Lane::kCompute, step_ticket(value_of(sequence.last_step)));
    } else if (head && !forks_.empty()) {
      reason.cause = Cause::kFork;
      reason.holder = store_[forks_.front()].id;
      reason.has_holder = true;
    } else if (at_run_limit()) {
      reason.cause = Cause::kRunLimit;
    } else {
      Demand demand = demand_of(sequence);
      if (!sequence.prefix.empty()) {
        Prefix prefix = find_prefix(sequence, hits);
        demand = demand_behind(sequence, prefix);
      }
      reason = for_demand(reason, demand);
    }
    if (reason.cause == Cause::kNone && !head) {
      reason.cause = Cause::kPressure;  // it would fit, but the head of the queue goes first
      reason.holder = store_[waiting_.front()].id;
      reason.has_holder = true;
    }
    head = false;
    reasons.push_back(reason);
  });
  return reasons;
}

// ---- hash ------------------------------------------------------------------------------------------

// A state hash only has to tell states apart; multiply-xorshift mixing is plenty and needs no library.
class Core::Mixer {
 public:
  void add(std::uint64_t value) {
    hash_ ^= value + 0x9E3779B97F4A7C15u + (hash_ << 6) + (hash_ >> 2);
    hash_ *= 0xBF58476D1CE4E5B9u;
    hash_ ^= hash_ >> 29;
  }
  void add(std::span<const BlockId> ids) {
    add(ids.size());
    for (const BlockId id : ids) add(index_of(id));
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0x2545F4914F6CDD1Du;
};

// Steps and tickets are taken relative to `done`, so that recurring states meet; join numbers enter
// only as the order of the running list. The fast path does not show.
std::uint64_t Core::state_hash() const {
  Mixer mix;
  const auto ahead = [&](std::uint64_t step) { return step > done_ ? step - done_ : 0; };
  const auto ticket_ahead = [&](Ticket ticket) {
    return value_of(ticket) > 2 * done_ ? value_of(ticket) - 2 * done_ : 0;
  };
  mix.add(planned_ - done_);
  mix.add(ahead(failed_upto_));
  for (const Lane lane : {Lane::kCompute, Lane::kCopy}) {
    mix.add(ticket_ahead(passed_.upto[index_of(lane)]));
  }
  store_.for_each([&](SlotIndex slot) {
    const Sequence& sequence = store_[slot];
    const RowCounts rows = rows_of(sequence);
    mix.add(value_of(sequence.id));
    mix.add(static_cast<std::uint64_t>(sequence.phase) | std::uint64_t{sequence.epoch} << 8);
    mix.add(std::uint64_t{rows.history.value} << 32 | rows.processed.value);
    mix.add(std::uint64_t{rows.in_flight.value} << 32 | emitted_of(sequence).value);
    mix.add(std::uint64_t{sequence.spec.limit.value} << 32 | sequence.prompt_end.value);
    mix.add(std::uint64_t{sequence.spec.prompt.value} << 32 | sequence.spec.drafts.value);
    mix.add(std::uint64_t{sequence.spec.priority} << 32 |
            static_cast<unsigned>(sequence.spec.stop));
    mix.add(std::uint64_t{value_of(sequence.parent)} << 32 | sequence.parent_epoch);
    mix.add(std::uint64_t{sequence.late_rows.value} << 32 | (sequence.decode_fork ? 1 : 0));
    mix.add(ahead(value_of(sequence.fork_step)));
    mix.add(ahead(value_of(sequence.steady ? StepNumber{planned_} : sequence.last_step)));
    mix.add(ticket_ahead(sequence.copy_ticket));
    mix.add(sequence.freezers);
    mix.add(sequence.in_batch ? 1 : 0);
    if (sequence.steady) {
      for (std::uint64_t step = done_ + 1; step <= planned_; ++step) {
        mix.add(step - done_);
        mix.add(std::uint64_t{sequence.epoch} << 32 | 1);
      }
    } else {
      for (const Flight& flight : sequence.flights) {
        mix.add(value_of(flight.step) - done_);
        mix.add(std::uint64_t{flight.epoch} << 32 | (flight.decode ? flight.rows.value : 0));
        if (!flight.decode) {
          mix.add(std::uint64_t{flight.rows.value} << 32 | flight.tokens.value);
        }
      }
    }
    mix.add(sequence.table);
    mix.add(index_of(sequence.state));
    mix.add(index_of(sequence.draft));
    const PrefixState& prefix = sequence.prefix;
    if (prefix.empty()) return;
    mix.add(prefix.keys.size());
    for (const std::uint64_t key : prefix.keys) mix.add(key);
    mix.add(prefix.tail_end.value);
    mix.add(prefix.tail);
    mix.add(std::uint64_t{prefix.keyed} << 32 | (prefix.tail_keyed ? 1 : 0));
    mix.add(prefixes_.chain_of(prefix.node));
  });
  for (const std::vector<SlotIndex>* list : {&running_, &forks_, &loading_}) {
    mix.add(list->size());
    for (const SlotIndex slot : *list) mix.add(value_of(store_[slot].id));
  }
  waiting_.for_each([&](SlotIndex slot) { mix.add(value_of(store_[slot].id)); });
  for (const Left& left : left_pending_) mix.add(value_of(left.sequence));
  for (std::uint32_t index = 0; index < kPoolKinds; ++index) {
    mix.add(pools_.of(PoolKind{static_cast<std::uint8_t>(index)}).free_list());
  }
  if (reuse_) {
    mix.add(pools_.blocks().idle_list());
    for (const BlockId id : pools_.blocks().kept_list()) {
      mix.add(index_of(id));
      mix.add(prefixes_.content_of(id));
    }
  }
  for (const Hold& hold : holds_.holds()) {
    // A ticket of the copy lane may be one that has long been due: a lost event.
    for (const Lane lane : {Lane::kCompute, Lane::kCopy}) {
      const Ticket ticket = hold.fence.ticket[index_of(lane)];
      mix.add(value_of(ticket) == 0 ? 0 : 1 + ticket_ahead(ticket));
    }
    mix.add(hold.states);
    mix.add(hold.drafts);
    mix.add(hold.blocks);
    if (!store_on_) continue;
    mix.add(static_cast<std::uint64_t>(hold.behind));
    mix.add(store_ticket_ahead(hold.fence));
    mix.add(hold.host_blocks);
    mix.add(hold.host_states);
  }
  if (store_on_) hash_store(mix);
  return mix.value();
}

// Tickets of the store's lanes are taken relative to how far those have come.
std::uint64_t Core::store_ticket_ahead(const Fence& fence) const {
  std::uint64_t ahead = 0;
  for (const Lane lane : {Lane::kHostToDevice, Lane::kDeviceToHost}) {
    const std::uint64_t ticket = value_of(fence.ticket[index_of(lane)]);
    const std::uint64_t passed = value_of(passed_.upto[index_of(lane)]);
    ahead = ahead << 32 | (ticket == 0 ? 0 : 1 + std::max(ticket, passed) - passed);
  }
  return ahead;
}

void Core::hash_store(Mixer& mix) const {
  const auto ahead = [&](std::uint64_t ticket, Lane lane) {
    const std::uint64_t passed = value_of(passed_.upto[index_of(lane)]);
    return std::max(ticket, passed) - passed;
  };
  mix.add(ahead(load_tickets_, Lane::kHostToDevice));
  mix.add(ahead(save_tickets_, Lane::kDeviceToHost));
  for (const PoolKind kind : {PoolKind::kHostBlocks, PoolKind::kHostStates}) {
    const Pool& pool = pools_.of(kind);
    mix.add(pool.idle_list());
    for (const BlockId id : pool.kept_list()) {
      mix.add(index_of(id));
      mix.add(prefixes_.host_content_of(kind, id));
    }
  }
  for (const SlotIndex slot : loading_) {
    const Sequence& sequence = store_[slot];
    mix.add(ahead(value_of(sequence.load_ticket), Lane::kHostToDevice));
    mix.add(sequence.load_rows.value);
  }
  store_.for_each([&](SlotIndex slot) {
    const Sequence& sequence = store_[slot];
    mix.add(std::uint64_t{rows_to_recover(sequence).value} << 32 | (sequence.loads ? 1 : 0));
    mix.add(sequence.prefix.saved);
  });
  for (const Save& save : saves_) {
    mix.add(ahead(value_of(save.ticket), Lane::kDeviceToHost));
    mix.add(std::uint64_t{index_of(save.host)} << 8 | static_cast<unsigned>(save.pool));
    mix.add(prefixes_.chain_of(save.node));
    mix.add((save.step > done_ ? save.step - done_ : 0) << 1 | (save.is_void ? 1 : 0));
  }
  for (const Ticket ticket : staged_) mix.add(ahead(value_of(ticket), Lane::kDeviceToHost));
}

// ---- audit -----------------------------------------------------------------------------------------

void Core::audit() const {
  pools_.audit();
  holds_.audit(pools_);
  std::uint64_t nodes_held = 0;

  // Law 2 with the tables: sum of owners == table entries + holds, id by id.
  std::array<std::vector<std::uint32_t>, kPoolKinds> entries;
  for (std::uint32_t index = 0; index < kPoolKinds; ++index) {
    entries[index].resize(pools_.of(PoolKind{static_cast<std::uint8_t>(index)}).ids());
  }
  std::uint32_t steady_rows = 0;
  std::uint64_t steady_context = 0;
  std::uint32_t decodes = 0;
  std::uint32_t queued = 0;
  store_.for_each([&](SlotIndex slot) {
    const Sequence& sequence = store_[slot];
    const std::string name = "sequence " + std::to_string(value_of(sequence.id));
    const RowCounts rows = rows_of(sequence);
    for (const BlockId id : sequence.table) ++entries[index_of(PoolKind::kBlocks)][index_of(id)];
    if (sequence.state != kNoBlock) {
      ++entries[index_of(PoolKind::kStateSlots)][index_of(sequence.state)];
    }
    if (sequence.draft != kNoBlock) {
      ++entries[index_of(PoolKind::kDraftSlots)][index_of(sequence.draft)];
    }
    const bool runs = sequence.phase == Phase::kPrefill || sequence.phase == Phase::kDecode;
    const bool loads = sequence.phase == Phase::kLoading;
    const bool holds_storage = runs || loads || sequence.phase == Phase::kForkPinned;
    PINFOLD_CHECK(holds_storage || sequence.table.empty(), "O10", name + " waits with blocks");
    PINFOLD_CHECK(holds_storage || sequence.state == kNoBlock, "O10", name + " waits with a slot");
    PINFOLD_CHECK(holds_storage || rows.processed.value == 0, "O10",
                  name + " waits with processed rows");
    if (runs) {
      // Rule O6: no dispatched row lies beyond the table, and nothing is held beyond the need.
      const std::uint32_t covered =
          blocks_for(rows.processed + rows.in_flight, options_.block_size).value;
      PINFOLD_CHECK(covered <= sequence.table.size(), "O6", name + " has rows beyond its table");
      PINFOLD_CHECK(options_.state == Switch::kOff || sequence.state != kNoBlock, "O5",
                    name + " runs without a state slot");
      TokenCount flying;
      if (sequence.steady) {
        flying = rows.in_flight;
      } else {
        for (const Flight& flight : sequence.flights) flying += flight.rows;
      }
      PINFOLD_CHECK(flying == rows.in_flight, "O7",
                    name + " has other rows in flight than it says");
      const std::size_t at = position_in(running_, sequence.join);
      PINFOLD_CHECK(at < running_.size(), "queues", name + " runs in no list");
      PINFOLD_CHECK(running_[at] == slot, "queues", name + " runs in no list");
      if (sequence.phase == Phase::kDecode) ++decodes;
    } else {
      PINFOLD_CHECK(rows.in_flight.value == 0, "O7", name + " waits with rows in flight");
    }
    if (sequence.steady) {
      ++steady_rows;
      steady_context += (rows.processed + rows.in_flight).value;
      PINFOLD_CHECK(blocks_for(rows.processed + rows.in_flight, options_.block_size).value ==
                        sequence.table.size(),
                    "O6", name + " is steady with a table other than its need");
    }
    if (sequence.prefix.node != kRootNode) ++nodes_held;
    PINFOLD_CHECK(runs || loads || sequence.prefix.node == kRootNode, "prefix",
                  name + " waits and refers to a content");
    PINFOLD_CHECK(
        sequence.prefix.keyed <= full_blocks_in(rows.processed, options_.block_size).value,
        "prefix", name + " has published rows that it has not processed");
    ++queued;
  });
  prefixes_.audit(pools_, nodes_held + saves_.size());
  const std::size_t in_queues = waiting_.size() + forks_.size() + running_.size() + loading_.size();
  PINFOLD_CHECK(
      queued == in_queues, "queues",
      std::to_string(queued) + " sequences live in queues of " + std::to_string(in_queues));
  PINFOLD_CHECK(decodes == decodes_, "queues", "decoding sequences were miscounted");
  PINFOLD_CHECK(steady_rows == steady_rows_, "steady", "steady rows were miscounted");
  PINFOLD_CHECK(steady_context == steady_context_, "steady",
                "context of steady rows was miscounted");
  PINFOLD_CHECK(running_.size() == active_.size() + steady_rows, "steady",
                "a running row is neither steady nor visited");
  for (std::uint32_t index = 0; index < kPoolKinds; ++index) {
    const Pool& pool = pools_.of(PoolKind{static_cast<std::uint8_t>(index)});
    for (std::uint32_t id = 1; id < pool.ids(); ++id) {
      const BlockId block{id};
      PINFOLD_CHECK(pool.owners(block) == entries[index][id] + pool.holds(block), "law 2",
                    std::string(name_of(pool.kind())) + " " + std::to_string(id) + " has " +
                        std::to_string(pool.owners(block)) +
                        " owners: " + std::to_string(entries[index][id]) + " table entries and " +
                        std::to_string(pool.holds(block)) + " holds");
    }
  }
}

}  // namespace pinfold
