#include "sim/check/shadow.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pinfold::sim {
namespace {

constexpr std::uint64_t copy_ticket_of(std::uint64_t step) { return 2 * step - 1; }

}  // namespace

Shadow::Shadow(const ShadowOptions& options)
    : options_(options), blocks_(options.block_ids), slots_(options.state_ids) {}

void Shadow::consume(std::span<const std::byte> journal) {
  std::vector<BlockId> ids;
  for (std::size_t at = 0; at < journal.size();) {
    Record record;
    std::memcpy(&record, journal.data() + at, sizeof record);
    at += sizeof record;
    ids.resize(ids_after(record));
    if (!ids.empty()) std::memcpy(ids.data(), journal.data() + at, ids.size() * sizeof(BlockId));
    at += ids.size() * sizeof(BlockId);
    ++event_;
    take(record, ids);
  }
}

void Shadow::find(const char* rule, const std::string& text) {
  ++finding_count_;
  if (findings_.size() < kFindingsKept) findings_.push_back({rule, event_, text});
}

std::string Shadow::name_of_tag(const Tag& tag) const {
  if (tag.writer == kNobody) return "nothing valid";
  return "position " + std::to_string(tag.position) + " of sequence " + std::to_string(tag.writer);
}

// Positions below the fork belong to the parent's history, and so on upwards.
Shadow::Tag Shadow::expected(std::uint32_t sequence, std::uint32_t position) const {
  std::uint32_t writer = sequence;
  while (writer < sequences_.size() && position < sequences_[writer].shared) {
    writer = sequences_[writer].parent;
  }
  return {writer, position};
}

Shadow::SequenceState& Shadow::state_of(std::uint32_t sequence) {
  if (sequence >= sequences_.size()) sequences_.resize(sequence + 1);
  return sequences_[sequence];
}

Shadow::Life& Shadow::life(std::uint32_t sequence, std::uint32_t epoch) {
  std::vector<Life>& lives = state_of(sequence).lives;
  for (std::size_t n = lives.size(); n-- > 0;) {
    if (lives[n].epoch == epoch) return lives[n];
  }
  lives.emplace_back();
  lives.back().epoch = epoch;
  return lives.back();
}

void Shadow::take(const Record& record, std::span<const BlockId> ids) {
  // Commits follow their result, behind the releases of fences that passed with it.
  if (settling_open_ && record.verb != Verb::kCommit && record.verb != Verb::kUnpark) settle();
  switch (record.verb) {
    case Verb::kAcquire:
    case Verb::kPin: acquire(record, ids); break;
    case Verb::kRelease:
    case Verb::kPark: let_go(record, ids); break;
    case Verb::kUnpark:
      if (record.aux > passed_) {
        find("O9 release", "a hold on ticket " + std::to_string(record.aux) +
                               " ended when the lane had come to " + std::to_string(passed_));
      }
      for (const BlockId id : ids) drop_owner(record, id);
      break;
    case Verb::kFork: {
      SequenceState& child = state_of(record.sequence);
      child.parent = record.aux;
      child.shared = record.count;
      life(record.sequence, child.epoch).processed = record.count;
      break;
    }
    case Verb::kDemote: {
      SequenceState& child = state_of(record.sequence);
      life(record.sequence, child.epoch).processed = 0;
      break;
    }
    case Verb::kCopyQueued: {
      PendingCopy copy;
      copy.ticket = copy_ticket_of(steps_ + 1);
      copy.pool = record.pool;
      copy.from = index_of(ids[0]);
      copy.to = index_of(ids[1]);
      copy.rows = record.aux;
      copy.sequence = record.sequence;
      if (copy.to == 0) break;  // released, not copied
      if (copy.pool == PoolKind::kBlocks) {
        copy.from_issue = blocks_[copy.from].issue;
        copy.to_issue = blocks_[copy.to].issue;
      } else {
        copy.from_issue = slots_[copy.from].issue;
        copy.to_issue = slots_[copy.to].issue;
      }
      copies_.push_back(copy);
      break;
    }
    case Verb::kJoin: batch_.insert(record.sequence); break;
    case Verb::kLeave:
    case Verb::kSitOut: batch_.erase(record.sequence); break;
    case Verb::kDrafts: drafts_[record.sequence] = record.count; break;
    case Verb::kChunk: {
      Row row;
      row.sequence = record.sequence;
      row.epoch = state_of(record.sequence).epoch;
      row.width = record.count;
      row.accepted = record.count;
      row.first = record.aux;
      row.chunk = true;
      chunks_.push_back(row);
      break;
    }
    case Verb::kStep: dispatch(++steps_); break;
    case Verb::kResult: run_step(record.sequence, record.aux == 1, record.aux == 2); break;
    case Verb::kCommit:
      for (Row& row : settling_.rows) {
        if (row.sequence == record.sequence && !row.chunk) row.accepted = record.count;
      }
      break;
    case Verb::kPassed:
      passed_ = std::max<std::uint64_t>(passed_, record.aux);
      pass_copies(record.aux);
      break;
    case Verb::kPreempt:
      state_of(record.sequence).preempted = true;
      batch_.erase(record.sequence);
      break;
    case Verb::kEnd: {
      batch_.erase(record.sequence);
      SequenceState& state = state_of(record.sequence);
      state.ended = true;
      std::erase_if(state.lives, [](const Life& life) { return life.flights == 0; });
      break;
    }
    case Verb::kArrive:
    case Verb::kAnswer:
    case Verb::kForkMissed:
    case Verb::kKeys:
    case Verb::kHit:
    case Verb::kPublish:
    case Verb::kEvict: break;
  }
}

std::uint32_t* Shadow::owners_of(PoolKind pool, BlockId id) {
  const std::uint32_t index = index_of(id);
  if (pool == PoolKind::kBlocks && index < blocks_.size()) return &blocks_[index].owners;
  if (pool == PoolKind::kStateSlots && index < slots_.size()) return &slots_[index].owners;
  return nullptr;
}

void Shadow::count_owner(const Record& record, BlockId id) {
  std::uint32_t* owners = owners_of(record.pool, id);
  if (owners == nullptr) return;
  const bool issued = record.verb == Verb::kAcquire;
  if (issued != (*owners == 0)) {
    find("O2 owners", std::string(name_of(record.pool)) + " " + std::to_string(index_of(id)) +
                          " has " + std::to_string(*owners) + " owners and is " +
                          (issued ? "issued" : "pinned"));
  }
  ++*owners;
}

void Shadow::drop_owner(const Record& record, BlockId id) {
  std::uint32_t* owners = owners_of(record.pool, id);
  if (owners == nullptr) return;
  if (*owners == 0) {
    find("O2 owners", std::string(name_of(record.pool)) + " " + std::to_string(index_of(id)) +
                          " is released by sequence " + std::to_string(record.sequence) +
                          " and has no owner");
    return;
  }
  --*owners;
}

void Shadow::acquire(const Record& record, std::span<const BlockId> ids) {
  SequenceState& state = state_of(record.sequence);
  if (state.preempted) {
    if (life(record.sequence, state.epoch).flights == 0) state.lives.clear();
    ++state.epoch;
    state.preempted = false;
  }
  Life& now = life(record.sequence, state.epoch);
  for (const BlockId id : ids) {
    const std::uint32_t index = index_of(id);
    count_owner(record, id);
    if (record.pool == PoolKind::kBlocks) {
      if (record.verb == Verb::kAcquire) ++blocks_[index].issue;
      now.table.push_back({index, 0, 0});
    } else if (record.pool == PoolKind::kStateSlots) {
      // The bytes stay what they were: the first chunk starts the state anew.
      if (record.verb == Verb::kAcquire) ++slots_[index].issue;
      now.state = index;
    }
  }
}

void Shadow::let_go(const Record& record, std::span<const BlockId> ids) {
  SequenceState& state = state_of(record.sequence);
  Life& now = life(record.sequence, state.epoch);
  const bool released = record.verb == Verb::kRelease;
  const std::string who = "sequence " + std::to_string(record.sequence);
  if (released) {
    for (const BlockId id : ids) drop_owner(record, id);
  }
  if (record.pool == PoolKind::kStateSlots) {
    if (released && may_be_touched(now) && options_.fences_always) {
      find("O9 release", who + " released state slot " + std::to_string(index_of(ids[0])) +
                             " with " + std::to_string(now.flights) + " steps in flight");
    }
    if (index_of(ids[0]) == now.state) {
      now.last_state = now.state;
      now.state = 0;
    }
    return;
  }
  if (record.pool != PoolKind::kBlocks) return;
  if (ids.size() > now.table.size()) {
    find("O10 release", who + " let go " + std::to_string(ids.size()) + " blocks of a table of " +
                            std::to_string(now.table.size()));
    return;
  }
  const std::size_t kept = now.table.size() - ids.size();
  // Rows of dispatched steps lie below C + F.
  std::uint32_t reach = now.processed + now.in_flight;
  if (now.void_flights > 0) reach = std::max(reach, now.void_reach);
  const std::uint32_t reached = (reach + options_.block_size - 1) / options_.block_size;
  if (released && may_be_touched(now) && kept < reached && options_.fences_always) {
    find("O9 release", who + " released blocks from entry " + std::to_string(kept) +
                           " on, and steps in flight reach position " + std::to_string(reach));
  }
  if (kept == 0 && now.flights > 0) now.last_table = now.table;
  for (std::size_t n = kept; n < now.table.size(); ++n) {
    blocks_[now.table[n].block].released_at = event_;
  }
  now.table.resize(kept);
}

void Shadow::dispatch(std::uint64_t step) {
  Step flight;
  flight.step = step;
  flight.rows = std::move(chunks_);
  chunks_.clear();
  for (const std::uint32_t id : batch_) {
    Row row;
    row.sequence = id;
    row.epoch = state_of(id).epoch;
    const auto drafted = drafts_.find(id);
    row.width = drafted == drafts_.end() ? 1 : 1 + drafted->second;
    flight.rows.push_back(row);
  }
  drafts_.clear();
  for (const Row& row : flight.rows) {
    Life& now = life(row.sequence, row.epoch);
    ++now.flights;
    now.last_step = step;
    now.in_flight += row.width;
    const std::uint32_t reach = now.processed + now.in_flight;
    if (reach > now.table.size() * options_.block_size) {
      find("O6 table", "sequence " + std::to_string(row.sequence) + " may write up to position " +
                           std::to_string(reach) + " with a table of " +
                           std::to_string(now.table.size()) + " blocks");
    }
  }
  flying_.push_back(std::move(flight));
}

// Until a copy's fence has passed its source is pinned and its destination fenced.
void Shadow::pass_copies(std::uint64_t upto) {
  for (PendingCopy& copy : copies_) {
    if (copy.passed || copy.ticket > upto) continue;
    copy.passed = true;
    const bool blocks = copy.pool == PoolKind::kBlocks;
    const std::uint64_t from_issue = blocks ? blocks_[copy.from].issue : slots_[copy.from].issue;
    const std::uint64_t to_issue = blocks ? blocks_[copy.to].issue : slots_[copy.to].issue;
    const std::string what = "the copy for sequence " + std::to_string(copy.sequence) + " ";
    const std::string ids = name_of(copy.pool);
    if (from_issue != copy.from_issue) {
      find("O9 copy source", what + "reads " + ids + " " + std::to_string(copy.from) +
                                 ", which was released and issued again before the copy was done");
    }
    if (to_issue != copy.to_issue) {
      find("O9 copy destination", what + "fills " + ids + " " + std::to_string(copy.to) +
                                      ", which was released and issued again before it was done");
    }
  }
}

// `lost`: the step of these copies failed, or one ahead of it did; nobody knows what they left behind.
void Shadow::run_copies(std::uint64_t upto, bool lost) {
  pass_copies(upto);
  std::size_t kept = 0;
  for (const PendingCopy& copy : copies_) {
    if (copy.ticket > upto) {
      copies_[kept++] = copy;
      continue;
    }
    if (copy.pool == PoolKind::kBlocks) {
      Block& from = blocks_[copy.from];
      Block& to = blocks_[copy.to];
      to.rows.resize(options_.block_size);
      from.rows.resize(options_.block_size);
      for (std::uint32_t row = 0; row < copy.rows; ++row) {
        to.rows[row] = lost ? Tag{} : from.rows[row];
      }
      to.serial = ++serial_;
    } else {
      slots_[copy.to].last = slots_[copy.from].last;
      slots_[copy.to].written = slots_[copy.from].written && !lost;
    }
  }
  copies_.resize(kept);
}

void Shadow::run_step(std::uint64_t step, bool failed, bool behind_failed) {
  if (flying_.empty() || flying_.front().step != step) {
    find("O15 order", "a result of step " + std::to_string(step) + " that is not the oldest");
    return;
  }
  passed_ = std::max(passed_, 2 * step);
  run_copies(2 * step, failed || behind_failed);
  settling_ = std::move(flying_.front());
  flying_.erase(flying_.begin());
  settling_open_ = true;
  settling_failed_ = failed;
  if (failed) void_steps_behind();
  for (Row& row : settling_.rows) {
    if (row.is_void) continue;
    Life& then = life(row.sequence, row.epoch);
    row.start = then.processed;
    if (row.chunk && row.first != row.start && !failed) {
      find("O7 commit", "a chunk of sequence " + std::to_string(row.sequence) + " starts at " +
                            std::to_string(row.first) + ", and " + std::to_string(row.start) +
                            " rows are processed");
    }
    const bool let_go = then.table.empty();
    std::vector<Entry>& table = let_go ? then.last_table : then.table;
    // What a failed step, or one behind it, reads is nobody's: its result is thrown away.
    if (!failed) read_rows(row, table, row.start);
    if (options_.state_slots && !failed)
      check_state(row, then.state != 0 ? then.state : then.last_state);
    // All rows of the step are written; which of them are valid is known with the commits.
    write_rows(row, table, row.start, row.start + row.width, true);
  }
}

void Shadow::read_rows(const Row& row, std::vector<Entry>& table, std::uint32_t end) {
  const std::uint32_t block_size = options_.block_size;
  rows_read_ += end;
  for (std::uint32_t at = 0; at * block_size < end; ++at) {
    if (at >= table.size()) {
      find("O12 visible rows", "sequence " + std::to_string(row.sequence) + " reads position " +
                                   std::to_string(at * block_size) + " beyond its table");
      return;
    }
    Entry& entry = table[at];
    Block& block = blocks_[entry.block];
    const std::uint32_t rows = std::min(end - at * block_size, block_size);
    if (entry.seen_serial == block.serial && entry.seen_rows >= rows) continue;
    block.rows.resize(block_size);
    for (std::uint32_t n = 0; n < rows; ++n) {
      const Tag wanted = expected(row.sequence, at * block_size + n);
      ++rows_scanned_;
      if (block.rows[n] == wanted) continue;
      find("O12 visible rows",
           "sequence " + std::to_string(row.sequence) + " reads row " + std::to_string(n) +
               " of block " + std::to_string(entry.block) + ": expected " + name_of_tag(wanted) +
               ", found " + name_of_tag(block.rows[n]) + "; the block was last let go at event " +
               std::to_string(block.released_at));
      break;
    }
    entry.seen_serial = block.serial;
    entry.seen_rows = rows;
  }
}

void Shadow::write_rows(const Row& row, std::vector<Entry>& table, std::uint32_t begin,
                        std::uint32_t end, bool valid) {
  const std::uint32_t block_size = options_.block_size;
  for (std::uint32_t position = begin; position < end; ++position) {
    const std::uint32_t at = position / block_size;
    if (at >= table.size()) {
      find("O6 table", "sequence " + std::to_string(row.sequence) + " writes position " +
                           std::to_string(position) + " beyond its table");
      return;
    }
    Block& block = blocks_[table[at].block];
    block.rows.resize(block_size);
    block.rows[position % block_size] = valid ? expected(row.sequence, position) : Tag{};
    const bool seen = table[at].seen_serial == block.serial;
    block.serial = ++serial_;
    if (seen) table[at].seen_serial = block.serial;  // what was right before this write still is
  }
}

// A state includes the positions below the row, of the sequence's own history, and nothing else.
void Shadow::check_state(const Row& row, std::uint32_t index) {
  if (index == 0) {
    find("O5 state slot",
         "sequence " + std::to_string(row.sequence) + " runs without a state slot");
    return;
  }
  Slot& slot = slots_[index];
  if (row.start == 0) return;  // the first chunk starts the state anew
  const Tag wanted = expected(row.sequence, row.start - 1);
  if (!slot.written || slot.last != wanted) {
    find("O12 visible rows", "sequence " + std::to_string(row.sequence) + " reads state slot " +
                                 std::to_string(index) + ": expected " + name_of_tag(wanted) +
                                 ", found " + (slot.written ? name_of_tag(slot.last) : "nothing"));
  }
}

// The steps behind a failed one are lost with it: their rows no longer count, but may still write.
void Shadow::void_steps_behind() {
  for (Step& step : flying_) {
    for (Row& row : step.rows) {
      if (row.is_void) continue;
      Life& then = life(row.sequence, row.epoch);
      then.void_reach = std::max(then.void_reach, then.processed + then.in_flight);
    }
  }
  for (Step& step : flying_) {
    for (Row& row : step.rows) {
      if (row.is_void) continue;
      row.is_void = true;
      Life& then = life(row.sequence, row.epoch);
      then.in_flight -= row.width;
      ++then.void_flights;
    }
  }
}

// The result is complete: counts advance by what was accepted, the other rows are bytes, not data.
void Shadow::settle() {
  settling_open_ = false;
  for (const Row& row : settling_.rows) {
    if (row.is_void) {
      --life(row.sequence, row.epoch).void_flights;
      drop_flight(row.sequence, row.epoch);
      continue;
    }
    Life& then = life(row.sequence, row.epoch);
    std::vector<Entry>& table = then.table.empty() ? then.last_table : then.table;
    const std::uint32_t accepted = settling_failed_ ? 0 : row.accepted;
    if (accepted < row.width) {
      write_rows(row, table, row.start + accepted, row.start + row.width, false);
    }
    then.processed = row.start + accepted;
    then.in_flight -= row.width;
    if (options_.state_slots) {
      const std::uint32_t index = then.state != 0 ? then.state : then.last_state;
      Slot& slot = slots_[index];
      slot.written = !settling_failed_;
      if (then.processed > 0) slot.last = expected(row.sequence, then.processed - 1);
    }
    drop_flight(row.sequence, row.epoch);
  }
  settling_.rows.clear();
}

void Shadow::drop_flight(std::uint32_t sequence, std::uint32_t epoch) {
  SequenceState& state = state_of(sequence);
  Life& then = life(sequence, epoch);
  --then.flights;
  if (then.flights > 0) return;
  if (epoch == state.epoch && !state.ended) return;
  std::erase_if(state.lives, [&](const Life& life) { return life.epoch == epoch; });
}

}  // namespace pinfold::sim
