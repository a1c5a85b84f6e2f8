// What the device does, as the shadow carries it out: copies and steps in the order of their lane.

#include <algorithm>
#include <utility>

#include "sim/check/shadow.h"

namespace pinfold::sim {
namespace {

constexpr std::uint64_t copy_ticket_of(std::uint64_t step) { return 2 * step - 1; }

}  // namespace

// ---- copies ------------------------------------------------------------------------------------------

void Shadow::queue_copy(const Record& record, std::span<const BlockId> ids) {
  if (ids.size() != 2 || ids[1] == kNoBlock) return;  // released, not copied
  const bool slots = record.pool == PoolKind::kStateSlots;
  const Owned* const from = owned(record, ids[0]);
  const Owned* const to = owned(record, ids[1]);
  if (from == nullptr || to == nullptr) return;
  PendingCopy copy;
  copy.ticket = copy_ticket_of(steps_ + 1);
  copy.pool = record.pool;
  copy.from = index_of(ids[0]);
  copy.to = index_of(ids[1]);
  copy.rows = std::min(record.aux, options_.block_size);
  copy.sequence = record.sequence;
  if (from->owners == 0) {
    find("O9 copy source", record.sequence, record.pool, copy.from,
         "the copy for sequence " + std::to_string(record.sequence) + " reads " +
             name_of_id(record.pool, copy.from) + ", which has no owner" +
             name_of_release(from->released, "it"));
  }
  const Life& life = lives_[life_of(record.sequence)];
  copy.epoch = life.epoch;
  const bool is_its_own = slots ? life.state == copy.to
                                : !life.let_go && std::find(life.table.begin(), life.table.end(),
                                                            copy.to) != life.table.end();
  if (!is_its_own) {
    find("O8 copy", record.sequence, record.pool, copy.to,
         "the copy for sequence " + std::to_string(record.sequence) + " fills " +
             name_of_id(record.pool, copy.to) + ", which that sequence does not hold");
  }
  copy.from_issue = from->issue;
  copy.to_issue = to->issue;
  copies_.push_back(copy);
}

// A lane came as far as a ticket. On the compute lane this only ends what its copies protect: contents
// follow with the result. Copies in a lane of their own run beside earlier steps: they are carried out
// here, so that what a step still in flight writes later is found.
void Shadow::pass(const Record& record) {
  if (record.count >= kLanes) return;
  const Lane lane{static_cast<std::uint8_t>(record.count)};
  std::uint64_t& passed = passed_[index_of(lane)];
  if (lane == Lane::kHostToDevice || lane == Lane::kDeviceToHost) {
    passed = std::max<std::uint64_t>(passed, record.aux);
    return pass_store(lane, record.aux, record.detail == 1);
  }
  const std::uint64_t queued =
      lane == Lane::kCompute || steps_ == 0 ? 2 * steps_ : copy_ticket_of(steps_);
  if (record.aux > queued) {
    find("O9 fence", kNobody, PoolKind::kBlocks, 0,
         "lane " + std::to_string(record.count) + " passed ticket " + std::to_string(record.aux) +
             ", and the last one queued is " + std::to_string(queued));
  }
  passed = std::max<std::uint64_t>(passed, record.aux);
  if (lane != options_.copy_lane) return;
  std::size_t kept = 0;
  for (std::size_t n = 0; n < copies_.size(); ++n) {
    PendingCopy& copy = copies_[n];
    const bool done = copy.ticket <= record.aux;
    if (done) pass_copy(copy);
    if (done && lane != Lane::kCompute) {
      run_copy(copy, false);
    } else {
      copies_[kept++] = copy;
    }
  }
  copies_.resize(kept);
}

// Until a copy's fence has passed its source is pinned and its destination fenced.
void Shadow::pass_copy(PendingCopy& copy) {
  if (copy.passed) return;
  copy.passed = true;
  const std::vector<Owned>& pool = owned_[index_of(copy.pool)];
  const std::string what = "the copy for sequence " + std::to_string(copy.sequence) + " ";
  if (pool[copy.from].issue != copy.from_issue) {
    find("O9 copy source", copy.sequence, copy.pool, copy.from,
         what + "reads " + name_of_id(copy.pool, copy.from) +
             ", which was issued again before the copy was done" +
             name_of_release(pool[copy.from].released, "it"));
  }
  if (pool[copy.to].issue != copy.to_issue) {
    find("O9 copy destination", copy.sequence, copy.pool, copy.to,
         what + "fills " + name_of_id(copy.pool, copy.to) +
             ", which was issued again before it was done" +
             name_of_release(pool[copy.to].released, "it"));
  }
}

void Shadow::run_copy(const PendingCopy& copy, bool lost) {
  const RowTag leftover{RowKind::kLost, copy.sequence, copy.epoch, 0};
  const Release before = owned_[index_of(copy.pool)][copy.to].released;
  if (copy.pool == PoolKind::kStateSlots) {
    StateSlot& slot = state_slots_[copy.to];
    slot.last = lost ? leftover : state_slots_[copy.from].last;
    slot.before = before;
  } else if (copy.pool == PoolKind::kBlocks && copy.rows > 0) {
    if (lost) {
      contents_.write(copy.to, 0, copy.rows, leftover, before);
    } else {
      contents_.copy(copy.from, copy.to, copy.rows, before);
    }
    tell_readers(copy.to, 0);
  }
}

// `lost`: the step of these copies failed, or one ahead of it did; nobody knows what they left behind.
void Shadow::run_copies(std::uint64_t upto, bool lost) {
  std::size_t kept = 0;
  for (std::size_t n = 0; n < copies_.size(); ++n) {
    PendingCopy& copy = copies_[n];
    if (copy.ticket > upto) {
      copies_[kept++] = copy;
      continue;
    }
    pass_copy(copy);
    run_copy(copy, lost);
  }
  copies_.resize(kept);
}

// ---- steps -------------------------------------------------------------------------------------------

void Shadow::dispatch(std::uint64_t step) {
  Step flight;
  flight.step = step;
  if (!rows_.empty()) {
    flight.rows = std::move(rows_.back());
    rows_.pop_back();
  }
  flight.rows.assign(chunks_.begin(), chunks_.end());
  chunks_.clear();
  for (const std::uint32_t sequence : batch_) {
    Row row;
    row.sequence = sequence;
    row.width = 1 + std::exchange(state_of(sequence).drafts, 0);
    flight.rows.push_back(row);
  }
  for (Row& row : flight.rows) {
    row.life = life_of(row.sequence);
    Life& life = lives_[row.life];
    ++life.flights;
    life.last_step = step;
    life.in_flight += row.width;
    const std::uint32_t reach = life.processed + life.in_flight;
    if (reach > std::uint64_t{life.held_blocks()} * options_.block_size) {
      find("O6 table", row.sequence, PoolKind::kBlocks, 0,
           "sequence " + std::to_string(row.sequence) + " may write up to position " +
               std::to_string(reach) + " in step " + std::to_string(step) + " with a table of " +
               std::to_string(life.held_blocks()) + " blocks");
    }
    if (!row.chunk && row.width > 1) use_draft_slot(row, life, step);
  }
  flying_.push_back(std::move(flight));
}

// One request's drafts lie in a slot at a time.
void Shadow::use_draft_slot(const Row& row, const Life& life, std::uint64_t step) {
  if (life.draft == 0) {
    find("O5 slots", row.sequence, PoolKind::kDraftSlots, 0,
         "sequence " + std::to_string(row.sequence) + " has drafts in step " +
             std::to_string(step) + " and no draft slot");
    return;
  }
  DraftSlot& slot = draft_slots_[life.draft];
  if (slot.step == step) {
    find("O5 slots", row.sequence, PoolKind::kDraftSlots, life.draft,
         "sequences " + std::to_string(slot.user) + " and " + std::to_string(row.sequence) +
             " have drafts in " + name_of_id(PoolKind::kDraftSlots, life.draft) + " in step " +
             std::to_string(step));
  }
  slot.step = step;
  slot.user = row.sequence;
}

void Shadow::run_step(std::uint64_t step, bool failed, bool behind_failed) {
  if (flying_.empty() || flying_.front().step != step) {
    find("O15 order", kNobody, PoolKind::kBlocks, 0,
         "a result of step " + std::to_string(step) + ", which is not the oldest in flight");
    return;
  }
  done_ = step;
  std::uint64_t& passed = passed_[index_of(Lane::kCompute)];
  passed = std::max(passed, 2 * step);
  if (!transfers_.empty()) stage_states(step, failed || behind_failed);
  run_copies(2 * step, failed || behind_failed);
  settling_ = std::move(flying_.front());
  flying_.erase(flying_.begin());
  settling_open_ = true;
  settling_failed_ = failed;
  if (failed) void_steps_behind();

  // What a step reads must be right before any of its rows is written, and still be when all are: the
  // order inside a step is the kernels' own.
  for (std::uint32_t n = 0; n < settling_.rows.size(); ++n) {
    Row& row = settling_.rows[n];
    if (row.is_void) continue;
    state_of(row.sequence).row = n;
    row.start = lives_[row.life].processed;
    if (failed) continue;  // what it reads is nobody's: its result is thrown away
    if (row.chunk && row.first != row.start) {
      find("O7 commit", row.sequence, PoolKind::kBlocks, 0,
           "a chunk of sequence " + std::to_string(row.sequence) + " starts at " +
               std::to_string(row.first) + ", and " + std::to_string(row.start) +
               " rows are processed");
    }
    rows_read_ += row.start;
    row.wrong = !read_rows(row, step);
    if (options_.state_slots) check_state(row, step);
  }
  for (const VoidReach& reach : settling_.void_reaches) run_void(reach);
  for (const Row& row : settling_.rows) {
    if (!row.is_void) write_rows(row);
  }
  if (failed) return;
  for (const Row& row : settling_.rows) {
    if (row.is_void || row.wrong) continue;
    if (lives_[row.life].verified < row.start) read_rows(row, step);
  }
}

// The last release of an id, if it came after what was found there had been written.
Release Shadow::since(PoolKind pool, std::uint32_t id, const WrittenRow& found) const {
  const Release& last = owned_[index_of(pool)][id].released;
  return last == found.before ? Release{} : last;
}

// True if positions [0, start) are right. Those below `verified` are known to be.
bool Shadow::read_rows(const Row& row, std::uint64_t step) {
  Life& life = lives_[row.life];
  const std::uint32_t block_size = options_.block_size;
  while (life.verified < row.start) {
    const std::uint32_t position = life.verified;
    const std::uint32_t entry = position / block_size;
    if (entry >= life.table.size()) {
      ShadowFinding& finding = find("O12 visible rows");
      finding.sequence = row.sequence;
      finding.position = position;
      finding.text = name_of_life(row.sequence, life.epoch) + " reads position " +
                     std::to_string(position) + " beyond its table in step " + std::to_string(step);
      return false;
    }
    const std::uint32_t block = life.table[entry];
    const std::uint32_t begin = position % block_size;
    std::uint32_t end = 0;
    const RowTag wanted = life.expected(position, end);
    end = std::min({end, row.start, (entry + 1) * block_size});
    const std::uint32_t rows = end - position;
    const std::uint32_t other = contents_.first_other(block, begin, begin + rows, wanted);
    rows_scanned_ += rows;
    life.verified += other - begin;
    if (other == begin + rows) continue;
    ShadowFinding& finding = find("O12 visible rows");
    finding.sequence = row.sequence;
    finding.id = block;
    finding.position = life.verified;
    finding.expected = life.expected(life.verified);
    finding.found = contents_.at(block, other);
    finding.since = since(PoolKind::kBlocks, block, finding.found);
    if (&finding != &unkept_) finding.text = wrong_row_text(finding, life.epoch, step, other);
    return false;
  }
  return true;
}

// A state includes the positions below the row, of the sequence's own history, and nothing else. Whoever
// starts at position 0 resets it first, so a new tenant never sees the last one's.
void Shadow::check_state(const Row& row, std::uint64_t step) {
  const Life& life = lives_[row.life];
  const std::uint32_t index = life.state_in_use();
  if (index == 0) {
    find("O5 state slot", row.sequence, PoolKind::kStateSlots, 0,
         "sequence " + std::to_string(row.sequence) + " runs without a state slot");
    return;
  }
  const StateSlot& slot = state_slots_[index];
  if (row.start > 0 && slot.last != life.expected(row.start - 1)) {
    ShadowFinding& finding = find("O12 state slot");
    finding.sequence = row.sequence;
    finding.pool = PoolKind::kStateSlots;
    finding.id = index;
    finding.position = row.start;
    finding.expected = life.expected(row.start - 1);
    finding.found = {slot.last, slot.before};
    finding.since = since(PoolKind::kStateSlots, index, finding.found);
    if (&finding != &unkept_) finding.text = wrong_state_text(finding, life.epoch, step);
  }
}

// A block has a new version: whoever knew its rows to be right must look again.
void Shadow::tell_readers(std::uint32_t block, std::uint32_t row) {
  readers_.for_each(block, [&](const BlockReader& reader) {
    Life& life = lives_[reader.life];
    life.verified = std::min(life.verified, reader.entry * options_.block_size + row);
  });
}

void Shadow::write_block(std::uint32_t block, std::uint32_t begin, std::uint32_t end,
                         const RowTag& first) {
  contents_.write(block, begin, end, first, owned_[index_of(PoolKind::kBlocks)][block].released);
  tell_readers(block, begin);
}

// All rows of the step are written; which of them are valid is known with the commits.
void Shadow::write_rows(const Row& row) {
  Life& life = lives_[row.life];
  const std::uint32_t block_size = options_.block_size;
  const std::uint32_t end = row.start + row.width;
  for (std::uint32_t position = row.start; position < end;) {
    const std::uint32_t entry = position / block_size;
    if (entry >= life.table.size()) {
      ShadowFinding& finding = find("O6 table");
      finding.sequence = row.sequence;
      finding.position = position;
      finding.text = "sequence " + std::to_string(row.sequence) + " writes position " +
                     std::to_string(position) + " beyond its table";
      break;
    }
    std::uint32_t upto = 0;
    const RowTag first = life.expected(position, upto);
    upto = std::min({upto, end, (entry + 1) * block_size});
    const std::uint32_t begin = position % block_size;
    write_block(life.table[entry], begin, begin + upto - position, first);
    if (life.verified == position) life.verified = upto;  // just written as it will be expected
    position = upto;
  }
  const std::uint32_t index = life.state_in_use();
  if (!options_.state_slots || index == 0) return;
  StateSlot& slot = state_slots_[index];
  if (slot.step == settling_.step && slot.writer != row.sequence) {
    find("O5 slots", row.sequence, PoolKind::kStateSlots, index,
         "sequences " + std::to_string(slot.writer) + " and " + std::to_string(row.sequence) +
             " write " + name_of_id(PoolKind::kStateSlots, index) + " in step " +
             std::to_string(settling_.step));
  }
  slot.step = settling_.step;
  slot.writer = row.sequence;
}

void Shadow::discard_rows(const Life& life, std::uint32_t begin, std::uint32_t end) {
  const std::uint32_t block_size = options_.block_size;
  for (std::uint32_t position = begin; position < end;) {
    const std::uint32_t entry = position / block_size;
    if (entry >= life.table.size()) return;
    const std::uint32_t upto = std::min(end, (entry + 1) * block_size);
    const std::uint32_t row = position % block_size;
    write_block(life.table[entry], row, row + upto - position,
                {RowKind::kDiscarded, life.sequence, life.epoch, position});
    position = upto;
  }
}

// The steps behind a failed one are lost with it: their rows no longer count, but the device still
// writes them, somewhere between C and where they could have come to.
void Shadow::void_steps_behind() {
  const std::uint32_t block_size = options_.block_size;
  const auto each_row = [&](auto use) {
    for (Step& step : flying_) {
      for (Row& row : step.rows) {
        if (!row.is_void) use(step, row, lives_[row.life]);
      }
    }
  };
  each_row([&](Step& step, Row& row, Life& life) {
    life.void_reach = std::max(life.void_reach, life.processed + life.in_flight);
    VoidReach reach{
        row.sequence, life.epoch,         life.processed, life.processed + life.in_flight,
        {},           life.state_in_use()};
    for (std::uint32_t entry = reach.begin / block_size;
         entry < life.table.size() && std::uint64_t{entry} * block_size < reach.end; ++entry) {
      reach.blocks.push_back(life.table[entry]);
    }
    step.void_reaches.push_back(std::move(reach));
  });
  each_row([&](Step&, Row& row, Life& life) {
    row.is_void = true;
    life.in_flight -= row.width;
    ++life.void_flights;
  });
}

void Shadow::run_void(const VoidReach& reach) {
  const std::uint32_t block_size = options_.block_size;
  for (std::uint32_t position = reach.begin; position < reach.end;) {
    const std::uint32_t entry = position / block_size - reach.begin / block_size;
    if (entry >= reach.blocks.size()) break;
    const std::uint32_t row = position % block_size;
    const std::uint32_t rows = std::min(block_size - row, reach.end - position);
    write_block(reach.blocks[entry], row, row + rows,
                {RowKind::kDiscarded, reach.sequence, reach.epoch, position});
    position += rows;
  }
  if (reach.state == 0) return;
  state_slots_[reach.state].last = {RowKind::kDiscarded, reach.sequence, reach.epoch, 0};
  state_slots_[reach.state].before = owned_[index_of(PoolKind::kStateSlots)][reach.state].released;
}

// ---- results -----------------------------------------------------------------------------------------

void Shadow::commit(const Record& record) {
  const std::uint32_t n = state_of(record.sequence).row;
  if (!settling_open_ || n >= settling_.rows.size()) return;
  Row& row = settling_.rows[n];
  if (row.sequence == record.sequence && !row.chunk) row.accepted = record.count;
}

// The result is complete: counts advance by what was accepted, the other rows are bytes, not data.
void Shadow::settle() {
  settling_open_ = false;
  for (const Row& row : settling_.rows) {
    Life& life = lives_[row.life];
    if (row.is_void) {
      --life.void_flights;
    } else {
      const std::uint32_t accepted = settling_failed_ ? 0 : row.accepted;
      if (accepted < row.width) discard_rows(life, row.start + accepted, row.start + row.width);
      life.processed = row.start + accepted;
      life.in_flight -= row.width;
      const std::uint32_t index = life.state_in_use();
      if (options_.state_slots && index != 0) {
        StateSlot& slot = state_slots_[index];
        slot.before = owned_[index_of(PoolKind::kStateSlots)][index].released;
        if (settling_failed_) {
          slot.last = {RowKind::kDiscarded, row.sequence, life.epoch, 0};
        } else if (life.processed > 0) {
          slot.last = life.expected(life.processed - 1);
        }
      }
    }
    if (--life.flights > 0) continue;
    life.last_state = 0;
    const SequenceState& state = state_of(row.sequence);
    if (state.life != row.life || state.ended) {
      retire(row.life);
    } else if (life.let_go) {
      cut_table(life, row.life, 0);
      life.let_go = false;
    }
  }
  settling_.rows.clear();
  settling_.void_reaches.clear();
  rows_.push_back(std::move(settling_.rows));
}

}  // namespace pinfold::sim
