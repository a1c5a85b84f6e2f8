#pragma once
// Who holds each block, followed from the journal; and its picture, block address by time.

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "engine/scheduler.h"

namespace pinfold::sim {

/// A block is in exactly one state. The numbers are those of blockmap.json.
enum class BlockState : std::uint8_t {
  kFree,
  kReserved,   // in one table, for prompt rows that no dispatched chunk holds yet
  kCommitted,  // in one table, the rest
  kShared,     // in several tables
  kParked,     // in no table, held by a fence: its owner ended, or shrank
  kTaken,      // the same, after its owner was preempted
  kIdle,       // in no table, its content kept for whoever has the same prefix
};
inline constexpr std::size_t kBlockStates = 7;
/// In the order of the numbers.
const char* name_of(BlockState state);

/// Nobody, or nobody known: of several holders the last that acquired or pinned is named while it holds.
inline constexpr std::uint32_t kNoOwner = UINT32_MAX;

/// The picture in two parts, both of bounded size.
///   overview  the whole run: columns of equal length (a power of two ns), at most kColumnsMax; at each
///             column's end the state of up to kOverviewLanes blocks. A block that was taken from a
///             preempted owner within the column shows that, since no such moment may be lost.
///   focus     every change of up to kFocusLanes blocks, up to kFocusChanges of them, around the densest
///             burst of preemptions (the highest occupancy where nobody was preempted).
/// A lane is one real block: every n-th of the pool.
class BlockMap {
 public:
  static constexpr std::uint32_t kOverviewLanes = 192;
  static constexpr std::uint32_t kColumnsMax = 1024;
  static constexpr std::uint32_t kFocusLanes = 1024;
  static constexpr std::uint32_t kFocusChanges = 24'576;

  /// `ids` counts block 0.
  explicit BlockMap(std::uint32_t ids);

  /// Time goes on; to be called before what happens at `now_ns`.
  void advance(std::int64_t now_ns);
  void change(BlockId block, BlockState state, std::uint32_t owner);
  /// A sequence is preempted while `owned` blocks have an owner.
  void preempted(std::uint32_t owned);
  /// So many blocks have an owner now.
  void occupied(std::uint32_t owned);
  /// Ends the picture at the time that was told last.
  void finish();

  /// blockmap.json: docs/results.md has the format.
  std::string json(std::uint32_t block_size) const;

 private:
  struct Cell {
    BlockState state = BlockState::kFree;
    std::uint32_t owner = kNoOwner;
  };
  struct Change {
    std::int64_t at_ns;
    std::uint32_t lane;
    Cell before;
    Cell after;
  };

  void add_column();
  void merge_columns();
  void score(std::uint64_t preemptions, std::uint32_t owned);
  void capture();

  std::uint32_t ids_;
  std::uint32_t focus_step_;     // blocks a focus lane stands for
  std::uint32_t overview_step_;  // focus lanes an overview lane stands for
  std::vector<Cell> lanes_;      // of the focus, as they are now
  std::int64_t now_ns_ = 0;

  std::vector<Cell> taken_;  // of the overview's lanes, since the last column; else kFree
  std::vector<Cell> cells_;  // column by column
  std::uint32_t columns_ = 0;
  std::int64_t column_ns_ = 1;
  std::int64_t next_column_ns_ = 1;  // end of the column that grows
  bool started_ = false;
  std::int64_t from_ns_ = 0;

  std::deque<Change> recent_;  // at most kFocusChanges
  std::uint64_t changes_ = 0;
  std::deque<std::uint64_t>
      preemptions_;  // numbers of the changes behind which they came; recent ones
  std::uint64_t best_preemptions_ = 0;
  std::uint32_t best_owned_ = 0;
  std::uint64_t capture_at_ = UINT64_MAX;  // number of the change at which the best is complete
  std::int64_t best_ns_ = 0;

  std::vector<Change> focus_;
  std::vector<Cell> focus_initial_;
  std::int64_t focus_from_ns_ = 0;
  std::int64_t focus_to_ns_ = 0;
  std::int64_t focus_peak_ns_ = 0;
  std::uint64_t focus_preemptions_ = 0;
};

}  // namespace pinfold::sim
