#include "sim/report/run_report.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "sim/config/json_reader.h"

namespace pinfold::sim {
namespace {

/// Three requests, two completed, over 2.5 s.
RunResult small_result() {
  RunResult result;
  result.requests = 3;
  result.completed = 2;
  result.rejected_never = 1;
  result.duration_ns = 2'500'000'000;
  result.run_ns = 2'500'000'000;
  result.total_input_tokens = 1'000;
  result.total_output_tokens = 40;
  result.ttft = {true, 2, 12'345'678, 12'000'000, 13'000'000, 13'500'000};
  result.wait_blocks_ns = 1'500'000;
  result.answers_ok = 2;
  result.answers_later = 1;
  result.answers_never = 1;
  result.later_blocks = 1;
  result.copies = 4;
  result.blocks_usable = 100;
  result.blocks_acquired = 66;
  result.blocks_released = 66;
  result.blocks_peak_owned = 50;
  result.blocks_owned_ns_low = 31'250'000'000;  // 12.5 blocks for 2.5 s
  result.steps = 20;
  result.events = 200;
  result.digest = 0xD26EF8B022709A25;
  result.digest_timed = 1;
  return result;
}

Provenance provenance() {
  return Provenance{.version = "0.1.0",
                    .trace = "t,1.csv",
                    .trace_digest = "700b8ef33f740650",
                    .config_digest = "abe43c291416bb61",
                    .seed = 18'446'744'073'709'551'615U};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The labels and rulers of vLLM's serving benchmark, in its order.
TEST_CASE("text report: begins with the block that vLLM's benchmark prints") {
  const std::vector<std::string> lines =
      lines_of(run_report(small_result(), provenance(), ReportFormat::kText));
  const std::vector<std::string> expected{
      "============ Serving Benchmark Result ============",
      "Successful requests:                     2",
      "Failed requests:                         1",
      "Benchmark duration (s):                  2.50",
      "Total input tokens:                      1000",
      "Total generated tokens:                  40",
      "Request throughput (req/s):              0.80",
      "Output token throughput (tok/s):         16.00",
      "Total token throughput (tok/s):          416.00",
      "---------------Time to First Token----------------",
      "Mean TTFT (ms):                          12.35",
      "Median TTFT (ms):                        12.00",
      "P90 TTFT (ms):                           13.00",
      "P99 TTFT (ms):                           13.50",
      "-----Time per Output Token (excl. 1st token)------",
      "Mean TPOT (ms):                          -",
  };
  REQUIRE(lines.size() > expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(lines[i] == expected[i]);
}

TEST_CASE("text report: every ruler has 50 columns, every value begins at column 42") {
  for (const std::string& line :
       lines_of(run_report(small_result(), provenance(), ReportFormat::kText))) {
    CAPTURE(line);
    const bool ruler = line.starts_with("--") || line.starts_with("==");
    if (ruler) {
      CHECK(line.size() == 50);
    } else {
      REQUIRE(line.size() > 41);
      CHECK(line[40] == ' ');
      CHECK(line[41] != ' ');
      CHECK(line.back() != ' ');
    }
  }
}

TEST_CASE("text report: sections that say nothing are left out") {
  const std::string plain = run_report(small_result(), provenance(), ReportFormat::kText);
  CHECK(plain.find("-Drafts-") == std::string::npos);
  CHECK(plain.find("-Slots-") == std::string::npos);
  RunResult drafting = small_result();
  drafting.drafts_proposed = 8;
  drafting.drafts_accepted = 5;
  drafting.slots_usable = 4;
  const std::string text = run_report(drafting, provenance(), ReportFormat::kText);
  CHECK(text.find("Acceptance rate (%):                     62.50\n") != std::string::npos);
  CHECK(text.find("-Slots-") != std::string::npos);
}

std::string json_text(const JsonValue& root, const std::string& group, const std::string& name) {
  for (const JsonMember& member : root.members) {
    if (group.empty() && member.key == name) return shown(member.value);
    if (group.empty() || member.key != group) continue;
    for (const JsonMember& inner : member.value.members) {
      if (inner.key == name) return shown(inner.value);
    }
  }
  return "absent";
}

/// The example in docs/ledger.md, and 2^64 positions that sharing saved for one nanosecond.
LedgerTotals small_ledger() {
  LedgerTotals ledger;
  ledger.positions = 32;
  ledger.duration_ns = 50;
  ledger.position_ns = {210, 88, 0, 2, 0, 60, 0, 0, 1240};
  ledger.capacity_ns = 1600;
  ledger.saved_ns = PositionNs{1} << 64;
  ledger.pair_ns = 50;
  ledger.ascending_ns = 33;
  ledger.state_slots.slot_ns = {17, 3, 5, 15};
  ledger.state_slots.at_peak = {1, 0, 1, 0};
  return ledger;
}

TEST_CASE("text report: where the memory went") {
  RunResult result = small_result();
  result.ledger = small_ledger();
  const std::string text = run_report(result, provenance(), ReportFormat::kText);
  for (const char* line : {"  committed                              13.13      4.2\n",
                           "  tail_slack                             3.75       1.2\n",
                           "  free                                   77.50      24.8\n",
                           "Fragmentation (% of owned):              41.67\n",
                           "Neighbours in tables with ids + 1 (%):   66.00\n"}) {
    CAPTURE(line);
    CHECK(text.find(line) != std::string::npos);
  }
}

TEST_CASE("json report: position-time is exact, fragmentation has its parts") {
  RunResult result = small_result();
  result.ledger = small_ledger();
  const Outcome<JsonValue> json =
      parse_json(run_report(result, provenance(), ReportFormat::kJson), "report");
  REQUIRE(json);
  const JsonValue& root = json.value();
  CHECK(json_text(root, "ledger_position_ns", "committed") == "\"210\"");
  CHECK(json_text(root, "ledger_position_ns", "cached_idle") == "\"0\"");
  CHECK(json_text(root, "ledger_position_ns", "capacity") == "\"1600\"");
  CHECK(json_text(root, "", "fragmentation_percent") == "41.666667");  // 150 / 360
  CHECK(json_text(root, "fragmentation", "in_flight") == "24.444444");
  CHECK(json_text(root, "fragmentation", "known_reserve") == "0.555556");
  CHECK(json_text(root, "fragmentation", "tail_slack") == "16.666667");
  CHECK(json_text(root, "fragmentation", "parked") == "0.000000");
  CHECK(json_text(root, "sharing", "saved_position_ns") == "\"18446744073709551616\"");
  CHECK(json_text(root, "adjacency", "ascending_ppm") == "660000");
  CHECK(json_text(root, "state_slots_ns", "pinned") == "\"3\"");
  CHECK(json_text(root, "state_slots_at_peak", "parked") == "1");
}

TEST_CASE("text report: a stall says why") {
  RunResult result = small_result();
  result.verdict = Verdict::kStall;
  result.verdict_detail = "request 2 waits for blocks";
  const std::string text = run_report(result, provenance(), ReportFormat::kText);
  CHECK(text.find("Verdict:                                 stall\n") != std::string::npos);
  CHECK(text.ends_with("\nrequest 2 waits for blocks\n"));
}

TEST_CASE("json report: fixed names, exact numbers, digests as strings") {
  const Outcome<JsonValue> json =
      parse_json(run_report(small_result(), provenance(), ReportFormat::kJson), "report");
  REQUIRE(json);
  const JsonValue& root = json.value();
  CHECK(json_text(root, "", "completed") == "2");
  CHECK(json_text(root, "", "verdict") == "\"ok\"");
  CHECK(json_text(root, "", "verdict_detail") == "absent");
  CHECK(json_text(root, "", "duration_s") == "2.500000000");
  CHECK(json_text(root, "", "request_throughput") == "0.800000");
  CHECK(json_text(root, "", "mean_ttft_ms") == "12.345678");
  CHECK(json_text(root, "", "p99_ttft_ms") == "13.500000");
  CHECK(json_text(root, "", "mean_tpot_ms") == "null");
  CHECK(json_text(root, "", "seed") == "18446744073709551615");
  CHECK(json_text(root, "", "digest") == "\"d26ef8b022709a25\"");
  CHECK(json_text(root, "", "digest_timed") == "\"0000000000000001\"");
  CHECK(json_text(root, "wait_ns_by_reason", "blocks") == "1500000");
  CHECK(json_text(root, "admission", "later") == "1");
  CHECK(json_text(root, "later_by_reason", "blocks") == "1");
  CHECK(json_text(root, "copies", "count") == "4");
  CHECK(json_text(root, "blocks", "mean_owned") == "12.500000");
  CHECK(json_text(root, "slots", "usable") == "0");
  // Without the ledger nobody counted.
  CHECK(json_text(root, "", "fragmentation_percent") == "null");
  CHECK(json_text(root, "ledger_position_ns", "committed") == "null");
  CHECK(json_text(root, "adjacency", "ascending_ppm") == "null");
  // Without the model's shape bytes are not known.
  CHECK(json_text(root, "copies", "bytes") == "null");
  CHECK(json_text(root, "blocks", "bytes_each") == "null");
  CHECK(json_text(root, "", "request_goodput") == "null");
  CHECK(json_text(root, "goodput", "requests") == "absent");
  CHECK(json_text(root, "measured", "from_s") == "absent");
  CHECK(json_text(root, "", "saturated") == "false");
}

TEST_CASE("json report: goodput, a measured window and bytes where they are known") {
  RunResult result = small_result();
  result.goodput.ttft_ns = 500'000'000;
  result.goodput.tpot_ns = 50'500'000;
  result.good = 1;
  result.measured_from_ns = 1'500'000'000;
  result.measured_to_ns = Measurement::kForever;
  result.trace_requests = 9;
  result.block_bytes = 2'097'152;
  result.copy_bytes = 8'388'608;
  const Outcome<JsonValue> json =
      parse_json(run_report(result, provenance(), ReportFormat::kJson), "report");
  REQUIRE(json);
  const JsonValue& root = json.value();
  CHECK(json_text(root, "", "request_goodput") == "0.400000");  // 1 in 2.5 s
  CHECK(json_text(root, "goodput", "ttft_ms") == "500.000000");
  CHECK(json_text(root, "goodput", "tpot_ms") == "50.500000");
  CHECK(json_text(root, "goodput", "e2el_ms") == "absent");
  CHECK(json_text(root, "goodput", "requests") == "1");
  CHECK(json_text(root, "measured", "from_s") == "1.500000000");
  CHECK(json_text(root, "measured", "to_s") == "null");
  CHECK(json_text(root, "measured", "trace_requests") == "9");
  CHECK(json_text(root, "copies", "bytes") == "8388608");
  CHECK(json_text(root, "blocks", "bytes_each") == "2097152");

  const std::string text = run_report(result, provenance(), ReportFormat::kText);
  for (const std::string line : {"Measured arrivals from (s):              1.500\n",
                                 "Measured arrivals before (s):            the end\n",
                                 "Request goodput (req/s):                 0.40\n",
                                 "Memory of one GPU in them (GiB):         0.20\n",
                                 "Copied on one GPU (MiB):                 8.00\n"}) {
    CHECK_MESSAGE(text.find(line) != std::string::npos, line);
  }
  const std::string csv = run_report(result, provenance(), ReportFormat::kCsv);
  CHECK(csv.find("request_goodput,goodput.ttft_ms,goodput.tpot_ms,goodput.requests,") !=
        std::string::npos);
  const std::string table = run_report(result, provenance(), ReportFormat::kMarkdown);
  CHECK(table.find("| request_goodput | 0.400000 |\n") != std::string::npos);
}

TEST_CASE("reports: a saturated run says so, with its queue") {
  RunResult result = small_result();
  result.arrival_queue.early_arrivals = 75;
  result.arrival_queue.early_waiting = 150;
  result.arrival_queue.late_arrivals = 25;
  result.arrival_queue.late_waiting = 200;
  result.arrival_queue.at_last_arrival = 9;
  const std::string text = run_report(result, provenance(), ReportFormat::kText);
  CHECK(text.find("Saturated:                               yes, see below\n") !=
        std::string::npos);
  CHECK(text.find("\nSaturated: the last request to arrive found 9 waiting, 9.0 % of the trace. On "
                  "average 2.0\nwaited when one of the first three quarters arrived, 8.0 when ") !=
        std::string::npos);
  const std::string json = run_report(result, provenance(), ReportFormat::kJson);
  CHECK(json.find("\"saturated\": true,\n  \"queue_at_arrival\": {\n    \"mean_early\": 2.000000,"
                  "\n    \"mean_late\": 8.000000,\n    \"last\": 9\n  }") != std::string::npos);
}

TEST_CASE("csv report: a header row and a data row of the same length") {
  const std::vector<std::string> rows =
      lines_of(run_report(small_result(), provenance(), ReportFormat::kCsv));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].find("requests,completed,rejected_never,") == 0);
  CHECK(rows[1].find("3,2,1,") == 0);
  CHECK(rows[0].find(",blocks.mean_owned,") != std::string::npos);
  CHECK(rows[1].find(",\"t,1.csv\",") != std::string::npos);
  const auto commas = [](const std::string& row) {
    return std::count(row.begin(), row.end(), ',');
  };
  CHECK(commas(rows[1]) == commas(rows[0]) + 1);  // one stands inside the quotes
}

TEST_CASE("markdown report: a row a figure") {
  const std::string table = run_report(small_result(), provenance(), ReportFormat::kMarkdown);
  CHECK(table.find("| figure | value |\n| :--- | ---: |\n| requests | 3 |\n") == 0);
  CHECK(table.find("\n| mean_tpot_ms | - |\n") != std::string::npos);
}

TEST_CASE("report: a run of no time has no rates") {
  RunResult nothing;
  nothing.requests = 1;
  nothing.rejected_never = 1;
  const std::string json = run_report(nothing, provenance(), ReportFormat::kJson);
  CHECK(json.find("\"request_throughput\": null") != std::string::npos);
  CHECK(json.find("\"mean_owned\": null") != std::string::npos);
  const std::string text = run_report(nothing, provenance(), ReportFormat::kText);
  CHECK(text.find("Request throughput (req/s):              -\n") != std::string::npos);
}

}  // namespace
}  // namespace pinfold::sim
