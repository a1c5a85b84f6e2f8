#pragma once
// Shadow memory: what every row of every block holds, kept from the journal alone. It shares no code
// with the allocator beyond ids, so it can find out what the allocator believes wrongly.
//
// Each row carries a tag: whose history it belongs to and which position of it. Steps and copies are
// carried out in the order of the lane, a step when its result is reported and its copies ahead of it:
// reads are checked and writes are tagged then, through the block table of the time of dispatch. That
// nobody else was given a copy's blocks is checked when its fence passes. Rule O12 is what a read must satisfy: owned or held, below C (or written by a step in
// flight of the same sequence, or by this one), not replaced, filled by a completed copy.

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/journal.h"

namespace pinfold::sim {

/// What the shadow must know of the engine; all of it is in the run's configuration.
struct ShadowOptions {
  std::uint32_t block_size = 16;
  std::uint32_t block_ids = 1;
  std::uint32_t state_ids = 1;
  bool state_slots = false;
  /// Storage that a dispatched step may touch is never let go but parked (fence mode `always`).
  bool fences_always = true;
};

/// One broken rule, as a person reads it.
struct ShadowFinding {
  std::string rule;         // "O12 visible rows", "O9 release", ...
  std::uint64_t event = 0;  // number of the record that showed it
  std::string text;         // reader, position, expected, found, who wrote it
};

/// Follows one engine from its first record on. Costs O(blocks of the rows) a step.
class Shadow {
 public:
  explicit Shadow(const ShadowOptions& options);

  /// Reads whole records, in order; may be called with any split between records.
  void consume(std::span<const std::byte> journal);

  /// The first findings, at most kFindingsKept; the count goes on.
  static constexpr std::size_t kFindingsKept = 100;
  const std::vector<ShadowFinding>& findings() const { return findings_; }
  std::uint64_t finding_count() const { return finding_count_; }
  /// Row reads checked: what the silence stands on.
  std::uint64_t rows_read() const { return rows_read_; }
  std::uint64_t rows_scanned() const { return rows_scanned_; }

 private:
  static constexpr std::uint32_t kNobody = UINT32_MAX;

  /// What a row holds: position `position` of the history of `writer`.
  struct Tag {
    std::uint32_t writer = kNobody;
    std::uint32_t position = 0;
    friend bool operator==(const Tag&, const Tag&) = default;
  };
  struct Block {
    std::vector<Tag> rows;          // block_size, once written
    std::uint64_t serial = 0;       // changes with every write
    std::uint64_t issue = 0;        // how often it was issued
    std::uint32_t owners = 0;       // table entries, pins and holds, counted here
    std::uint64_t released_at = 0;  // event of the release before
  };
  struct Entry {
    std::uint32_t block = 0;
    std::uint64_t seen_serial = 0;  // rows below `seen_rows` were right at this serial
    std::uint32_t seen_rows = 0;
  };
  /// One life of a sequence between preemptions.
  struct Life {
    std::uint32_t epoch = 0;
    std::uint32_t processed = 0;  // C on the device: rows of carried out steps, corrected
    std::uint32_t in_flight = 0;  // upper bound of rows of dispatched steps
    std::vector<Entry> table;
    std::vector<Entry> last_table;  // as it was when all was let go with steps in flight
    std::uint32_t state = 0;
    std::uint32_t last_state = 0;
    std::uint64_t last_step = 0;  // the last dispatched step that has a row of it
    std::uint32_t flights = 0;
    std::uint32_t void_flights = 0;  // of those: behind a failed step, they commit nothing
    std::uint32_t void_reach = 0;    // up to where these may still write
  };
  struct SequenceState {
    std::uint32_t epoch = 0;
    std::vector<Life> lives;  // one an epoch, the newest last; old ones while steps are in flight
    bool ended = false;
    bool preempted = false;          // the next acquisition starts another life
    std::uint32_t parent = kNobody;  // of the first `shared` positions
    std::uint32_t shared = 0;
  };
  struct Row {
    std::uint32_t sequence = 0;
    std::uint32_t epoch = 0;
    std::uint32_t width = 1;
    std::uint32_t first = 0;  // chunks say where they start
    bool chunk = false;
    bool is_void = false;  // behind a failed step: writes somewhere, and nobody reads it
    std::uint32_t accepted = 1;
    std::uint32_t start = 0;  // resolved when the step runs
  };
  struct PendingCopy {
    std::uint64_t ticket = 0;
    PoolKind pool = PoolKind::kBlocks;
    std::uint32_t from = 0, to = 0, rows = 0;
    std::uint64_t from_issue = 0, to_issue = 0;
    std::uint32_t sequence = 0;
    bool passed = false;  // its fence was reported: its source may be released from here on
  };
  struct Step {
    std::uint64_t step = 0;
    std::vector<Row> rows;
  };

  void take(const Record& record, std::span<const BlockId> ids);
  void acquire(const Record& record, std::span<const BlockId> ids);
  std::uint32_t* owners_of(PoolKind pool, BlockId id);
  void count_owner(const Record& record, BlockId id);
  void drop_owner(const Record& record, BlockId id);
  void let_go(const Record& record, std::span<const BlockId> ids);
  void dispatch(std::uint64_t step);
  void pass_copies(std::uint64_t upto);
  void run_copies(std::uint64_t upto, bool lost);
  void run_step(std::uint64_t step, bool failed, bool behind_failed);
  void read_rows(const Row& row, std::vector<Entry>& table, std::uint32_t end);
  void write_rows(const Row& row, std::vector<Entry>& table, std::uint32_t begin, std::uint32_t end,
                  bool valid);
  void check_state(const Row& row, std::uint32_t slot);
  void settle();
  void void_steps_behind();
  Tag expected(std::uint32_t sequence, std::uint32_t position) const;
  SequenceState& state_of(std::uint32_t sequence);
  Life& life(std::uint32_t sequence, std::uint32_t epoch);
  // Whether the device may still touch its storage: a lane is in order, so what passed includes steps
  // whose results are still to be processed.
  bool may_be_touched(const Life& life) const { return 2 * life.last_step > passed_; }
  void drop_flight(std::uint32_t sequence, std::uint32_t epoch);
  void find(const char* rule, const std::string& text);
  std::string name_of_tag(const Tag& tag) const;

  ShadowOptions options_;
  std::vector<Block> blocks_;
  struct Slot {
    Tag last;  // the last position that the state includes
    bool written = false;
    std::uint64_t issue = 0;
    std::uint32_t owners = 0;
  };
  std::vector<Slot> slots_;
  std::vector<SequenceState> sequences_;           // by id
  std::set<std::uint32_t> batch_;                  // sequences with a decode row in every step
  std::map<std::uint32_t, std::uint32_t> drafts_;  // of the step being planned
  std::vector<Row> chunks_;                        // of the step being planned
  std::vector<PendingCopy> copies_;
  std::vector<Step> flying_;
  Step settling_;  // its result was reported, its commits are being read
  bool settling_open_ = false;
  bool settling_failed_ = false;
  std::uint64_t steps_ = 0;
  std::uint64_t passed_ = 0;  // ticket of the compute lane
  std::uint64_t event_ = 0;
  std::uint64_t serial_ = 0;
  std::uint64_t rows_read_ = 0;
  std::uint64_t rows_scanned_ = 0;
  std::uint64_t finding_count_ = 0;
  std::vector<ShadowFinding> findings_;
};

}  // namespace pinfold::sim
