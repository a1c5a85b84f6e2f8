#include "sim/config/json_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/config/decimal_text.h"
#include "sim/trace/closest_word.h"

namespace pinfold::sim {
namespace {

const JsonValue kNothing;

std::optional<std::uint64_t> integer_of(const JsonValue& value) {
  if (value.kind != JsonValue::Kind::kNumber) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [stop, failure] = std::from_chars(value.text.data(), end, number);
  if (failure != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::string range_text(std::uint64_t least, std::uint64_t most) {
  return fmt::format("an integer from {} to {}", least, most);
}

}  // namespace

void JsonMistake::note(const JsonValue& value, std::string key, std::string expected,
                       std::string hint) {
  if (error) return;
  error = InputError{.path = file,
                     .line = value.position.line,
                     .column = value.position.column,
                     .key = std::move(key),
                     .found = shown(value),
                     .expected = std::move(expected),
                     .hint = std::move(hint)};
}

JsonObject::JsonObject(const JsonValue& value, std::string path, JsonMistake& mistake)
    : value_(value.kind == JsonValue::Kind::kObject ? value : kNothing),
      path_(std::move(path)),
      mistake_(mistake) {
  if (value.kind != JsonValue::Kind::kObject) mistake.note(value, path_, "an object");
}

std::string JsonObject::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

const JsonValue* JsonObject::find(std::string_view key) const {
  for (const JsonMember& member : value_.members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

bool JsonObject::has(std::string_view key) {
  asked_.emplace_back(key);
  return find(key) != nullptr;
}

const JsonValue& JsonObject::member(std::string_view key) {
  asked_.emplace_back(key);
  if (const JsonValue* value = find(key)) return *value;
  if (!mistake_.error) {
    mistake_.note(value_, path_, fmt::format("a key {}", in_quotes(key)));
    mistake_.error->found = fmt::format("no key {}", in_quotes(key));
  }
  return kNothing;
}

std::uint64_t JsonObject::integer(std::string_view key, std::uint64_t least, std::uint64_t most) {
  const JsonValue& value = member(key);
  const std::optional<std::uint64_t> number = integer_of(value);
  if (number && *number >= least && *number <= most) return *number;
  mistake_.note(value, path_of(key), range_text(least, most));
  return least;
}

std::string JsonObject::text(std::string_view key) {
  const JsonValue& value = member(key);
  if (value.kind == JsonValue::Kind::kString) return value.text;
  mistake_.note(value, path_of(key), "a string");
  return {};
}

std::string JsonObject::decimal(std::string_view key) {
  const JsonValue& value = member(key);
  if (value.kind == JsonValue::Kind::kNumber && parse_decimal(value.text)) return value.text;
  mistake_.note(value, path_of(key), "a decimal, not negative");
  return {};
}

JsonObject JsonObject::object(std::string_view key) {
  return JsonObject(member(key), path_of(key), mistake_);
}

const std::vector<JsonValue>& JsonObject::array(std::string_view key) {
  const JsonValue& value = member(key);
  if (value.kind != JsonValue::Kind::kArray) mistake_.note(value, path_of(key), "an array");
  return value.items;
}

std::vector<std::uint64_t> JsonObject::integers(std::string_view key, std::uint64_t least,
                                                std::uint64_t most) {
  return integers_of(member(key), path_of(key), least, most, mistake_);
}

void JsonObject::refuse_others() {
  const std::vector<std::string_view> candidates(asked_.begin(), asked_.end());
  for (const JsonMember& member : value_.members) {
    if (std::find(asked_.begin(), asked_.end(), member.key) != asked_.end()) continue;
    if (mistake_.error) return;
    const auto close = closest_word(member.key, candidates);
    mistake_.note(member.value, path_of(member.key), "a key of this object",
                  close ? fmt::format("did you mean {}?", *close) : std::string());
    mistake_.error->line = member.position.line;
    mistake_.error->column = member.position.column;
    mistake_.error->found = "an unknown key";
    return;
  }
}

std::vector<std::uint64_t> integers_of(const JsonValue& array, const std::string& path,
                                       std::uint64_t least, std::uint64_t most,
                                       JsonMistake& mistake) {
  std::vector<std::uint64_t> numbers;
  if (array.kind != JsonValue::Kind::kArray) {
    mistake.note(array, path, "an array of integers");
    return numbers;
  }
  numbers.reserve(array.items.size());
  for (const JsonValue& item : array.items) {
    const std::optional<std::uint64_t> number = integer_of(item);
    if (!number || *number < least || *number > most) {
      mistake.note(item, fmt::format("{}[{}]", path, numbers.size()), range_text(least, most));
      return {};
    }
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace pinfold::sim
