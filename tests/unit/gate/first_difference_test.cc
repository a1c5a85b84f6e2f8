#include "sim/gate/first_difference.h"

#include <doctest/doctest.h>

#include <sstream>

#include "sim/core/simulate.h"
#include "sim/gate/event_words.h"
#include "sim/gate/journal_tables.h"
#include "sim/record/journal_file.h"

namespace pinfold::sim {
namespace {

/// A journal in memory, as `run --record` writes it.
class Recorded final : public RunObserver {
 public:
  Recorded() : writer_(out_) { writer_.header(JournalHeader{}); }
  void on_records(std::span<const std::byte> records, std::int64_t) override {
    writer_.records(records);
  }
  std::string finish(const RunResult& result) {
    writer_.end({.events = result.events, .digest = ""});
    return out_.str();
  }

 private:
  std::ostringstream out_;
  JournalWriter writer_;
};

Trace requests(std::uint32_t count) {
  Trace trace;
  for (std::uint32_t n = 0; n < count; ++n) {
    TraceRequest request;
    request.arrival_ns = std::int64_t{n} * 20'000'000;
    request.prompt = 40 + n % 7;
    request.output = 3 + n % 11;
    trace.requests.push_back(request);
  }
  return trace;
}

RunConfig small() {
  RunConfig config;
  config.engine.num_blocks = 40;
  config.engine.max_num_seqs = 8;
  return config;
}

std::string record(const Trace& trace, const RunConfig& config) {
  Recorded recorded;
  RunOptions options;
  options.observer = &recorded;
  return recorded.finish(simulate(trace, config, options));
}

/// The naive twin: the first line of two recordings that is not the same, as an event's number.
std::uint64_t first_differing_line(const std::string& a, const std::string& b) {
  std::istringstream left(a);
  std::istringstream right(b);
  std::string line_a;
  std::string line_b;
  std::uint64_t line = 0;
  do {
    std::getline(left, line_a);
    std::getline(right, line_b);
    ++line;
  } while (line_a == line_b);
  return line - 1;  // the header
}

TEST_CASE(
    "first difference: two runs, two files, and a file and a run find the naive twin's event") {
  const Trace trace = requests(300);  // several thousand events: more than one window of 1024
  const RunConfig base = small();
  RunConfig forward = base;
  forward.engine.release_order = ReleaseOrder::kForward;
  RunConfig no_overlap = base;
  no_overlap.engine.overlap = 0;
  RunConfig roomier = base;
  roomier.engine.num_blocks = 41;
  const std::string text = record(trace, base);
  for (const RunConfig& other : {forward, no_overlap, roomier}) {
    const std::string other_text = record(trace, other);
    const std::uint64_t event = first_differing_line(text, other_text);
    const auto runs = first_difference(trace, base, other);
    REQUIRE(runs);
    CHECK(runs->event == event);
    const auto files = first_difference(text, "a", other_text, "b");
    REQUIRE(files);
    REQUIRE(files.value());
    CHECK(files.value()->event == event);
    const auto mixed = first_difference(text, "a", trace, other);
    REQUIRE(mixed);
    REQUIRE(mixed.value());
    CHECK(mixed.value()->event == event);
    CHECK(runs->a == files.value()->a);
    CHECK(runs->b == mixed.value()->b);
    CHECK(runs->a != runs->b);
    CHECK(runs->common == files.value()->common);
    REQUIRE(runs->tables.size() == files.value()->tables.size());
    for (std::size_t n = 0; n < runs->tables.size(); ++n) {
      CHECK(runs->tables[n].before == files.value()->tables[n].before);
      CHECK(runs->tables[n].after_a == mixed.value()->tables[n].after_a);
      CHECK(runs->tables[n].after_b == files.value()->tables[n].after_b);
    }
  }
  CHECK_FALSE(first_difference(trace, base, base));
  const auto same = first_difference(text, "a", text, "b");
  REQUIRE(same);
  CHECK_FALSE(same.value());
  const auto same_run = first_difference(text, "a", trace, base);
  REQUIRE(same_run);
  CHECK_FALSE(same_run.value());
}

TEST_CASE("first difference: far into the run, and where one journal ends before the other") {
  const Trace whole = requests(300);
  Trace changed = whole;
  changed.requests[250].prompt += 30;
  const std::string text = record(whole, small());
  const std::string other = record(changed, small());
  const auto late = first_difference(text, "a", whole, small());
  REQUIRE(late);
  CHECK_FALSE(late.value());
  const auto found = first_difference(text, "a", changed, small());
  REQUIRE(found);
  REQUIRE(found.value());
  CHECK(found.value()->event == first_differing_line(text, other));
  CHECK(found.value()->event > 2048);

  Trace shorter = whole;
  shorter.requests.resize(1);
  Trace none = shorter;
  const auto ends = first_difference(record(none, small()), "a", whole, small());
  REQUIRE(ends);
  REQUIRE(ends.value());
  CHECK(ends.value()->b.has_value());
}

TEST_CASE("tables: what is taken, shared and found goes to the end, and goes from there again") {
  JournalTables tables;
  const auto apply = [&](Verb verb, std::uint32_t sequence, std::vector<std::uint32_t> numbers,
                         PoolKind pool = PoolKind::kBlocks) {
    std::vector<BlockId> ids;
    for (const std::uint32_t number : numbers) ids.push_back(BlockId{number});
    Record record{};
    record.verb = verb;
    record.pool = pool;
    record.sequence = sequence;
    record.count = static_cast<std::uint32_t>(ids.size());
    tables.apply(record, ids);
  };
  const auto table = [&](std::uint32_t sequence) { return ids_text(tables.table_of(sequence)); };
  apply(Verb::kAcquire, 1, {1, 2, 3});
  apply(Verb::kAcquire, 1, {9}, PoolKind::kStateSlots);
  apply(Verb::kPin, 2, {1, 2, 3});
  apply(Verb::kPark, 2, {3});     // its copy's source
  apply(Verb::kAcquire, 2, {4});  // its own tail
  apply(Verb::kRelease, 1, {3});  // surplus
  CHECK(table(1) == "1, 2");
  CHECK(table(2) == "1, 2, 4");
  apply(Verb::kUnpark, 2, {3});
  apply(Verb::kPark, 2, {4, 2, 1});
  CHECK(table(2) == "none");
  apply(Verb::kHit, 2, {1});
  apply(Verb::kAcquire, 2, {7});
  CHECK(table(2) == "1, 7");
}

TEST_CASE("words: every verb has some, and long lists are cut in the middle") {
  std::vector<BlockId> ids;
  for (std::uint32_t n = 1; n <= 12; ++n) ids.push_back(BlockId{n});
  CHECK(ids_text(ids) == "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12");
  ids.push_back(BlockId{13});
  CHECK(ids_text(ids) == "1, 2, 3, 4, 5, 6, ..., 11, 12, 13 (13)");
  CHECK(ids_text({}) == "none");
  for (const Verb verb : all_verbs()) {
    CHECK(words_of({.verb = verb,
                    .pool = PoolKind::kBlocks,
                    .detail = 0,
                    .sequence = 1,
                    .count = 0,
                    .aux = 0},
                   {}) != "an unknown event");
  }
}

}  // namespace
}  // namespace pinfold::sim
