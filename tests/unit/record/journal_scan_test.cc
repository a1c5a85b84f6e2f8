// The fast reader of recorded journals against the JSON reader, on what the writer writes.

#include "sim/record/journal_scan.h"

#include <doctest/doctest.h>

#include <cstring>
#include <sstream>
#include <string>

#include "sim/record/journal_file.h"

namespace pinfold::sim {
namespace {

// Every verb with every pool, with fields of 0, 1 and the largest value, and 0 to 3 ids.
std::string written(const Record& record, const std::vector<BlockId>& ids) {
  std::vector<std::byte> bytes(sizeof record + ids.size() * sizeof(BlockId));
  std::memcpy(bytes.data(), &record, sizeof record);
  if (!ids.empty()) {
    std::memcpy(bytes.data() + sizeof record, ids.data(), ids.size() * sizeof(BlockId));
  }
  std::ostringstream out;
  JournalWriter writer(out);
  writer.records(bytes);
  writer.end({});
  const std::string text = out.str();
  return text.substr(0, text.find('\n'));
}

JournalEvent read_as_json(const std::string& line) {
  std::string spaced;  // no longer the writer's form
  for (const char letter : line) {
    spaced += letter;
    if (letter == ',') spaced += ' ';
  }
  const std::string text = "{\"pinfold_journal\": 1, \"block_size\": 4, \"num_blocks\": 9}\n" +
                           spaced + "\n{\"event\": \"end_of_journal\", \"events\": 1}\n";
  JournalReader reader(text, "journal");
  REQUIRE(reader.header());
  JournalEvent event;
  const bool read = reader.next(event);
  if (reader.error()) INFO(describe(*reader.error()));
  REQUIRE(read);
  return event;
}

TEST_CASE("journal scan: what the writer writes is read as the JSON reader reads it") {
  const std::uint32_t values[] = {0, 1, 4'294'967'295};
  for (const Verb verb : all_verbs()) {
    for (std::uint32_t n = 0; n < 3 * 3 * 4; ++n) {
      Record record{};
      record.verb = verb;
      record.pool = static_cast<PoolKind>(n % 4);
      record.sequence = values[n % 3];
      record.detail = static_cast<std::uint16_t>(values[n / 3 % 3]);
      record.aux = values[n / 9 % 3];
      std::vector<BlockId> ids;
      if (takes_ids(verb)) {
        ids.assign(verb == Verb::kCopyQueued ? 2 : n / 3 % 4, BlockId{values[n % 3]});
        record.count = static_cast<std::uint32_t>(ids.size());
      } else {
        record.count = values[n / 4 % 3];
      }
      const std::string line = written(record, ids);
      CAPTURE(line);
      Record scanned{};
      std::vector<BlockId> found;
      REQUIRE(scan_event(line, scanned, found));
      CHECK(std::memcmp(&scanned, &record, sizeof record) == 0);
      CHECK(found == ids);
      const JournalEvent event = read_as_json(line);
      CHECK(std::memcmp(&event.record, &record, sizeof record) == 0);
      CHECK(event.ids == ids);
    }
  }
}

TEST_CASE("journal header: a text may hold anything that JSON can say") {
  JournalHeader header;
  header.block_size = 2;
  header.block_ids = 3;
  header.made_by = "a \"quoted\" name\\";
  header.workload = "a tab\t, a line\n, a control character \x04 and \xC3\xA9";
  std::ostringstream out;
  JournalWriter writer(out);
  writer.header(header);
  writer.end({});
  const std::string text = out.str();
  JournalReader reader(text, "t.jsonl");
  const auto read = reader.header();
  REQUIRE_MESSAGE(bool(read), (read ? "" : describe(read.error())));
  CHECK(read.value().made_by == header.made_by);
  CHECK(read.value().workload == header.workload);
}

TEST_CASE("journal scan: every other form is left to the JSON reader") {
  const std::string good = R"({"event": "release", "sequence": 3, "aux": 7, "ids": [1, 2]})";
  Record record{};
  std::vector<BlockId> ids;
  REQUIRE(scan_event(good, record, ids));
  for (std::size_t length = 0; length < good.size(); ++length) {
    CHECK_FALSE(scan_event(good.substr(0, length), record, ids));
  }
  for (const char* other : {R"({"event": "release", "sequence": 03, "ids": [1]})",
                            R"({"event": "release", "sequence": 3})",
                            R"({"event": "release", "sequence": -3, "ids": [1]})",
                            R"({"event": "release", "sequence": 4294967296, "ids": [1]})",
                            R"({"event": "copy", "sequence": 3, "ids": []})",
                            R"({"event": "release", "step": 3, "ids": [1]})",
                            R"({"event": "release", "sequence": 3, "count": 1, "ids": [1]})",
                            R"({"event": "release", "sequence": 3, "ids": [1]} )",
                            R"({"event": "freed", "sequence": 3, "ids": [1]})",
                            R"({"event": "copy", "sequence": 3, "ids": [1]})",
                            R"({"event": "arrive", "sequence": 3, "ids": [1]})",
                            R"({"event": "release", "sequence": 3, "pool": "blocks", "ids": [1]})",
                            R"({"event": "end_of_journal", "events": 3, "digest": ""})"}) {
    CAPTURE(other);
    CHECK_FALSE(scan_event(other, record, ids));
  }
}

}  // namespace
}  // namespace pinfold::sim
