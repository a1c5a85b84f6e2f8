#include "sim/config/json_writer.h"

#include <fmt/format.h>

#include "base/check.h"

namespace pinfold::sim {

JsonWriter& JsonWriter::key(std::string_view name) {
  PINFOLD_CHECK(!open_.empty() && open_.back().closing == '}', "json", "a key outside an object");
  before_value();
  append_escaped(name);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

void JsonWriter::open_object() { open('{', '}'); }
void JsonWriter::open_array() { open('[', ']'); }

void JsonWriter::close() {
  PINFOLD_CHECK(!open_.empty(), "json", "nothing to close");
  const Level level = open_.back();
  open_.pop_back();
  if (!level.empty) new_line();
  text_ += level.closing;
}

void JsonWriter::integer(std::uint64_t value) { number(fmt::format_int(value).c_str()); }

void JsonWriter::number(std::string_view decimal) {
  before_value();
  text_ += decimal;
}

void JsonWriter::string(std::string_view text) {
  before_value();
  append_escaped(text);
}

void JsonWriter::boolean(bool value) { number(value ? "true" : "false"); }
void JsonWriter::null() { number("null"); }

std::string JsonWriter::finish() {
  PINFOLD_CHECK(open_.empty(), "json", "an object or array is still open");
  text_ += '\n';
  return std::move(text_);
}

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (open_.empty()) return;
  if (!open_.back().empty) text_ += ',';
  open_.back().empty = false;
  new_line();
}

void JsonWriter::new_line() {
  text_ += '\n';
  text_.append(2 * open_.size(), ' ');
}

void JsonWriter::append_escaped(std::string_view text) {
  text_ += '"';
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      text_ += '\\';
      text_ += letter;
    } else if (letter == '\n') {
      text_ += "\\n";
    } else if (letter == '\t') {
      text_ += "\\t";
    } else if (static_cast<unsigned char>(letter) < 0x20) {
      text_ += fmt::format("\\u{:04x}", static_cast<unsigned char>(letter));
    } else {
      text_ += letter;
    }
  }
  text_ += '"';
}

void JsonWriter::open(char bracket, char closing) {
  before_value();
  text_ += bracket;
  open_.push_back(Level{closing, true});
}

std::string json_string(std::string_view text) {
  JsonWriter json;
  json.string(text);
  std::string line = json.finish();
  line.pop_back();  // the document's newline
  return line;
}

}  // namespace pinfold::sim
