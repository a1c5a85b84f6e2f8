#include "engine/ownership.h"

#include <algorithm>
#include <string>
#include <utility>

namespace pinfold {
namespace {

std::array<PoolOptions, kPoolKinds> pool_options(const OwnershipOptions& options) {
  std::array<PoolOptions, kPoolKinds> pools;
  for (std::uint32_t index = 0; index < kPoolKinds; ++index) {
    pools[index].kind = PoolKind{static_cast<std::uint8_t>(index)};
    pools[index].release_order = options.release_order;
    pools[index].free_order = options.free_order;
  }
  pools[index_of(PoolKind::kBlocks)].ids = options.num_blocks;
  pools[index_of(PoolKind::kStateSlots)].ids = options.num_state_slots.value_or(1);
  return pools;
}

std::string name_of(SequenceId id) { return "sequence " + std::to_string(value_of(id)); }

void add_entries(std::vector<std::uint32_t>& entries, std::span<const BlockId> ids) {
  for (const BlockId id : ids) ++entries[index_of(id)];
}

}  // namespace

Ownership::Ownership(const OwnershipOptions& options)
    : options_(options), pools_(pool_options(options)) {
  PINFOLD_CHECK(options.block_size.value >= 1, "O1", "a block holds at least one position");
}

Ownership::Sequence& Ownership::at(SequenceId id) {
  const auto found = sequences_.find(id);
  PINFOLD_CHECK(found != sequences_.end(), "O10", name_of(id) + " owns nothing");
  return found->second;
}

const Ownership::Sequence& Ownership::at(SequenceId id) const {
  return const_cast<Ownership*>(this)->at(id);
}

void Ownership::check_new([[maybe_unused]] SequenceId id) const {
  PINFOLD_CHECK(!sequences_.contains(id), "O5", name_of(id) + " already owns a table");
  PINFOLD_CHECK(!release_lists_.contains(id), "O9", name_of(id) + " still has a release list");
}

bool Ownership::is_waiting(SequenceId id) const {
  const auto found = sequences_.find(id);
  return found != sequences_.end() && found->second.fork_at.has_value();
}

const ReleaseList* Ownership::release_list(SequenceId child) const {
  const auto found = release_lists_.find(child);
  return found == release_lists_.end() ? nullptr : &found->second;
}

Availability Ownership::answer(BlockCount blocks, BlockCount slots) const {
  Demand demand;
  demand.of(PoolKind::kBlocks) = blocks;
  demand.of(PoolKind::kStateSlots) = slots;
  return pools_.answer(demand);
}

BlockId Ownership::take_one(PoolKind kind) {
  BlockId id = kNoBlock;
  pools_.of(kind).take({&id, 1});
  return id;
}

Availability Ownership::admit(SequenceId id, TokenCount tokens) {
  check_new(id);
  PINFOLD_CHECK(tokens.value >= 1, "O5", name_of(id) + " has an empty prompt");
  const BlockCount need = blocks_for(tokens, options_.block_size);
  const Availability answered = answer(need, BlockCount(has_state() ? 1 : 0));
  if (answered.answer != Answer::kOk) return answered;

  Sequence& sequence = sequences_[id];
  sequence.table.resize(need.value);
  pools_.blocks().take(sequence.table);
  if (has_state()) sequence.slot = take_one(PoolKind::kStateSlots);
  return answered;
}

Availability Ownership::resize(SequenceId id, TokenCount positions) {
  Sequence& sequence = at(id);
  PINFOLD_CHECK(!sequence.fork_at, "O8", name_of(id) + " is a waiting fork: its blocks are pins");
  const std::size_t need = blocks_for(positions, options_.block_size).value;
  const std::size_t had = sequence.table.size();
  if (need <= had) {
    pools_.blocks().release(std::span(sequence.table).subspan(need));
    sequence.table.resize(need);
    return {};
  }
  const Availability answered =
      answer(BlockCount(static_cast<std::uint32_t>(need - had)), BlockCount(0));
  if (answered.answer != Answer::kOk) return answered;
  sequence.table.resize(need);
  pools_.blocks().take(std::span(sequence.table).subspan(had));
  return answered;
}

void Ownership::fork(SequenceId child, SequenceId parent, TokenCount processed) {
  check_new(child);
  const Sequence& source = at(parent);
  PINFOLD_CHECK(!source.fork_at, "O8", name_of(parent) + " is itself a waiting fork");
  PINFOLD_CHECK(processed.value >= 1, "O8", "a fork of no rows is an ordinary request");
  PINFOLD_CHECK(
      blocks_for(processed, options_.block_size).value <= source.table.size(), "O8",
      std::to_string(processed.value) + " rows do not fit the table of " + name_of(parent));

  pools_.blocks().pin(source.table);
  if (source.slot) pools_.of(PoolKind::kStateSlots).pin({&*source.slot, 1});
  Sequence forked{source.table, source.slot, processed};
  sequences_.emplace(child, std::move(forked));
}

Availability Ownership::separate(SequenceId child) {
  Sequence& sequence = at(child);
  PINFOLD_CHECK(sequence.fork_at.has_value(), "O8", name_of(child) + " is no waiting fork");
  const TokenCount processed = *sequence.fork_at;
  const bool partial = processed.value % options_.block_size.value != 0;
  const Availability answered =
      answer(BlockCount(partial ? 1 : 0), BlockCount(has_state() ? 1 : 0));
  if (answered.answer != Answer::kOk) return answered;

  ReleaseList& list = release_lists_[child];
  if (sequence.slot) {
    list.slots.push_back(*sequence.slot);
    sequence.slot = take_one(PoolKind::kStateSlots);
    queue_copy(PoolKind::kStateSlots, list.slots.front(), *sequence.slot);
  }
  const auto kept = full_blocks_in(processed, options_.block_size).value;
  list.blocks.assign(sequence.table.begin() + kept, sequence.table.end());
  sequence.table.resize(kept);
  if (partial) {
    sequence.table.push_back(take_one(PoolKind::kBlocks));
    queue_copy(PoolKind::kBlocks, list.blocks.front(), sequence.table.back());
  }
  sequence.fork_at.reset();
  return answered;
}

void Ownership::queue_copy(PoolKind kind, BlockId from, BlockId to) {
  PINFOLD_CHECK(from != to, "O8", "a copy onto its own source");
  PINFOLD_CHECK(pools_.of(kind).owners(from) > 0, "O9", "a copy from a free source");
  ++tickets_;
  QueuedCopy copy{kind, from, to, Ticket{tickets_}};
  queued_.push_back(copy);
}

std::vector<BlockId> Ownership::in_release_order(std::vector<BlockId> ids) const {
  if (options_.release_order == ReleaseOrder::kReverse) std::reverse(ids.begin(), ids.end());
  return ids;
}

void Ownership::release_sources(SequenceId child, SourceRelease when) {
  const auto found = release_lists_.find(child);
  PINFOLD_CHECK(found != release_lists_.end(), "O9", name_of(child) + " has no release list");
  const ReleaseList list = std::move(found->second);
  release_lists_.erase(found);

  if (when == SourceRelease::kNow) {
    pools_.of(PoolKind::kStateSlots).release(list.slots);
    pools_.blocks().release(list.blocks);
    return;
  }
  // As an event recorded behind everything queued so far, whoever queued it.
  Hold hold;
  hold.fence = fence_on(Lane::kCopy, Ticket{tickets_});
  hold.from = child;
  hold.behind = Behind::kCopy;
  hold.states = in_release_order(list.slots);
  hold.blocks = in_release_order(list.blocks);
  pools_.of(PoolKind::kStateSlots).park(hold.states);
  pools_.blocks().park(hold.blocks);
  holds_.add(std::move(hold));
  holds_.advance(passed_, pools_, journal_);
}

void Ownership::copy_done() {
  PINFOLD_CHECK(!queued_.empty(), "O9", "no copy is queued");
  passed_.upto[index_of(Lane::kCopy)] = queued_.front().ticket;
  queued_.erase(queued_.begin());
  holds_.advance(passed_, pools_, journal_);
}

void Ownership::finish(SequenceId id) {
  Sequence& sequence = at(id);
  std::vector<BlockId>& table = sequence.table;
  // Every owner of a destination keeps it so long, not only the fork that was given it.
  for (const QueuedCopy& copy : queued_) {
    Hold hold;
    if (copy.pool == PoolKind::kStateSlots && sequence.slot == copy.to) {
      hold.states.push_back(copy.to);
      sequence.slot.reset();
    } else if (copy.pool == PoolKind::kBlocks && std::erase(table, copy.to) > 0) {
      hold.blocks.push_back(copy.to);
    } else {
      continue;
    }
    pools_.of(copy.pool).park(copy.pool == PoolKind::kBlocks ? hold.blocks : hold.states);
    hold.fence = fence_on(Lane::kCopy, copy.ticket);
    hold.from = id;
    holds_.add(std::move(hold));
  }
  if (sequence.slot) pools_.of(PoolKind::kStateSlots).release({&*sequence.slot, 1});
  pools_.blocks().release(table);
  sequences_.erase(id);
}

std::vector<std::uint32_t> Ownership::table_entries(PoolKind kind) const {
  std::vector<std::uint32_t> entries(pools_.of(kind).ids());
  for (const auto& [id, sequence] : sequences_) {
    if (kind == PoolKind::kBlocks) add_entries(entries, sequence.table);
    if (kind == PoolKind::kStateSlots && sequence.slot) ++entries[index_of(*sequence.slot)];
  }
  return entries;
}

std::vector<BlockId> Ownership::owned_outside_tables(PoolKind kind) const {
  const std::vector<std::uint32_t> entries = table_entries(kind);
  std::vector<BlockId> found;
  for (std::uint32_t index = 1; index < entries.size(); ++index) {
    const BlockId id{index};
    if (entries[index] == 0 && pools_.of(kind).owners(id) > 0) found.push_back(id);
  }
  return found;
}

void Ownership::audit() const {
  pools_.audit();
  holds_.audit(pools_);
  for (const PoolKind kind : {PoolKind::kBlocks, PoolKind::kStateSlots}) {
    const Pool& pool = pools_.of(kind);
    std::vector<std::uint32_t> entries = table_entries(kind);
    for (const auto& [id, list] : release_lists_) {
      add_entries(entries, kind == PoolKind::kBlocks ? list.blocks : list.slots);
    }
    for (std::uint32_t index = 1; index < pool.ids(); ++index) {
      [[maybe_unused]] const BlockId id{index};
      PINFOLD_CHECK(pool.owners(id) == entries[index] + pool.holds(id), "law 2",
                    std::string(pinfold::name_of(kind)) + " " + std::to_string(index) + " has " +
                        std::to_string(pool.owners(id)) + " owners, but " +
                        std::to_string(entries[index]) + " tables and release lists and " +
                        std::to_string(pool.holds(id)) + " holds name it");
    }
  }
}

}  // namespace pinfold
