#pragma once
// The shadow's slow twin: a tag for every row, and every row of every reader read in every step, in the
// order of the lane. It shares no code with sim/check/shadow: it reads the journal itself, keeps
// everything in maps, knows no versions, runs or readers, and words no texts.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/journal.h"

namespace pinfold::model {

struct TwinOptions {
  std::uint32_t block_size = 1;
  std::uint32_t block_ids = 1;
  std::uint32_t state_ids = 1;
  std::uint32_t draft_ids = 1;
  bool state_slots = false;
  bool fences_always = true;
  std::uint32_t copy_lane = 0;
};

/// What a row holds: kind (0 nothing, 1 data, 2 discarded, 3 lost), writer, epoch, position; then the
/// last release of its block before it was written: event, sequence.
struct TwinRow {
  int kind = 0;
  std::uint32_t writer = UINT32_MAX;
  std::uint32_t epoch = 0;
  std::uint32_t position = 0;
  std::uint64_t release_event = 0;
  std::uint32_t release_sequence = UINT32_MAX;
  friend bool operator==(const TwinRow&, const TwinRow&) = default;
};

struct TwinFinding {
  std::string rule;
  std::uint64_t event = 0;
  std::uint32_t sequence = UINT32_MAX;
  PoolKind pool = PoolKind::kBlocks;
  std::uint32_t id = 0;
  std::uint32_t position = 0;
  TwinRow expected;  // its release is left empty
  TwinRow found;
  std::uint64_t since_event = 0;  // the last release, if it came after that was written
  std::uint32_t since_sequence = UINT32_MAX;
};

class ShadowTwin {
 public:
  explicit ShadowTwin(const TwinOptions& options) : options_(options) {}
  void consume(std::span<const std::byte> journal);
  const std::vector<TwinFinding>& findings() const { return findings_; }
  std::uint64_t rows_read() const { return rows_read_; }

 private:
  using Id = std::pair<PoolKind, std::uint32_t>;
  using LifeName = std::pair<std::uint32_t, std::uint32_t>;  // sequence, epoch
  struct Books {
    std::uint32_t owners = 0, holds = 0, issues = 0;
    std::uint64_t release_event = 0;
    std::uint32_t release_sequence = UINT32_MAX;
  };
  struct Life {
    std::uint32_t processed = 0, in_flight = 0, flights = 0, voids = 0, void_reach = 0;
    std::vector<std::uint32_t> table, former_table;
    std::vector<LifeName> wrote;  // of each inherited position: who
    std::uint32_t state = 0, former_state = 0, draft = 0;
    std::uint64_t last_step = 0;
  };
  struct Row {
    LifeName life;
    std::uint32_t width = 1, first = 0, start = 0, accepted = 1;
    bool chunk = false, is_void = false;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> garbage;  // block, position: void rows
    std::uint32_t garbage_state = 0;
  };
  struct Copy {
    std::uint64_t ticket = 0;
    PoolKind pool = PoolKind::kBlocks;
    std::uint32_t from = 0, to = 0, rows = 0, from_issues = 0, to_issues = 0;
    LifeName life;
    bool passed = false;
  };

  /// What keys say of a block: all keys up to it, then how many of its rows count.
  using Content = std::vector<std::uint64_t>;
  struct Keys {
    std::vector<std::uint64_t> whole;
    std::uint64_t tail = 0;
    std::uint32_t tail_end = 0;
  };
  struct Found {
    Content content;
    std::uint32_t entry = 0;
    std::vector<LifeName> wrote;  // of each row
  };

  void take(const Record& record, const std::vector<std::uint32_t>& ids);
  void acquire(const Record& record, const std::vector<std::uint32_t>& ids);
  void found(const Record& record, const std::vector<std::uint32_t>& ids);
  void published(const Record& record, const std::vector<std::uint32_t>& ids);
  void evicted(const Record& record, const std::vector<std::uint32_t>& ids);
  LifeName life_that_takes(const Record& record);
  Content whole_content(const Keys& keys, std::uint32_t entry) const;
  Content tail_content(const Keys& keys, std::uint32_t entry) const;
  bool holds(std::uint32_t block, std::uint32_t row, const LifeName& writer,
             std::uint32_t position);
  void let_go(const Record& record, const std::vector<std::uint32_t>& ids);
  void unpark(const Record& record, const std::vector<std::uint32_t>& ids);
  void copy_queued(const Record& record, const std::vector<std::uint32_t>& ids);
  void step();
  void result(std::uint64_t step, std::uint32_t how);
  void settle();
  void passed(Copy& copy);
  void carry_out(const Copy& copy, bool lost);
  std::uint64_t lane_at(std::uint32_t lane) const;
  bool in_pool(const Record& record, std::uint32_t id);
  bool still_touched(std::uint64_t step) const { return 2 * step > lane_at(0); }
  void check_fence(const Record& record, std::uint32_t id, std::uint64_t step);
  LifeName life_now(std::uint32_t sequence);
  void forget(const LifeName& name);
  TwinRow expected(const LifeName& name, std::uint32_t position);
  TwinRow* row_at(const LifeName& name, std::uint32_t position);
  std::uint32_t state_of(const LifeName& name);
  void write(std::uint32_t block, std::uint32_t row, TwinRow tag);
  bool read(Row& row);
  void note_since(TwinFinding& finding);
  TwinFinding& find(const char* rule, std::uint32_t sequence, PoolKind pool, std::uint32_t id);

  TwinOptions options_;
  std::map<Id, Books> books_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, TwinRow> rows_;  // (block, row)
  std::map<std::uint32_t, TwinRow> states_;
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint32_t>> state_writers_;
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint32_t>> draft_users_;
  std::map<LifeName, Life> lives_;
  std::map<std::uint32_t, std::uint32_t> epochs_;
  std::set<std::uint32_t> preempted_, ended_, batch_;
  std::map<std::uint32_t, std::uint32_t> drafts_;
  std::vector<Row> chunks_;
  std::vector<Copy> copies_;
  std::vector<std::pair<std::uint64_t, std::vector<Row>>> flying_;
  std::vector<Row> settling_;
  std::uint64_t settling_step_ = 0;
  bool open_ = false, failed_ = false;
  std::uint64_t steps_ = 0, event_ = 0, rows_read_ = 0;
  std::map<std::uint32_t, std::uint64_t> lanes_;
  std::map<std::uint32_t, Keys> keys_;                        // of sequences
  std::map<std::pair<std::uint32_t, bool>, Found> findable_;  // by block; true: its first rows
  std::vector<TwinFinding> findings_;
};

}  // namespace pinfold::model
