#pragma once
// JSON as a tree that keeps what a configuration needs and a usual JSON tree loses: where each value
// stands, the text of each number, and that a key came twice.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// A byte of a text file, both counted from 1; line 0: the value stands in no file.
struct TextPosition {
  std::uint64_t line = 0;
  std::uint64_t column = 0;
};

struct JsonMember;

/// One JSON value.
struct JsonValue {
  enum class Kind : std::uint8_t { kNull, kBoolean, kNumber, kString, kArray, kObject };

  Kind kind = Kind::kNull;
  TextPosition position;
  std::string text;                 // a number as it was written, a string's content, true or false
  std::vector<JsonValue> items;     // of an array
  std::vector<JsonMember> members;  // of an object, in the order of the text
};

struct JsonMember {
  std::string key;
  TextPosition position;  // of the key
  JsonValue value;
};

/// The value as an error message shows it: `"text"`, `12`, `an array`.
std::string shown(const JsonValue& value);

/// Parses one JSON document. Comments (`//` to the end of the line and `/* */`) are allowed, a key that
/// comes twice in an object is an error. `name` stands for the path in errors.
Outcome<JsonValue> parse_json(std::string_view text, const std::string& name);

}  // namespace pinfold::sim
