#include "sim/trace/input_error.h"

#include <fmt/format.h>

namespace pinfold::sim {

std::string describe(const InputError& error) {
  std::string text = error.path;
  if (error.line != 0) text += fmt::format(":{}", error.line);
  if (error.line != 0 && error.column != 0) text += fmt::format(":{}", error.column);
  if (!error.key.empty()) text += fmt::format(": {}", error.key);
  text += fmt::format(": found {}", error.found);
  if (!error.expected.empty()) text += fmt::format(", expected {}", error.expected);
  if (!error.hint.empty()) text += fmt::format(" ({})", error.hint);
  return text;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string result = "\"";
  for (const char letter : text.substr(0, kLongest)) {
    if (letter == '\t') {
      result += "\\t";
    } else if (letter == '\r') {
      result += "\\r";
    } else if (letter == '\n') {
      result += "\\n";
    } else if (letter >= ' ' && letter <= '~') {
      result += letter;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(letter));
    }
  }
  return result + (text.size() > kLongest ? "...\"" : "\"");
}

}  // namespace pinfold::sim
