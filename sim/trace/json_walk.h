#pragma once
// Walking over one JSON document with simdjson's On-Demand parser. Numbers are taken as the text that
// stands there, so that hashes keep all 64 bits and decimals stay exact. Mistakes are thrown within a
// reader and caught where its row ends; nothing is thrown out of it.

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/trace/input_error.h"

namespace pinfold::sim {

namespace json = simdjson::ondemand;

/// A mistake at a byte of the document.
struct JsonTraceMistake {
  const char* at = nullptr;  // null: no place is known
  std::string key;
  std::string found;
  std::string expected;
  std::string hint;
};

/// One document at a time, in memory that is readable simdjson::SIMDJSON_PADDING bytes behind its end.
class JsonWalk {
 public:
  /// The document's object. `text` must stay while it is walked.
  json::object open(std::string_view text) {
    text_ = text;
    const auto failure =
        parser_.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING)
            .get(document_);
    if (failure != simdjson::SUCCESS)
      throw JsonTraceMistake{nullptr, {}, broken(failure), kWanted, {}};
    json::object object;
    const auto kind = document_.get_object().get(object);
    if (kind == simdjson::INCORRECT_TYPE) {
      throw JsonTraceMistake{text.data(), {}, in_quotes(text), kWanted, {}};
    }
    if (kind != simdjson::SUCCESS) {
      throw JsonTraceMistake{text.data() + text.size(), {}, broken(kind), "the object's end", {}};
    }
    return object;
  }

  /// Once the object has been walked to its end.
  void close() {
    const char* at = nullptr;
    if (document_.current_location().get(at) == simdjson::OUT_OF_BOUNDS) return;
    throw JsonTraceMistake{at, {}, "more behind the object", "the end of the line", {}};
  }

  /// What simdjson stumbled over.
  JsonTraceMistake mistake(simdjson::error_code failure) {
    const char* at = nullptr;
    if (document_.current_location().get(at) != simdjson::SUCCESS) at = nullptr;
    return {at, {}, broken(failure), "a complete JSON object", {}};
  }

  /// `mistake` as the user sees it, in the line that begins the document.
  InputError placed(const JsonTraceMistake& mistake, const std::string& path,
                    std::uint64_t line) const {
    InputError error;
    error.path = path;
    error.line = line;
    const bool inside = mistake.at != nullptr && mistake.at >= text_.data() &&
                        mistake.at <= text_.data() + text_.size();
    if (inside) {
      const std::string_view before =
          text_.substr(0, static_cast<std::size_t>(mistake.at - text_.data()));
      std::size_t start = 0;
      for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i] != '\n') continue;
        ++error.line;
        start = i + 1;
      }
      error.column = before.size() - start + 1;
    }
    error.key = mistake.key;
    error.found = mistake.found;
    error.expected = mistake.expected;
    error.hint = mistake.hint;
    return error;
  }

 private:
  static constexpr const char* kWanted = "a JSON object";
  static std::string broken(simdjson::error_code failure) {
    std::string text = std::string("broken JSON: ") + simdjson::error_message(failure);
    if (text.ends_with('.')) text.pop_back();
    return text;
  }

  json::parser parser_;
  json::document document_;
  std::string_view text_;
};

/// The text of a number, a word or a string with its quotes; of an array or object the bracket only.
inline std::string_view token_of(json::value value) {
  std::string_view text = value.raw_json_token();
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

inline bool is_string(std::string_view token) { return token.size() >= 2 && token[0] == '"'; }

/// A string's content as it is written, escapes included.
inline std::string_view unquoted(std::string_view token) {
  return token.substr(1, token.size() - 2);
}

/// True if the field's key is `name`.
inline bool key_is(const char* raw, std::string_view name) {
  return std::char_traits<char>::compare(raw, name.data(), name.size()) == 0 &&
         raw[name.size()] == '"';
}

/// Adds the integers of an array, which all must fit.
template <class Number>
void append_integers(json::value value, std::string_view key, std::vector<Number>& numbers) {
  json::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) {
    const std::string_view token = token_of(value);
    throw JsonTraceMistake{
        token.data(), std::string(key), in_quotes(token), "an array of integers", {}};
  }
  for (json::value element : array) {
    const std::string_view token = token_of(element);
    std::uint64_t number = 0;
    bool good = !token.empty() && token.size() <= 20;
    for (const char letter : token) {
      const unsigned digit = static_cast<unsigned char>(letter) - unsigned{'0'};
      const std::uint64_t more = number * 10 + digit;
      good = good && digit < 10 &&
             (token.size() < 20 || number < UINT64_MAX / 10 ||
              (number == UINT64_MAX / 10 && digit <= UINT64_MAX % 10));
      number = more;
    }
    if (!good || number > std::numeric_limits<Number>::max()) {
      throw JsonTraceMistake{
          token.data(),
          std::string(key),
          in_quotes(token),
          "an integer from 0 to " + std::to_string(std::numeric_limits<Number>::max()),
          {}};
    }
    numbers.push_back(static_cast<Number>(number));
  }
}

}  // namespace pinfold::sim
