#include "sim/report/difference_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/gate/event_words.h"

namespace pinfold::sim {
namespace {

constexpr const char* kNoEvent = "no further event";

void write_ids(JsonWriter& json, const std::vector<BlockId>& ids) {
  json.open_array();
  for (const BlockId id : ids) json.integer(index_of(id));
  json.close();
}

void write_words(JsonWriter& json, const std::optional<std::string>& words) {
  words ? json.string(*words) : json.null();
}

}  // namespace

std::string difference_text(const FirstDifference& difference, const std::string& a,
                            const std::string& b) {
  std::string text = fmt::format("First differing event: {}\n", difference.event);
  std::uint64_t number = difference.event - difference.common.size();
  for (const std::string& event : difference.common) {
    text += fmt::format("  {} in both: {}\n", number++, event);
  }
  const std::size_t width = std::max(a.size(), b.size()) + 1;
  text += fmt::format("  {} {:<{}} {}\n", number, a + ":", width, difference.a.value_or(kNoEvent));
  text += fmt::format("  {} {:<{}} {}\n", number, b + ":", width, difference.b.value_or(kNoEvent));
  for (const TableAround& table : difference.tables) {
    text += fmt::format("  Block table of sequence {}\n", table.sequence);
    text += fmt::format("    before: {}\n", ids_text(table.before));
    text += fmt::format("    after, {:<{}} {}\n", a + ":", width, ids_text(table.after_a));
    text += fmt::format("    after, {:<{}} {}\n", b + ":", width, ids_text(table.after_b));
  }
  return text;
}

void write_difference(JsonWriter& json, const FirstDifference& difference) {
  json.open_object();
  json.key("event").integer(difference.event);
  json.key("common").open_array();
  for (const std::string& event : difference.common) json.string(event);
  json.close();
  write_words(json.key("a"), difference.a);
  write_words(json.key("b"), difference.b);
  json.key("block_tables").open_array();
  for (const TableAround& table : difference.tables) {
    json.open_object();
    json.key("sequence").integer(table.sequence);
    write_ids(json.key("before"), table.before);
    write_ids(json.key("after_a"), table.after_a);
    write_ids(json.key("after_b"), table.after_b);
    json.close();
  }
  json.close();
  json.close();
}

}  // namespace pinfold::sim
