#include "sim/metrics/ledger.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "engine/scheduler.h"
#include "sim/metrics/watch.h"

namespace pinfold::sim {

Ledger::Ledger(const LedgerOptions& options)
    : options_(options),
      blocks_(options.block_ids),
      crossings_(options.block_size),
      state_slots_(options.state_ids),
      draft_slots_(options.draft_ids) {
  PINFOLD_WATCH(options.block_size > 0, "ledger", "a block holds at least one position");
  PINFOLD_WATCH(options.block_ids > 0, "ledger", "id 0 is counted");
  positions_[PositionClass::kFree] = std::int64_t{options.block_ids - 1} * options.block_size;
}

std::uint32_t Ledger::Ids::operator[](std::size_t n) const {
  BlockId id;
  std::memcpy(&id, at_ + n * sizeof id, sizeof id);
  return index_of(id);
}

// ---- records and time ------------------------------------------------------------------------------

void Ledger::consume(std::span<const std::byte> records) {
  const std::int64_t usable = std::int64_t{options_.block_ids - 1} * options_.block_size;
  for (std::size_t at = 0; at < records.size();) {
    Record record;
    std::memcpy(&record, records.data() + at, sizeof record);
    at += sizeof record;
    const Ids ids(records.data() + at, ids_after(record));
    at += ids.size() * sizeof(BlockId);
    take(record, ids);
    PINFOLD_WATCH(positions_.sum() == usable, "ledger",
                  "the classes sum to " + std::to_string(positions_.sum()) + " positions of " +
                      std::to_string(usable));
  }
}

void Ledger::advance_to(std::int64_t now_ns) {
  PINFOLD_WATCH(now_ns >= now_ns_, "ledger", "time went back");
  const auto passed = static_cast<std::uint64_t>(now_ns - now_ns_);
  now_ns_ = now_ns;
  for (std::size_t n = 0; n < kPositionClasses; ++n) {
    position_ns_[n] += PositionNs{static_cast<std::uint64_t>(positions_.of[n])} * passed;
  }
  const auto add = [&](PositionNs& sum, std::int64_t count) {
    sum += PositionNs{static_cast<std::uint64_t>(count)} * passed;
  };
  add(saved_ns_, saved_);
  add(pair_ns_, pairs_.all);
  add(ascending_ns_, pairs_.ascending);
  add(descending_ns_, pairs_.descending);
  state_slots_.advance_by(passed);
  draft_slots_.advance_by(passed);
}

LedgerTotals Ledger::totals() const {
  LedgerTotals totals;
  totals.positions = std::uint64_t{options_.block_ids - 1} * options_.block_size;
  totals.duration_ns = static_cast<std::uint64_t>(now_ns_ - start_ns_);
  totals.position_ns = position_ns_;
  totals.capacity_ns = PositionNs{totals.positions} * totals.duration_ns;
  PositionNs all = 0;
  for (const PositionNs part : position_ns_) all += part;
  PINFOLD_WATCH(all == totals.capacity_ns, "ledger", "position-time does not sum to the capacity");
  totals.saved_ns = saved_ns_;
  totals.pair_ns = pair_ns_;
  totals.ascending_ns = ascending_ns_;
  totals.descending_ns = descending_ns_;
  totals.state_slots = state_slots_.totals();
  totals.draft_slots = draft_slots_.totals();
  return totals;
}

void Ledger::take(const Record& record, Ids ids) {
  switch (record.verb) {
    case Verb::kArrive: arrive(record); break;
    case Verb::kAnswer: {
      // Who still holds pins lets go of them first; its end is a record of its own.
      const bool never = (record.detail & 0xFF) == static_cast<unsigned>(Answer::kNever);
      const Sequence* sequence = find(record.sequence);
      if (never && sequence != nullptr && sequence->table.empty()) forget(record.sequence);
      break;
    }
    case Verb::kAcquire: acquire(record, ids); break;
    case Verb::kPin: pin(record, ids); break;
    case Verb::kRelease:
    case Verb::kPark: let_go(record, ids); break;
    case Verb::kUnpark: unpark(record, ids); break;
    case Verb::kCopyQueued: queue_copy(known(record), record, ids); break;
    case Verb::kFork: {
      Sequence& child = known(record);
      child.counts.processed = record.count;
      child.counts.history = std::max(child.counts.history, record.count + 1);
      break;
    }
    case Verb::kForkMissed: break;  // it arrives, or waits, like any other
    case Verb::kKeys: break;        // what blocks hold makes no position another one
    case Verb::kHit: hit(record, ids); break;
    case Verb::kPublish: publish(ids); break;
    case Verb::kEvict:
      if (record.pool == PoolKind::kBlocks) evict(ids);
      break;
    case Verb::kSave: queue_save(record, ids); break;
    case Verb::kLoad: queue_load(record, ids); break;
    case Verb::kStored: break;  // the host's places are no positions
    case Verb::kLoaded: end_load(record); break;
    case Verb::kJoin: {
      Sequence& sequence = known(record);
      run(sequence);
      sequence.in_batch = true;
      visit(sequence);
      break;
    }
    case Verb::kLeave:
    case Verb::kSitOut: known(record).in_batch = false; break;
    case Verb::kDrafts: known(record).drafts = record.count; break;
    case Verb::kChunk: plan_chunk(known(record), record); break;
    case Verb::kStep: dispatch(record.sequence); break;
    case Verb::kResult: complete(record.sequence, record.aux); break;
    case Verb::kCommit: commit(known(record), record.count); break;
    case Verb::kPreempt: {
      Sequence& sequence = known(record);
      sequence.in_batch = false;
      sequence.late = sequence.flight_count > 0;
      sequence.resets = true;
      break;
    }
    case Verb::kDemote: known(record).resets = true; break;
    case Verb::kEnd:
      if (find(record.sequence) != nullptr) forget(record.sequence);
      break;
    case Verb::kPassed:
      // Copies of a step are done when their own lane has passed them, or the lane of the step, which
      // waits for them.
      if (record.count == index_of(Lane::kCompute) || record.count == index_of(Lane::kCopy)) {
        pass(record.aux);
      }
      break;
  }
}

// ---- sequences -------------------------------------------------------------------------------------

Ledger::Sequence* Ledger::find(std::uint32_t id) {
  if (id < first_id_ || id - first_id_ >= place_of_.size()) return nullptr;
  const std::uint32_t place = place_of_[id - first_id_];
  return place == kNone ? nullptr : &sequences_[place];
}

// Whoever is named by a record does not do what all steady rows do.
Ledger::Sequence& Ledger::known(const Record& record) {
  Sequence* sequence = find(record.sequence);
  PINFOLD_WATCH(sequence != nullptr, "ledger",
                "a record of sequence " + std::to_string(record.sequence) + ", which is not live");
  if (sequence->steady) make_explicit(*sequence);
  return *sequence;
}

void Ledger::arrive(const Record& record) {
  while (dead_ < place_of_.size() && place_of_[dead_] == kNone) ++dead_;
  if (dead_ > 1'000 && dead_ > place_of_.size() / 2) {
    place_of_.erase(place_of_.begin(), place_of_.begin() + static_cast<std::ptrdiff_t>(dead_));
    first_id_ += static_cast<std::uint32_t>(dead_);
    dead_ = 0;
  }
  const std::size_t at = record.sequence - first_id_;
  PINFOLD_WATCH(record.sequence >= first_id_ && at >= place_of_.size(), "ledger",
                "sequences do not arrive in the order of their ids");
  place_of_.resize(at + 1, kNone);
  if (places_.empty()) {
    places_.push_back(static_cast<std::uint32_t>(sequences_.size()));
    sequences_.emplace_back();
  }
  place_of_[at] = places_.back();
  Sequence& sequence = sequences_[places_.back()];
  places_.pop_back();
  sequence = Sequence{};
  sequence.id = record.sequence;
  sequence.counts.history = record.count;
}

void Ledger::forget(std::uint32_t id) {
  Sequence& sequence = *find(id);
  PINFOLD_WATCH(sequence.table.empty() && sequence.state == 0, "ledger",
                "sequence " + std::to_string(id) + " ends and owns storage");
  unvisit(sequence);
  // Its room is for the next that takes blocks: many may wait and hold none.
  if (sequence.table.capacity() > 0) spare_tables_.push_back(std::move(sequence.table));
  sequence.table = {};
  places_.push_back(place_of(sequence));
  place_of_[id - first_id_] = kNone;
}

// ---- tables ----------------------------------------------------------------------------------------

PositionCounts Ledger::counts_of(const Sequence& sequence) const {
  const std::uint32_t block_size = options_.block_size;
  const auto capacity = static_cast<std::uint32_t>(sequence.table.size()) * block_size;
  const RowEnds ends = row_ends(rows_of(sequence), capacity);
  const std::uint32_t needed = (ends.known + block_size - 1) / block_size * block_size;
  return counts_between(ends, filled_rows(sequence), needed - ends.known, capacity - needed);
}

// After a change of its counts or its table.
void Ledger::recount(Sequence& sequence) {
  positions_ -= sequence.counted;
  sequence.counted = counts_of(sequence);
  positions_ += sequence.counted;
  const std::uint32_t processed = rows_of(sequence).processed;
  const std::uint32_t from = std::min(processed, sequence.counted_processed);
  sequence.counted_processed = processed;
  // Blocks full of committed rows before and after stay what they are.
  const std::size_t upto = std::min<std::size_t>(sequence.table.size(), sequence.shared_upto);
  for (std::size_t entry = from / options_.block_size; entry < upto; ++entry) {
    const Block& block = blocks_[sequence.table[entry]];
    if (block.owners > 1) recount_shared(shared_[block.owner]);
  }
}

// Behind the table's other entries, and their pairs.
void Ledger::append(Sequence& sequence, Ids ids) {
  std::vector<std::uint32_t>& table = sequence.table;
  const std::size_t before = table.size();
  if (table.capacity() == 0 && !spare_tables_.empty()) {
    table = std::move(spare_tables_.back());
    spare_tables_.pop_back();
  }
  table.resize(before + ids.size());
  Pairs pairs;
  for (std::size_t n = 0; n < ids.size(); ++n) {
    const std::uint32_t block = ids[n];
    PINFOLD_WATCH(block > 0 && block < blocks_.size(), "ledger", "a block outside the pool");
    const std::size_t entry = before + n;
    table[entry] = block;
    if (entry > 0) pairs.add(table[entry - 1], block);
  }
  pairs_ += pairs;
}

void Ledger::acquire(const Record& record, Ids ids) {
  if (record.pool == PoolKind::kStateSlots) {
    state_slots_.acquire(ids[0]);
    Sequence& sequence = known(record);
    sequence.state = ids[0];
    sequence.state_pinned = false;
    return;
  }
  if (record.pool == PoolKind::kDraftSlots) return draft_slots_.acquire(ids[0]);
  if (record.pool != PoolKind::kBlocks) return;

  positions_[PositionClass::kFree] -= static_cast<std::int64_t>(ids.size()) * block_positions();
  Sequence* steady = find(record.sequence);
  // At the end of its last block a steady row takes one more; any other need comes of drafts.
  const bool one_more =
      steady != nullptr && steady->steady && ids.size() == 1 && at_block_end(*steady);
  Sequence& sequence = one_more ? *steady : known(record);
  append(sequence, ids);
  const std::uint32_t place = place_of(sequence);
  for (std::size_t n = 0; n < ids.size(); ++n) {
    Block& block = blocks_[ids[n]];
    PINFOLD_WATCH(block.owners == 0 && block.holds == 0 && !is_kept(ids[n]), "ledger",
                  "block " + std::to_string(ids[n]) + " is issued and is not free");
    block = {1, 0, place};
  }
  one_more ? acquire_steady() : recount(sequence);
}

void Ledger::pin(const Record& record, Ids ids) {
  Sequence& sequence = known(record);
  if (record.pool == PoolKind::kStateSlots) {
    state_slots_.pin(ids[0]);
    sequence.state = ids[0];
    sequence.state_pinned = true;
    return;
  }
  if (record.pool != PoolKind::kBlocks) return;
  const auto first = static_cast<std::uint32_t>(sequence.table.size());
  append(sequence, ids);
  for (std::uint32_t n = 0; n < ids.size(); ++n) {
    PINFOLD_WATCH(blocks_[ids[n]].owners > 0, "ledger",
                  "block " + std::to_string(ids[n]) + " is pinned and no table holds it");
    if (is_filling(ids[n])) ++sequence.filling;
    saved_ += block_positions();
    share(ids[n], first + n, sequence);
  }
  recount(sequence);
}

// Found blocks, whoever wrote them, count as the sequence's own from here on. The source of a tail's copy
// is in its table until the kPark that follows.
void Ledger::hit(const Record& record, Ids ids) {
  Sequence& sequence = known(record);
  const auto first = static_cast<std::uint32_t>(sequence.table.size());
  append(sequence, ids);
  sequence.counts.processed = record.aux;
  const std::uint32_t place = place_of(sequence);
  for (std::uint32_t n = 0; n < ids.size(); ++n) {
    const std::uint32_t id = ids[n];
    Block& block = blocks_[id];
    PINFOLD_WATCH(is_kept(id), "ledger",
                  "block " + std::to_string(id) + " is found and was not published");
    if (is_filling(id)) ++sequence.filling;
    if (block.owners == 0) {
      positions_[without_owner(id)] -= block_positions();
      block.owners = 1;
      block.owner = place;
    } else {
      saved_ += block_positions();
      share(id, first + n, sequence);
    }
  }
  recount(sequence);
}

void Ledger::publish(Ids ids) {
  if (kept_.empty()) kept_.resize(blocks_.size());
  for (std::size_t n = 0; n < ids.size(); ++n) {
    PINFOLD_WATCH(ids[n] < blocks_.size() && blocks_[ids[n]].owners > 0, "ledger",
                  "block " + std::to_string(ids[n]) + " is published and no table holds it");
    kept_[ids[n]] = 1;
  }
}

void Ledger::evict(Ids ids) {
  for (std::size_t n = 0; n < ids.size(); ++n) {
    const Block& block = blocks_[ids[n]];
    PINFOLD_WATCH(is_kept(ids[n]) && block.owners == 0 && block.holds == 0, "ledger",
                  "block " + std::to_string(ids[n]) + " is evicted and is not idle");
    kept_[ids[n]] = 0;
  }
  const auto positions = static_cast<std::int64_t>(ids.size()) * block_positions();
  positions_[PositionClass::kCachedIdle] -= positions;
  positions_[PositionClass::kFree] += positions;
}

// A block that is being saved is held until the save has passed, also behind its last owner.
void Ledger::queue_save(const Record& record, Ids ids) {
  if (record.pool != PoolKind::kBlocks) return;
  for (std::size_t n = 0; n < ids.size(); n += 2) {
    PINFOLD_CHECK(blocks_[ids[n]].owners > 0, "ledger",
                  "block " + std::to_string(ids[n]) + " is saved and no table holds it");
    ++blocks_[ids[n]].holds;
  }
}

// Rows on their way from the host are certain, like those of a dispatched step.
void Ledger::queue_load(const Record& record, Ids ids) {
  if (record.pool != PoolKind::kBlocks) return;
  Sequence& sequence = known(record);
  sequence.counts.in_flight = sequence.counts.certain =
      static_cast<std::uint32_t>(ids.size() / 2) * options_.block_size;
  recount(sequence);
}

void Ledger::end_load(const Record& record) {
  Sequence& sequence = known(record);
  sequence.counts.processed = record.count;
  sequence.counts.in_flight = sequence.counts.certain = 0;
  recount(sequence);
}

PositionClass Ledger::without_owner(std::uint32_t id) const {
  if (blocks_[id].holds > 0) return PositionClass::kParked;
  return is_kept(id) ? PositionClass::kCachedIdle : PositionClass::kFree;
}

void Ledger::let_go_slot(SlotLedger& slots, const Record& record, Ids ids, SlotClass owner) {
  if (record.verb == Verb::kPark) {
    slots.park(ids[0], owner);
  } else {
    slots.release(ids[0], owner);
  }
}

void Ledger::let_go(const Record& record, Ids ids) {
  Sequence& sequence = known(record);
  switch (record.pool) {
    case PoolKind::kStateSlots:
      let_go_slot(state_slots_, record, ids,
                  sequence.state_pinned ? SlotClass::kPinned : SlotClass::kRunning);
      sequence.state = 0;
      sequence.state_pinned = false;
      return;
    case PoolKind::kDraftSlots: let_go_slot(draft_slots_, record, ids, SlotClass::kRunning); return;
    case PoolKind::kHostBlocks:
    case PoolKind::kHostStates: return;
    case PoolKind::kBlocks: drop_entries(sequence, ids.size(), record.verb == Verb::kPark);
  }
}

// The last `count` entries of the table.
void Ledger::drop_entries(Sequence& sequence, std::size_t count, bool park) {
  std::vector<std::uint32_t>& table = sequence.table;
  PINFOLD_WATCH(count <= table.size(), "ledger", "more blocks are let go than a table holds");
  const std::size_t kept = table.size() - count;
  const bool filling = sequence.filling > 0;
  PositionCounts unowned;
  Pairs pairs;
  for (std::size_t entry = kept; entry < table.size(); ++entry) {
    if (entry > 0) pairs.add(table[entry - 1], table[entry]);
    Block& block = blocks_[table[entry]];
    if (filling && is_filling(table[entry])) --sequence.filling;
    if (park) ++block.holds;
    if (block.owners > 1) {
      saved_ -= block_positions();
      leave_shared(block, sequence);
    } else {
      block.owners = 0;
      unowned[without_owner(table[entry])] += block_positions();
    }
  }
  table.resize(kept);
  pairs_ -= pairs;
  positions_ += unowned;
  sequence.shared_upto = std::min(sequence.shared_upto, static_cast<std::uint32_t>(table.size()));
  if (table.empty() && sequence.resets) {
    sequence.counts = {sequence.counts.history, 0, 0, 0};
    sequence.resets = false;
  }
  recount(sequence);
}

void Ledger::unpark(const Record& record, Ids ids) {
  if (record.pool == PoolKind::kBlocks) return unpark_blocks(ids);
  for (std::size_t n = 0; n < ids.size(); ++n) {
    if (record.pool == PoolKind::kStateSlots) state_slots_.unpark(ids[n]);
    if (record.pool == PoolKind::kDraftSlots) draft_slots_.unpark(ids[n]);
  }
}

void Ledger::unpark_blocks(Ids ids) {
  for (std::size_t n = 0; n < ids.size(); ++n) {
    Block& block = blocks_[ids[n]];
    PINFOLD_WATCH(block.holds > 0, "ledger",
                  "a fence lets go of block " + std::to_string(ids[n]) + " and does not hold it");
    --block.holds;
    if (block.owners > 0 || block.holds > 0) continue;
    positions_[PositionClass::kParked] -= block_positions();
    positions_[without_owner(ids[n])] += block_positions();
  }
}

}  // namespace pinfold::sim
