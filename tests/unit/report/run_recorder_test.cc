// A recorder told hand-made records, and one that watches whole runs beside a naive twin.
#include "sim/report/run_recorder.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <protozero/pbf_reader.hpp>
#include <set>

#include "sim/config/parse.h"
#include "sim/core/engine_options.h"
#include "sim/core/observer_list.h"
#include "sim/core/simulate.h"
#include "sim/record/journal_records.h"
#include "sim/trace/azure_csv.h"
#include "tests/unit/scratch_directory.h"

namespace pinfold::sim {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::vector<std::string>> table_of(const std::string& csv) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  for (const char letter : csv) {
    if (letter == '\n') {
      rows.emplace_back(1);
    } else if (letter == ',') {
      rows.back().emplace_back();
    } else {
      rows.back().back() += letter;
    }
  }
  rows.pop_back();  // behind the last line's end
  return rows;
}

/// A recorder of three blocks of 4 positions that is told records one batch at a time.
struct Told {
  test::ScratchDirectory scratch;
  RunRecorder recorder{{.block_ids = 4, .block_size = 4},
                       [this](std::string_view name) { return scratch.path(std::string(name)); }};
  Journal journal;

  Told() { journal.set_enabled(true); }
  void note(Verb verb, std::uint32_t sequence, std::uint32_t count = 0, std::uint32_t aux = 0,
            std::uint16_t detail = 0) {
    journal.append({verb, PoolKind::kBlocks, detail, sequence, count, aux});
  }
  void ids(Verb verb, std::uint32_t sequence, std::vector<BlockId> blocks, std::uint32_t aux = 0) {
    journal.append(
        {verb, PoolKind::kBlocks, 0, sequence, static_cast<std::uint32_t>(blocks.size()), aux},
        blocks);
  }
  void at(std::int64_t now_ns) {
    recorder.on_records(journal.unread(), now_ns);
    journal.clear();
  }
  std::vector<std::vector<std::string>> table(const std::string& name) const {
    return table_of(content_of(scratch.path(name)));
  }
};

TEST_CASE("recorder: a fork's blocks are shared, its copy has a slice, its source is parked") {
  Told told;
  told.recorder.on_arrival(0, 0);
  told.recorder.on_sequence(SequenceId{0}, 0, 0);
  told.note(Verb::kArrive, 0, 6, 100);
  told.note(Verb::kAnswer, 0, 2);
  told.ids(Verb::kAcquire, 0, {BlockId{1}, BlockId{2}});
  told.note(Verb::kChunk, 0, 6, 0);
  told.note(Verb::kStep, 1, 6, 6);
  told.at(10);
  told.note(Verb::kResult, 1);
  told.recorder.on_arrival(1, 20);
  told.recorder.on_sequence(SequenceId{1}, 1, 0);
  told.note(Verb::kArrive, 1, 7, 100);
  told.note(Verb::kFork, 1, 6, 0);
  told.ids(Verb::kPin, 1, {BlockId{1}, BlockId{2}});
  told.at(20);
  told.note(Verb::kAnswer, 1, 1);
  told.ids(Verb::kPark, 1, {BlockId{2}}, 3);
  told.ids(Verb::kAcquire, 1, {BlockId{3}});
  told.ids(Verb::kCopyQueued, 1, {BlockId{2}, BlockId{3}}, 2);
  told.note(Verb::kJoin, 0, 7, 6);
  told.note(Verb::kJoin, 1, 7, 6);
  told.note(Verb::kStep, 2, 2, 0);
  told.at(30);
  told.note(Verb::kPassed, 0, 0, 3);
  told.ids(Verb::kUnpark, 1, {BlockId{2}}, 3);
  told.at(35);
  told.note(Verb::kResult, 2);
  told.ids(Verb::kRelease, 0, {BlockId{1}, BlockId{2}});
  told.note(Verb::kEnd, 0, 2, 0, static_cast<std::uint16_t>(EndReason::kStop));
  told.ids(Verb::kPark, 1, {BlockId{3}, BlockId{1}}, 4);
  told.note(Verb::kEnd, 1, 1, 0, static_cast<std::uint16_t>(EndReason::kAborted));
  told.at(40);
  CHECK_FALSE(told.recorder.finish({}));

  const auto timeline = told.table("timeline.csv");
  REQUIRE(timeline.size() == 6);
  CHECK(timeline[0][4] == "blocks_owned");
  CHECK(timeline[0][8] == "blocks_parked");
  const auto blocks = [&](std::size_t row) {
    return std::vector<std::string>(timeline[row].begin() + 4, timeline[row].begin() + 9);
  };
  using Strings = std::vector<std::string>;
  //                          owned reserved committed shared parked
  CHECK(blocks(1) == Strings{"2", "0", "2", "0", "0"});  // one chunk holds the whole prompt
  CHECK(blocks(2) == Strings{"2", "0", "0", "2", "0"});
  // The parent's table still holds the copy's source, so it is not parked.
  CHECK(blocks(3) == Strings{"3", "0", "2", "1", "0"});
  CHECK(blocks(4) == Strings{"3", "0", "2", "1", "0"});
  CHECK(blocks(5) == Strings{"2", "0", "0", "0", "2"});
  CHECK(timeline[0][19] == "forks");
  CHECK(timeline[5][19] == "1");
  CHECK(timeline[0][20] == "copies");
  CHECK(timeline[5][20] == "1");

  const auto requests = told.table("requests.csv");
  REQUIRE(requests.size() == 3);
  CHECK(requests[1][0] == "0");
  CHECK(requests[1][5] == "stop");
  CHECK(requests[1][9] == "0.000040");
  CHECK(requests[2][1] == "0.000000020");
  CHECK(requests[2][5] == "aborted");
  CHECK(requests[0][21] == "blocks_most");
  CHECK(requests[2][21] == "2");

  // One copy, on a track of its lane, from its plan at 30 ns to 35 ns.
  const std::string trace = content_of(told.scratch.path("trace.pftrace"));
  std::uint64_t copies = 0;
  std::vector<std::uint64_t> times;
  protozero::pbf_reader packets(trace);
  while (packets.next(1)) {
    protozero::pbf_reader packet = packets.get_message();
    std::uint64_t time = 0;
    while (packet.next()) {
      if (packet.tag() == 8) {
        time = packet.get_uint64();
      } else if (packet.tag() == 60) {
        protozero::pbf_reader track = packet.get_message();
        std::uint64_t uuid = 0;
        std::string name;
        while (track.next()) {
          if (track.tag() == 1) {
            uuid = track.get_uint64();
          } else if (track.tag() == 2) {
            name = track.get_string();
          } else {
            track.skip();
          }
        }
        if (name == "compute lane: copies") copies = uuid;
      } else if (packet.tag() == 11) {
        protozero::pbf_reader event = packet.get_message();
        while (event.next()) {
          if (event.tag() == 11 && copies != 0) {
            if (event.get_uint64() == copies) times.push_back(time);
          } else {
            event.skip();
          }
        }
      } else {
        packet.skip();
      }
    }
  }
  CHECK(times == std::vector<std::uint64_t>{30, 35});
}

TEST_CASE("recorder: one that never fits, one that is still there in the end") {
  Told told;
  told.recorder.on_arrival(0, 5);
  told.recorder.on_sequence(SequenceId{0}, 0, 0);
  told.note(Verb::kArrive, 0, 999, 1);
  told.note(Verb::kAnswer, 0, 0, 0, static_cast<std::uint16_t>(Answer::kNever));
  told.recorder.on_arrival(1, 6);
  told.recorder.on_sequence(SequenceId{1}, 1, 0);
  told.note(Verb::kArrive, 1, 3, 1);
  told.recorder.on_wait(Cause::kNone, 4, 7);
  told.at(7);
  told.recorder.on_wait(Cause::kBlocks, 7, 20);
  told.at(20);
  CHECK_FALSE(told.recorder.finish({}));
  const auto requests = told.table("requests.csv");
  REQUIRE(requests.size() == 3);
  using Strings = std::vector<std::string>;
  CHECK(Strings(requests[1].begin(), requests[1].begin() + 11) ==
        Strings{"0", "0.000000005", "999", "0", "1", "never", "0.000000007", "", "", "0.000002",
                "0.000000"});
  // It waited a nanosecond for the step during which it arrived, then 13 for blocks.
  CHECK(Strings(requests[2].begin(), requests[2].begin() + 12) ==
        Strings{"1", "0.000000006", "3", "0", "1", "unfinished", "", "", "", "", "0.000014",
                "0.000013"});
  CHECK(requests[2][17] == "0.000001");
}

TEST_CASE("recorder: a request that was given up before it had a sequence") {
  Told told;
  told.recorder.on_arrival(0, 5);
  told.recorder.on_end(0, 9);
  CHECK_FALSE(told.recorder.finish({}));
  const auto requests = told.table("requests.csv");
  REQUIRE(requests.size() == 2);
  CHECK(requests[1][4] == "0");
  CHECK(requests[1][5] == "aborted");
  CHECK(requests[1][6] == "0.000000009");
}

TEST_CASE("recorder: a request ends with the last of its samples") {
  Told told;
  told.recorder.on_arrival(0, 0);
  for (const std::uint32_t sample : {0u, 1u}) {
    told.recorder.on_sequence(SequenceId{sample}, 0, sample);
    told.note(Verb::kArrive, sample, 4, 8);
    told.note(Verb::kAnswer, sample, 1);
  }
  told.at(1);
  told.recorder.on_first_token(0, 10);
  told.note(Verb::kEnd, 0, 3, 0, static_cast<std::uint16_t>(EndReason::kLimit));
  told.at(30);
  told.note(Verb::kEnd, 1, 4, 0, static_cast<std::uint16_t>(EndReason::kStop));
  told.at(50);
  CHECK_FALSE(told.recorder.finish({}));
  const auto requests = told.table("requests.csv");
  REQUIRE(requests.size() == 2);
  CHECK(requests[1][3] == "8");  // 3, and 4 behind the first token, which is the prompt's step's
  CHECK(requests[1][4] == "2");
  CHECK(requests[1][5] == "limit");  // as its first sample
  CHECK(requests[1][6] == "0.000000050");
  CHECK(requests[1][8] == "0.000010");  // 20 ns over 2 tokens, and 40 ns over 4
}

TEST_CASE("recorder: a file that cannot be written is named") {
  test::ScratchDirectory scratch;
  RunRecorder recorder({.block_ids = 4, .block_size = 4}, [&](std::string_view name) {
    return scratch.path(name == "preemptions.csv" ? "missing/preemptions.csv" : std::string(name));
  });
  const auto failure = recorder.finish({});
  REQUIRE(failure);
  CHECK(failure->name == "preemptions.csv");
  CHECK(failure->reason == ENOENT);
}

/// Counts blocks from nothing but who holds what, afresh after each batch.
class NaiveTwin final : public RunObserver {
 public:
  struct Counts {
    std::int64_t owned = 0, shared = 0, parked = 0;
    bool operator==(const Counts&) const = default;
  };

  void on_records(std::span<const std::byte> records, std::int64_t now_ns) override {
    for_each_record(records, ids_, [this](const Record& record, std::span<const BlockId> ids) {
      if (record.pool != PoolKind::kBlocks) return;
      for (const BlockId id : ids) take(record, index_of(id));
    });
    Counts counts;
    for (const auto& [id, holders] : tables_) {
      if (holders.empty() && fences_[id] == 0) continue;
      ++counts.owned;
      if (holders.size() > 1) ++counts.shared;
      if (holders.empty()) ++counts.parked;
    }
    at[now_ns] = counts;
  }

  std::map<std::int64_t, Counts> at;

 private:
  void take(const Record& record, std::uint32_t id) {
    std::multiset<std::uint32_t>& holders = tables_[id];
    if (record.verb == Verb::kAcquire || record.verb == Verb::kPin) holders.insert(record.sequence);
    if (record.verb == Verb::kRelease || record.verb == Verb::kPark) {
      REQUIRE(holders.count(record.sequence) > 0);
      holders.erase(holders.find(record.sequence));
    }
    if (record.verb == Verb::kPark) ++fences_[id];
    if (record.verb == Verb::kUnpark) --fences_[id];
  }

  std::map<std::uint32_t, std::multiset<std::uint32_t>> tables_;
  std::map<std::uint32_t, int> fences_;
  std::vector<BlockId> ids_;
};

TEST_CASE("recorder: blocks at every instant are those of a naive twin") {
  const char* root = std::getenv("PINFOLD_SOURCE_ROOT");
  REQUIRE(root != nullptr);
  auto trace = read_azure_csv(std::string(root) + "/traces/azure/AzureLLMInferenceTrace_conv.csv");
  REQUIRE(bool(trace));
  trace.value().requests.resize(120);
  for (const std::string overlap : {"0", "1", "2"}) {
    CAPTURE(overlap);
    const auto config = load_config(
        std::nullopt, std::vector<std::string>{"engine.num_blocks=500", "cost.step_base_us=60000",
                                               "workload.drafts=3", "workload.samples=3",
                                               "engine.overlap=" + overlap});
    REQUIRE(bool(config));
    test::ScratchDirectory scratch;
    const SchedulerOptions engine = engine_options(config.value(), true);
    RunRecorder recorder({.block_ids = engine.block_ids, .block_size = engine.block_size.value},
                         [&](std::string_view name) { return scratch.path(std::string(name)); });
    NaiveTwin twin;
    ObserverList both;
    both.add(recorder);
    both.add(twin);
    RunOptions options;
    options.observer = &both;
    const RunResult result = simulate(trace.value(), config.value(), options);
    CHECK(result.preemptions > 0);
    CHECK_FALSE(recorder.finish({}));
    const auto timeline = table_of(content_of(scratch.path("timeline.csv")));
    CHECK(timeline.size() > 100);
    std::size_t different = 0;
    for (std::size_t n = 1; n < timeline.size(); ++n) {
      const auto& row = timeline[n];
      std::string digits = row[0];
      digits.erase(digits.find('.'), 1);
      const NaiveTwin::Counts counts{std::stoll(row[4]), std::stoll(row[7]), std::stoll(row[8])};
      if (twin.at.at(std::stoll(digits)) != counts) ++different;
    }
    CHECK(different == 0);
  }
}

}  // namespace
}  // namespace pinfold::sim
