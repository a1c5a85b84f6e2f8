#pragma once
// Bad input: an ordinary answer, carried as a value. Every reader of something that a user wrote (a
// trace, a configuration, a flag) says in the same way where it stopped, what it found there and what
// it expected; nothing is thrown across a layer.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace pinfold::sim {

/// One mistake in something a user wrote.
struct InputError {
  std::string path;          // the file as the user named it, or the flag
  std::uint64_t line = 0;    // from 1; 0: the mistake has no line (a missing file, a flag)
  std::uint64_t column = 0;  // from 1, in bytes; 0: the mistake is about the whole line
  std::string key;           // JSON path of the option ("engine.block_size"); empty outside JSON
  std::string found;
  std::string expected;
  std::string hint;  // what to do about it; may be empty
};

/// `path:line:column: key: found X, expected Y (hint)`, without the parts that are empty.
std::string describe(const InputError& error);

/// `text` in double quotes as an error message shows it: control and non-ASCII bytes are escaped, and
/// a text of more than 60 bytes is cut.
std::string in_quotes(std::string_view text);

/// A value, or why there is none.
template <class T>
class [[nodiscard]] Outcome {
 public:
  // Implicit on purpose: a reader says `return value;` or `return error;`.
  Outcome(T value)  // NOLINT(google-explicit-constructor)
      : content_(std::in_place_index<0>, std::move(value)) {}
  Outcome(InputError error)  // NOLINT(google-explicit-constructor)
      : content_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return content_.index() == 0; }

  /// Only where the outcome is true.
  T& value() { return std::get<0>(content_); }
  const T& value() const { return std::get<0>(content_); }
  /// Only where the outcome is false.
  const InputError& error() const { return std::get<1>(content_); }

 private:
  std::variant<T, InputError> content_;
};

}  // namespace pinfold::sim
