#pragma once
// What a run looks like over time, in a bounded number of rows.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/metrics/position_class.h"

namespace pinfold::sim {

/// Columns of timeline.csv behind the time. Gauges say how it is at an instant, counters how often
/// something has happened up to it.
enum class Column : std::uint8_t {
  kRunning,          // gauges: sequences that run, ...
  kWaiting,          // ... that wait for admission, ...
  kPreempted,        // ... and, of those that wait, that were preempted
  kBlocksOwned,      // blocks that are not free
  kBlocksReserved,   // of them: in one table, for prompt rows that no dispatched chunk holds yet
  kBlocksCommitted,  // in one table, the rest
  kBlocksShared,     // in several tables
  kBlocksParked,     // in no table, held by a fence
  kStateSlots,       // owned
  kDraftSlots,       // owned
  kLoading,          // sequences that wait for their load from the external store
  kCopyBytes,        // of copies that were queued and have not ended: on the device, ...
  kLoadBytes,        // ... from the external store, ...
  kSaveBytes,        // ... and to it
  kSteps,            // counters: steps whose result is in
  kEnded,            // requests that ended, whatever the reason
  kPreemptions,
  kSatOut,
  kForks,
  kCopies,  // queued
  kDraftsProposed,
  kDraftsAccepted,
};
inline constexpr std::size_t kColumns = 22;

/// Names as in the file's header.
const char* name_of(Column column);
/// The first of the counters.
inline constexpr Column kFirstCounter = Column::kSteps;

/// One instant: what is true after everything that happened at it.
struct TimelineRow {
  std::int64_t at_ns = 0;
  std::array<std::int64_t, kColumns> values{};
  PositionCounts positions{};  // by class of the ledger, where there is one

  std::int64_t& operator[](Column column) { return values[static_cast<std::size_t>(column)]; }
  std::int64_t operator[](Column column) const { return values[static_cast<std::size_t>(column)]; }
};

/// Keeps at most kRowsMax instants. As long as they are no more, all are kept. Then time is cut into
/// equal buckets, a power of two nanoseconds long, and of each bucket those instants stay at which one of
/// the gauges in kDecimatedBy was lowest or highest in it (the first such one), and its last instant; so
/// no peak is lost, and no value is made up.
class Timeline {
 public:
  static constexpr std::size_t kRowsMax = 8192;
  static constexpr std::array<Column, 5> kDecimatedBy{Column::kRunning, Column::kWaiting,
                                                      Column::kBlocksOwned, Column::kBlocksParked,
                                                      Column::kBlocksReserved};

  /// In order of time; an instant that comes twice is replaced.
  void add(const TimelineRow& row);

  const std::vector<TimelineRow>& rows() const { return rows_; }
  std::uint64_t instants() const { return instants_; }
  /// 1: every instant is kept.
  std::int64_t bucket_ns() const { return bucket_ns_; }

 private:
  void decimate();

  std::vector<TimelineRow> rows_;
  std::uint64_t instants_ = 0;
  std::int64_t bucket_ns_ = 1;
};

/// timeline.csv, with the ledger's columns where there is a ledger.
std::string timeline_csv(const Timeline& timeline, bool with_ledger);

}  // namespace pinfold::sim
