#pragma once
// What one table makes of its positions: a pure function of four counts and the number of blocks.

#include <algorithm>
#include <cstdint>

#include "sim/metrics/position_class.h"

namespace pinfold::sim {

/// H, C, F of a sequence, and how many of F's rows are certain (a decode row without its drafts, a
/// prompt row).
struct TableCounts {
  std::uint32_t history = 0;
  std::uint32_t processed = 0;
  std::uint32_t in_flight = 0;
  std::uint32_t certain = 0;
};

/// Where the classes of a table, or of one block of it, end. Each begins where the one before it ends:
/// [0, committed) [committed, in_flight) [in_flight, drafts) [drafts, known), and the rest.
struct RowEnds {
  std::uint32_t committed = 0;
  std::uint32_t in_flight = 0;
  std::uint32_t drafts = 0;
  std::uint32_t known = 0;

  /// The part that lies in the block whose positions are [first, first + block_size).
  RowEnds within(std::uint32_t first, std::uint32_t block_size) const {
    const auto clip = [&](std::uint32_t end) {
      return end <= first ? 0 : std::min(end - first, block_size);
    };
    return {clip(committed), clip(in_flight), clip(drafts), clip(known)};
  }
  /// The stronger class wins, position by position.
  void cover(const RowEnds& other) {
    committed = std::max(committed, other.committed);
    in_flight = std::max(in_flight, other.in_flight);
    drafts = std::max(drafts, other.drafts);
    known = std::max(known, other.known);
  }
};

/// Known tokens may exceed the table (the next row's block is taken when that row is planned).
constexpr RowEnds row_ends(const TableCounts& counts, std::uint32_t capacity) {
  RowEnds ends;
  ends.committed = std::min(counts.processed, capacity);
  ends.in_flight = std::min(counts.processed + counts.certain, capacity);
  ends.drafts = std::min(counts.processed + counts.in_flight, capacity);
  ends.known = std::max(ends.drafts, std::min(counts.history, capacity));
  return ends;
}

/// `filled` of the committed rows are being filled by pending copies; behind `ends.known` there are
/// `slack` positions up to the end of the last needed block, and `surplus` beyond it.
inline PositionCounts counts_between(const RowEnds& ends, std::uint32_t filled, std::uint32_t slack,
                                     std::uint32_t surplus) {
  PositionCounts counts;
  counts[PositionClass::kCommitted] = ends.committed - filled;
  counts[PositionClass::kInFlight] = ends.in_flight - ends.committed + filled;
  counts[PositionClass::kDraftReserve] = ends.drafts - ends.in_flight;
  counts[PositionClass::kKnownReserve] = ends.known - ends.drafts;
  counts[PositionClass::kSurplus] = surplus;
  counts[PositionClass::kTailSlack] = slack;
  return counts;
}

}  // namespace pinfold::sim
