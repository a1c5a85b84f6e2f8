#include "sim/report/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "sim/config/decimal.h"

namespace pinfold::sim {
namespace {

/// Of rows [from, to), one bucket, those that stay; in order.
void keep_extremes(const std::vector<TimelineRow>& rows, std::size_t from, std::size_t to,
                   std::vector<TimelineRow>& kept) {
  std::vector<std::size_t> stay{to - 1};
  for (const Column column : Timeline::kDecimatedBy) {
    const auto less = [column](const TimelineRow& a, const TimelineRow& b) {
      return a[column] < b[column];
    };
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(from);
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(to);
    stay.push_back(static_cast<std::size_t>(std::min_element(begin, end, less) - rows.begin()));
    stay.push_back(static_cast<std::size_t>(std::max_element(begin, end, less) - rows.begin()));
  }
  std::sort(stay.begin(), stay.end());
  stay.erase(std::unique(stay.begin(), stay.end()), stay.end());
  for (const std::size_t row : stay) kept.push_back(rows[row]);
}

}  // namespace

const char* name_of(Column column) {
  switch (column) {
    case Column::kRunning: return "running";
    case Column::kWaiting: return "waiting";
    case Column::kPreempted: return "preempted_waiting";
    case Column::kBlocksOwned: return "blocks_owned";
    case Column::kBlocksReserved: return "blocks_reserved";
    case Column::kBlocksCommitted: return "blocks_committed";
    case Column::kBlocksShared: return "blocks_shared";
    case Column::kBlocksParked: return "blocks_parked";
    case Column::kStateSlots: return "state_slots";
    case Column::kDraftSlots: return "draft_slots";
    case Column::kLoading: return "loading";
    case Column::kCopyBytes: return "copy_bytes_in_flight";
    case Column::kLoadBytes: return "load_bytes_in_flight";
    case Column::kSaveBytes: return "save_bytes_in_flight";
    case Column::kSteps: return "steps";
    case Column::kEnded: return "ended";
    case Column::kPreemptions: return "preemptions";
    case Column::kSatOut: return "sat_out";
    case Column::kForks: return "forks";
    case Column::kCopies: return "copies";
    case Column::kDraftsProposed: return "drafts_proposed";
    case Column::kDraftsAccepted: return "drafts_accepted";
  }
  return "?";
}

void Timeline::add(const TimelineRow& row) {
  if (!rows_.empty() && rows_.back().at_ns == row.at_ns) {
    rows_.back() = row;
    return;
  }
  ++instants_;
  rows_.push_back(row);
  // A quarter is freed at a time, so that thinning out stays cheap.
  if (rows_.size() <= kRowsMax) return;
  decimate();
  while (rows_.size() > kRowsMax / 4 * 3) {
    bucket_ns_ *= 2;
    decimate();
  }
}

void Timeline::decimate() {
  std::vector<TimelineRow> kept;
  kept.reserve(rows_.size());
  for (std::size_t from = 0; from < rows_.size();) {
    std::size_t to = from + 1;
    while (to < rows_.size() && rows_[to].at_ns / bucket_ns_ == rows_[from].at_ns / bucket_ns_)
      ++to;
    keep_extremes(rows_, from, to, kept);
    from = to;
  }
  rows_ = std::move(kept);
}

std::string timeline_csv(const Timeline& timeline, bool with_ledger) {
  std::string text = "time_s";
  for (std::size_t i = 0; i < kColumns; ++i) {
    text += fmt::format(",{}", name_of(static_cast<Column>(i)));
  }
  for (const char* name : kPositionClassNames) {
    if (with_ledger) text += fmt::format(",ledger_{}", name);
  }
  text += '\n';
  for (const TimelineRow& row : timeline.rows()) {
    text += seconds(row.at_ns, 9);
    for (const std::int64_t value : row.values)
      fmt::format_to(std::back_inserter(text), ",{}", value);
    for (const std::int64_t positions : row.positions.of) {
      if (with_ledger) fmt::format_to(std::back_inserter(text), ",{}", positions);
    }
    text += '\n';
  }
  return text;
}

}  // namespace pinfold::sim
