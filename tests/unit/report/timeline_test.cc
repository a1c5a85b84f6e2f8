#include "sim/report/timeline.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

namespace pinfold::sim {
namespace {

TimelineRow row_at(std::int64_t at_ns, std::int64_t running) {
  TimelineRow row;
  row.at_ns = at_ns;
  row[Column::kRunning] = running;
  return row;
}

TEST_CASE("timeline: a short run keeps every instant") {
  Timeline timeline;
  for (std::int64_t i = 0; i < 100; ++i) timeline.add(row_at(i * 7, i % 5));
  CHECK(timeline.rows().size() == 100);
  CHECK(timeline.bucket_ns() == 1);
  CHECK(timeline.rows()[3].at_ns == 21);
}

TEST_CASE("timeline: an instant that comes twice is what is true after it") {
  Timeline timeline;
  timeline.add(row_at(5, 1));
  timeline.add(row_at(5, 2));
  REQUIRE(timeline.rows().size() == 1);
  CHECK(timeline.rows()[0][Column::kRunning] == 2);
  CHECK(timeline.instants() == 1);
}

TEST_CASE("timeline: of a long run each bucket keeps its lows, its highs and its last instant") {
  // Values without a pattern, by the multiplicative generator of Lewis, Goodman and Miller.
  std::uint64_t seed = 1;
  const auto draw = [&seed] {
    return static_cast<std::int64_t>((seed = seed * 16807 % 2147483647) % 1000);
  };
  Timeline timeline;
  std::vector<TimelineRow> all;
  for (std::int64_t i = 0; i < 60'000; ++i) {
    // Steps get shorter: 12 ms, then 1 ms.
    TimelineRow row = row_at(i < 20'000 ? i * 12'000'000 : 240'000'000'000 + i * 1'000'000, draw());
    row[Column::kBlocksParked] = draw();
    all.push_back(row);
    timeline.add(row);
  }
  CHECK(timeline.instants() == 60'000);
  CHECK(timeline.rows().size() <= Timeline::kRowsMax);
  CHECK(timeline.rows().size() > Timeline::kRowsMax / 8);
  CHECK(timeline.rows().back().at_ns == all.back().at_ns);

  struct Range {
    std::int64_t low = 1000, high = -1;
    std::int64_t last_ns = -1;
    bool operator==(const Range&) const = default;
  };
  for (const Column column : {Column::kRunning, Column::kBlocksParked}) {
    const auto ranges = [&](const std::vector<TimelineRow>& rows) {
      std::map<std::int64_t, Range> by_bucket;
      for (const TimelineRow& row : rows) {
        Range& range = by_bucket[row.at_ns / timeline.bucket_ns()];
        range.low = std::min(range.low, row[column]);
        range.high = std::max(range.high, row[column]);
        range.last_ns = row.at_ns;
      }
      return by_bucket;
    };
    CHECK((ranges(all) == ranges(timeline.rows())));
  }
  CHECK(
      std::is_sorted(timeline.rows().begin(), timeline.rows().end(),
                     [](const TimelineRow& a, const TimelineRow& b) { return a.at_ns < b.at_ns; }));
}

TEST_CASE("timeline: the ledger's columns are there where there is a ledger") {
  Timeline timeline;
  TimelineRow row = row_at(1'500'000'000, 3);
  row.positions.of = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  timeline.add(row);
  const std::string without = timeline_csv(timeline, false);
  CHECK(without.find("ledger") == std::string::npos);
  CHECK(without.substr(without.find('\n')) ==
        "\n1.500000000,3,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n");
  const std::string with = timeline_csv(timeline, true);
  CHECK(with.find("drafts_accepted,ledger_committed,ledger_in_flight,ledger_draft_reserve,"
                  "ledger_known_reserve,ledger_surplus,ledger_tail_slack,ledger_parked,"
                  "ledger_cached_idle,ledger_free\n") != std::string::npos);
  CHECK(with.ends_with(",0,1,2,3,4,5,6,7,8,9\n"));
}

}  // namespace
}  // namespace pinfold::sim
