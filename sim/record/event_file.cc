#include "sim/record/event_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <span>
#include <utility>

#include "sim/trace/closest_word.h"
#include "sim/trace/read_file.h"

namespace pinfold::sim {
namespace {

constexpr std::uint32_t kIdsMost = 1'000'000;
constexpr std::uint32_t kBlockSizeMost = 65'536;
constexpr std::uint32_t kDraftsMost = 1'000'000;
constexpr std::uint32_t kRowValueMost = 2'147'483'647;
constexpr std::size_t kNameLongest = 32;

using Words = std::span<const std::string_view>;

std::string did_you_mean(std::string_view word, Words candidates) {
  const auto closest = closest_word(word, candidates);
  return closest ? fmt::format("did you mean \"{}\"?", *closest) : std::string();
}

bool is_name(std::string_view text) {
  const auto allowed = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '-' || letter == '.';
  };
  return !text.empty() && text.size() <= kNameLongest &&
         std::all_of(text.begin(), text.end(), allowed);
}

bool is_one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char letter) {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f;
  });
}

/// Reads the fields of one line's object. The first mistake sticks and everything after it yields
/// empty values, so that callers read field after field and ask once at the end.
class Fields {
 public:
  Fields(const std::string& path, std::uint64_t line) : path_(path), line_(line) {}

  const std::optional<InputError>& error() const { return error_; }

  TextPosition place(TextPosition in_line) const { return {line_, in_line.column}; }

  void fail(TextPosition in_line, std::string key, std::string found, std::string expected,
            std::string hint = {}) {
    if (error_) return;
    error_ = InputError{.path = path_,
                        .line = line_,
                        .column = in_line.column,
                        .key = std::move(key),
                        .found = std::move(found),
                        .expected = std::move(expected),
                        .hint = std::move(hint)};
  }

  /// False if `value` is no object or has a key that is not in `keys`.
  bool object(const JsonValue& value, const std::string& where, Words keys) {
    if (value.kind != JsonValue::Kind::kObject) {
      fail(value.position, where, shown(value), "an object");
      return false;
    }
    for (const JsonMember& member : value.members) {
      if (std::find(keys.begin(), keys.end(), member.key) != keys.end()) continue;
      fail(member.position, where, "unknown key " + in_quotes(member.key),
           fmt::format("one of {}", fmt::join(keys, ", ")), did_you_mean(member.key, keys));
      return false;
    }
    return true;
  }

  const JsonValue* optional(const JsonValue& object, std::string_view key) const {
    for (const JsonMember& member : object.members) {
      if (member.key == key) return &member.value;
    }
    return nullptr;
  }

  /// nullptr if the key is missing.
  const JsonValue* required(const JsonValue& object, std::string_view key,
                            std::string_view expected) {
    const JsonValue* value = optional(object, key);
    if (value == nullptr) {
      fail(object.position, {}, fmt::format("no key \"{}\"", key),
           fmt::format("\"{}\": {}", key, expected));
    }
    return value;
  }

  PlacedCount count(const JsonValue* value, std::string_view key, std::uint32_t least,
                    std::uint32_t most) {
    if (value == nullptr || error_) return {};
    std::uint32_t number = 0;
    const char* end = value->text.data() + value->text.size();
    const auto [stop, problem] = std::from_chars(value->text.data(), end, number);
    const bool whole =
        value->kind == JsonValue::Kind::kNumber && problem == std::errc() && stop == end;
    if (!whole || number < least || number > most) {
      fail(value->position, std::string(key), shown(*value), expected_count(least, most));
      return {};
    }
    return {number, place(value->position)};
  }
  PlacedCount count(const JsonValue& object, std::string_view key, std::uint32_t least,
                    std::uint32_t most) {
    return count(required(object, key, expected_count(least, most)), key, least, most);
  }

  PlacedName name(const JsonValue& object, std::string_view key) {
    const std::string expected = "a name of 1 to 32 letters, digits, '_', '-' or '.'";
    const JsonValue* value = required(object, key, expected);
    if (value == nullptr || error_) return {};
    if (value->kind != JsonValue::Kind::kString || !is_name(value->text)) {
      fail(value->position, std::string(key), shown(*value), expected);
      return {};
    }
    return {value->text, place(value->position)};
  }

  std::string text(const JsonValue* value, std::string_view key) {
    if (value == nullptr || error_) return {};
    if (value->kind != JsonValue::Kind::kString || !is_one_line(value->text)) {
      fail(value->position, std::string(key), shown(*value), "a string without control characters");
      return {};
    }
    return value->text;
  }

  /// Index of the word, or 0 after a mistake.
  std::size_t choice(const JsonValue* value, std::string_view key, Words words) {
    if (value == nullptr || error_) return 0;
    const auto found = std::find(words.begin(), words.end(), value->text);
    if (value->kind == JsonValue::Kind::kString && found != words.end()) {
      return static_cast<std::size_t>(found - words.begin());
    }
    fail(
        value->position, std::string(key), shown(*value), expected_word(words),
        value->kind == JsonValue::Kind::kString ? did_you_mean(value->text, words) : std::string());
    return 0;
  }

  static std::string expected_word(Words words) {
    return fmt::format("one of \"{}\"", fmt::join(words, "\", \""));
  }

  /// nullptr unless the value is an array with at least one item.
  const JsonValue* list(const JsonValue& object, std::string_view key, std::string_view of) {
    const std::string expected = fmt::format("an array of {}, at least one", of);
    const JsonValue* value = required(object, key, expected);
    if (value == nullptr || error_) return nullptr;
    if (value->kind == JsonValue::Kind::kArray && !value->items.empty()) return value;
    const bool empty = value->kind == JsonValue::Kind::kArray;
    fail(value->position, std::string(key), empty ? "an empty array" : shown(*value), expected);
    return nullptr;
  }

 private:
  static std::string expected_count(std::uint32_t least, std::uint32_t most) {
    return fmt::format("a whole number from {} to {}", least, most);
  }

  const std::string& path_;
  std::uint64_t line_;
  std::optional<InputError> error_;
};

// --- One function per kind of event ---------------------------------------------------------------

constexpr std::array<std::string_view, 2> kWhens{"now", "after_copies"};

AdmitEvent read_admit(Fields& fields, const JsonValue& object) {
  static constexpr std::array<std::string_view, 2> kKeys{"sequence", "tokens"};
  AdmitEvent event;
  const JsonValue* list =
      fields.list(object, "sequences", "objects with \"sequence\" and \"tokens\"");
  if (list == nullptr) return event;
  for (const JsonValue& item : list->items) {
    if (!fields.object(item, fmt::format("sequences[{}]", event.requests.size()), kKeys))
      return event;
    AdmitEvent::Request request{fields.name(item, "sequence"),
                                fields.count(item, "tokens", 1, kEventTokensMost)};
    event.requests.push_back(std::move(request));
  }
  return event;
}

GrowEvent read_grow(Fields& fields, const JsonValue& object) {
  return {fields.name(object, "sequence"), fields.count(object, "tokens", 1, kEventTokensMost)};
}

DraftEvent read_draft(Fields& fields, const JsonValue& object) {
  return {fields.name(object, "sequence"), fields.count(object, "tokens", 1, kEventTokensMost),
          fields.count(object, "drafts", 1, kDraftsMost)};
}

CommitEvent read_commit(Fields& fields, const JsonValue& object) {
  return {fields.name(object, "sequence"), fields.count(object, "accepted", 0, kDraftsMost)};
}

CheckEvent read_check(Fields& fields, const JsonValue& object) {
  CheckEvent event;
  event.blocks = fields.count(object, "blocks", 0, kEventTokensMost).value;
  if (const JsonValue* slots = fields.optional(object, "state_slots")) {
    event.state_slots = fields.count(slots, "state_slots", 0, kIdsMost).value;
  }
  return event;
}

ForkEvent read_fork(Fields& fields, const JsonValue& object) {
  return {fields.name(object, "parent"), fields.name(object, "child"),
          fields.count(object, "processed", 1, kEventTokensMost)};
}

UnpinEvent read_unpin(Fields& fields, const JsonValue& object) {
  UnpinEvent event;
  event.sequence = fields.name(object, "sequence");
  const JsonValue* when = fields.required(object, "when", Fields::expected_word(kWhens));
  event.when =
      fields.choice(when, "when", kWhens) == 0 ? SourceRelease::kNow : SourceRelease::kAfterCopies;
  return event;
}

CopyDoneEvent read_copy_done(Fields& fields, const JsonValue& object) {
  CopyDoneEvent event;
  const bool named =
      fields.optional(object, "from") != nullptr || fields.optional(object, "to") != nullptr;
  if (!named) return event;
  // From 0 on, so that the replay, which knows the pool, can say what the ids may be.
  event.copy = CopyDoneEvent::Named{fields.count(object, "from", 0, kIdsMost),
                                    fields.count(object, "to", 0, kIdsMost)};
  return event;
}

FinishEvent read_finish(Fields& fields, const JsonValue& object) {
  return {fields.name(object, "sequence")};
}

WriteEvent read_write(Fields& fields, const JsonValue& object) {
  WriteEvent event;
  event.sequence = fields.name(object, "sequence");
  const JsonValue* values = fields.list(object, "values", "row values");
  if (values == nullptr) return event;
  event.values.at = fields.place(values->position);
  for (const JsonValue& item : values->items) {
    event.values.value.push_back(fields.count(&item, "values", 0, kRowValueMost).value);
  }
  if (const JsonValue* position = fields.optional(object, "position")) {
    event.position = fields.count(position, "position", 0, kEventTokensMost);
  }
  if (const JsonValue* when = fields.optional(object, "when")) {
    event.when =
        fields.choice(when, "when", kWhens) == 0 ? WriteOrder::kNow : WriteOrder::kAfterCopies;
  }
  return event;
}

ReadEvent read_read(Fields& fields, const JsonValue& object) {
  return {fields.name(object, "sequence")};
}

NoteEvent read_note(Fields& fields, const JsonValue& object) {
  return {fields.text(fields.required(object, "text", "a string"), "text")};
}

template <auto Read>
EventBody read_body(Fields& fields, const JsonValue& object) {
  return Read(fields, object);
}

/// An event's word, its keys, and who reads it. The order is the manual's.
struct EventKind {
  std::string_view word;
  std::vector<std::string_view> keys;
  EventBody (*read)(Fields&, const JsonValue&);
};

const std::vector<EventKind>& event_kinds() {
  static const std::vector<EventKind> kKinds{
      {"admit", {"event", "sequences"}, read_body<read_admit>},
      {"grow", {"event", "sequence", "tokens"}, read_body<read_grow>},
      {"draft", {"event", "sequence", "tokens", "drafts"}, read_body<read_draft>},
      {"commit", {"event", "sequence", "accepted"}, read_body<read_commit>},
      {"check", {"event", "blocks", "state_slots"}, read_body<read_check>},
      {"fork", {"event", "parent", "child", "processed"}, read_body<read_fork>},
      {"unpin", {"event", "sequence", "when"}, read_body<read_unpin>},
      {"copy_done", {"event", "from", "to"}, read_body<read_copy_done>},
      {"finish", {"event", "sequence"}, read_body<read_finish>},
      {"write", {"event", "sequence", "values", "position", "when"}, read_body<read_write>},
      {"read", {"event", "sequence"}, read_body<read_read>},
      {"note", {"event", "text"}, read_body<read_note>},
  };
  return kKinds;
}

Event read_event(Fields& fields, const JsonValue& object) {
  Event event;
  event.at = fields.place(object.position);
  if (object.kind != JsonValue::Kind::kObject) {
    fields.fail(object.position, {}, shown(object), "an event object");
    return event;
  }
  if (fields.optional(object, "pinfold_events") != nullptr) {
    fields.fail(object.position, {}, "a second header", "an event");
    return event;
  }
  std::vector<std::string_view> words;
  for (const EventKind& kind : event_kinds()) words.push_back(kind.word);
  const JsonValue* word = fields.required(object, "event", Fields::expected_word(words));
  if (word == nullptr) return event;
  const EventKind& kind = event_kinds()[fields.choice(word, "event", words)];
  if (fields.error() || !fields.object(object, {}, kind.keys)) return event;
  event.body = kind.read(fields, object);
  return event;
}

void read_pool(Fields& fields, const JsonValue& object, OwnershipOptions& pool) {
  static constexpr std::array<std::string_view, 5> kKeys{
      "num_blocks", "block_size", "release_order", "free_order", "num_state_slots"};
  static constexpr std::array<std::string_view, 2> kReleaseOrders{"reverse", "forward"};
  static constexpr std::array<std::string_view, 2> kFreeOrders{"fifo", "lifo"};
  if (!fields.object(object, "pool", kKeys)) return;
  pool.num_blocks = fields.count(object, "num_blocks", 1, kIdsMost).value;
  pool.block_size = TokenCount(fields.count(object, "block_size", 1, kBlockSizeMost).value);
  if (const JsonValue* slots = fields.optional(object, "num_state_slots")) {
    pool.num_state_slots = fields.count(slots, "num_state_slots", 1, kIdsMost).value;
  }
  const JsonValue* release = fields.optional(object, "release_order");
  const bool forward = fields.choice(release, "release_order", kReleaseOrders) == 1;
  pool.release_order = forward ? ReleaseOrder::kForward : ReleaseOrder::kReverse;
  const JsonValue* free = fields.optional(object, "free_order");
  const bool lifo = fields.choice(free, "free_order", kFreeOrders) == 1;
  pool.free_order = lifo ? FreeOrder::kLifo : FreeOrder::kFifo;
}

void read_header(Fields& fields, const JsonValue& object, EventFile& file) {
  static constexpr std::array<std::string_view, 4> kKeys{"pinfold_events", "title", "view", "pool"};
  static constexpr std::array<std::string_view, 2> kViews{"tables", "sharing"};
  const bool is_header = object.kind == JsonValue::Kind::kObject &&
                         fields.optional(object, "pinfold_events") != nullptr;
  if (!is_header) {
    fields.fail(object.position, {},
                object.kind == JsonValue::Kind::kObject ? "an object without \"pinfold_events\""
                                                        : shown(object),
                "the header {\"pinfold_events\": 1, \"pool\": {...}}",
                "it comes first in an ownership-event file");
    return;
  }
  if (!fields.object(object, {}, kKeys)) return;
  fields.count(object, "pinfold_events", 1, 1);
  if (const JsonValue* title = fields.optional(object, "title")) {
    file.title = fields.text(title, "title");
  }
  const bool sharing = fields.choice(fields.optional(object, "view"), "view", kViews) == 1;
  file.view = sharing ? EventView::kSharing : EventView::kTables;
  const JsonValue* pool = fields.required(object, "pool", "an object");
  if (pool != nullptr) read_pool(fields, *pool, file.pool);
}

/// A line's error as the file's: the parser saw the line alone.
InputError in_file(InputError error, std::uint64_t line, bool last_and_unfinished) {
  error.line = line;
  if (error.expected == "the end of the file") {
    error.expected = "the end of the line";
    error.hint = "one object on each line";
  }
  if (error.found == "the end of the file") {
    error.found = "the end of the line";
    error.hint = last_and_unfinished ? "the last line has no line end: the file seems to be cut off"
                                     : "one object on each line";
  }
  return error;
}

bool is_skipped(std::string_view line) {
  const std::size_t start = line.find_first_not_of(" \t\r");
  return start == std::string_view::npos || line.substr(start, 2) == "//";
}

}  // namespace

Outcome<EventFile> parse_event_file(std::string_view text, const std::string& path) {
  EventFile file;
  file.path = path;
  bool has_header = false;
  std::uint64_t number = 0;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = text.substr(start, end - start);
    start = end + 1;
    ++number;
    if (is_skipped(line)) continue;

    Outcome<JsonValue> object = parse_json(line, path);
    if (!object) return in_file(object.error(), number, end == text.size());
    Fields fields(path, number);
    if (has_header) {
      file.events.push_back(read_event(fields, object.value()));
    } else {
      read_header(fields, object.value(), file);
    }
    if (fields.error()) return *fields.error();
    has_header = true;
  }
  if (has_header) return file;
  InputError error;
  error.path = path;
  error.found = text.empty() ? "an empty file" : "no header, only comments and empty lines";
  error.expected = "an ownership-event file, which begins with {\"pinfold_events\": 1, ...}";
  return error;
}

Outcome<EventFile> read_event_file(const std::string& path) {
  Outcome<std::string> text = read_file(path, "an ownership-event file");
  if (!text) return text.error();
  return parse_event_file(text.value(), path);
}

}  // namespace pinfold::sim
