#pragma once
// One JSON object, read strictly: each member that is asked for is checked, and one that nobody asked
// for is a mistake.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/json_reader.h"

namespace pinfold::sim {

/// Where a document's first mistake is kept. What is read after it is empty.
struct JsonMistake {
  std::string file;
  std::optional<InputError> error;

  void note(const JsonValue& value, std::string key, std::string expected, std::string hint = {});
};

/// Reads members of one object. `path` is its place in the document, as in `entries[3].range`; empty for
/// the document itself.
class JsonObject {
 public:
  JsonObject(const JsonValue& value, std::string path, JsonMistake& mistake);

  bool has(std::string_view key);
  /// A member that must be there; a value without kind where it is missing.
  const JsonValue& member(std::string_view key);
  std::uint64_t integer(std::string_view key, std::uint64_t least, std::uint64_t most);
  std::string text(std::string_view key);
  /// A number as it was written.
  std::string decimal(std::string_view key);
  JsonObject object(std::string_view key);
  /// An array, whose items may be anything.
  const std::vector<JsonValue>& array(std::string_view key);
  std::vector<std::uint64_t> integers(std::string_view key, std::uint64_t least,
                                      std::uint64_t most);

  /// Call last: refuses members that were not asked for.
  void refuse_others();

  /// `entries[3].range` and `key` to `entries[3].range.key`.
  std::string path_of(std::string_view key) const;

 private:
  const JsonValue* find(std::string_view key) const;

  const JsonValue& value_;
  std::string path_;
  JsonMistake& mistake_;
  std::vector<std::string> asked_;
};

/// The items of an array of integers, each from `least` to `most`; `path` is the array's.
std::vector<std::uint64_t> integers_of(const JsonValue& array, const std::string& path,
                                       std::uint64_t least, std::uint64_t most,
                                       JsonMistake& mistake);

}  // namespace pinfold::sim
