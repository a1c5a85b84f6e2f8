#pragma once
// A second set of books, kept from the journal alone: who owns which id, which rows are in flight, what
// has been let go behind which fence. The invariants compare them with the scheduler's views. Code is
// shared with the allocator for ids only.

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/journal.h"
#include "engine/scheduler.h"
#include "sim/check/finding.h"
#include "sim/check/prefix_chains.h"

namespace pinfold::sim {

struct BooksOptions {
  std::uint32_t block_size = 16;
  bool state_slots = false;
  /// Storage that a dispatched step may touch is parked, never released (fence mode `always`).
  bool fences_always = true;
  ReleaseOrder release_order = ReleaseOrder::kReverse;
  FreeOrder free_order = FreeOrder::kFifo;
  Eviction eviction = Eviction::kLru;
  std::array<std::uint32_t, kPoolKinds> usable{};  // ids that each pool can issue
  /// Whether ids must come in the order of the options and victims be needed (order, I9). Another
  /// engine's log is judged without: which id is issued and who is preempted is its own affair.
  bool own_policy = true;
};

/// One owner of an id: a sequence's table or slot, or a hold that waits for a ticket.
struct NamedOwner {
  std::uint32_t sequence = 0;
  bool hold = false;
  std::uint64_t ticket = 0;  // of a hold
  Behind behind = Behind::kStep;
};

struct IdBooks {
  std::vector<NamedOwner> owners;
  std::uint64_t busy_until = 0;  // compute ticket of the last dispatched work on it, once let go

  std::uint64_t copied_until = 0;  // ticket of the last copy out of it, or into it once let go

  // Of a published block: its age, and what it holds as a whole and in its first rows; 0: nothing.
  std::uint64_t kept = 0;
  std::uint64_t whole = 0, tail = 0;
  std::uint64_t saved_until = 0;  // ticket of the save that fills it

  bool changed = false;  // named since the last forget_changes()

  std::size_t holds() const;
  /// Every owner is a hold, and there is one.
  bool is_parked() const { return !owners.empty() && holds() == owners.size(); }
};

/// Rows of one dispatched step whose result is not processed.
struct BookedFlight {
  std::uint64_t step = 0;
  std::uint32_t epoch = 0;
  std::uint32_t rows = 0;
  std::uint32_t first = 0;  // of a chunk
  bool chunk = false;
  bool is_void = false;        // behind a failed step
  std::uint32_t accepted = 1;  // tokens
};

struct SequenceBooks {
  std::uint32_t epoch = 0;
  std::uint32_t processed = 0;  // C
  std::uint32_t in_flight = 0;  // F, drafts counted
  std::uint32_t history = 0;    // H: the position of the next token
  std::uint32_t emitted = 0;
  std::uint32_t limit = 0;
  std::uint32_t late_processed = 0;  // C of the epoch that a preemption ended
  std::vector<std::uint32_t> table;
  PrefixChains chains;
  std::uint32_t state = 0;
  std::uint32_t draft = 0;
  std::uint64_t last_step = 0;
  std::uint32_t tail_reach =
      0;  // rows that steps before a preemption or failure may still write ...
  std::uint64_t tail_until = 0;  // ... until this ticket
  std::deque<BookedFlight> flights;
  bool in_batch = false;
  bool known = false;
  bool ended = false;
  std::uint32_t drafts = 0;        // of the row being planned
  std::uint32_t accepted = 1;      // tokens, of the row being settled
  bool state_ready = false;        // the slot was written, or the next row starts it anew
  bool state_written = false;      // a row of its own was dispatched on the slot
  std::uint64_t load_ticket = 0;   // what its admission waits for
  std::uint64_t loaded_state = 0;  // the content behind which the state is that it loads
};

/// Follows the journal; what it can judge by itself goes to `findings`: I2, I4, I5, I7, I8, I9 (needless
/// victims), I10 (LATER), I14, I15, I16, I17. O(ids) a record, O(rows) a step.
class JournalBooks {
 public:
  JournalBooks(const BooksOptions& options, Findings& findings);
  /// Where findings go from here on: a copy's go where the original's do.
  void report_to(Findings& findings) { findings_ = &findings; }

  /// Whole records, as far as a verb of the scheduler wrote them.
  void consume(std::span<const std::byte> journal);
  /// One record, for who does not know where a verb ends; settle_open() after the last one.
  void consume_record(const Record& record, std::span<const BlockId> ids);
  void settle_open();

  std::uint64_t event() const { return event_; }
  std::uint64_t passed() const { return passed_; }
  /// Copies are done when their lane says so, or the step behind them is.
  std::uint64_t copies_passed() const { return std::max(passed_, copy_passed_); }
  std::uint64_t passed_on(Lane lane) const {
    switch (lane) {
      case Lane::kCompute: return passed_;
      case Lane::kCopy: return copy_passed_;
      case Lane::kHostToDevice: return store_passed_[0];
      case Lane::kDeviceToHost: return store_passed_[1];
    }
    return 0;
  }
  std::uint64_t steps() const { return steps_; }
  /// All that may still matter, oldest first: those before them are over.
  const std::deque<SequenceBooks>& sequences() const { return sequences_; }
  /// How many those before them are; all of them arrived and ended.
  std::uint32_t forgotten() const { return first_; }
  /// The id after the greatest that was named.
  std::uint64_t next_sequence() const { return first_ + sequences_.size(); }
  const SequenceBooks& sequence(std::uint32_t id) const;
  const IdBooks& id(PoolKind pool, std::uint32_t index) const;
  /// Every id of a pool that was ever named, by number.
  std::span<const IdBooks> ids(PoolKind pool) const { return ids_[index_of(pool)]; }
  const std::set<std::uint32_t>& batch() const { return batch_; }
  bool batch_holds(std::uint32_t sequence) const { return batch_.count(sequence) > 0; }
  /// Drafts and rows of the step dispatched last.
  std::uint32_t step_drafts() const { return step_drafts_; }
  std::uint32_t step_prompt_rows() const { return step_prompt_rows_; }
  /// What was written since the last call of start_pass().
  struct Pass {
    std::uint32_t changes = 0;  // records other than answers
    std::uint32_t later = 0;    // LATER answers
  };
  const Pass& pass() const { return pass_; }
  void start_pass() { pass_ = {}; }

  /// The last ticket that was issued on a lane.
  std::uint64_t issued_on(Lane lane) const {
    if (lane == Lane::kHostToDevice) return load_tickets_;
    return lane == Lane::kDeviceToHost ? save_tickets_ : 2 * steps_;
  }
  /// Ids without owner whose content is kept, the next to be evicted in front.
  const std::vector<std::uint32_t>& idle(PoolKind pool) const { return idle_[index_of(pool)]; }
  /// Ids with an owner, and ids whose every owner is a hold.
  std::uint32_t owned_ids(PoolKind pool) const { return owned_[index_of(pool)]; }
  std::uint32_t parked_ids(PoolKind pool) const { return parked_[index_of(pool)]; }
  /// Ids that records named since the last forget_changes(), each once.
  std::span<const std::uint32_t> changed(PoolKind pool) const { return changed_[index_of(pool)]; }
  void forget_changes();
  /// One past the last position that dispatched work of a sequence may touch.
  std::uint32_t reach(const SequenceBooks& of) const;

 private:
  void take(const Record& record, std::span<const BlockId> ids);
  void issue(PoolKind pool, std::uint32_t id);
  void give_back(PoolKind pool, std::uint32_t id);
  void judge_later(const Record& record);
  void acquire(const Record& record, std::span<const BlockId> ids);
  void hit(const Record& record, std::span<const BlockId> ids);
  void publish(const Record& record, std::span<const BlockId> ids);
  void evict(const Record& record, std::span<const BlockId> ids);
  void let_go(const Record& record, std::span<const BlockId> ids);
  void drop_entries(const Record& record, std::span<const BlockId> ids, SequenceBooks& of);
  void judge_release(const Record& record, const SequenceBooks& of, std::size_t kept);
  void unpark(const Record& record, std::span<const BlockId> ids);
  void queue_copy(const Record& record, std::span<const BlockId> ids);
  void dispatch();
  void dispatch_row(std::uint32_t sequence, std::uint32_t rows, bool chunk, std::uint32_t first);
  void check_write(std::uint32_t sequence, const SequenceBooks& of, std::uint32_t begin,
                   std::uint32_t end);
  void check_state(std::uint32_t sequence, SequenceBooks& of, bool chunk, std::uint32_t first);
  void result(const Record& record);
  void settle();
  void settle_row(std::uint32_t sequence, SequenceBooks& of, const BookedFlight& flight);
  void emit(std::uint32_t sequence, SequenceBooks& of, std::uint32_t position,
            std::uint32_t tokens);
  SequenceBooks& at(std::uint32_t sequence);
  IdBooks& id_at(PoolKind pool, BlockId id);
  void find(Check check, std::string text) { findings_->add(check, event_, std::move(text)); }
  /// `text` goes on behind the id's name.
  void find(Check check, PoolKind pool, std::uint32_t id, const std::string& text);
  void add_owner(PoolKind pool, IdBooks& books, const NamedOwner& owner);
  void remove_owner(PoolKind pool, IdBooks& books, std::vector<NamedOwner>::iterator owner);
  void park_owner(PoolKind pool, IdBooks& books, NamedOwner& owner, std::uint64_t ticket,
                  Behind behind);
  std::size_t entry_of(const SequenceBooks& of, std::span<const BlockId> ids, std::size_t n) const;

  struct PendingCopy {
    PoolKind pool;
    std::uint32_t from, to;
    std::uint64_t ticket;
  };
  struct PlannedChunk {
    std::uint32_t sequence, rows, first;
  };

  void forget_ended();

  // books_store.cc
  void queue_save(const Record& record, std::span<const BlockId> ids);
  void stored(const Record& record, std::span<const BlockId> ids);
  void queue_load(const Record& record, std::span<const BlockId> ids);
  void loaded(const Record& record);
  void pass_store(Lane lane, std::uint64_t ticket);
  void judge_load(const Record& record, BlockId id);

  BooksOptions options_;
  Findings* findings_;
  std::vector<std::vector<IdBooks>> ids_;                   // by pool, then by id
  std::array<std::deque<std::uint32_t>, kPoolKinds> free_;  // the next one to issue in front
  std::array<std::uint32_t, kPoolKinds> owned_{};           // ids with an owner
  std::array<std::uint32_t, kPoolKinds> parked_{};          // ids whose every owner is a hold
  std::array<std::vector<std::uint32_t>, kPoolKinds> changed_;
  // By id from first_ on: those before it are over, and nothing of theirs is owned or in flight any more.
  std::deque<SequenceBooks> sequences_;
  std::uint32_t first_ = 0;
  SequenceBooks forgotten_;  // stands for one of those
  std::uint32_t arrivals_ = 0;
  std::array<std::vector<std::uint32_t>, kPoolKinds> idle_;
  std::uint64_t kept_ = 0;  // contents that could be found so far
  std::set<std::uint32_t> batch_;
  std::vector<PlannedChunk> chunks_;
  std::vector<std::uint32_t> drafts_;  // sequences with drafts in the step being planned
  std::vector<PendingCopy> copies_;
  std::vector<PendingCopy> loads_;
  std::array<std::uint64_t, 2> store_passed_{};  // host-to-device, device-to-host
  std::uint64_t load_tickets_ = 0;
  std::uint64_t save_tickets_ = 0;
  std::deque<std::vector<std::uint32_t>> flying_;  // sequences with a row, by step, oldest first
  std::uint64_t settling_ = 0;                     // step whose commits are being read; 0: none
  bool settling_failed_ = false;
  bool failing_ = false;                // a failed result is being read
  std::vector<std::uint32_t> commits_;  // sequences with a commit of the result being read
  std::uint64_t event_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t passed_ = 0;
  std::uint64_t copy_passed_ = 0;  // of the copy lane, where copies have one
  std::uint32_t step_drafts_ = 0;
  std::uint32_t step_prompt_rows_ = 0;
  Pass pass_;
};

}  // namespace pinfold::sim
