// How libFuzzer changes an input here. A sixth of the time as it always does, by bytes; otherwise by what the
// readers look at: numbers become other numbers, words other words of the same text, members and lines
// are repeated, dropped and moved, and members and columns that the reader knows are added. So most inputs are
// still read to their end, and a check that is missing behind the first mistake can be met. Linked into the
// fuzzers only.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/json_member.h"
#include "tests/fuzz/known_members.h"

// libFuzzer's names.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                        std::size_t size_most);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t size_most, unsigned seed);
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t one_size,
                                                 const std::uint8_t* other, std::size_t other_size,
                                                 std::uint8_t* out, std::size_t out_most,
                                                 unsigned seed);

namespace {

/// SplitMix64.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t bound) {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return static_cast<std::size_t>((mixed ^ (mixed >> 31)) % bound);
  }

 private:
  std::uint64_t state_;
};

constexpr std::array<std::string_view, 26> kNumbers{
    "0",   "1",          "2",          "3",          "4",
    "-1",  "7",          "8",          "16",         "100",
    "255", "256",        "65535",      "65536",      "1000000",
    "0.5", "1.5",        "1e3",        "2147483647", "2147483648",
    "00",  "4294967295", "4294967296", "1e400",      "9223372036854775807",
    "-0.0"};
constexpr std::array<std::string_view, 8> kValues{"null", "true", "false", "\"\"",
                                                  "[]",   "{}",   "0",     "1"};

enum class Kind : std::uint8_t { kNumber, kWord, kString, kOther };

struct Token {
  Kind kind;
  std::size_t begin, end;
};

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || letter == '_';
}

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char letter = text[at++];
    Kind kind = Kind::kOther;
    if (is_digit(letter) || (letter == '-' && at < text.size() && is_digit(text[at]))) {
      kind = Kind::kNumber;
      while (at < text.size() && (is_digit(text[at]) || text[at] == '.' || text[at] == 'e')) ++at;
    } else if (is_letter(letter)) {
      kind = Kind::kWord;
      while (at < text.size() && (is_letter(text[at]) || is_digit(text[at]))) ++at;
    } else if (letter == '"') {
      while (at < text.size() && text[at] != '"' && text[at] != '\n') {
        at += text[at] == '\\' && at + 1 < text.size() ? 2 : 1;
      }
      if (at < text.size() && text[at] == '"') {
        ++at;
        kind = Kind::kString;
      }
      at = std::min(at, text.size());
    }
    tokens.push_back({kind, begin, at});
  }
  return tokens;
}

/// Any token of this kind; null if there is none.
const Token* pick(const std::vector<Token>& tokens, Kind kind, Draws& draws) {
  std::size_t count = 0;
  for (const Token& token : tokens) count += token.kind == kind;
  if (count == 0) return nullptr;
  std::size_t n = draws.below(count);
  for (const Token& token : tokens) {
    if (token.kind == kind && n-- == 0) return &token;
  }
  return nullptr;
}

void replace(std::string& text, const Token& token, std::string_view by) {
  const std::string copy(by);  // it may lie in `text`
  text.replace(token.begin, token.end - token.begin, copy);
}

std::string_view of(const std::string& text, const Token& token) {
  return std::string_view(text).substr(token.begin, token.end - token.begin);
}

/// One more, one less, twice as much; as text it may be too long for any integer.
std::string near(std::string_view number, Draws& draws) {
  if (number.size() > 18 || !std::all_of(number.begin(), number.end(), is_digit)) return "1";
  std::uint64_t value = 0;
  for (const char digit : number) value = 10 * value + static_cast<std::uint64_t>(digit - '0');
  switch (draws.below(4)) {
    case 0: return std::to_string(value + 1);
    case 1: return std::to_string(value == 0 ? 0 : value - 1);
    case 2: return std::to_string(2 * value);
    default: return std::to_string(value / 2);
  }
}

/// `"key": value,` from a string that a colon follows to the comma behind its value, nested ones too.
Token member_at(const std::string& text, const Token& key) {
  std::size_t at = key.end, depth = 0;
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  if (at >= text.size() || text[at] != ':') return {Kind::kOther, key.begin, key.begin};
  for (; at < text.size(); ++at) {
    if (text[at] == '{' || text[at] == '[') ++depth;
    if (text[at] == '}' || text[at] == ']') {
      if (depth == 0) break;
      --depth;
    }
    if (text[at] == ',' && depth == 0) return {Kind::kOther, key.begin, at + 1};
  }
  return {Kind::kOther, key.begin, at};
}

/// Repeats an item of an array, or drops it with the comma behind it or before it.
void change_item(std::string& text, Token item, Draws& draws) {
  if (draws.below(2) == 0) {
    text.insert(item.begin, std::string(of(text, item)) + ", ");
    return;
  }
  if (item.end < text.size() && text[item.end] == ',') {
    ++item.end;
  } else {
    std::size_t before = item.begin;
    while (before > 0 && text[before - 1] == ' ') --before;
    if (before > 0 && text[before - 1] == ',') item.begin = before - 1;
  }
  replace(text, item, "");
}

Token line_at(const std::string& text, Draws& draws) {
  if (text.empty()) return {Kind::kOther, 0, 0};
  const std::size_t at = draws.below(text.size());
  const std::size_t before = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  const std::size_t after = text.find('\n', at);
  return {Kind::kOther, before == std::string::npos ? 0 : before + 1,
          after == std::string::npos ? text.size() : after + 1};
}

/// A value as a field of a CSV row.
std::string as_field(std::string value) {
  const auto is_json = [](char letter) {
    return letter == '"' || letter == '[' || letter == ']' || letter == ',';
  };
  value.erase(std::remove_if(value.begin(), value.end(), is_json), value.end());
  return value;
}

/// The value of a column of every row: of the header its name.
void add_column(std::string& text, const pinfold::fuzz::KnownMember& member,
                const std::string& value, Draws& draws) {
  std::string changed;
  const bool ahead = draws.below(2) == 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string field = at == 0 ? member.path : as_field(value);
    const std::string_view line = std::string_view(text).substr(at, end - at);
    changed += ahead ? field + "," + std::string(line) : std::string(line) + "," + field;
    if (end < text.size()) changed += '\n';
    at = end + 1;
  }
  text.swap(changed);
}

const std::string& any_value(const pinfold::fuzz::KnownMember& member, Draws& draws) {
  return member.values[draws.below(member.values.size())];
}

/// Adds a member that the reader knows, or changes it; half of the time also those that it needs.
void add_known(std::string& text, Draws& draws) {
  const std::vector<pinfold::fuzz::KnownMember>& known = pinfold::fuzz::known_members();
  const pinfold::fuzz::KnownMember& member = known[draws.below(known.size())];
  const std::string& value = any_value(member, draws);
  const bool objects = text.find('{') < text.find(',');
  if (!objects) return add_column(text, member, value, draws);
  // One document, or one object a line.
  const std::size_t line = line_at(text, draws).begin;
  const std::size_t root = line < text.size() && text[line] == '{' ? line : 0;
  const auto choose = [&](std::size_t count) { return draws.below(count); };
  pinfold::fuzz::set_member(text, root, member.path, value, choose);
  if (draws.below(2) == 0) return;
  for (const std::string& path : member.needs) {
    for (const pinfold::fuzz::KnownMember& other : known) {
      if (other.path == path) {
        pinfold::fuzz::set_member(text, root, path, any_value(other, draws), choose);
      }
    }
  }
}

void change(std::string& text, Draws& draws) {
  if (!pinfold::fuzz::known_members().empty() && draws.below(3) == 0) {
    return add_known(text, draws);
  }
  const std::vector<Token> tokens = tokens_of(text);
  switch (draws.below(12)) {
    case 0:
    case 1:
      if (const Token* token = pick(tokens, Kind::kNumber, draws)) {
        replace(text, *token, kNumbers[draws.below(kNumbers.size())]);
      }
      break;
    case 2:
      if (const Token* token = pick(tokens, Kind::kNumber, draws)) {
        replace(text, *token, near(of(text, *token), draws));
      }
      break;
    case 3: {
      const Kind kind = draws.below(2) == 0 ? Kind::kNumber : Kind::kString;
      const Token* to = pick(tokens, kind, draws);
      const Token* from = pick(tokens, kind, draws);
      if (to != nullptr) replace(text, *to, of(text, *from));
      break;
    }
    case 4: {
      const Token* to = pick(tokens, Kind::kWord, draws);
      const Token* from = pick(tokens, Kind::kWord, draws);
      if (to != nullptr) replace(text, *to, of(text, *from));
      break;
    }
    case 5:
      if (const Token* token =
              pick(tokens, draws.below(2) == 0 ? Kind::kNumber : Kind::kString, draws)) {
        replace(text, *token, kValues[draws.below(kValues.size())]);
      }
      break;
    case 6:
    case 7:
      if (const Token* key = pick(tokens, Kind::kString, draws)) {
        const Token member = member_at(text, *key);
        if (draws.below(3) > 0) {
          replace(text, member, "");
          break;
        }
        const std::string copy(of(text, member));
        text.insert(member.begin, copy.ends_with(',') ? copy : copy + ",");
      }
      break;
    case 9:
    case 10:
      if (const Token* item =
              pick(tokens, draws.below(3) > 0 ? Kind::kNumber : Kind::kString, draws)) {
        change_item(text, *item, draws);
      }
      break;
    case 8: {
      const Token line = line_at(text, draws);
      replace(text, line, "");
      break;
    }
    default: {
      const std::string copy(of(text, line_at(text, draws)));
      text.insert(line_at(text, draws).begin, copy);
      break;
    }
  }
}

std::size_t give(const std::string& text, std::uint8_t* out, std::size_t most) {
  const std::size_t size = std::min(text.size(), most);
  std::memcpy(out, text.data(), size);
  return size;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t size_most, unsigned seed) {
  Draws draws(seed);
  if (size == 0 || draws.below(6) == 0) return LLVMFuzzerMutate(data, size, size_most);
  std::string text(reinterpret_cast<const char*>(data), size);
  // Few, so that what was read to its end mostly still is.
  do {
    change(text, draws);
  } while (draws.below(4) == 0);
  return give(text, data, size_most);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t one_size,
                                                 const std::uint8_t* other, std::size_t other_size,
                                                 std::uint8_t* out, std::size_t out_most,
                                                 unsigned seed) {
  // A few lines of the other text between two lines of this one, or one of its members before one of ours.
  Draws draws(seed);
  std::string text(reinterpret_cast<const char*>(one), one_size);
  const std::string from(reinterpret_cast<const char*>(other), other_size);
  if (draws.below(2) == 0) {
    const std::vector<Token> theirs = tokens_of(from), ours = tokens_of(text);
    const Token* key = pick(theirs, Kind::kString, draws);
    const Token* place = pick(ours, Kind::kString, draws);
    if (key != nullptr && place != nullptr) {
      const std::string member(of(from, member_at(from, *key)));
      if (!member.empty()) text.insert(place->begin, member.ends_with(',') ? member : member + ",");
      return give(text, out, out_most);
    }
  }
  const Token line = line_at(from, draws);
  std::size_t end = line.end;
  for (std::size_t more = draws.below(4); more > 0 && end < from.size(); --more) {
    const std::size_t next = from.find('\n', end);
    end = next == std::string::npos ? from.size() : next + 1;
  }
  text.insert(line_at(text, draws).begin, from, line.begin, end - line.begin);
  return give(text, out, out_most);
}
