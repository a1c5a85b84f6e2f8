#include "sim/record/journal_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <iterator>

#include "sim/config/json_reader.h"
#include "sim/config/json_writer.h"
#include "sim/record/journal_scan.h"
#include "sim/trace/closest_word.h"

namespace pinfold::sim {
namespace {

constexpr std::array<std::string_view, 2> kReleaseOrders{"reverse", "forward"};
constexpr std::array<std::string_view, 2> kFreeOrders{"fifo", "lifo"};
constexpr std::array<std::string_view, 2> kFences{"always", "unordered_writers"};
constexpr std::array<std::string_view, 2> kCopyLanes{"compute", "separate"};
constexpr std::array<std::string_view, 3> kReuses{"off", "lru", "fifo"};  // and the eviction
constexpr std::uint32_t kIdsMost = 1U << 26;
constexpr std::size_t kFlushBytes = 64 * 1024;

template <std::size_t N>
std::optional<std::size_t> index_in(const std::array<std::string_view, N>& words,
                                    std::string_view word) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<std::size_t>(found - words.begin());
}

const JsonValue* find(const JsonValue& object, std::string_view key) {
  for (const JsonMember& member : object.members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

std::optional<std::uint64_t> number(const JsonValue& value, std::uint64_t most) {
  std::uint64_t number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [stop, problem] = std::from_chars(value.text.data(), end, number);
  const bool whole =
      value.kind == JsonValue::Kind::kNumber && problem == std::errc() && stop == end;
  if (!whole || number > most) return std::nullopt;
  return number;
}

}  // namespace

// ---- writing ---------------------------------------------------------------------------------------

void JournalWriter::header(const JournalHeader& header) {
  const auto index = [](auto value) { return static_cast<std::size_t>(value); };
  text_ += fmt::format(
      R"({{"pinfold_journal": 1, "block_size": {}, "num_blocks": {}, "num_state_slots": {}, )"
      R"("num_draft_slots": {}, "release_order": "{}", "free_order": "{}", "fence": "{}", )"
      R"("copy_lane": "{}", {}{}"made_by": {}, "workload": {}}})"
      "\n",
      header.block_size, header.block_ids, header.state_ids, header.draft_ids,
      kReleaseOrders[index(header.release_order)], kFreeOrders[index(header.free_order)],
      kFences[index(header.fence)], kCopyLanes[index(header.copy_lane)],
      header.reuse ? fmt::format(R"("reuse": "{}", )", kReuses[1 + index(header.eviction)]) : "",
      header.host_block_ids > 1 ? fmt::format(R"("num_host_blocks": {}, "num_host_states": {}, )",
                                              header.host_block_ids, header.host_state_ids)
                                : "",
      json_string(header.made_by), json_string(header.workload));
}

void JournalWriter::record(const Record& record, const std::byte* ids) {
  auto out = std::back_inserter(text_);
  fmt::format_to(out, R"({{"event": "{}", "{}": {})", word_of(record.verb),
                 names_step(record.verb) ? "step" : "sequence", record.sequence);
  if (record.pool != PoolKind::kBlocks) {
    fmt::format_to(out, R"(, "pool": "{}")", word_of(record.pool));
  }
  if (record.detail != 0) fmt::format_to(out, R"(, "detail": {})", record.detail);
  const std::uint32_t count = ids_after(record);
  if (count == 0 && record.count != 0) fmt::format_to(out, R"(, "count": {})", record.count);
  if (record.aux != 0) fmt::format_to(out, R"(, "aux": {})", record.aux);
  if (takes_ids(record.verb)) {  // the reader wants it, even if there is none
    text_ += R"(, "ids": [)";
    for (std::uint32_t n = 0; n < count; ++n) {
      BlockId id{};
      std::memcpy(&id, ids + n * sizeof id, sizeof id);
      if (n > 0) text_ += ", ";
      fmt::format_to(out, "{}", index_of(id));
    }
    text_ += ']';
  }
  text_ += "}\n";
  flush_if_long();
}

void JournalWriter::records(std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    Record one;
    std::memcpy(&one, bytes.data() + at, sizeof one);
    at += sizeof one;
    record(one, bytes.data() + at);
    at += ids_after(one) * sizeof(BlockId);
  }
}

void JournalWriter::end(const JournalEnd& end) {
  text_ += fmt::format(R"({{"event": "end_of_journal", "events": {}, "digest": "{}"}})"
                       "\n",
                       end.events, end.digest);
  out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
  out_.flush();
  text_.clear();
}

void JournalWriter::flush_if_long() {
  if (text_.size() < kFlushBytes) return;
  out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
  text_.clear();
}

// ---- reading ---------------------------------------------------------------------------------------

bool JournalReader::recognises(std::string_view text) {
  return text.substr(0, 4096).find("\"pinfold_journal\"") != std::string_view::npos;
}

std::optional<std::string_view> JournalReader::next_line() {
  while (at_ < text_.size()) {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view line = text_.substr(at_, end - at_);
    at_ = end + 1;
    ++line_;
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first != std::string_view::npos && line.substr(first, 2) != "//") return line;
  }
  return std::nullopt;
}

bool JournalReader::fail(std::uint64_t column, std::string key, std::string found,
                         std::string expected, std::string hint) {
  error_ = InputError{.path = path_,
                      .line = line_,
                      .column = column,
                      .key = std::move(key),
                      .found = std::move(found),
                      .expected = std::move(expected),
                      .hint = std::move(hint)};
  return false;
}

namespace {

/// Every key of a line must be one of these.
template <std::size_t N>
const JsonMember* unknown_key(const JsonValue& object,
                              const std::array<std::string_view, N>& keys) {
  for (const JsonMember& member : object.members) {
    if (!index_in(keys, member.key)) return &member;
  }
  return nullptr;
}

template <std::size_t N>
std::string did_you_mean(std::string_view word, const std::array<std::string_view, N>& words) {
  const auto close = closest_word(word, words);
  return close ? fmt::format("did you mean \"{}\"?", *close) : std::string();
}

}  // namespace

Outcome<JournalHeader> JournalReader::header() {
  static constexpr std::array<std::string_view, 14> kKeys{
      "num_host_blocks", "num_host_states", "pinfold_journal", "block_size", "num_blocks",
      "num_state_slots", "num_draft_slots", "release_order",   "free_order", "fence",
      "copy_lane",       "reuse",           "made_by",         "workload"};
  const std::optional<std::string_view> line = next_line();
  if (!line) {
    fail(0, {}, "an empty file",
         "a recorded journal, which begins with {\"pinfold_journal\": 1, ...}");
    return *error_;
  }
  const Outcome<JsonValue> parsed = parse_json(*line, path_);
  if (!parsed) {
    error_ = parsed.error();
    error_->line = line_;
    return *error_;
  }
  const JsonValue& object = parsed.value();
  if (object.kind != JsonValue::Kind::kObject || find(object, "pinfold_journal") == nullptr) {
    fail(object.position.column, {}, "no header", "{\"pinfold_journal\": 1, ...}");
    return *error_;
  }
  if (const JsonMember* member = unknown_key(object, kKeys)) {
    fail(member->position.column, {}, "unknown key " + in_quotes(member->key),
         fmt::format("one of {}", fmt::join(kKeys, ", ")), did_you_mean(member->key, kKeys));
    return *error_;
  }
  JournalHeader header;
  const auto count = [&](std::string_view key, std::uint32_t least, std::uint32_t most,
                         std::uint32_t& place, bool needed) {
    if (error_) return;
    const JsonValue* value = find(object, key);
    if (value == nullptr) {
      if (needed) {
        fail(object.position.column, {}, fmt::format("no key \"{}\"", key), "its value");
      }
      return;
    }
    const std::optional<std::uint64_t> found = number(*value, most);
    if (!found || *found < least) {
      fail(value->position.column, std::string(key), shown(*value),
           fmt::format("a whole number from {} to {}", least, most));
      return;
    }
    place = static_cast<std::uint32_t>(*found);
  };
  const auto word = [&]<std::size_t N>(std::string_view key,
                                       const std::array<std::string_view, N>& words) {
    const JsonValue* value = find(object, key);
    if (error_ || value == nullptr) return std::size_t{0};
    const std::optional<std::size_t> index = index_in(words, value->text);
    if (value->kind != JsonValue::Kind::kString || !index) {
      fail(value->position.column, std::string(key), shown(*value),
           fmt::format("one of \"{}\"", fmt::join(words, "\", \"")),
           did_you_mean(value->text, words));
      return std::size_t{0};
    }
    return *index;
  };
  std::uint32_t version = 1;
  count("pinfold_journal", 1, 1, version, true);
  count("block_size", 1, 1U << 16, header.block_size, true);
  count("num_blocks", 1, kIdsMost, header.block_ids, true);
  count("num_state_slots", 1, kIdsMost, header.state_ids, false);
  count("num_draft_slots", 1, kIdsMost, header.draft_ids, false);
  count("num_host_blocks", 1, kIdsMost, header.host_block_ids, false);
  count("num_host_states", 1, kIdsMost, header.host_state_ids, false);
  header.release_order = static_cast<ReleaseOrder>(word("release_order", kReleaseOrders));
  header.free_order = static_cast<FreeOrder>(word("free_order", kFreeOrders));
  header.fence = static_cast<FenceMode>(word("fence", kFences));
  header.copy_lane = static_cast<CopyLane>(word("copy_lane", kCopyLanes));
  const std::size_t reuse = word("reuse", kReuses);
  header.reuse = reuse > 0;
  header.eviction = reuse == 2 ? Eviction::kFifo : Eviction::kLru;
  for (const auto& [key, place] :
       {std::pair{"made_by", &header.made_by}, std::pair{"workload", &header.workload}}) {
    if (const JsonValue* value = find(object, key)) *place = value->text;
  }
  if (error_) return *error_;
  return header;
}

bool JournalReader::next(JournalEvent& event) {
  static constexpr std::array<std::string_view, 10> kKeys{
      "event", "sequence", "step", "pool", "detail", "count", "aux", "ids", "events", "digest"};
  const std::optional<std::string_view> line = next_line();
  if (!line) {
    return fail(0, {}, "the end of the file", "the line {\"event\": \"end_of_journal\", ...}",
                "the file seems to be cut off");
  }
  if (scan_event(*line, event.record, event.ids)) {
    event.line = line_;
    ++events_;
    return true;
  }
  const Outcome<JsonValue> parsed = parse_json(*line, path_);
  if (!parsed) {
    error_ = parsed.error();
    error_->line = line_;
    return false;
  }
  const JsonValue& object = parsed.value();
  if (object.kind != JsonValue::Kind::kObject) {
    return fail(object.position.column, {}, shown(object), "an event object");
  }
  if (const JsonMember* member = unknown_key(object, kKeys)) {
    return fail(member->position.column, {}, "unknown key " + in_quotes(member->key),
                fmt::format("one of {}", fmt::join(kKeys, ", ")), did_you_mean(member->key, kKeys));
  }
  const JsonValue* word = find(object, "event");
  if (word == nullptr) {
    return fail(object.position.column, {}, "no key \"event\"", "the event's word");
  }
  if (word->text == "end_of_journal") {
    const JsonValue* events = find(object, "events");
    const JsonValue* digest = find(object, "digest");
    if (events == nullptr || !number(*events, UINT64_MAX)) {
      return fail(object.position.column, {}, "no count of events", "\"events\": a whole number");
    }
    end_.events = *number(*events, UINT64_MAX);
    if (digest != nullptr) end_.digest = digest->text;
    if (end_.events != events_) {
      return fail(events->position.column, "events", shown(*events),
                  fmt::format("{}, the number of events above it", events_),
                  "lines are missing or were added");
    }
    if (next_line()) return fail(0, {}, "a line behind the last one", "the end of the file");
    return false;
  }
  event.line = line_;
  event.record = Record{};
  event.ids.clear();
  const std::optional<Verb> verb = verb_of(word->text);
  if (!verb) {
    std::vector<std::string_view> words{"end_of_journal"};
    for (const Verb known : all_verbs()) words.push_back(word_of(known));
    const auto close = closest_word(word->text, words);
    return fail(word->position.column, "event", shown(*word),
                fmt::format("one of {}", fmt::join(words, ", ")),
                close ? fmt::format("did you mean \"{}\"?", *close) : std::string());
  }
  event.record.verb = *verb;
  const auto field = [&](std::string_view key, std::uint64_t most, auto& place) {
    const JsonValue* value = find(object, key);
    if (value == nullptr) return true;
    const std::optional<std::uint64_t> found = number(*value, most);
    if (!found) {
      return fail(value->position.column, std::string(key), shown(*value),
                  fmt::format("a whole number up to {}", most));
    }
    place = static_cast<std::remove_reference_t<decltype(place)>>(*found);
    return true;
  };
  if (!field(names_step(*verb) ? "step" : "sequence", UINT32_MAX, event.record.sequence) ||
      !field("detail", UINT16_MAX, event.record.detail) ||
      !field("count", UINT32_MAX, event.record.count) ||
      !field("aux", UINT32_MAX, event.record.aux)) {
    return false;
  }
  if (const JsonValue* pool = find(object, "pool")) {
    const std::optional<PoolKind> known = pool_of(pool->text);
    if (!known) {
      const auto close = closest_word(pool->text, pool_words());
      return fail(pool->position.column, "pool", shown(*pool),
                  fmt::format("one of \"{}\"", fmt::join(pool_words(), "\", \"")),
                  close ? fmt::format("did you mean \"{}\"?", *close) : std::string());
    }
    event.record.pool = *known;
  }
  const bool with_ids = takes_ids(*verb);
  const JsonValue* ids = find(object, "ids");
  if ((ids != nullptr) != with_ids) {
    return fail(object.position.column, {}, ids == nullptr ? "no key \"ids\"" : "a key \"ids\"",
                with_ids ? "the ids that the event names" : "none for this event");
  }
  if (with_ids) {
    if (ids->kind != JsonValue::Kind::kArray) {
      return fail(ids->position.column, "ids", shown(*ids), "an array of ids");
    }
    for (const JsonValue& item : ids->items) {
      const std::optional<std::uint64_t> id = number(item, UINT32_MAX);
      if (!id) return fail(item.position.column, "ids", shown(item), "an id");
      event.ids.push_back(BlockId{static_cast<std::uint32_t>(*id)});
    }
    if (event.record.verb == Verb::kCopyQueued && event.ids.size() != 2) {
      return fail(ids->position.column, "ids", fmt::format("{} ids", event.ids.size()),
                  "two: where the copy reads and where it writes");
    }
    event.record.count = static_cast<std::uint32_t>(event.ids.size());
  }
  ++events_;
  return true;
}

}  // namespace pinfold::sim
