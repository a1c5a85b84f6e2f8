#pragma once
// JSON text, written as it goes. Numbers are handed over as integers or as finished decimal text, so no
// number ever passes through floating point, and the order of keys is the order of the calls.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pinfold::sim {

/// Writes one document, indented by two spaces a level. `key` comes before each value of an object.
class JsonWriter {
 public:
  JsonWriter& key(std::string_view name);

  void open_object();
  void open_array();
  /// Ends the innermost object or array.
  void close();

  void integer(std::uint64_t value);
  void number(std::string_view decimal);  // digits with a sign or a point, as JSON writes them
  void string(std::string_view text);     // UTF-8
  void boolean(bool value);
  void null();

  /// The document with a final newline. Every object and array must have been closed.
  std::string finish();

 private:
  void before_value();
  void new_line();
  void append_escaped(std::string_view text);
  void open(char bracket, char closing);

  struct Level {
    char closing;
    bool empty;
  };
  std::string text_;
  std::vector<Level> open_;
  bool after_key_ = false;
};

/// A text as JSON writes it, with its quotes: for lines that are put together by hand.
std::string json_string(std::string_view text);

}  // namespace pinfold::sim
