#include "sim/check/journal_books.h"

#include <algorithm>
#include <cstring>

#include "sim/check/table_end.h"

namespace pinfold::sim {
namespace {

std::string sequence_name(std::uint32_t sequence) { return "sequence " + std::to_string(sequence); }

std::string id_name(PoolKind pool, std::uint32_t id) {
  return std::string(name_of(pool)) + " " + std::to_string(id);
}

}  // namespace

JournalBooks::JournalBooks(const BooksOptions& options, Findings& findings)
    : options_(options), findings_(&findings), ids_(kPoolKinds) {
  for (std::uint32_t pool = 0; pool < kPoolKinds && options.own_policy; ++pool) {
    for (std::uint32_t id = 1; id <= options.usable[pool]; ++id) free_[pool].push_back(id);
  }
}

std::size_t IdBooks::holds() const {
  return static_cast<std::size_t>(std::count_if(
      owners.begin(), owners.end(), [](const NamedOwner& owner) { return owner.hold; }));
}

const SequenceBooks& JournalBooks::sequence(std::uint32_t id) const {
  static const SequenceBooks kUnknown;
  return id >= first_ && id - first_ < sequences_.size() ? sequences_[id - first_] : kUnknown;
}

const IdBooks& JournalBooks::id(PoolKind pool, std::uint32_t index) const {
  static const IdBooks kUntouched;
  const std::vector<IdBooks>& books = ids_[index_of(pool)];
  return index < books.size() ? books[index] : kUntouched;
}

SequenceBooks& JournalBooks::at(std::uint32_t sequence) {
  if (sequence < first_) {
    forgotten_ = SequenceBooks{};
    forgotten_.known = forgotten_.ended = true;
    return forgotten_;
  }
  const std::size_t place = sequence - first_;
  if (place >= sequences_.size()) sequences_.resize(place + 1);
  return sequences_[place];
}

// Keeps memory with the live sequences. O(ids) once in kForgetEvery arrivals.
void JournalBooks::forget_ended() {
  constexpr std::uint32_t kForgetEvery = 1024;
  if (++arrivals_ % kForgetEvery != 0) return;
  std::uint32_t oldest = UINT32_MAX;
  for (const std::vector<IdBooks>& pool : ids_) {
    for (const IdBooks& books : pool) {
      for (const NamedOwner& owner : books.owners) oldest = std::min(oldest, owner.sequence);
    }
  }
  for (const std::vector<std::uint32_t>& rows : flying_) {
    for (const std::uint32_t sequence : rows) oldest = std::min(oldest, sequence);
  }
  while (first_ < oldest && !sequences_.empty()) {
    const SequenceBooks& of = sequences_.front();
    const bool over = of.known && of.ended && of.flights.empty() && 2 * of.last_step <= passed_ &&
                      of.tail_until <= passed_;
    if (!over) break;
    sequences_.pop_front();
    ++first_;
  }
}

IdBooks& JournalBooks::id_at(PoolKind pool, BlockId id) {
  std::vector<IdBooks>& books = ids_[index_of(pool)];
  if (index_of(id) >= books.size()) books.resize(index_of(id) + 1);
  IdBooks& named = books[index_of(id)];
  if (!named.changed) {
    named.changed = true;
    changed_[index_of(pool)].push_back(index_of(id));
  }
  return named;
}

void JournalBooks::forget_changes() {
  for (std::uint32_t pool = 0; pool < kPoolKinds; ++pool) {
    for (const std::uint32_t id : changed_[pool]) ids_[pool][id].changed = false;
    changed_[pool].clear();
  }
}

std::uint32_t JournalBooks::reach(const SequenceBooks& of) const {
  const std::uint32_t tail = of.tail_until > passed_ ? of.tail_reach : 0;
  const std::uint32_t flying = 2 * of.last_step > passed_ ? of.processed + of.in_flight : 0;
  return std::max(tail, flying);
}

void JournalBooks::consume(std::span<const std::byte> journal) {
  std::vector<BlockId> ids;
  failing_ = false;
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
  settle_open();
}

void JournalBooks::consume_record(const Record& record, std::span<const BlockId> ids) {
  ++event_;
  take(record, ids);
}

void JournalBooks::settle_open() {
  if (settling_ != 0) settle();
}

void JournalBooks::find(Check check, PoolKind pool, std::uint32_t id, const std::string& text) {
  findings_->add(check, event_, id_name(pool, id) + " " + text, pool, id);
}

void JournalBooks::add_owner(PoolKind pool, IdBooks& books, const NamedOwner& owner) {
  owned_[index_of(pool)] += books.owners.empty();
  parked_[index_of(pool)] -= books.is_parked();
  books.owners.push_back(owner);
  parked_[index_of(pool)] += books.is_parked();
}

void JournalBooks::remove_owner(PoolKind pool, IdBooks& books,
                                std::vector<NamedOwner>::iterator owner) {
  parked_[index_of(pool)] -= books.is_parked();
  books.owners.erase(owner);
  owned_[index_of(pool)] -= books.owners.empty();
  parked_[index_of(pool)] += books.is_parked();
}

void JournalBooks::park_owner(PoolKind pool, IdBooks& books, NamedOwner& owner,
                              std::uint64_t ticket, Behind behind) {
  owner.hold = true;
  owner.behind = behind;
  owner.ticket = ticket;
  parked_[index_of(pool)] += books.is_parked();
}

void JournalBooks::take(const Record& record, std::span<const BlockId> ids) {
  const bool of_result = record.verb == Verb::kCommit || record.verb == Verb::kUnpark;
  if (settling_ != 0 && !of_result) settle();
  if (record.verb == Verb::kAnswer) {
    if ((record.detail & 0xFF) == static_cast<unsigned>(Answer::kLater)) judge_later(record);
  } else {
    ++pass_.changes;
  }
  // A copy's second id is 0 where nothing is copied; no other id ever is.
  const bool words = record.verb == Verb::kKeys;
  const std::size_t never_zero = record.verb == Verb::kCopyQueued ? 1 : words ? 0 : ids.size();
  for (std::size_t n = 0; n < never_zero; ++n) {
    if (ids[n] == kNoBlock) {
      find(Check::kI4, std::string(name_of(record.pool)) + " 0 in a record of " +
                           sequence_name(record.sequence) + ": expected ids from 1");
    }
  }
  switch (record.verb) {
    case Verb::kArrive: {
      forget_ended();
      SequenceBooks& of = at(record.sequence);
      of.known = true;
      of.history = record.count;
      of.limit = record.aux;
      break;
    }
    case Verb::kAcquire:
    case Verb::kPin: acquire(record, ids); break;
    case Verb::kRelease:
    case Verb::kPark: let_go(record, ids); break;
    case Verb::kUnpark: unpark(record, ids); break;
    case Verb::kCopyQueued: queue_copy(record, ids); break;
    case Verb::kFork: {
      SequenceBooks& of = at(record.sequence);
      of.processed = record.count;
      of.history = std::max(of.history, record.count + 1);
      break;
    }
    case Verb::kDemote: at(record.sequence).processed = 0; break;
    case Verb::kKeys: at(record.sequence).chains.read(ids, record.aux, options_.block_size); break;
    case Verb::kHit: hit(record, ids); break;
    case Verb::kPublish: publish(record, ids); break;
    case Verb::kEvict: evict(record, ids); break;
    case Verb::kSave: queue_save(record, ids); break;
    case Verb::kLoad: queue_load(record, ids); break;
    case Verb::kStored: stored(record, ids); break;
    case Verb::kLoaded: loaded(record); break;
    case Verb::kJoin:
      at(record.sequence).in_batch = true;
      batch_.insert(record.sequence);
      break;
    case Verb::kLeave:
    case Verb::kSitOut:
      at(record.sequence).in_batch = false;
      batch_.erase(record.sequence);
      break;
    case Verb::kDrafts:
      at(record.sequence).drafts = record.count;
      drafts_.push_back(record.sequence);
      break;
    case Verb::kChunk: chunks_.push_back({record.sequence, record.count, record.aux}); break;
    case Verb::kStep: dispatch(); break;
    case Verb::kResult: result(record); break;
    case Verb::kCommit:
      at(record.sequence).accepted = record.count;
      commits_.push_back(record.sequence);
      break;
    case Verb::kPassed: {
      if (record.count > index_of(Lane::kCopy)) {
        pass_store(Lane{static_cast<std::uint8_t>(record.count)}, record.aux);
        break;
      }
      const bool copies = record.count == index_of(Lane::kCopy);
      std::uint64_t& upto = copies ? copy_passed_ : passed_;
      upto = std::max<std::uint64_t>(upto, record.aux);
      break;
    }
    case Verb::kPreempt: {
      SequenceBooks& of = at(record.sequence);
      // Whoever grows lacks one block at most once its drafts are cut: parked ones will serve it.
      const bool judged = options_.own_policy && !failing_;
      if (const std::uint32_t parked = judged ? parked_ids(PoolKind::kBlocks) : 0; parked > 0) {
        find(Check::kI9, sequence_name(record.sequence) + " is preempted although " +
                             std::to_string(parked) + " parked blocks were about to come back");
      }
      of.tail_reach = reach(of);
      of.tail_until = 2 * of.last_step;
      ++of.epoch;
      of.late_processed = of.processed;
      of.processed = 0;
      of.in_flight = 0;
      of.in_batch = false;
      batch_.erase(record.sequence);
      break;
    }
    case Verb::kEnd: {
      SequenceBooks& of = at(record.sequence);
      if (of.emitted != record.count) {
        find(Check::kI17, sequence_name(record.sequence) + " ended with " +
                              std::to_string(record.count) + " tokens: its steps yielded " +
                              std::to_string(of.emitted));
      }
      of.ended = true;
      of.chains = {};
      of.in_batch = false;
      batch_.erase(record.sequence);
      break;
    }
    case Verb::kAnswer:
      if ((record.detail & 0xFF) == static_cast<unsigned>(Answer::kNever)) {
        at(record.sequence).ended = true;
      }
      break;
    case Verb::kForkMissed: break;
  }
}

// LATER for want of ids is right only if more are asked for than are free.
void JournalBooks::judge_later(const Record& record) {
  ++pass_.later;
  const Cause cause{static_cast<std::uint8_t>(record.detail >> 8)};
  if (cause != Cause::kBlocks && cause != Cause::kSlot) return;
  const PoolKind pool = cause == Cause::kBlocks ? PoolKind::kBlocks : PoolKind::kStateSlots;
  const std::uint32_t asked = cause == Cause::kBlocks ? record.count : record.aux;
  const std::uint32_t free = options_.usable[index_of(pool)] - owned_[index_of(pool)];
  if (asked > free) return;
  find(Check::kI10, sequence_name(record.sequence) + " is answered LATER for " +
                        std::to_string(asked) + " " + name_of(pool) + "s, and " +
                        std::to_string(free) + " are free");
}

// ---- owners ----------------------------------------------------------------------------------------

void JournalBooks::acquire(const Record& record, std::span<const BlockId> ids) {
  SequenceBooks& of = at(record.sequence);
  const bool issued = record.verb == Verb::kAcquire;
  for (const BlockId block : ids) {
    IdBooks& books = id_at(record.pool, block);
    if (issued != books.owners.empty()) {
      find(Check::kI2, record.pool, index_of(block),
           std::string("is ") + (issued ? "issued to " : "pinned by ") +
               sequence_name(record.sequence) + " and has " + std::to_string(books.owners.size()) +
               " owners: expected " + (issued ? "none" : "one or more"));
    }
    add_owner(record.pool, books, {record.sequence, false, 0, Behind::kStep});
    if (issued) issue(record.pool, index_of(block));
    if (record.pool == PoolKind::kBlocks) of.table.push_back(index_of(block));
    if (record.pool == PoolKind::kStateSlots) {
      of.state = index_of(block);
      of.state_ready = !issued;  // a pinned state was written by the parent
      of.state_written = false;
    }
    if (record.pool == PoolKind::kDraftSlots) of.draft = index_of(block);
  }
}

// Decision 14: what is found was published, with the content that is looked for, and was not evicted
// since. The source of a tail's copy stands in the table until the kPark that follows.
void JournalBooks::hit(const Record& record, std::span<const BlockId> ids) {
  SequenceBooks& of = at(record.sequence);
  const std::uint32_t block_size = options_.block_size;
  const bool copied = record.detail == 1;
  for (const BlockId block : ids) {
    IdBooks& books = id_at(PoolKind::kBlocks, block);
    const auto entry = static_cast<std::uint32_t>(of.table.size());
    const PrefixChains& chains = of.chains;
    const bool whole = entry < chains.whole.size() && books.whole == chains.whole[entry];
    const bool tail = copied && chains.tail != 0 && chains.tail_end / block_size == entry &&
                      books.tail == chains.tail;
    const std::uint32_t upto = whole ? (entry + 1) * block_size : tail ? chains.tail_end : 0;
    if (books.kept == 0 || upto == 0) {
      find(Check::kI14, id_name(PoolKind::kBlocks, index_of(block)) + " is found for block " +
                            std::to_string(entry) + " of " + sequence_name(record.sequence) +
                            (books.kept == 0 ? " and is not published"
                                             : " and was published with another content"));
    } else if (copied ? record.aux > upto : record.aux < upto) {
      find(Check::kI14, sequence_name(record.sequence) + " counts " + std::to_string(record.aux) +
                            " rows as found, and block " + std::to_string(entry) +
                            " has them up to " + std::to_string(upto));
    }
    if (books.owners.empty()) {
      std::vector<std::uint32_t>& idle = idle_[index_of(PoolKind::kBlocks)];
      const auto place = std::find(idle.begin(), idle.end(), index_of(block));
      if (place != idle.end()) {
        idle.erase(place);
      } else {
        find(Check::kI2, id_name(PoolKind::kBlocks, index_of(block)) + " is found by " +
                             sequence_name(record.sequence) + " and is free");
      }
    }
    add_owner(PoolKind::kBlocks, books, {record.sequence, false, 0, Behind::kStep});
    of.table.push_back(index_of(block));
  }
  of.processed = record.aux;
  if (record.aux < of.history) return;
  find(Check::kI14, sequence_name(record.sequence) + " finds " + std::to_string(record.aux) +
                        " rows of its " + std::to_string(of.history) +
                        " known tokens: expected the last one to be computed");
}

// A block is findable once the step that wrote its last position has completed.
void JournalBooks::publish(const Record& record, std::span<const BlockId> ids) {
  const SequenceBooks& of = at(record.sequence);
  const std::uint32_t block_size = options_.block_size;
  for (std::uint32_t n = 0; n < ids.size(); ++n) {
    IdBooks& books = id_at(PoolKind::kBlocks, ids[n]);
    const std::uint32_t entry = record.aux + n;
    const bool tail = record.detail == 1;
    const std::uint32_t upto = tail ? of.chains.tail_end : (entry + 1) * block_size;
    const bool named =
        tail ? of.chains.tail != 0 && upto / block_size == entry : entry < of.chains.whole.size();
    const bool held = entry < of.table.size() && of.table[entry] == index_of(ids[n]);
    if (!named || !held || of.processed < upto) {
      find(Check::kI14, id_name(PoolKind::kBlocks, index_of(ids[n])) + " is published as block " +
                            std::to_string(entry) + " of " + sequence_name(record.sequence) +
                            (!named  ? ", which has no key for it"
                             : !held ? ", whose table does not name it"
                                     : ", of whose rows " + std::to_string(of.processed) +
                                           " are processed: expected " + std::to_string(upto)));
      if (!named) continue;
    }
    if (books.kept == 0) books.kept = ++kept_;
    (tail ? books.tail : books.whole) = tail ? of.chains.tail : of.chains.whole[entry];
  }
}

// What is evicted is issued next, behind all that was free.
void JournalBooks::evict(const Record& record, std::span<const BlockId> ids) {
  std::vector<std::uint32_t>& idle = idle_[index_of(record.pool)];
  for (const BlockId block : ids) {
    IdBooks& books = id_at(record.pool, block);
    const auto place = std::find(idle.begin(), idle.end(), index_of(block));
    if (place == idle.end()) {
      find(Check::kI2, id_name(record.pool, index_of(block)) + " is evicted for " +
                           sequence_name(record.sequence) + " and has " +
                           std::to_string(books.owners.size()) + " owners");
    } else {
      if (place != idle.begin() && options_.own_policy) {
        find(Check::kOrder, id_name(record.pool, index_of(block)) + " is evicted, and " +
                                id_name(record.pool, idle.front()) + " is next");
      }
      idle.erase(place);
      if (options_.own_policy) free_[index_of(record.pool)].push_back(index_of(block));
    }
    books.kept = books.whole = books.tail = 0;
  }
}

void JournalBooks::issue(PoolKind pool, std::uint32_t id) {
  if (!options_.own_policy) return;
  std::deque<std::uint32_t>& free = free_[index_of(pool)];
  if (!free.empty() && free.front() == id) {
    free.pop_front();
    return;
  }
  const auto found = std::find(free.begin(), free.end(), id);
  if (found == free.end()) return;  // it is owned: I2 says so
  find(Check::kOrder, id_name(pool, id) + " is issued, and " + id_name(pool, free.front()) +
                          " is the next of the free list");
  free.erase(found);
}

void JournalBooks::give_back(PoolKind pool, std::uint32_t id) {
  if (const std::uint64_t age = this->id(pool, id).kept; age > 0) {
    // In the order of eviction: idle for longest, or published first, in front.
    const bool fifo = options_.eviction == Eviction::kFifo;
    const auto younger = [&](std::uint32_t other) { return this->id(pool, other).kept > age; };
    std::vector<std::uint32_t>& idle = idle_[index_of(pool)];
    idle.insert(fifo ? std::find_if(idle.begin(), idle.end(), younger) : idle.end(), id);
    return;
  }
  if (!options_.own_policy) return;
  std::deque<std::uint32_t>& free = free_[index_of(pool)];
  if (options_.free_order == FreeOrder::kFifo) {
    free.push_back(id);
  } else {
    free.push_front(id);
  }
}

// Storage that dispatched steps still touch may be let go only behind their fence.
void JournalBooks::judge_release(const Record& record, const SequenceBooks& of, std::size_t kept) {
  const std::uint64_t last = std::max(2 * of.last_step, of.tail_until);
  if (last <= passed_) return;
  const bool blocks = record.pool == PoolKind::kBlocks;
  const bool goes_on = blocks && kept > 0;
  // Without fences what void rows still write is behind every later writer anyway.
  const std::uint32_t reached = options_.fences_always ? reach(of) : of.processed + of.in_flight;
  if (blocks && kept * options_.block_size >= reached) return;
  const std::uint64_t until = record.verb == Verb::kPark ? record.aux : 0;
  if (until >= last) return;
  if (goes_on) {
    find(Check::kI15, sequence_name(record.sequence) + " keeps " + std::to_string(kept) +
                          " blocks, and dispatched rows reach position " + std::to_string(reached));
  } else if (options_.fences_always) {
    find(Check::kI7, sequence_name(record.sequence) + " lets go a " + name_of(record.pool) +
                         " behind ticket " + std::to_string(until) +
                         ": a dispatched step uses it until ticket " + std::to_string(last));
  }
}

// Where the n-th of these ids stands in a table: they are mostly its end, in either order.
std::size_t JournalBooks::entry_of(const SequenceBooks& of, std::span<const BlockId> ids,
                                   std::size_t n) const {
  if (ids.size() <= of.table.size()) {
    const std::size_t kept = of.table.size() - ids.size();
    for (const std::size_t entry : {kept + n, of.table.size() - 1 - n}) {
      if (of.table[entry] == index_of(ids[n])) return entry;
    }
  }
  return static_cast<std::size_t>(std::find(of.table.begin(), of.table.end(), index_of(ids[n])) -
                                  of.table.begin());
}

void JournalBooks::let_go(const Record& record, std::span<const BlockId> ids) {
  SequenceBooks& of = at(record.sequence);
  const bool blocks = record.pool == PoolKind::kBlocks;
  const std::size_t kept =
      blocks && of.table.size() > ids.size() ? of.table.size() - ids.size() : 0;
  judge_release(record, of, kept);
  const std::uint64_t last = std::max(2 * of.last_step, of.tail_until);
  const std::uint32_t reached = reach(of);
  const std::uint64_t until = record.verb == Verb::kPark ? record.aux : 0;
  for (std::size_t n = 0; n < ids.size(); ++n) {
    const BlockId block = ids[n];
    IdBooks& books = id_at(record.pool, block);
    const bool touched =
        blocks ? entry_of(of, ids, n) * options_.block_size < reached : last > passed_;
    if (!loads_.empty()) judge_load(record, block);
    if (touched && options_.fences_always) books.busy_until = std::max(books.busy_until, last);
    for (const PendingCopy& copy : copies_) {
      if (copy.pool != record.pool || copy.ticket <= copies_passed() || copy.to != index_of(block))
        continue;
      books.copied_until = std::max(books.copied_until, copy.ticket);
      // A fork of whom the copy is for owns the block too, and may go at any time: somebody else keeps it.
      const bool kept_by_another =
          std::any_of(books.owners.begin(), books.owners.end(), [&](const NamedOwner& named) {
            return named.hold ? named.ticket >= copy.ticket : named.sequence != record.sequence;
          });
      if (until >= copy.ticket || kept_by_another) continue;
      find(Check::kI8, record.pool, copy.to,
           "is let go by " + sequence_name(record.sequence) + " behind ticket " +
               std::to_string(until) + ": the copy into it is done at ticket " +
               std::to_string(copy.ticket));
    }
    const auto owner = std::find_if(
        books.owners.begin(), books.owners.end(),
        [&](const NamedOwner& named) { return !named.hold && named.sequence == record.sequence; });
    if (owner == books.owners.end()) {
      find(Check::kI2, record.pool, index_of(block),
           "is let go by " + sequence_name(record.sequence) + ", which is none of its " +
               std::to_string(books.owners.size()) + " owners");
      continue;
    }
    if (record.verb == Verb::kPark) {
      park_owner(record.pool, books, *owner, record.aux, static_cast<Behind>(record.detail));
    } else {
      remove_owner(record.pool, books, owner);
    }
  }
  if (record.verb == Verb::kRelease) {
    const bool reverse = options_.release_order == ReleaseOrder::kReverse;
    for (std::size_t n = 0; n < ids.size(); ++n) {
      const BlockId block = ids[reverse ? ids.size() - 1 - n : n];
      if (id_at(record.pool, block).owners.empty()) give_back(record.pool, index_of(block));
    }
  }
  drop_entries(record, ids, of);
  // What those steps write lies in the blocks just let go; entries that replace them are untouched.
  if (blocks) {
    of.tail_reach = std::min(of.tail_reach, static_cast<std::uint32_t>(kept) * options_.block_size);
  }
}

void JournalBooks::drop_entries(const Record& record, std::span<const BlockId> ids,
                                SequenceBooks& of) {
  switch (record.pool) {
    case PoolKind::kBlocks:
      if (are_last_of(ids, of.table)) {
        of.table.resize(of.table.size() - ids.size());
        break;
      }
      for (const BlockId block : ids) {
        const auto entry = std::find(of.table.rbegin(), of.table.rend(), index_of(block));
        if (entry != of.table.rend()) of.table.erase(std::next(entry).base());
      }
      break;
    case PoolKind::kStateSlots: of.state = 0; break;
    case PoolKind::kDraftSlots: of.draft = 0; break;
    case PoolKind::kHostBlocks:
    case PoolKind::kHostStates: break;
  }
}

void JournalBooks::unpark(const Record& record, std::span<const BlockId> ids) {
  for (const BlockId block : ids) {
    IdBooks& books = id_at(record.pool, block);
    // The hold of that ticket, or the one that waits for the least on that lane.
    const bool of_store = record.detail >= static_cast<std::uint16_t>(Behind::kSave);
    auto hold = books.owners.end();
    for (auto owner = books.owners.begin(); owner != books.owners.end(); ++owner) {
      if (!owner->hold) continue;
      const bool other_lane = owner->behind >= Behind::kSave
                                  ? static_cast<std::uint16_t>(owner->behind) != record.detail
                                  : of_store;
      if (other_lane) continue;
      if (hold == books.owners.end() || owner->ticket == record.aux ||
          (hold->ticket != record.aux && owner->ticket < hold->ticket)) {
        hold = owner;
      }
    }
    if (hold == books.owners.end()) {
      find(Check::kI2, record.pool, index_of(block),
           "is unpinned at ticket " + std::to_string(record.aux) + " and nothing holds it");
      continue;
    }
    remove_owner(record.pool, books, hold);
    if (books.owners.empty()) give_back(record.pool, index_of(block));
    for (const PendingCopy& copy : copies_) {
      if (copy.pool != record.pool || copy.from != index_of(block) ||
          copy.ticket <= copies_passed())
        continue;
      const auto holds = [&](const NamedOwner& owner) {
        return owner.hold && owner.ticket >= copy.ticket;
      };
      if (std::any_of(books.owners.begin(), books.owners.end(), holds)) continue;
      find(Check::kI8, record.pool, copy.from,
           "is unpinned and its copy is done at ticket " + std::to_string(copy.ticket) +
               "; the lane has come to " + std::to_string(passed_));
    }
  }
}

void JournalBooks::queue_copy(const Record& record, std::span<const BlockId> ids) {
  if (ids[1] == kNoBlock) return;  // released behind the fence, not copied
  const std::uint64_t ticket = 2 * (steps_ + 1) - 1;
  const PendingCopy copy{record.pool, index_of(ids[0]), index_of(ids[1]), ticket};
  copies_.push_back(copy);
  if (record.pool == PoolKind::kStateSlots) at(record.sequence).state_ready = true;
  IdBooks& source = id_at(record.pool, ids[0]);
  source.copied_until = std::max(source.copied_until, ticket);
  const bool held =
      std::any_of(source.owners.begin(), source.owners.end(),
                  [&](const NamedOwner& owner) { return owner.hold && owner.ticket >= ticket; });
  if (!held) {
    find(Check::kI8, record.pool, copy.from,
         "is copied for " + sequence_name(record.sequence) + " and not held until ticket " +
             std::to_string(ticket) + "; it has " + std::to_string(source.owners.size()) +
             " owners");
  }
}

// ---- steps -----------------------------------------------------------------------------------------

void JournalBooks::dispatch() {
  ++steps_;
  flying_.emplace_back();
  step_drafts_ = 0;
  step_prompt_rows_ = 0;
  for (const std::uint32_t sequence : batch_) {
    const std::uint32_t drafts = at(sequence).drafts;
    step_drafts_ += drafts;
    dispatch_row(sequence, 1 + drafts, false, 0);
  }
  for (const PlannedChunk& chunk : chunks_) {
    step_prompt_rows_ += chunk.rows;
    dispatch_row(chunk.sequence, chunk.rows, true, chunk.first);
  }
  chunks_.clear();
  for (const std::uint32_t sequence : drafts_) at(sequence).drafts = 0;
  drafts_.clear();
}

void JournalBooks::dispatch_row(std::uint32_t sequence, std::uint32_t rows, bool chunk,
                                std::uint32_t first) {
  SequenceBooks& of = at(sequence);
  // Drafts in flight are an upper bound, so the row may start earlier than C + F.
  std::uint32_t least = of.processed;
  for (const BookedFlight& flight : of.flights) {
    if (flight.epoch == of.epoch && !flight.is_void) least += flight.chunk ? flight.rows : 1;
  }
  check_write(sequence, of, least, of.processed + of.in_flight + rows);
  if (options_.state_slots) check_state(sequence, of, chunk, first);
  flying_.back().push_back(sequence);
  of.flights.push_back({steps_, of.epoch, rows, first, chunk, false, 1});
  of.in_flight += rows;
  of.last_step = steps_;
  // Rows behind the table would land in block 0, or in somebody else's.
  const std::uint64_t end = std::uint64_t{of.processed} + of.in_flight;
  if (of.table.size() * options_.block_size >= end) return;
  find(Check::kI6, sequence_name(sequence) + " writes up to position " + std::to_string(end - 1) +
                       " in step " + std::to_string(steps_) + ", and its table of " +
                       std::to_string(of.table.size()) + " blocks ends at position " +
                       std::to_string(of.table.size() * options_.block_size) + ": expected " +
                       std::to_string((end + options_.block_size - 1) / options_.block_size) +
                       " blocks");
}

// Decision 13: a row may be written into a shared block if no other owner counts it as committed.
void JournalBooks::check_write(std::uint32_t sequence, const SequenceBooks& of, std::uint32_t begin,
                               std::uint32_t end) {
  for (std::uint32_t entry = begin / options_.block_size; entry < of.table.size(); ++entry) {
    if (entry * options_.block_size >= end) return;
    const IdBooks& books = id(PoolKind::kBlocks, of.table[entry]);
    if (books.owners.size() < 2) continue;
    const std::uint32_t from = std::max(begin, entry * options_.block_size);
    for (const NamedOwner& owner : books.owners) {
      if (owner.hold || owner.sequence == sequence) continue;
      const SequenceBooks& other = this->sequence(owner.sequence);
      if (other.processed <= from) continue;
      if (entry >= other.table.size() || other.table[entry] != of.table[entry]) continue;
      find(Check::kI5, PoolKind::kBlocks, of.table[entry],
           "is written by " + sequence_name(sequence) + ", position " + std::to_string(from) +
               ", and " + sequence_name(owner.sequence) + " counts " +
               std::to_string(other.processed) + " rows in it as committed");
    }
  }
}

void JournalBooks::check_state(std::uint32_t sequence, SequenceBooks& of, bool chunk,
                               std::uint32_t first) {
  if (of.state == 0) {
    find(Check::kI16, sequence_name(sequence) + " has a row and no state slot");
    return;
  }
  if (chunk && first == 0) of.state_ready = true;  // starts the state anew
  if (!of.state_ready) {
    find(Check::kI16, sequence_name(sequence) + " reads state slot " + std::to_string(of.state) +
                          " before anything was written for it");
  }
  for (const NamedOwner& owner : id(PoolKind::kStateSlots, of.state).owners) {
    if (owner.hold || owner.sequence == sequence) continue;
    if (!this->sequence(owner.sequence).state_written) continue;
    find(Check::kI16, sequence_name(sequence) + " writes state slot " + std::to_string(of.state) +
                          ", which " + sequence_name(owner.sequence) + " writes too");
  }
  of.state_written = true;
}

void JournalBooks::result(const Record& record) {
  settling_ = record.sequence;
  settling_failed_ = record.aux != 0;
  passed_ = std::max(passed_, 2 * settling_);
  std::erase_if(copies_, [&](const PendingCopy& copy) { return copy.ticket <= copies_passed(); });
  if (record.aux != 1) return;
  failing_ = true;
  // The steps behind a failed one commit nothing, but may still write.
  for (SequenceBooks& of : sequences_) {
    bool lost = false;
    for (BookedFlight& flight : of.flights) lost = lost || flight.step > settling_;
    if (!lost) continue;
    of.tail_reach = std::max(reach(of), of.tail_reach);
    of.tail_until = std::max(of.tail_until, 2 * of.last_step);
    for (BookedFlight& flight : of.flights) {
      if (flight.step <= settling_ || flight.is_void) continue;
      flight.is_void = true;
      if (flight.epoch == of.epoch) of.in_flight -= flight.rows;
    }
  }
}

void JournalBooks::settle() {
  const std::uint64_t step = settling_;
  settling_ = 0;
  std::vector<std::uint32_t> rows;
  if (!flying_.empty()) {
    rows = std::move(flying_.front());
    flying_.pop_front();
  }
  for (const std::uint32_t sequence : rows) {
    SequenceBooks& of = at(sequence);
    if (of.flights.empty() || of.flights.front().step != step) continue;
    BookedFlight flight = of.flights.front();
    of.flights.pop_front();
    flight.accepted = of.accepted;
    settle_row(sequence, of, flight);
  }
  for (const std::uint32_t sequence : commits_) at(sequence).accepted = 1;
  commits_.clear();
}

void JournalBooks::settle_row(std::uint32_t sequence, SequenceBooks& of,
                              const BookedFlight& flight) {
  if (of.ended || flight.is_void) return;
  const bool late = flight.epoch != of.epoch;
  if (!late) of.in_flight -= flight.rows;
  if (settling_failed_) return;
  if (const std::uint32_t most = flight.chunk ? 1 : flight.rows; flight.accepted > most) {
    find(Check::kI20, sequence_name(sequence) + " accepts " + std::to_string(flight.accepted) +
                          " tokens of step " + std::to_string(flight.step) + ": expected at most " +
                          std::to_string(most));
  }
  std::uint32_t& processed = late ? of.late_processed : of.processed;
  if (flight.chunk) {
    processed = flight.first + flight.rows;
    // The chunk that computes the last known token yields the next one.
    if (processed >= of.history && of.limit > of.emitted)
      emit(sequence, of, processed, flight.accepted);
  } else {
    emit(sequence, of, processed + 1, flight.accepted);
    processed += flight.accepted;
  }
}

// A row that consumes position p - 1 yields the token of position p, and no other.
void JournalBooks::emit(std::uint32_t sequence, SequenceBooks& of, std::uint32_t position,
                        std::uint32_t tokens) {
  if (position != of.history) {
    find(Check::kI17, sequence_name(sequence) + " yields the token of position " +
                          std::to_string(position) + ": expected position " +
                          std::to_string(of.history));
  }
  of.history = position + tokens;
  of.emitted += tokens;
}

}  // namespace pinfold::sim
