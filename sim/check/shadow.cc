#include "sim/check/shadow.h"

#include <algorithm>
#include <cstring>

#include "sim/check/table_end.h"

namespace pinfold::sim {

Shadow::Shadow(const ShadowOptions& options)
    : options_(options),
      contents_(options.block_ids, options.block_size),
      readers_(options.block_ids),
      state_slots_(options.state_ids),
      draft_slots_(options.draft_ids) {
  owned_[index_of(PoolKind::kBlocks)].resize(options.block_ids);
  owned_[index_of(PoolKind::kStateSlots)].resize(options.state_ids);
  owned_[index_of(PoolKind::kDraftSlots)].resize(options.draft_ids);
}

void Shadow::consume(std::span<const std::byte> journal) {
  for (std::size_t at = 0; at < journal.size();) {
    Record record;
    std::memcpy(&record, journal.data() + at, sizeof record);
    at += sizeof record;
    ids_.resize(ids_after(record));
    if (!ids_.empty()) std::memcpy(ids_.data(), journal.data() + at, ids_.size() * sizeof(BlockId));
    at += ids_.size() * sizeof(BlockId);
    ++event_;
    take(record, ids_);
  }
  ids_.clear();
}

// ---- findings --------------------------------------------------------------------------------------

ShadowFinding& Shadow::find(const char* rule) {
  ++finding_count_;
  if (finding_count_ > kFindingsKept) return unkept_;
  findings_.emplace_back();
  findings_.back().rule = rule;
  findings_.back().event = event_;
  return findings_.back();
}

void Shadow::find(const char* rule, std::uint32_t sequence, PoolKind pool, std::uint32_t id,
                  const std::string& text) {
  ShadowFinding& finding = find(rule);
  finding.sequence = sequence;
  finding.pool = pool;
  finding.id = id;
  finding.text = text;
}

// ---- sequences and their lives -----------------------------------------------------------------------

std::uint32_t Shadow::life_of(std::uint32_t sequence) {
  SequenceState& state = state_of(sequence);
  if (state.life != kNoLife) return state.life;
  if (free_lives_.empty()) {
    free_lives_.push_back(static_cast<std::uint32_t>(lives_.size()));
    lives_.emplace_back();
  }
  state.life = free_lives_.back();
  free_lives_.pop_back();
  lives_[state.life].sequence = sequence;
  lives_[state.life].epoch = state.epoch;
  return state.life;
}

// Nobody needs this life any more: neither its sequence nor a step in flight.
void Shadow::retire(std::uint32_t index) {
  Life& life = lives_[index];
  cut_table(life, index, 0);
  SequenceState& state = state_of(life.sequence);
  if (state.life == index) state.life = kNoLife;
  std::vector<std::uint32_t> table = std::move(life.table);
  life = Life{};
  life.table = std::move(table);  // for its capacity
  free_lives_.push_back(index);
}

void Shadow::start_life(std::uint32_t sequence) {
  SequenceState& state = state_of(sequence);
  state.preempted = false;
  if (state.life != kNoLife) {
    const Life& old = lives_[state.life];
    if (old.held_blocks() > 0 || old.state != 0 || old.draft != 0) {
      find("O10 finish", sequence, PoolKind::kBlocks, 0,
           name_of_life(sequence, old.epoch) +
               " takes storage after a preemption and has not let go of all it held");
    }
    if (old.flights == 0) retire(state.life);
  }
  state.life = kNoLife;
  ++state.epoch;
}

void Shadow::cut_table(Life& life, std::uint32_t index, std::uint32_t kept) {
  for (std::uint32_t entry = kept; entry < life.table.size(); ++entry) {
    readers_.remove(life.table[entry], {index, entry});
  }
  life.table.resize(kept);
  life.verified = std::min(life.verified, kept * options_.block_size);
}

// ---- records -----------------------------------------------------------------------------------------

void Shadow::take(const Record& record, std::span<const BlockId> ids) {
  // Commits follow their result, behind the releases of fences that passed with it.
  if (settling_open_ && record.verb != Verb::kCommit && record.verb != Verb::kUnpark) settle();
  const auto leave_batch = [&] {
    const auto at = std::lower_bound(batch_.begin(), batch_.end(), record.sequence);
    if (at != batch_.end() && *at == record.sequence) batch_.erase(at);
  };
  switch (record.verb) {
    case Verb::kAcquire:
    case Verb::kPin: acquire(record, ids); break;
    case Verb::kRelease:
    case Verb::kPark: let_go(record, ids); break;
    case Verb::kUnpark: unpark(record, ids); break;
    case Verb::kFork: fork(record); break;
    case Verb::kDemote: {
      // It becomes an ordinary request: nothing it reads later is its parent's.
      Life& child = lives_[life_of(record.sequence)];
      child.processed = 0;
      child.verified = 0;
      child.inherited.clear();
      break;
    }
    case Verb::kCopyQueued: queue_copy(record, ids); break;
    case Verb::kJoin: {
      const Life& life = lives_[life_of(record.sequence)];
      if (record.aux != life.processed) {
        find("O7 commit", record.sequence, PoolKind::kBlocks, 0,
             "sequence " + std::to_string(record.sequence) + " joins the batch with " +
                 std::to_string(record.aux) + " rows, and " + std::to_string(life.processed) +
                 " are processed");
      }
      const auto at = std::lower_bound(batch_.begin(), batch_.end(), record.sequence);
      if (at == batch_.end() || *at != record.sequence) batch_.insert(at, record.sequence);
      break;
    }
    case Verb::kLeave:
    case Verb::kSitOut: leave_batch(); break;
    case Verb::kDrafts: state_of(record.sequence).drafts = record.count; break;
    case Verb::kChunk: {
      Row row;
      row.sequence = record.sequence;
      row.width = record.count;
      row.accepted = record.count;
      row.first = record.aux;
      row.chunk = true;
      chunks_.push_back(row);
      break;
    }
    case Verb::kStep: dispatch(++steps_); break;
    case Verb::kResult: run_step(record.sequence, record.aux == 1, record.aux == 2); break;
    case Verb::kCommit: commit(record); break;
    case Verb::kPassed: pass(record); break;
    case Verb::kPreempt:
      state_of(record.sequence).preempted = true;
      leave_batch();
      break;
    case Verb::kEnd:
      leave_batch();
      end(record);
      break;
    case Verb::kArrive:
    case Verb::kAnswer:
    case Verb::kForkMissed: break;
    case Verb::kKeys:
      state_of(record.sequence).chains.read(ids, record.aux, options_.block_size);
      break;
    case Verb::kHit: hit(record, ids); break;
    case Verb::kPublish: publish(record, ids); break;
    case Verb::kEvict:
      is_host(record.pool) ? evict_on_host(record, ids) : evict(record, ids);
      break;
    case Verb::kSave: queue_save(record, ids); break;
    case Verb::kLoad: queue_load(record, ids); break;
    case Verb::kStored: stored(record, ids); break;
    case Verb::kLoaded: loaded(record); break;
  }
}

// The child's first rows are the parent's, and what the parent itself inherited.
void Shadow::fork(const Record& record) {
  const std::uint32_t shared = record.count;
  const std::uint32_t child_index = life_of(record.sequence);
  const std::uint32_t parent_index = life_of(record.aux);
  std::vector<Inherited> inherited;
  std::uint32_t covered = 0;
  for (const Inherited& part : lives_[parent_index].inherited) {
    if (covered >= shared) break;
    inherited.push_back(part);
    covered = inherited.back().end = std::min(part.end, shared);
  }
  if (covered < shared) inherited.push_back({shared, record.aux, lives_[parent_index].epoch});
  Life& child = lives_[child_index];
  child.inherited = std::move(inherited);
  child.processed = shared;
  child.verified = 0;
}

void Shadow::end(const Record& record) {
  SequenceState& state = state_of(record.sequence);
  state.ended = true;
  state.chains = {};
  if (state.life == kNoLife) return;
  const Life& life = lives_[state.life];
  if (life.held_blocks() > 0 || life.state != 0 || life.draft != 0) {
    find("O10 finish", record.sequence, PoolKind::kBlocks, 0,
         name_of_life(record.sequence, life.epoch) + " ended and still holds " +
             std::to_string(life.held_blocks()) + " blocks, " + (life.state != 0 ? "a" : "no") +
             " state slot and " + (life.draft != 0 ? "a" : "no") + " draft slot");
  }
  if (life.flights == 0) retire(state.life);
}

// ---- owners ------------------------------------------------------------------------------------------

Shadow::Owned* Shadow::owned(const Record& record, BlockId id) {
  std::vector<Owned>& pool = owned_[index_of(record.pool)];
  const std::uint32_t index = index_of(id);
  const bool open =
      is_host(record.pool) || (record.pool == PoolKind::kDraftSlots && options_.draft_ids == 0);
  if (open && index >= pool.size()) pool.resize(std::size_t{index} + 1);
  if (index > 0 && index < pool.size()) return &pool[index];
  find("O2 owners", record.sequence, record.pool, index,
       name_of_id(record.pool, index) + ", named by sequence " + std::to_string(record.sequence) +
           ", is not in the pool");
  return nullptr;
}

bool Shadow::drop_owner(const Record& record, BlockId id, const char* how) {
  Owned* const was = owned(record, id);
  if (was == nullptr) return false;
  if (was->owners == 0) {
    find("O2 owners", record.sequence, record.pool, index_of(id),
         name_of_id(record.pool, index_of(id)) + " is " + how + " by sequence " +
             std::to_string(record.sequence) + " and has no owner" +
             name_of_release(was->released, "it"));
    return false;
  }
  if (--was->owners == 0) was->released = {event_, record.sequence};
  return true;
}

// The life that takes something now.
std::uint32_t Shadow::take_part(const Record& record) {
  if (state_of(record.sequence).preempted) start_life(record.sequence);
  const std::uint32_t index = life_of(record.sequence);
  if (record.pool == PoolKind::kBlocks && lives_[index].let_go) {
    cut_table(lives_[index], index, 0);
    lives_[index].let_go = false;
  }
  return index;
}

void Shadow::acquire(const Record& record, std::span<const BlockId> ids) {
  const bool issued = record.verb == Verb::kAcquire;
  const std::uint32_t index = take_part(record);
  for (const BlockId id : ids) {
    Owned* const now = owned(record, id);
    if (now == nullptr) continue;
    if (issued != (now->owners == 0)) {
      find("O2 owners", record.sequence, record.pool, index_of(id),
           name_of_id(record.pool, index_of(id)) + " has " + std::to_string(now->owners) +
               " owners and is " + (issued ? "issued to" : "pinned by") + " sequence " +
               std::to_string(record.sequence) + name_of_release(now->released, "it"));
    }
    ++now->owners;
    if (issued) ++now->issue;
    if (issued && record.pool == PoolKind::kBlocks && is_published(index_of(id))) {
      find("prefix evict", record.sequence, record.pool, index_of(id),
           name_of_id(record.pool, index_of(id)) + " is issued to sequence " +
               std::to_string(record.sequence) + " and can still be found");
      published_[index_of(id)] = {};
    }
    if (record.pool == PoolKind::kBlocks) {
      std::vector<std::uint32_t>& table = lives_[index].table;
      readers_.add(index_of(id), {index, static_cast<std::uint32_t>(table.size())});
      table.push_back(index_of(id));
    } else {
      acquire_slot(record, index_of(id));
    }
  }
}

void Shadow::acquire_slot(const Record& record, std::uint32_t index) {
  if (is_host(record.pool)) return;
  Life& life = lives_[life_of(record.sequence)];
  const bool is_state = record.pool == PoolKind::kStateSlots;
  std::uint32_t& held = is_state ? life.state : life.draft;
  if (held != 0) {
    find("O5 slots", record.sequence, record.pool, index,
         "sequence " + std::to_string(record.sequence) + " takes " +
             name_of_id(record.pool, index) + " and holds " + name_of_id(record.pool, held));
  }
  held = index;
  // The bytes stay what they were: the first chunk starts a state anew.
  if (is_state) return;
  if (index >= draft_slots_.size()) draft_slots_.resize(std::size_t{index} + 1);
  const DraftSlot& slot = draft_slots_[index];
  if (slot.step == 0 || has_passed(slot.step) || !options_.fences_always) return;
  find("O9 draft slot", record.sequence, record.pool, index,
       name_of_id(record.pool, index) + " is handed to sequence " +
           std::to_string(record.sequence) + ", and step " + std::to_string(slot.step) +
           " with drafts of sequence " + std::to_string(slot.user) + " has not passed");
}

void Shadow::let_go(const Record& record, std::span<const BlockId> ids) {
  for (const BlockId id : ids) {
    const std::uint64_t filled = transfers_.empty() ? 0 : load_into(record.pool, index_of(id));
    const bool waits = record.verb == Verb::kPark && record.aux >= filled &&
                       static_cast<Behind>(record.detail) == Behind::kLoad;
    if (filled > 0 && !waits) {
      find("O9 release", record.sequence, record.pool, index_of(id),
           "sequence " + std::to_string(record.sequence) + " lets go of " +
               name_of_id(record.pool, index_of(id)) + ", and the load behind ticket " +
               std::to_string(filled) + " may still fill it");
    }
    if (record.verb == Verb::kRelease) {
      drop_owner(record, id, "released");
    } else if (Owned* const parked = owned(record, id)) {
      if (parked->owners == 0) {
        find("O2 owners", record.sequence, record.pool, index_of(id),
             name_of_id(record.pool, index_of(id)) + " is parked by sequence " +
                 std::to_string(record.sequence) + " and has no owner" +
                 name_of_release(parked->released, "it"));
      }
      ++parked->holds;
    }
  }
  Life& life = lives_[life_of(record.sequence)];
  switch (record.pool) {
    case PoolKind::kBlocks: let_go_blocks(record, ids, life); break;
    case PoolKind::kStateSlots:
    case PoolKind::kDraftSlots:
      for (const BlockId id : ids) let_go_slot(record, index_of(id), life);
      break;
    case PoolKind::kHostBlocks:
    case PoolKind::kHostStates: break;
  }
}

// `last_step` is the last one that may touch what is let go: it waits behind that, or has passed.
void Shadow::check_fence(const Record& record, std::uint32_t index, std::uint64_t last_step) {
  if (!options_.fences_always || has_passed(last_step)) return;
  const bool released = record.verb == Verb::kRelease;
  if (!released && record.aux >= 2 * last_step) return;
  find("O9 release", record.sequence, record.pool, index,
       "sequence " + std::to_string(record.sequence) +
           (released ? std::string(" released ")
                     : " parked behind ticket " + std::to_string(record.aux) + " ") +
           name_of_id(record.pool, index) + ", and step " + std::to_string(last_step) +
           ", ticket " + std::to_string(2 * last_step) + ", may still touch it");
}

void Shadow::let_go_slot(const Record& record, std::uint32_t index, Life& life) {
  const bool is_state = record.pool == PoolKind::kStateSlots;
  std::uint32_t& held = is_state ? life.state : life.draft;
  if (index != held || held == 0) {
    find("O10 release", record.sequence, record.pool, index,
         "sequence " + std::to_string(record.sequence) + " lets go of " +
             name_of_id(record.pool, index) + " and holds " +
             (held == 0 ? std::string("none") : name_of_id(record.pool, held)));
    return;
  }
  if (is_state) {
    check_fence(record, index, life.last_step);
    if (life.flights > 0) life.last_state = index;
  } else if (draft_slots_[index].user == record.sequence) {
    check_fence(record, index, draft_slots_[index].step);
  }
  held = 0;
}

void Shadow::let_go_blocks(const Record& record, std::span<const BlockId> ids, Life& life) {
  if (ids.empty()) return;
  if (life.let_go || !are_last_of(ids, life.table)) {
    find("O10 release", record.sequence, record.pool, index_of(ids.front()),
         "sequence " + std::to_string(record.sequence) + " lets go of " +
             std::to_string(ids.size()) + " blocks that are not the end of its table of " +
             std::to_string(life.held_blocks()));
    return;
  }
  const std::uint32_t kept = static_cast<std::uint32_t>(life.table.size() - ids.size());
  // Rows of dispatched steps lie below C + F.
  std::uint32_t reach = life.processed + life.in_flight;
  if (life.void_flights > 0) reach = std::max(reach, life.void_reach);
  if (std::uint64_t{kept} * options_.block_size < reach) {
    check_fence(record, life.table[kept], life.last_step);
  }
  if (kept == 0 && life.flights > 0) {
    life.let_go = true;  // steps in flight go on reading and writing through this table
  } else {
    cut_table(life, life_of(record.sequence), kept);
  }
}

Lane Shadow::lane_of(Behind behind) const {
  switch (behind) {
    case Behind::kStep: return Lane::kCompute;
    case Behind::kCopy: return options_.copy_lane;
    case Behind::kSave: return Lane::kDeviceToHost;
    case Behind::kLoad: return Lane::kHostToDevice;
  }
  return Lane::kCompute;
}

void Shadow::unpark(const Record& record, std::span<const BlockId> ids) {
  const Lane lane = lane_of(static_cast<Behind>(record.detail));
  const std::uint64_t passed = passed_[index_of(lane)];
  if (record.aux > passed) {
    find("O9 release", record.sequence, record.pool, ids.empty() ? 0 : index_of(ids.front()),
         "a hold of sequence " + std::to_string(record.sequence) + " on ticket " +
             std::to_string(record.aux) + " ended when the lane had come to " +
             std::to_string(passed));
  }
  for (const BlockId id : ids) {
    Owned* const parked = owned(record, id);
    if (parked == nullptr) continue;
    if (parked->holds == 0) {
      find("O9 release", record.sequence, record.pool, index_of(id),
           "a hold on " + name_of_id(record.pool, index_of(id)) + " ends, and nothing holds it");
      continue;
    }
    --parked->holds;
    drop_owner(record, id, "let go");
  }
}

}  // namespace pinfold::sim
