#pragma once
// Shadow memory: what every row of every block and every slot holds, kept from the journal alone. It
// shares no code with the allocator beyond ids, so it can find out what the allocator believes wrongly.
// docs/shadow.md says what is tracked and why the verified prefix of a table suffices.
//
// Each row carries a tag: whose history it belongs to, in which epoch, and which position of it. Steps
// and copies are carried out in the order of their lane. On the compute lane a step is carried out when
// its result is reported and its copies ahead of it: reads are checked and writes are tagged then,
// through the block table of the time of dispatch. Copies in a lane of their own are carried out when the
// journal says that they passed, at the latest ahead of their step, which waits for them. Rule O12 is what a read must satisfy: owned or held, below C (or written
// by a step in flight of the same sequence, or by this one), not replaced, filled by a completed copy.
//
// A published block's rows are expected by content: whoever finds it inherits them from who wrote them.
//
// Parts: shadow_prefix.cc contents that outlive their owner; shadow_store.cc what lies on the host; shadow_contents.h what rows hold; shadow_readers.h who is told of a write; shadow_life.h what
// a sequence holds; shadow_report.h texts. tests/model/shadow_twin.h is the row-by-row scan beside it.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/journal.h"
#include "sim/check/prefix_chains.h"
#include "sim/check/shadow_contents.h"
#include "sim/check/shadow_life.h"
#include "sim/check/shadow_readers.h"
#include "sim/check/shadow_report.h"

namespace pinfold::sim {

/// What the shadow must know of the engine; all of it is in the run's configuration.
struct ShadowOptions {
  std::uint32_t block_size = 16;
  std::uint32_t block_ids = 1;
  std::uint32_t state_ids = 1;
  bool state_slots = false;
  /// Storage that a dispatched step may touch is never let go but parked (fence mode `always`).
  bool fences_always = true;
  std::uint32_t draft_ids = 0;      // 0: not said, any id is taken
  Lane copy_lane = Lane::kCompute;  // where copies run, and whose passing ends what protects them
};

/// Follows one engine from its first record on. A step costs O(rows in it + blocks that changed); a row
/// whose table has not changed costs the comparison of one number. A regular value: copies cost O(blocks + lives).
class Shadow {
 public:
  explicit Shadow(const ShadowOptions& options);

  /// Reads whole records, in order; may be called with any split between records.
  void consume(std::span<const std::byte> journal);

  /// The first findings, at most kFindingsKept; the count goes on. A step's read is one finding: its first
  /// wrong position.
  static constexpr std::size_t kFindingsKept = 100;
  const std::vector<ShadowFinding>& findings() const { return findings_; }
  std::uint64_t finding_count() const { return finding_count_; }
  /// Row reads checked: what the silence stands on.
  std::uint64_t rows_read() const { return rows_read_; }
  /// Of those, the ones that had to be looked at again.
  std::uint64_t rows_scanned() const { return rows_scanned_; }

  /// Equal for shadows that will find the same from the same records on, as Scheduler::state_hash() is
  /// for schedulers: contents, owners, lives, slots, copies and steps in flight; step numbers and
  /// tickets count from the last result. Rows that nobody alive can expect count as nothing. Left out:
  /// findings, event numbers, who released what, how much is known to be right. O(state).
  std::uint64_t hash() const;

 private:
  static constexpr std::uint32_t kNoLife = UINT32_MAX;

  /// The owners of one id of any pool, counted here.
  struct Owned {
    std::uint32_t owners = 0;  // table entries, pins and holds
    std::uint32_t holds = 0;
    std::uint32_t issue = 0;  // how often it was issued
    Release released;         // the last time it came to have no owner
  };
  struct StateSlot {
    RowTag last;  // the last position that the state includes
    Release before;
    std::uint64_t step = 0;  // the last one that wrote it
    std::uint32_t writer = kNobody;
  };
  struct DraftSlot {
    std::uint64_t step = 0;  // the last one whose drafts it holds
    std::uint32_t user = kNobody;
  };
  struct SequenceState {
    std::uint32_t life = kNoLife;  // the newest
    std::uint32_t epoch = 0;
    std::uint32_t drafts = 0;  // of the step being planned
    std::uint32_t row = 0;     // where it is in the step being settled
    bool ended = false;
    bool preempted = false;  // the next acquisition starts another life
    PrefixChains chains;     // what its blocks hold, as its keys say
    std::uint64_t load_ticket = 0;
  };
  /// A content that can be found in a block: its first rows, and who wrote them.
  struct Published {
    std::uint64_t chain = 0;  // 0: none
    std::uint32_t entry = 0;  // in the table of who published it
    std::uint32_t rows = 0;
    std::vector<Inherited> parts;  // in order of position, the last ends with the rows
  };
  enum Content : std::uint8_t { kWhole, kTail };
  /// Rows from `begin` to the next run's, of a block on the host; of a state: its last position.
  struct HostRun {
    std::uint32_t begin = 0;
    RowTag tag;
  };
  /// An id on the host: what it holds, and what can be found in it.
  struct HostId {
    std::uint64_t chain = 0;  // 0: cannot be found
    std::uint64_t chain_to_be = 0;
    bool saved = false;  // what it holds came by a save that passed
    std::uint32_t entry = 0;
    std::vector<Inherited> parts;  // as in Published
    std::vector<HostRun> runs;
  };
  /// A queued save or load of one id.
  struct Transfer {
    bool load = false;
    bool staged = false;
    std::uint64_t ticket = 0;
    std::uint64_t step = 0;  // a state's save: whose copies stage it
    PoolKind pool = PoolKind::kBlocks;
    std::uint32_t device = 0, host = 0;
    std::uint32_t device_issue = 0, host_issue = 0;
    std::uint32_t sequence = 0, epoch = 0;
    std::uint32_t entry = 0;
    std::uint64_t chain = 0;
    RowTag state;
    std::vector<Inherited> parts;
  };
  struct Row {
    std::uint32_t sequence = 0;
    std::uint32_t life = kNoLife;
    std::uint32_t width = 1;
    std::uint32_t first = 0;  // chunks say where they start
    std::uint32_t accepted = 1;
    std::uint32_t start = 0;  // resolved when the step runs
    bool chunk = false;
    bool is_void = false;  // behind a failed step: writes somewhere, and nobody reads it
    bool wrong = false;    // its read has been reported
  };
  /// Where a void row may write, as its table was when the step ahead failed.
  struct VoidReach {
    std::uint32_t sequence = 0;
    std::uint32_t epoch = 0;
    std::uint32_t begin = 0, end = 0;   // positions
    std::vector<std::uint32_t> blocks;  // of `begin` and what follows
    std::uint32_t state = 0;
  };
  struct Step {
    std::uint64_t step = 0;
    std::vector<Row> rows;
    std::vector<VoidReach> void_reaches;
  };
  struct PendingCopy {
    std::uint64_t ticket = 0;
    PoolKind pool = PoolKind::kBlocks;
    std::uint32_t from = 0, to = 0, rows = 0;
    std::uint32_t from_issue = 0, to_issue = 0;
    std::uint32_t sequence = 0, epoch = 0;
    bool passed = false;  // its fence was reported: its source may be released from here on
  };

  // shadow.cc: records
  void take(const Record& record, std::span<const BlockId> ids);
  void start_life(std::uint32_t sequence);
  std::uint32_t take_part(const Record& record);
  void acquire(const Record& record, std::span<const BlockId> ids);
  void acquire_slot(const Record& record, std::uint32_t index);
  void let_go(const Record& record, std::span<const BlockId> ids);
  void let_go_blocks(const Record& record, std::span<const BlockId> ids, Life& life);
  void let_go_slot(const Record& record, std::uint32_t index, Life& life);
  void check_fence(const Record& record, std::uint32_t index, std::uint64_t last_step);
  Lane lane_of(Behind behind) const;
  void unpark(const Record& record, std::span<const BlockId> ids);
  void fork(const Record& record);
  void end(const Record& record);
  SequenceState& state_of(std::uint32_t sequence) {
    if (sequence >= sequences_.size()) sequences_.resize(std::size_t{sequence} + 1);
    return sequences_[sequence];
  }
  std::uint32_t life_of(std::uint32_t sequence);
  void retire(std::uint32_t life);
  void cut_table(Life& life, std::uint32_t index, std::uint32_t kept);
  Owned* owned(const Record& record, BlockId id);
  bool drop_owner(const Record& record, BlockId id, const char* how);

  // shadow_prefix.cc: contents that outlive their owner
  void hit(const Record& record, std::span<const BlockId> ids);
  void hit_block(const Record& record, std::uint32_t block, std::uint32_t entry);
  void publish(const Record& record, std::span<const BlockId> ids);
  void evict(const Record& record, std::span<const BlockId> ids);
  bool is_published(std::uint32_t block) const {
    return !published_.empty() &&
           (published_[block][kWhole].chain != 0 || published_[block][kTail].chain != 0);
  }
  std::uint32_t first_wrong(std::uint32_t block, std::uint32_t first, std::uint32_t rows,
                            const Life& as) const;

  // shadow_store.cc: what lies on the host
  static bool is_host(PoolKind pool);
  static RowTag on_host(const HostId& host, std::uint32_t row);
  HostId& host_id(PoolKind pool, std::uint32_t id);
  void hold_source(const Record& record, PoolKind pool, BlockId id, const char* what);
  void take_host_id(const Record& record, PoolKind pool, std::uint32_t id);
  void queue_save(const Record& record, std::span<const BlockId> ids);
  void stage_states(std::uint64_t step, bool lost);
  void run_save(Transfer& save);
  void stored(const Record& record, std::span<const BlockId> ids);
  void evict_on_host(const Record& record, std::span<const BlockId> ids);
  void queue_load(const Record& record, std::span<const BlockId> ids);
  void run_load(const Transfer& load, bool lost);
  void loaded(const Record& record);
  void pass_store(Lane lane, std::uint64_t ticket, bool lost);
  std::uint64_t load_into(PoolKind pool, std::uint32_t id) const;

  // shadow_device.cc: what the device does
  void queue_copy(const Record& record, std::span<const BlockId> ids);
  void pass(const Record& record);
  void pass_copy(PendingCopy& copy);
  void run_copy(const PendingCopy& copy, bool lost);
  void run_copies(std::uint64_t upto, bool lost);
  void dispatch(std::uint64_t step);
  void use_draft_slot(const Row& row, const Life& life, std::uint64_t step);
  void run_step(std::uint64_t step, bool failed, bool behind_failed);
  void run_void(const VoidReach& reach);
  Release since(PoolKind pool, std::uint32_t id, const WrittenRow& found) const;
  bool read_rows(const Row& row, std::uint64_t step);
  void check_state(const Row& row, std::uint64_t step);
  void write_rows(const Row& row);
  void write_block(std::uint32_t block, std::uint32_t begin, std::uint32_t end,
                   const RowTag& first);
  void tell_readers(std::uint32_t block, std::uint32_t row);
  void discard_rows(const Life& life, std::uint32_t begin, std::uint32_t end);
  void void_steps_behind();
  void commit(const Record& record);
  void settle();

  bool has_passed(std::uint64_t step) const {
    return 2 * step <= passed_[index_of(Lane::kCompute)];
  }
  ShadowFinding& find(const char* rule);
  void find(const char* rule, std::uint32_t sequence, PoolKind pool, std::uint32_t id,
            const std::string& text);
  std::uint64_t hash_settled() const;
  template <class Add>
  void hash_store(Add add) const;

  ShadowOptions options_;
  std::array<std::vector<Owned>, kPoolKinds> owned_;  // by id
  BlockContents contents_;
  BlockReaders readers_;
  std::vector<std::array<Published, 2>> published_;  // by block and Content; empty until one is
  std::array<std::vector<HostId>, 2> host_;          // blocks, states
  std::vector<Transfer> transfers_;                  // queued, not passed
  std::vector<Transfer> done_loads_;                 // passed; their sequence has not gone on yet
  std::uint64_t save_tickets_ = 0;
  std::uint64_t load_tickets_ = 0;
  std::vector<StateSlot> state_slots_;
  std::vector<DraftSlot> draft_slots_;
  std::vector<SequenceState> sequences_;  // by id
  std::vector<Life> lives_;               // reused once nobody needs them
  std::vector<std::uint32_t> free_lives_;
  std::vector<std::uint32_t> batch_;  // sequences with a decode row in every step, in order of id
  std::vector<Row> chunks_;           // of the step being planned
  std::vector<PendingCopy> copies_;
  std::vector<Step> flying_;
  Step settling_;  // its result was reported, its commits are being read
  bool settling_open_ = false;
  bool settling_failed_ = false;
  std::uint64_t steps_ = 0;
  std::uint64_t done_ = 0;                      // steps whose result was reported
  std::array<std::uint64_t, kLanes> passed_{};  // tickets
  std::uint64_t event_ = 0;
  std::uint64_t rows_read_ = 0;
  std::uint64_t rows_scanned_ = 0;
  std::uint64_t finding_count_ = 0;
  std::vector<ShadowFinding> findings_;
  ShadowFinding unkept_;                // beyond kFindingsKept
  std::vector<BlockId> ids_;            // of one record, kept for its capacity
  std::vector<std::vector<Row>> rows_;  // unused row lists, kept for their capacity
};

}  // namespace pinfold::sim
