#pragma once
// What the rows of blocks hold. A block is a short list of runs of consecutive positions of one history:
// a block that one sequence filled is one run, whatever its size. Bytes outlive their owner: letting a
// block go or issuing it again changes no row, only writes and copies do.

#include <cstdint>
#include <vector>

namespace pinfold::sim {

/// No sequence.
inline constexpr std::uint32_t kNobody = UINT32_MAX;

/// What a row is to a reader.
enum class RowKind : std::uint8_t {
  kNothing,    // never written
  kData,       // a position of a history
  kDiscarded,  // written, but never accepted: a rejected draft, a failed step
  kLost,       // what a copy of a failed step may have left behind
};

/// What one row holds: position `position` of the history of `writer` in its epoch `epoch`.
struct RowTag {
  RowKind kind = RowKind::kNothing;
  std::uint32_t writer = kNobody;
  std::uint32_t epoch = 0;
  std::uint32_t position = 0;
  friend bool operator==(const RowTag&, const RowTag&) = default;
};

/// The tag `rows` rows further on in the same run.
inline RowTag further(const RowTag& tag, std::uint32_t rows) {
  RowTag result = tag;
  if (tag.kind != RowKind::kNothing) result.position += rows;
  return result;
}

/// The release that left a block without an owner, so that it could be issued again.
struct Release {
  std::uint64_t event = 0;  // number of its record, 0: the block was never released
  std::uint32_t sequence = kNobody;
  friend bool operator==(const Release&, const Release&) = default;
};

/// One row in full: what it holds, and the last release of its block before it was written.
struct WrittenRow {
  RowTag tag;
  Release before;
  friend bool operator==(const WrittenRow&, const WrittenRow&) = default;
};

/// The rows of all blocks. Costs O(runs of the block) a call; a block has one run per tenant that still
/// has rows in it. Ids must be in range.
class BlockContents {
 public:
  BlockContents(std::uint32_t block_ids, std::uint32_t block_size)
      : block_size_(block_size), heads_(block_ids, kNone) {}

  /// Rows [begin, end) hold `first` and what follows it from now on.
  void write(std::uint32_t block, std::uint32_t begin, std::uint32_t end, const RowTag& first,
             const Release& before);
  /// The first `rows` rows of `to` hold what those of `from` hold.
  void copy(std::uint32_t from, std::uint32_t to, std::uint32_t rows, const Release& before);

  WrittenRow at(std::uint32_t block, std::uint32_t row) const;
  /// The first row in [begin, end) that is not `first` or what follows it; `end` if there is none.
  std::uint32_t first_other(std::uint32_t block, std::uint32_t begin, std::uint32_t end,
                            const RowTag& first) const;

  /// Calls use(begin, end, tag) for each run of the block in row order; none if nothing was written.
  template <class Use>
  void for_each_run(std::uint32_t block, Use use) const {
    for (std::uint32_t n = heads_[block]; n != kNone; n = runs_[n].next) {
      use(runs_[n].begin, end_of(runs_[n]), runs_[n].row.tag);
    }
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Rows [begin, the next run's begin or the block's end).
  struct Run {
    std::uint32_t begin = 0;
    std::uint32_t next = kNone;
    WrittenRow row;
  };

  std::uint32_t end_of(const Run& run) const {
    return run.next == kNone ? block_size_ : runs_[run.next].begin;
  }
  std::uint32_t new_run(const Run& run);
  void remove_after(std::uint32_t index);
  bool extend(std::uint32_t block, std::uint32_t begin, std::uint32_t end, const WrittenRow& row);
  void overlay(std::uint32_t block, std::uint32_t begin, std::uint32_t end, const WrittenRow& row);
  void collect(std::uint32_t begin, const WrittenRow& row);
  void store(std::uint32_t block);

  std::uint32_t block_size_;
  std::vector<std::uint32_t> heads_;  // of each block's list; kNone: nothing was ever written
  std::vector<Run> runs_;             // of all blocks, linked, so that no block has its own storage
  std::uint32_t free_ = kNone;        // unused ones, linked
  std::vector<Run> scratch_;          // of one call, kept for its capacity
};

}  // namespace pinfold::sim
