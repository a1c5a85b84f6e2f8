#include "tests/model/shadow_twin.h"

#include <algorithm>
#include <cstring>

namespace pinfold::model {

void ShadowTwin::consume(std::span<const std::byte> journal) {
  const std::byte* next = journal.data();
  const std::byte* const end = next + journal.size();
  while (next != end) {
    Record record;
    std::memcpy(&record, next, sizeof record);
    next += sizeof record;
    std::vector<std::uint32_t> ids;
    for (std::uint32_t n = 0; n < ids_after(record); ++n, next += 4) {
      std::uint32_t id = 0;
      std::memcpy(&id, next, 4);
      ids.push_back(id);
    }
    ++event_;
    take(record, ids);
  }
}

TwinFinding& ShadowTwin::find(const char* rule, std::uint32_t sequence, PoolKind pool,
                              std::uint32_t id) {
  findings_.push_back({rule, event_, sequence, pool, id, 0, {}, {}, 0, UINT32_MAX});
  return findings_.back();
}

void ShadowTwin::note_since(TwinFinding& finding) {
  const Books& books = books_[{finding.pool, finding.id}];
  if (books.release_event == finding.found.release_event) return;
  finding.since_event = books.release_event;
  finding.since_sequence = books.release_sequence;
}

std::uint64_t ShadowTwin::lane_at(std::uint32_t lane) const {
  const auto found = lanes_.find(lane);
  return found == lanes_.end() ? 0 : found->second;
}

bool ShadowTwin::in_pool(const Record& record, std::uint32_t id) {
  std::uint32_t size = UINT32_MAX;
  if (record.pool == PoolKind::kBlocks) size = options_.block_ids;
  if (record.pool == PoolKind::kStateSlots) size = options_.state_ids;
  if (record.pool == PoolKind::kDraftSlots) size = options_.draft_ids;
  if (id != 0 && id < size) return true;
  find("O2 owners", record.sequence, record.pool, id);
  return false;
}

ShadowTwin::LifeName ShadowTwin::life_now(std::uint32_t sequence) {
  const LifeName name{sequence, epochs_[sequence]};
  lives_[name];
  return name;
}

// A life that no step in flight and no sequence needs.
void ShadowTwin::forget(const LifeName& name) {
  const auto found = lives_.find(name);
  if (found == lives_.end() || found->second.flights > 0) return;
  if (name.second == epochs_[name.first] && ended_.count(name.first) == 0) return;
  lives_.erase(found);
}

TwinRow ShadowTwin::expected(const LifeName& name, std::uint32_t position) {
  const Life& life = lives_.at(name);
  const LifeName writer = position < life.wrote.size() ? life.wrote[position] : name;
  return {1, writer.first, writer.second, position, 0, UINT32_MAX};
}

TwinRow* ShadowTwin::row_at(const LifeName& name, std::uint32_t position) {
  const Life& life = lives_.at(name);
  const std::vector<std::uint32_t>& table = life.table.empty() ? life.former_table : life.table;
  const std::uint32_t entry = position / options_.block_size;
  if (entry >= table.size()) return nullptr;
  return &rows_[{table[entry], position % options_.block_size}];
}

std::uint32_t ShadowTwin::state_of(const LifeName& name) {
  const Life& life = lives_.at(name);
  return life.state != 0 ? life.state : life.former_state;
}

void ShadowTwin::take(const Record& record, const std::vector<std::uint32_t>& ids) {
  if (open_ && record.verb != Verb::kCommit && record.verb != Verb::kUnpark) settle();
  switch (record.verb) {
    case Verb::kAcquire:
    case Verb::kPin: acquire(record, ids); return;
    case Verb::kRelease:
    case Verb::kPark: let_go(record, ids); return;
    case Verb::kUnpark: unpark(record, ids); return;
    case Verb::kCopyQueued: copy_queued(record, ids); return;
    case Verb::kStep: step(); return;
    case Verb::kResult: result(record.sequence, record.aux); return;
    case Verb::kFork: {
      const LifeName child = life_now(record.sequence);
      const LifeName parent = life_now(record.aux);
      std::vector<LifeName> wrote = lives_[parent].wrote;
      wrote.resize(record.count, parent);
      lives_[child].wrote = wrote;
      lives_[child].processed = record.count;
      return;
    }
    case Verb::kDemote:
      lives_[life_now(record.sequence)].processed = 0;
      lives_[life_now(record.sequence)].wrote.clear();
      return;
    case Verb::kJoin:
      if (lives_[life_now(record.sequence)].processed != record.aux) {
        find("O7 commit", record.sequence, PoolKind::kBlocks, 0);
      }
      batch_.insert(record.sequence);
      return;
    case Verb::kLeave:
    case Verb::kSitOut: batch_.erase(record.sequence); return;
    case Verb::kDrafts: drafts_[record.sequence] = record.count; return;
    case Verb::kChunk: {
      Row row;
      row.life.first = record.sequence;
      row.width = row.accepted = record.count;
      row.first = record.aux;
      row.chunk = true;
      chunks_.push_back(row);
      return;
    }
    case Verb::kCommit:
      for (Row& row : settling_) {
        if (open_ && row.life.first == record.sequence && !row.chunk) row.accepted = record.count;
      }
      return;
    case Verb::kPassed: {
      if (record.count > 3) return;
      std::uint64_t queued = 2 * steps_;
      if (record.count != 0 && queued > 0) --queued;
      if (record.aux > queued) find("O9 fence", UINT32_MAX, PoolKind::kBlocks, 0);
      lanes_[record.count] = std::max<std::uint64_t>(lane_at(record.count), record.aux);
      if (record.count != options_.copy_lane) return;
      std::vector<Copy> left;
      for (Copy copy : copies_) {
        const bool done = copy.ticket <= record.aux;
        if (done) passed(copy);
        if (done && options_.copy_lane != 0) {
          carry_out(copy, false);
        } else {
          left.push_back(copy);
        }
      }
      copies_ = left;
      return;
    }
    case Verb::kPreempt:
      preempted_.insert(record.sequence);
      batch_.erase(record.sequence);
      return;
    case Verb::kEnd: {
      batch_.erase(record.sequence);
      ended_.insert(record.sequence);
      keys_.erase(record.sequence);
      const LifeName name{record.sequence, epochs_[record.sequence]};
      const auto found = lives_.find(name);
      if (found == lives_.end()) return;
      const Life& life = found->second;
      if (!life.table.empty() || life.state != 0 || life.draft != 0) {
        find("O10 finish", record.sequence, PoolKind::kBlocks, 0);
      }
      forget(name);
      return;
    }
    case Verb::kArrive:
    case Verb::kAnswer:
    case Verb::kForkMissed: return;
    case Verb::kKeys: {
      Keys& keys = keys_[record.sequence];
      keys = {};
      for (std::size_t n = 0; n + 1 < ids.size(); n += 2) {
        keys.whole.push_back(ids[n] + (std::uint64_t{ids[n + 1]} << 32));
      }
      if (record.aux == 0 || keys.whole.empty()) return;
      keys.tail = keys.whole.back();
      keys.tail_end = record.aux;
      keys.whole.pop_back();
      return;
    }
    case Verb::kHit: found(record, ids); return;
    case Verb::kPublish: published(record, ids); return;
    case Verb::kEvict: evicted(record, ids); return;
    case Verb::kSave:
    case Verb::kLoad:
    case Verb::kStored:
    case Verb::kLoaded: return;  // no world of the twin has a store
  }
}

// ---- prefixes --------------------------------------------------------------------------------------

ShadowTwin::Content ShadowTwin::whole_content(const Keys& keys, std::uint32_t entry) const {
  if (entry >= keys.whole.size()) return {};
  Content content(keys.whole.begin(), keys.whole.begin() + entry + 1);
  content.push_back(options_.block_size);
  return content;
}

ShadowTwin::Content ShadowTwin::tail_content(const Keys& keys, std::uint32_t entry) const {
  if (keys.tail_end == 0 || keys.tail_end / options_.block_size != entry) return {};
  if (entry > keys.whole.size()) return {};
  Content content(keys.whole.begin(), keys.whole.begin() + entry);
  content.push_back(keys.tail);
  content.push_back(keys.tail_end % options_.block_size);
  return content;
}

bool ShadowTwin::holds(std::uint32_t block, std::uint32_t row, const LifeName& writer,
                       std::uint32_t position) {
  const TwinRow held = rows_[{block, row}];
  return held.kind == 1 && LifeName{held.writer, held.epoch} == writer && held.position == position;
}

void ShadowTwin::published(const Record& record, const std::vector<std::uint32_t>& ids) {
  const LifeName name = life_now(record.sequence);
  const Life& life = lives_[name];
  const bool tail = record.detail == 1;
  for (std::uint32_t n = 0; n < ids.size(); ++n) {
    if (!in_pool(record, ids[n])) continue;
    Found now;
    now.entry = record.aux + n;
    const Keys& keys = keys_[record.sequence];
    now.content = tail ? tail_content(keys, now.entry) : whole_content(keys, now.entry);
    if (now.content.empty()) {
      find("prefix publish", record.sequence, record.pool, ids[n]);
      continue;
    }
    const std::uint32_t first = now.entry * options_.block_size;
    bool right = now.entry < life.table.size() && life.table[now.entry] == ids[n];
    const auto rows = static_cast<std::uint32_t>(now.content.back());
    right = right && life.processed >= first + rows;
    for (std::uint32_t row = 0; row < rows; ++row) {
      const std::uint32_t position = first + row;
      now.wrote.push_back(position < life.wrote.size() ? life.wrote[position] : name);
      right = right && holds(ids[n], row, now.wrote.back(), position);
    }
    if (!right) find("prefix publish", record.sequence, record.pool, ids[n]);
    findable_[{ids[n], tail}] = now;
  }
}

void ShadowTwin::evicted(const Record& record, const std::vector<std::uint32_t>& ids) {
  for (const std::uint32_t id : ids) {
    if (!in_pool(record, id)) continue;
    const std::size_t contents = findable_.erase({id, false}) + findable_.erase({id, true});
    if (contents == 0 || books_[{record.pool, id}].owners > 0) {
      find("prefix evict", record.sequence, record.pool, id);
    }
  }
}

void ShadowTwin::found(const Record& record, const std::vector<std::uint32_t>& ids) {
  const LifeName name = life_that_takes(record);
  Life& life = lives_[name];
  const Keys& keys = keys_[record.sequence];
  for (const std::uint32_t id : ids) {
    if (!in_pool(record, id)) continue;
    const auto entry = static_cast<std::uint32_t>(life.table.size());
    const std::uint32_t first = entry * options_.block_size;
    books_[{record.pool, id}].owners += 1;
    life.table.push_back(id);
    const Found* match = nullptr;
    for (const bool tail : {false, true}) {
      if (match != nullptr || (tail && record.detail != 1)) continue;
      const Content wanted = tail ? tail_content(keys, entry) : whole_content(keys, entry);
      const auto held = findable_.find({id, tail});
      if (held != findable_.end() && !wanted.empty() && held->second.content == wanted) {
        match = &held->second;
      }
    }
    std::uint32_t rows = record.aux > first ? record.aux - first : 0;
    if (rows > options_.block_size) rows = options_.block_size;
    if (match == nullptr || match->entry != entry || rows > match->wrote.size()) {
      find("prefix hit", record.sequence, record.pool, id);
      continue;
    }
    for (std::uint32_t row = 0; row < rows; ++row) {
      if (life.wrote.size() < first + row + 1)
        life.wrote.resize(first + row + 1, match->wrote[row]);
    }
    for (std::uint32_t row = 0; row < rows; ++row) {
      if (holds(id, row, life.wrote[first + row], first + row)) continue;
      find("prefix hit", record.sequence, record.pool, id);
      break;
    }
  }
  life.processed = record.aux;
  if (record.aux > life.table.size() * options_.block_size) {
    find("prefix hit", record.sequence, record.pool, 0);
  }
}

// ---- owners ----------------------------------------------------------------------------------------

ShadowTwin::LifeName ShadowTwin::life_that_takes(const Record& record) {
  if (preempted_.erase(record.sequence) > 0) {
    const LifeName old{record.sequence, epochs_[record.sequence]++};
    if (lives_.count(old) > 0) {
      const Life& life = lives_[old];
      if (!life.table.empty() || life.state != 0 || life.draft != 0) {
        find("O10 finish", record.sequence, PoolKind::kBlocks, 0);
      }
    }
    forget(old);
  }
  const LifeName name = life_now(record.sequence);
  Life& life = lives_[name];
  if (record.pool == PoolKind::kBlocks && life.table.empty()) life.former_table.clear();
  return name;
}

void ShadowTwin::acquire(const Record& record, const std::vector<std::uint32_t>& ids) {
  Life& life = lives_[life_that_takes(record)];
  for (const std::uint32_t id : ids) {
    if (!in_pool(record, id)) continue;
    Books& books = books_[{record.pool, id}];
    const bool issue = record.verb == Verb::kAcquire;
    if (issue ? books.owners != 0 : books.owners == 0) {
      find("O2 owners", record.sequence, record.pool, id);
    }
    books.owners += 1;
    books.issues += issue ? 1 : 0;
    if (issue && record.pool == PoolKind::kBlocks &&
        findable_.erase({id, false}) + findable_.erase({id, true}) > 0) {
      find("prefix evict", record.sequence, record.pool, id);
    }
    if (record.pool == PoolKind::kBlocks) life.table.push_back(id);
    if (record.pool == PoolKind::kStateSlots) {
      if (life.state != 0) find("O5 slots", record.sequence, record.pool, id);
      life.state = id;
    }
    if (record.pool == PoolKind::kDraftSlots) {
      if (life.draft != 0) find("O5 slots", record.sequence, record.pool, id);
      life.draft = id;
      const auto used = draft_users_.find(id);
      if (options_.fences_always && used != draft_users_.end() &&
          still_touched(used->second.first)) {
        find("O9 draft slot", record.sequence, record.pool, id);
      }
    }
  }
}

void ShadowTwin::check_fence(const Record& record, std::uint32_t id, std::uint64_t step) {
  if (!options_.fences_always || !still_touched(step)) return;
  if (record.verb == Verb::kPark && record.aux >= 2 * step) return;
  find("O9 release", record.sequence, record.pool, id);
}

void ShadowTwin::let_go(const Record& record, const std::vector<std::uint32_t>& ids) {
  for (const std::uint32_t id : ids) {
    if (!in_pool(record, id)) continue;
    Books& books = books_[{record.pool, id}];
    if (books.owners == 0) find("O2 owners", record.sequence, record.pool, id);
    if (record.verb == Verb::kPark) {
      books.holds += 1;
    } else if (books.owners > 0 && --books.owners == 0) {
      books.release_event = event_;
      books.release_sequence = record.sequence;
    }
  }
  const LifeName name = life_now(record.sequence);
  Life& life = lives_[name];
  if (record.pool == PoolKind::kStateSlots) {
    for (const std::uint32_t id : ids) {
      if (id != life.state || id == 0) {
        find("O10 release", record.sequence, record.pool, id);
        continue;
      }
      check_fence(record, id, life.last_step);
      if (life.flights > 0) life.former_state = id;
      life.state = 0;
    }
  }
  if (record.pool == PoolKind::kDraftSlots) {
    for (const std::uint32_t id : ids) {
      if (id != life.draft || id == 0) {
        find("O10 release", record.sequence, record.pool, id);
        continue;
      }
      const auto used = draft_users_.find(id);
      if (used != draft_users_.end() && used->second.second == record.sequence) {
        check_fence(record, id, used->second.first);
      }
      life.draft = 0;
    }
  }
  if (record.pool != PoolKind::kBlocks || ids.empty()) return;
  std::vector<std::uint32_t> reversed = ids;
  std::reverse(reversed.begin(), reversed.end());
  bool matches = ids.size() <= life.table.size();
  std::vector<std::uint32_t> kept = life.table;
  if (matches) {
    const std::vector<std::uint32_t> last(
        life.table.end() - static_cast<std::ptrdiff_t>(ids.size()), life.table.end());
    matches = last == ids || last == reversed;
    kept.resize(life.table.size() - ids.size());
  }
  if (!matches) {
    find("O10 release", record.sequence, record.pool, ids[0]);
    return;
  }
  std::uint32_t reach = life.processed + life.in_flight;
  if (life.voids > 0 && life.void_reach > reach) reach = life.void_reach;
  if (reach > kept.size() * options_.block_size) {
    check_fence(record, life.table[kept.size()], life.last_step);
  }
  if (kept.empty() && life.flights > 0) life.former_table = life.table;
  life.table = kept;
}

void ShadowTwin::unpark(const Record& record, const std::vector<std::uint32_t>& ids) {
  if (record.aux > lane_at(record.detail == 1 ? options_.copy_lane : 0)) {
    find("O9 release", record.sequence, record.pool, ids.empty() ? 0 : ids[0]);
  }
  for (const std::uint32_t id : ids) {
    if (!in_pool(record, id)) continue;
    Books& books = books_[{record.pool, id}];
    if (books.holds == 0) {
      find("O9 release", record.sequence, record.pool, id);
      continue;
    }
    books.holds -= 1;
    if (books.owners == 0) {
      find("O2 owners", record.sequence, record.pool, id);
    } else if (--books.owners == 0) {
      books.release_event = event_;
      books.release_sequence = record.sequence;
    }
  }
}

void ShadowTwin::copy_queued(const Record& record, const std::vector<std::uint32_t>& ids) {
  if (ids.size() != 2 || ids[1] == 0) return;
  if (!in_pool(record, ids[0])) {
    in_pool(record, ids[1]);
    return;
  }
  if (!in_pool(record, ids[1])) return;
  Copy copy;
  copy.ticket = 2 * (steps_ + 1) - 1;
  copy.pool = record.pool;
  copy.from = ids[0];
  copy.to = ids[1];
  copy.rows = std::min(record.aux, options_.block_size);
  copy.from_issues = books_[{record.pool, ids[0]}].issues;
  copy.to_issues = books_[{record.pool, ids[1]}].issues;
  copy.life = life_now(record.sequence);
  if (books_[{record.pool, ids[0]}].owners == 0) {
    find("O9 copy source", record.sequence, record.pool, ids[0]);
  }
  const Life& life = lives_[copy.life];
  bool owns = life.state == ids[1];
  if (record.pool != PoolKind::kStateSlots) {
    owns = std::count(life.table.begin(), life.table.end(), ids[1]) > 0;
  }
  if (!owns) find("O8 copy", record.sequence, record.pool, ids[1]);
  copies_.push_back(copy);
}

void ShadowTwin::passed(Copy& copy) {
  if (copy.passed) return;
  copy.passed = true;
  if (books_[{copy.pool, copy.from}].issues != copy.from_issues) {
    find("O9 copy source", copy.life.first, copy.pool, copy.from);
  }
  if (books_[{copy.pool, copy.to}].issues != copy.to_issues) {
    find("O9 copy destination", copy.life.first, copy.pool, copy.to);
  }
}

void ShadowTwin::carry_out(const Copy& copy, bool lost) {
  const TwinRow garbage{3, copy.life.first, copy.life.second, 0, 0, UINT32_MAX};
  if (copy.pool == PoolKind::kStateSlots) {
    TwinRow moved = lost ? garbage : states_[copy.from];
    moved.release_event = books_[{copy.pool, copy.to}].release_event;
    moved.release_sequence = books_[{copy.pool, copy.to}].release_sequence;
    states_[copy.to] = moved;
  }
  if (copy.pool != PoolKind::kBlocks) return;
  for (std::uint32_t row = 0; row < copy.rows; ++row) {
    TwinRow moved = lost ? garbage : rows_[{copy.from, row}];
    if (lost) moved.position = row;
    if (copy.from != copy.to || lost) write(copy.to, row, moved);
  }
}

void ShadowTwin::write(std::uint32_t block, std::uint32_t row, TwinRow tag) {
  const Books& books = books_[{PoolKind::kBlocks, block}];
  tag.release_event = books.release_event;
  tag.release_sequence = books.release_sequence;
  rows_[{block, row}] = tag;
}

void ShadowTwin::step() {
  ++steps_;
  std::vector<Row> rows = chunks_;
  chunks_.clear();
  for (const std::uint32_t sequence : batch_) {
    Row row;
    row.life.first = sequence;
    row.width = 1 + drafts_[sequence];
    drafts_.erase(sequence);
    rows.push_back(row);
  }
  for (Row& row : rows) {
    row.life = life_now(row.life.first);
    Life& life = lives_[row.life];
    life.flights += 1;
    life.last_step = steps_;
    life.in_flight += row.width;
    if (life.processed + life.in_flight > life.table.size() * options_.block_size) {
      find("O6 table", row.life.first, PoolKind::kBlocks, 0);
    }
    if (row.chunk || row.width == 1) continue;
    if (life.draft == 0) {
      find("O5 slots", row.life.first, PoolKind::kDraftSlots, 0);
      continue;
    }
    if (draft_users_[life.draft].first == steps_) {
      find("O5 slots", row.life.first, PoolKind::kDraftSlots, life.draft);
    }
    draft_users_[life.draft] = {steps_, row.life.first};
  }
  flying_.push_back({steps_, rows});
}

// True if every row below the start is right; reports the first that is not.
bool ShadowTwin::read(Row& row) {
  for (std::uint32_t position = 0; position < row.start; ++position) {
    ++rows_read_;
    const TwinRow* const found = row_at(row.life, position);
    const TwinRow wanted = expected(row.life, position);
    if (found == nullptr) {
      find("O12 visible rows", row.life.first, PoolKind::kBlocks, 0).position = position;
      return false;
    }
    if (found->kind == wanted.kind && found->writer == wanted.writer &&
        found->epoch == wanted.epoch && found->position == wanted.position) {
      continue;
    }
    const Life& life = lives_.at(row.life);
    const std::vector<std::uint32_t>& table = life.table.empty() ? life.former_table : life.table;
    const std::uint32_t block = table[position / options_.block_size];
    TwinFinding& finding = find("O12 visible rows", row.life.first, PoolKind::kBlocks, block);
    finding.position = position;
    finding.expected = wanted;
    finding.found = *found;
    note_since(finding);
    return false;
  }
  return true;
}

void ShadowTwin::result(std::uint64_t step, std::uint32_t how) {
  if (flying_.empty() || flying_[0].first != step) {
    find("O15 order", UINT32_MAX, PoolKind::kBlocks, 0);
    return;
  }
  lanes_[0] = std::max(lane_at(0), 2 * step);
  std::vector<Copy> left;
  for (Copy copy : copies_) {
    if (copy.ticket > 2 * step) {
      left.push_back(copy);
      continue;
    }
    passed(copy);
    carry_out(copy, how == 1 || how == 2);
  }
  copies_ = left;
  settling_ = flying_[0].second;
  settling_step_ = step;
  flying_.erase(flying_.begin());
  open_ = true;
  failed_ = how == 1;
  if (failed_) {
    std::vector<Row*> lost;
    for (auto& [number, rows] : flying_) {
      for (Row& row : rows) {
        if (!row.is_void) lost.push_back(&row);
      }
    }
    for (Row* const row : lost) {
      Life& life = lives_[row->life];
      const std::uint32_t reach = life.processed + life.in_flight;
      life.void_reach = std::max(life.void_reach, reach);
      const std::vector<std::uint32_t>& table = life.table.empty() ? life.former_table : life.table;
      for (std::uint32_t position = life.processed; position < reach; ++position) {
        const std::uint32_t entry = position / options_.block_size;
        if (entry < table.size()) row->garbage.push_back({table[entry], position});
      }
      row->garbage_state = state_of(row->life);
    }
    for (Row* const row : lost) {
      row->is_void = true;
      lives_[row->life].in_flight -= row->width;
      lives_[row->life].voids += 1;
    }
  }
  std::set<Row*> reported;
  for (Row& row : settling_) {
    if (row.is_void) continue;
    row.start = lives_[row.life].processed;
    if (failed_) continue;
    if (row.chunk && row.first != row.start) {
      find("O7 commit", row.life.first, PoolKind::kBlocks, 0);
    }
    if (!read(row)) reported.insert(&row);
    if (!options_.state_slots) continue;
    const std::uint32_t state = state_of(row.life);
    if (state == 0) {
      find("O5 state slot", row.life.first, PoolKind::kStateSlots, 0);
      continue;
    }
    if (row.start == 0) continue;
    const TwinRow wanted = expected(row.life, row.start - 1);
    const TwinRow found = states_[state];
    if (found.kind == 1 && found.writer == wanted.writer && found.epoch == wanted.epoch &&
        found.position == wanted.position) {
      continue;
    }
    TwinFinding& finding = find("O12 state slot", row.life.first, PoolKind::kStateSlots, state);
    finding.position = row.start;
    finding.expected = wanted;
    finding.found = found;
    note_since(finding);
  }
  for (Row& row : settling_) {
    if (!row.is_void) continue;
    for (const auto& [block, position] : row.garbage) {
      write(block, position % options_.block_size,
            {2, row.life.first, row.life.second, position, 0, UINT32_MAX});
    }
    if (row.garbage_state == 0) continue;
    const Books& books = books_[{PoolKind::kStateSlots, row.garbage_state}];
    states_[row.garbage_state] = {2, row.life.first,      row.life.second,
                                  0, books.release_event, books.release_sequence};
  }
  for (Row& row : settling_) {
    if (row.is_void) continue;
    for (std::uint32_t position = row.start; position < row.start + row.width; ++position) {
      if (row_at(row.life, position) == nullptr) {
        find("O6 table", row.life.first, PoolKind::kBlocks, 0).position = position;
        break;
      }
      const Life& life = lives_.at(row.life);
      const std::vector<std::uint32_t>& table = life.table.empty() ? life.former_table : life.table;
      write(table[position / options_.block_size], position % options_.block_size,
            expected(row.life, position));
    }
    const std::uint32_t state = state_of(row.life);
    if (!options_.state_slots || state == 0) continue;
    const auto writer = state_writers_.find(state);
    if (writer != state_writers_.end() && writer->second.first == step &&
        writer->second.second != row.life.first) {
      find("O5 slots", row.life.first, PoolKind::kStateSlots, state);
    }
    state_writers_[state] = {step, row.life.first};
  }
  if (failed_) return;
  for (Row& row : settling_) {
    if (!row.is_void && reported.count(&row) == 0) read(row);
  }
}

void ShadowTwin::settle() {
  open_ = false;
  const std::vector<Row> rows = settling_;
  settling_.clear();
  for (const Row& row : rows) {
    Life& life = lives_[row.life];
    if (row.is_void) {
      life.voids -= 1;
    } else {
      const std::uint32_t accepted = failed_ ? 0 : row.accepted;
      const std::vector<std::uint32_t>& table = life.table.empty() ? life.former_table : life.table;
      for (std::uint32_t position = row.start + accepted; position < row.start + row.width;
           ++position) {
        const std::uint32_t entry = position / options_.block_size;
        if (entry >= table.size()) break;
        write(table[entry], position % options_.block_size,
              {2, row.life.first, row.life.second, position, 0, UINT32_MAX});
      }
      life.processed = row.start + accepted;
      life.in_flight -= row.width;
      const std::uint32_t state = state_of(row.life);
      if (options_.state_slots && state != 0) {
        TwinRow& content = states_[state];
        if (failed_) {
          content = {2, row.life.first, row.life.second, 0, 0, UINT32_MAX};
        } else if (life.processed > 0) {
          content = expected(row.life, life.processed - 1);
        }
        const Books& books = books_[{PoolKind::kStateSlots, state}];
        content.release_event = books.release_event;
        content.release_sequence = books.release_sequence;
      }
    }
    life.flights -= 1;
    if (life.flights > 0) continue;
    life.former_table.clear();
    life.former_state = 0;
    forget(row.life);
  }
}

}  // namespace pinfold::model
