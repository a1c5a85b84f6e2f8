#pragma once
// The position ledger: at each instant every position of every usable block is in exactly one class, and
// the time it spends there is counted. It follows the journal alone and never reads the scheduler;
// tests/model/ledger_twin recounts every class from the scheduler's tables.
//
// A steady row moves one position from one class to the next per step and does so like all the others,
// so steady rows are counted together: a step costs O(what changes), not O(rows).
//
//   ledger.cc          records, time, tables, slots
//   ledger_steps.cc    rows of steps: dispatch, results, failures; steady rows
//   ledger_sharing.cc  blocks in several tables, and blocks that a pending copy fills

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/journal.h"
#include "sim/metrics/ledger_totals.h"
#include "sim/metrics/slot_ledger.h"
#include "sim/metrics/table_rows.h"

namespace pinfold::sim {

/// What the ledger must know of the engine. Ids count the id 0, which is never issued.
struct LedgerOptions {
  std::uint32_t block_size = 16;
  std::uint32_t block_ids = 1;
  std::uint32_t state_ids = 1;
  std::uint32_t draft_ids = 1;
};

/// Follows one engine from its first record on. A regular value. Throws InvariantViolation if the
/// classes do not sum to the pool, or if the journal says what no engine can do.
class Ledger {
 public:
  explicit Ledger(const LedgerOptions& options);

  /// When time starts; 0 unless it is called before the first advance.
  void start_at(std::int64_t now_ns) { start_ns_ = now_ns_ = now_ns; }

  /// Whole records, each once and in order, all of the present instant. Proves after each record that
  /// the classes sum to the pool.
  void consume(std::span<const std::byte> records);

  /// Time passes: the classes as they stand held from the last call until `now_ns`.
  void advance_to(std::int64_t now_ns);

  /// As of now.
  const PositionCounts& positions() const { return positions_; }
  std::int64_t saved() const { return saved_; }
  const SlotLedger& state_slots() const { return state_slots_; }
  const SlotLedger& draft_slots() const { return draft_slots_; }
  std::int64_t pairs() const { return pairs_.all; }
  std::int64_t ascending() const { return pairs_.ascending; }
  std::int64_t descending() const { return pairs_.descending; }

  /// Since the start. Proves that the position-time of all classes sums to the capacity.
  LedgerTotals totals() const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kFlightsMax = 3;  // overlap 2 and the step being planned

  /// The ids behind a record, read where they lie.
  class Ids {
   public:
    Ids(const std::byte* at, std::size_t size) : at_(at), size_(size) {}
    std::size_t size() const { return size_; }
    std::uint32_t operator[](std::size_t n) const;

   private:
    const std::byte* at_;
    std::size_t size_;
  };

  /// A sequence's part in a step whose result has not been processed.
  struct Flight {
    std::uint32_t step = 0;
    std::uint32_t rows = 0;
    std::uint32_t tokens = 0;  // that it yields unless a commit says otherwise
    bool decode = false;       // else a prompt chunk
  };

  struct Sequence {
    std::uint32_t id = 0;
    TableCounts counts;
    std::vector<std::uint32_t> table;
    PositionCounts counted;               // what the sums hold for this table
    std::uint32_t counted_processed = 0;  // C of then
    std::uint32_t shared_upto = 0;        // no block from this entry on is in another table
    std::uint32_t filling = 0;            // blocks of the table that a pending copy fills

    std::array<Flight, kFlightsMax> flights{};
    std::uint32_t flight_count = 0;
    Flight last_result;             // the part whose result came last
    bool late = false;              // preempted since its steps in flight were dispatched
    bool last_was_late = false;     // so was the part whose result came last
    bool resets = false;            // its counts go with its table: it is preempted or demoted
    bool in_batch = false;          // has a row in every step
    std::uint32_t drafts = 0;       // of its row in the step being planned
    Flight chunk;                   // of the step being planned; no rows: none
    std::uint32_t visited = kNone;  // where it stands in visited_

    bool steady = false;                // counts and flights follow from the step clocks:
    std::int64_t steady_processed = 0;  // C == steady_processed + steps done, F == steps in flight
    std::uint32_t crossing = 0;         // bucket of crossings_

    std::uint32_t state = 0;  // 0: no state slot
    bool state_pinned = false;
  };

  /// Eight bytes, because every id that moves touches one. An id has at most 65,535 owners and holds.
  struct Block {
    std::uint16_t owners = 0;  // tables
    std::uint16_t holds = 0;   // release lists
    std::uint32_t owner = 0;   // with one owner: its place in sequences_; with more: in shared_
  };

  /// A block in several tables. Each table counts it as if it were its own; the correction makes it
  /// count once, by the strongest owner.
  struct Shared {
    std::uint32_t block = 0;
    std::uint32_t entry = 0;  // the same in every table
    std::vector<std::uint32_t> owners;
    PositionCounts correction;
    bool all_full =
        false;  // every row is committed to every owner: none of them changes it any more
  };

  struct Filling {
    std::uint64_t ticket = 0;
    std::uint32_t block = 0;
    std::uint32_t entry = 0;
    std::uint32_t rows = 0;
  };

  /// Consecutive table entries.
  struct Pairs {
    std::int64_t all = 0, ascending = 0, descending = 0;

    void add(std::uint32_t first, std::uint32_t second) {
      ++all;
      ascending += second == first + 1;
      descending += first == second + 1;
    }
    Pairs& operator+=(const Pairs& other) {
      all += other.all;
      ascending += other.ascending;
      descending += other.descending;
      return *this;
    }
    Pairs& operator-=(const Pairs& other) {
      all -= other.all;
      ascending -= other.ascending;
      descending -= other.descending;
      return *this;
    }
  };

  // ledger.cc
  void take(const Record& record, Ids ids);
  Sequence* find(std::uint32_t id);
  Sequence& known(const Record& record);
  void arrive(const Record& record);
  void forget(std::uint32_t id);
  void acquire(const Record& record, Ids ids);
  void pin(const Record& record, Ids ids);
  void hit(const Record& record, Ids ids);
  void publish(Ids ids);
  void evict(Ids ids);
  void queue_save(const Record& record, Ids ids);
  void queue_load(const Record& record, Ids ids);
  void end_load(const Record& record);
  void let_go(const Record& record, Ids ids);
  void unpark(const Record& record, Ids ids);
  void unpark_blocks(Ids ids);
  void drop_entries(Sequence& sequence, std::size_t count, bool park);
  void let_go_slot(SlotLedger& slots, const Record& record, Ids ids, SlotClass owner);
  void append(Sequence& sequence, Ids ids);
  bool is_kept(std::uint32_t block) const { return !kept_.empty() && kept_[block] != 0; }
  PositionClass without_owner(std::uint32_t block) const;
  void recount(Sequence& sequence);
  PositionCounts counts_of(const Sequence& sequence) const;
  std::uint32_t place_of(const Sequence& sequence) const {
    return static_cast<std::uint32_t>(&sequence - sequences_.data());
  }
  std::int64_t block_positions() const { return options_.block_size; }

  // ledger_steps.cc
  void run(Sequence& sequence);
  void plan_chunk(Sequence& sequence, const Record& record);
  void visit(Sequence& sequence);
  void unvisit(Sequence& sequence);
  void dispatch(std::uint32_t step);
  void complete(std::uint32_t step, std::uint32_t outcome);
  void take_result(Sequence& sequence);
  void lose_flights();
  void commit(Sequence& sequence, std::uint32_t tokens);
  bool may_be_steady(const Sequence& sequence) const;
  void make_steady(Sequence& sequence);
  void make_explicit(Sequence& sequence);
  void acquire_steady();
  bool at_block_end(const Sequence& sequence) const;
  std::uint32_t bucket_at_block_end() const;
  TableCounts rows_of(const Sequence& sequence) const;

  // ledger_sharing.cc
  void share(std::uint32_t block, std::uint32_t entry, Sequence& sequence);
  void leave_shared(Block& block, const Sequence& sequence);
  void count_full_owner(Shared& shared, std::int64_t owners);
  void recount_shared(Shared& shared);
  void queue_copy(Sequence& sequence, const Record& record, Ids ids);
  void pass(std::uint64_t ticket);
  std::uint32_t filled_rows(const Sequence& sequence) const;
  std::uint32_t filled_rows(std::uint32_t block, std::uint32_t committed) const;
  bool is_filling(std::uint32_t block) const;

  LedgerOptions options_;
  std::vector<Block> blocks_;
  std::vector<std::uint8_t> kept_;     // published and not evicted since; empty until one is
  std::vector<Sequence> sequences_;    // live ones, and places to use again:
  std::vector<std::uint32_t> places_;  // those
  std::vector<std::vector<std::uint32_t>> spare_tables_;  // empty, with room
  std::vector<std::uint32_t> place_of_;                   // by id, from first_id_ on
  std::uint32_t first_id_ = 0;
  std::size_t dead_ = 0;  // leading entries of place_of_ that nobody asks for again

  std::vector<std::uint32_t>
      visited_;               // sequences whose rows are looked at one by one in each step
  std::uint32_t steady_ = 0;  // sequences whose rows are not
  std::uint32_t ahead_ = 0;   // of them, those that took a block for the step being planned
  std::vector<std::uint32_t> crossings_;  // steady ones by (C + F - steps planned) mod B
  std::uint32_t planned_ = 0;             // steps dispatched
  std::uint32_t done_ = 0;                // steps whose result was processed
  std::uint64_t passed_ = 0;              // ticket up to which copies are done

  std::vector<Shared> shared_;
  std::vector<std::uint32_t> shared_places_;  // unused ones
  std::vector<Filling> filling_;

  PositionCounts positions_;
  std::int64_t saved_ = 0;
  Pairs pairs_;
  SlotLedger state_slots_;
  SlotLedger draft_slots_;

  std::int64_t start_ns_ = 0;
  std::int64_t now_ns_ = 0;
  std::array<PositionNs, kPositionClasses> position_ns_{};
  PositionNs saved_ns_ = 0, pair_ns_ = 0, ascending_ns_ = 0, descending_ns_ = 0;
};

}  // namespace pinfold::sim
