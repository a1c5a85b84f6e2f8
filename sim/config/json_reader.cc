#include "sim/config/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace pinfold::sim {
namespace {

/// The characters of the text, one by one, telling `consumed` how far the parser has come: its events
/// carry no place.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* consumed) : at_(at), consumed_(consumed) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*consumed_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }
  friend bool operator!=(const CountingIterator& a, const CountingIterator& b) { return !(a == b); }

 private:
  const char* at_;
  std::size_t* consumed_;
};

/// Builds the tree from the parser's events. Integers arrive as values, so every number is cut from
/// the text instead: `1e400` or 30 digits then lose nothing.
class TreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(std::string_view text, const std::string& name) : text_(text), name_(name) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] == '\n') line_starts_.push_back(at + 1);
    }
  }

  std::size_t* consumed() { return &consumed_; }
  const std::optional<InputError>& error() const { return error_; }
  JsonValue& root() { return root_; }

  bool null() override { return add(JsonValue::Kind::kNull, consumed_ - 4, "null"); }
  bool boolean(bool value) override {
    const std::string text = value ? "true" : "false";
    return add(JsonValue::Kind::kBoolean, consumed_ - text.size(), text);
  }
  bool number_integer(number_integer_t) override { return add_number(); }
  bool number_unsigned(number_unsigned_t) override { return add_number(); }
  bool number_float(number_float_t, const string_t&) override { return add_number(); }
  bool string(string_t& value) override {
    return add(JsonValue::Kind::kString, start_of_string(), value);
  }
  bool binary(binary_t&) override { return false; }  // JSON text has none

  bool start_object(std::size_t) override { return open(JsonValue::Kind::kObject); }
  bool start_array(std::size_t) override { return open(JsonValue::Kind::kArray); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    JsonValue& object = *open_.back();
    const TextPosition position = position_of(start_of_string());
    for (const JsonMember& member : object.members) {
      if (member.key != value) continue;
      error_ = error_at(position, "a second key " + in_quotes(value), "each key once");
      error_->hint = fmt::format("the first one is in line {}", member.position.line);
      return false;
    }
    object.members.push_back(JsonMember{value, position, JsonValue{}});
    return true;
  }

  /// The parser's message is "[json.exception.parse_error.101] parse error at line 2, column 5: syntax
  /// error while parsing object key - unexpected '}'; expected string literal". Its place and its "last
  /// read" are those of the end of the token, so only what it expected is taken from it. "Last read" may
  /// hold comments and strings of the file, which may say anything.
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& exception) override {
    const std::string message = exception.what();
    const std::string_view head =
        std::string_view(message).substr(0, message.find("; last read: '"));
    const auto says = [&](std::string_view part) {
      return head.find(part) != std::string_view::npos || message.ends_with(part);
    };
    std::string expected = "a JSON value";
    if (says("; expected string literal")) expected = "a key in double quotes";
    if (says("; expected end of input")) expected = "the end of the file";
    if (says("; expected '}'")) expected = "a comma or }";
    if (says("; expected ']'")) expected = "a comma or ]";
    if (says("; expected ':'")) expected = "a colon";
    if (says("out_of_range")) expected = "a smaller number";
    if (says("invalid string")) expected = "a string without control or broken characters";
    if (says("invalid comment")) expected = "a comment as // or /* */";

    const bool missing_quote = says("missing closing quote");
    if (missing_quote) expected = "a closing quote";
    if (says("unexpected end of input") || missing_quote || consumed_ == 0) {
      return syntax_error(consumed_, "the end of the file", expected);
    }
    if (says("unexpected string literal")) {
      const std::size_t start = start_of_string();
      return syntax_error(start, std::string(text_.substr(start, consumed_ - start)), expected);
    }
    if (says("unexpected number literal") || says("out_of_range")) {
      const auto [start, end] = number_before();
      const bool leading_zero = end - start > 1 && text_[start] == '0';
      if (leading_zero) expected = "a number without a leading zero";
      return syntax_error(start, std::string(text_.substr(start, end - start)), expected);
    }
    const std::size_t at = consumed_ - 1;
    syntax_error(at, in_quotes(text_.substr(at, 1)), expected);
    const std::size_t before = text_.substr(0, at).find_last_not_of(" \t\r\n");
    const bool closes = text_[at] == '}' || text_[at] == ']';
    if (closes && before != std::string_view::npos && text_[before] == ',') {
      error_->hint = "no comma behind the last one";
    }
    return false;
  }

 private:
  InputError error_at(TextPosition position, std::string found, std::string expected) const {
    return InputError{.path = name_,
                      .line = position.line,
                      .column = position.column,
                      .key = {},
                      .found = std::move(found),
                      .expected = std::move(expected),
                      .hint = {}};
  }

  bool syntax_error(std::size_t offset, std::string found, std::string expected) {
    error_ = error_at(position_of(offset), std::move(found), std::move(expected));
    return false;
  }

  TextPosition position_of(std::size_t offset) const {
    const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
    return TextPosition{static_cast<std::uint64_t>(next - line_starts_.begin()),
                        offset - *(next - 1) + 1};
  }

  /// A string event comes right behind the closing quote; inside a string a quote has an odd number of
  /// backslashes before it.
  std::size_t start_of_string() const {
    std::size_t at = consumed_ - 1;
    for (;;) {
      at = text_.rfind('"', at - 1);
      const std::size_t last_other =
          at == 0 ? std::string_view::npos : text_.find_last_not_of('\\', at - 1);
      const std::size_t backslashes =
          last_other == std::string_view::npos ? at : at - 1 - last_other;
      if (backslashes % 2 == 0) return at;
    }
  }

  /// First byte and end of a number. Its event comes one byte behind it, or at the end of the text.
  std::pair<std::size_t, std::size_t> number_before() const {
    const auto in_number = [](char letter) {
      return (letter >= '0' && letter <= '9') || letter == '-' || letter == '+' || letter == '.' ||
             letter == 'e' || letter == 'E';
    };
    std::size_t end = consumed_;
    if (!in_number(text_[end - 1])) --end;
    std::size_t start = end;
    while (start > 0 && in_number(text_[start - 1])) --start;
    return {start, end};
  }

  bool add_number() {
    const auto [start, end] = number_before();
    return add(JsonValue::Kind::kNumber, start, std::string(text_.substr(start, end - start)));
  }

  JsonValue& place() {
    if (open_.empty()) return root_;
    JsonValue& parent = *open_.back();
    if (parent.kind == JsonValue::Kind::kObject) return parent.members.back().value;
    return parent.items.emplace_back();
  }

  bool add(JsonValue::Kind kind, std::size_t offset, std::string text) {
    JsonValue& value = place();
    value.kind = kind;
    value.position = position_of(offset);
    value.text = std::move(text);
    return true;
  }

  bool open(JsonValue::Kind kind) {
    // A device file is five levels deep; the bound keeps a hostile one from filling the stack.
    constexpr std::size_t kDeepest = 64;
    if (open_.size() == kDeepest) {
      error_ = error_at(position_of(consumed_ - 1), "more than 64 levels of nesting", "fewer");
      return false;
    }
    JsonValue& value = place();
    value.kind = kind;
    value.position = position_of(consumed_ - 1);
    // Pointers stay valid: a parent's vectors grow only after this child has been closed.
    open_.push_back(&value);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& name_;
  std::vector<std::size_t> line_starts_{0};  // offset of each line's first byte
  std::size_t consumed_ = 0;
  JsonValue root_;
  std::vector<JsonValue*> open_;
  std::optional<InputError> error_;
};

}  // namespace

std::string shown(const JsonValue& value) {
  switch (value.kind) {
    case JsonValue::Kind::kNull: return "null";
    case JsonValue::Kind::kBoolean:
    case JsonValue::Kind::kNumber: return value.text;
    case JsonValue::Kind::kString: return in_quotes(value.text);
    case JsonValue::Kind::kArray: return "an array";
    case JsonValue::Kind::kObject: return "an object";
  }
  return "?";
}

Outcome<JsonValue> parse_json(std::string_view text, const std::string& name) {
  TreeBuilder builder(text, name);
  const bool parsed = nlohmann::json::sax_parse(
      CountingIterator(text.data(), builder.consumed()),
      CountingIterator(text.data() + text.size(), builder.consumed()), &builder,
      nlohmann::json::input_format_t::json, /*strict=*/true, /*ignore_comments=*/true);
  if (!parsed) return *builder.error();
  return std::move(builder.root());
}

}  // namespace pinfold::sim
