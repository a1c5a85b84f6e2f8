// Blocks in several tables count once, by the strongest owner; rows that a pending copy fills are in
// flight until its fence has passed.

#include <algorithm>

#include "sim/metrics/ledger.h"
#include "sim/metrics/watch.h"

namespace pinfold::sim {

// ---- several owners --------------------------------------------------------------------------------

void Ledger::share(std::uint32_t id, std::uint32_t entry, Sequence& sequence) {
  Block& block = blocks_[id];
  const std::uint32_t end = (entry + 1) * options_.block_size;
  const auto is_full = [&](const Sequence& owner) {
    return rows_of(owner).processed >= end && !is_filling(id);
  };
  if (++block.owners == 2) {
    if (shared_places_.empty()) {
      shared_places_.push_back(static_cast<std::uint32_t>(shared_.size()));
      shared_.emplace_back();
    }
    const std::uint32_t place = shared_places_.back();
    shared_places_.pop_back();
    Sequence& owner = sequences_[block.owner];
    owner.shared_upto = std::max(owner.shared_upto, entry + 1);
    shared_[place] = {id, entry, {block.owner}, {}, is_full(owner)};
    block.owner = place;
  }
  Shared& shared = shared_[block.owner];
  PINFOLD_WATCH(shared.entry == entry, "ledger", "a shared block has two places in tables");
  shared.owners.push_back(place_of(sequence));
  sequence.shared_upto = std::max(sequence.shared_upto, entry + 1);
  if (shared.all_full && is_full(sequence)) return count_full_owner(shared, 1);
  for (const std::uint32_t place : shared.owners) {
    // It writes into what others count now, so it moves alone.
    Sequence& owner = sequences_[place];
    if (owner.steady && !is_full(owner)) make_explicit(owner);
  }
  recount_shared(shared);
}

void Ledger::leave_shared(Block& block, const Sequence& sequence) {
  const std::uint32_t place = block.owner;
  Shared& shared = shared_[place];
  const auto owner = std::find(shared.owners.begin(), shared.owners.end(), place_of(sequence));
  PINFOLD_WATCH(owner != shared.owners.end(), "ledger", "a shared block does not know its owner");
  *owner = shared.owners.back();
  shared.owners.pop_back();
  if (--block.owners > 1) {
    return shared.all_full ? count_full_owner(shared, -1) : recount_shared(shared);
  }
  block.owner = shared.owners[0];
  positions_ -= shared.correction;
  shared_places_.push_back(place);
}

// One owner more, or less, of a block that is full for all: its own count of the block is one too many.
void Ledger::count_full_owner(Shared& shared, std::int64_t owners) {
  shared.correction[PositionClass::kCommitted] -= owners * block_positions();
  positions_[PositionClass::kCommitted] -= owners * block_positions();
}

// Each table counts the block by itself; the correction is what the strongest owners make of it, less
// the sum of those counts.
void Ledger::recount_shared(Shared& shared) {
  const std::uint32_t block_size = options_.block_size;
  const std::uint32_t first = shared.entry * block_size;
  PositionCounts correction;
  RowEnds strongest;
  bool beyond_need = false;
  bool all_full = !is_filling(shared.block);
  const auto count = [&](const RowEnds& ends, bool surplus) {
    const std::uint32_t rest = block_size - ends.known;
    return counts_between(ends, filled_rows(shared.block, ends.committed), surplus ? 0 : rest,
                          surplus ? rest : 0);
  };
  for (const std::uint32_t place : shared.owners) {
    const Sequence& owner = sequences_[place];
    const auto capacity = static_cast<std::uint32_t>(owner.table.size()) * block_size;
    const RowEnds ends = row_ends(rows_of(owner), capacity).within(first, block_size);
    correction -= count(ends, ends.known == 0);
    strongest.cover(ends);
    beyond_need = beyond_need || ends.known == 0;
    all_full = all_full && ends.committed == block_size;
  }
  correction += count(strongest, beyond_need);
  shared.all_full = all_full;
  positions_ -= shared.correction;
  shared.correction = correction;
  positions_ += shared.correction;
}

// ---- pending copies --------------------------------------------------------------------------------

void Ledger::queue_copy(Sequence& sequence, const Record& record, Ids ids) {
  const std::uint32_t to = ids[1];
  if (record.pool != PoolKind::kBlocks || to == 0) return;  // a slot; a release only
  const auto at = std::find(sequence.table.begin(), sequence.table.end(), to);
  PINFOLD_WATCH(at != sequence.table.end(), "ledger", "a copy fills a block of another table");
  // Copies of a step run ahead of it in its lane.
  const std::uint64_t ticket = 2 * (std::uint64_t{planned_} + 1) - 1;
  filling_.push_back(
      {ticket, to, static_cast<std::uint32_t>(at - sequence.table.begin()), record.aux});
  ++sequence.filling;
  recount(sequence);
}

void Ledger::pass(std::uint64_t ticket) {
  passed_ = std::max(passed_, ticket);
  for (std::size_t n = 0; n < filling_.size();) {
    const Filling copy = filling_[n];
    if (copy.ticket > passed_) {
      ++n;
      continue;
    }
    filling_.erase(filling_.begin() + static_cast<std::ptrdiff_t>(n));
    const Block& block = blocks_[copy.block];
    const auto filled = [&](std::uint32_t place) {
      --sequences_[place].filling;
      recount(sequences_[place]);
    };
    if (block.owners == 1) filled(block.owner);
    if (block.owners > 1) {
      for (const std::uint32_t place : shared_[block.owner].owners) filled(place);
      recount_shared(shared_[block.owner]);
    }
  }
}

bool Ledger::is_filling(std::uint32_t block) const {
  return std::any_of(filling_.begin(), filling_.end(),
                     [&](const Filling& copy) { return copy.block == block; });
}

// Of the block's first `committed` rows.
std::uint32_t Ledger::filled_rows(std::uint32_t block, std::uint32_t committed) const {
  std::uint32_t rows = 0;
  for (const Filling& copy : filling_) {
    if (copy.block == block) rows = std::min(copy.rows, committed);
  }
  return rows;
}

std::uint32_t Ledger::filled_rows(const Sequence& sequence) const {
  if (sequence.filling == 0) return 0;
  const std::uint32_t block_size = options_.block_size;
  const auto capacity = static_cast<std::uint32_t>(sequence.table.size()) * block_size;
  const RowEnds ends = row_ends(rows_of(sequence), capacity);
  std::uint32_t rows = 0;
  for (const Filling& copy : filling_) {
    const bool mine =
        copy.entry < sequence.table.size() && sequence.table[copy.entry] == copy.block;
    if (!mine) continue;
    rows += std::min(copy.rows, ends.within(copy.entry * block_size, block_size).committed);
  }
  return rows;
}

}  // namespace pinfold::sim
