// The JSON form of a replay: root and list items are objects.

#include <string_view>

#include "sim/config/json_writer.h"
#include "sim/record/lab_text.h"
#include "sim/record/replay.h"
#include "sim/record/verify_text.h"

namespace pinfold::sim {
namespace {

void write_ids(JsonWriter& json, std::string_view key, const std::vector<BlockId>& ids) {
  json.key(key).open_array();
  for (const BlockId id : ids) json.integer(index_of(id));
  json.close();
}

void write_table(JsonWriter& json, const TableResult& table) {
  json.open_object();
  json.key("sequence").string(table.sequence);
  write_ids(json, "blocks", table.blocks);
  if (table.slot) json.key("slot").integer(index_of(*table.slot));
  json.close();
}

void write_pool(JsonWriter& json, std::string_view key, const PoolResult& pool) {
  json.key(key).open_object();
  write_ids(json, "free", pool.free);
  write_ids(json, "held", pool.held);
  json.close();
}

void write_check(JsonWriter& json, const CheckResult& check) {
  json.open_object();
  json.key("blocks").integer(check.blocks);
  json.key("state_slots").integer(check.state_slots);
  json.key("answer").string(word_of(check.answer));
  json.close();
}

void write_read(JsonWriter& json, const ReadResult& read) {
  json.open_object();
  json.key("sequence").string(read.sequence);
  json.key("correct").boolean(read.correct);
  json.key("rows").open_array();
  for (const auto& row : read.rows) row ? json.integer(*row) : json.null();
  json.close();
  json.key("expected").open_array();
  for (const RowValue row : read.expected) json.integer(row);
  json.close();
  json.close();
}

}  // namespace

std::string replay_json(const EventFile& file, const ReplayOutput& output, bool judged) {
  JsonWriter json;
  json.open_object();
  json.key("file").string(file.path);
  json.key("events").integer(file.events.size());
  json.key("lines").open_array();
  for (const std::string& line : output.lines) json.string(line);
  json.close();
  json.key("tables").open_array();
  for (const TableResult& table : output.tables) write_table(json, table);
  json.close();
  write_pool(json, "blocks", output.blocks);
  if (output.slots) write_pool(json, "slots", *output.slots);
  json.key("checks").open_array();
  for (const CheckResult& check : output.checks) write_check(json, check);
  json.close();
  json.key("reads").open_array();
  for (const ReadResult& read : output.reads) write_read(json, read);
  json.close();
  json.key("copies_not_run").integer(output.copies_not_run);
  if (judged) {
    json.key("verified").boolean(output.broken.empty());
    json.key("broken");
    write_broken(json, output.broken);
  }
  json.close();
  return json.finish();
}

}  // namespace pinfold::sim
