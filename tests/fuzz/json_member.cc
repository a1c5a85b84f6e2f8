#include "tests/fuzz/json_member.h"

#include <optional>
#include <vector>

namespace pinfold::fuzz {
namespace {

struct Span {
  std::size_t begin, end;
};

/// Behind spaces and comments.
std::size_t past_space(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) <= ' ') {
      ++at;
    } else if (text.substr(at).starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else {
      break;
    }
  }
  return at;
}

/// Behind the string whose quote stands at `at`.
std::size_t past_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return std::min(at + 1, text.size());
}

/// Behind the value that begins at `at`.
std::size_t past_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    const char letter = text[at];
    if (letter == '"') {
      at = past_string(text, at);
      if (depth == 0) return at;
      continue;
    }
    if (letter == '{' || letter == '[') ++depth;
    const bool closes = letter == '}' || letter == ']';
    if (depth == 0 && (closes || letter == ',' || static_cast<unsigned char>(letter) <= ' ')) {
      return at;
    }
    ++at;
    if (closes && --depth == 0) return at;
  }
  return at;
}

/// The value of a member of the object, of which `at` stands behind the brace.
std::optional<Span> find_member(std::string_view text, std::size_t at, std::string_view key) {
  for (;;) {
    at = past_space(text, at);
    if (at >= text.size() || text[at] != '"') return std::nullopt;
    const std::size_t end = past_string(text, at);
    const bool found =
        text.substr(at + 1, end - at - 1).starts_with(key) && at + key.size() + 2 == end;
    at = past_space(text, end);
    if (at >= text.size() || text[at] != ':') return std::nullopt;
    const std::size_t begin = past_space(text, at + 1);
    at = past_value(text, begin);
    if (found) return Span{begin, at};
    at = past_space(text, at);
    if (at >= text.size() || text[at] != ',') return std::nullopt;
    ++at;
  }
}

/// The places behind the braces of an array's objects; `at` stands behind its bracket.
std::vector<std::size_t> objects_of(std::string_view text, std::size_t at) {
  std::vector<std::size_t> objects;
  while ((at = past_space(text, at)) < text.size() && text[at] != ']') {
    if (text[at] == '{') objects.push_back(at + 1);
    const std::size_t end = past_value(text, at);
    at = end == at ? at + 1 : end;
  }
  return objects;
}

/// Adds a member in front of the others; returns where its value begins.
std::size_t add_member(std::string& text, std::size_t at, std::string_view key,
                       std::string_view value) {
  const std::size_t next = past_space(text, at);
  std::string member = "\"" + std::string(key) + "\": ";
  const std::size_t begin = at + member.size();
  member += value;
  if (next < text.size() && text[next] == '"') member += ", ";
  text.insert(at, member);
  return begin;
}

}  // namespace

bool set_member(std::string& text, std::size_t root, std::string_view path, std::string_view value,
                const std::function<std::size_t(std::size_t)>& choose) {
  std::size_t at = text.find('{', root);
  if (at == std::string::npos) return false;
  ++at;
  for (;;) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    std::string_view key = path.substr(0, dot);
    const std::optional<Span> found = find_member(text, at, key.substr(0, key.find("[]")));
    if (dot == path.size()) {
      if (found) {
        text.replace(found->begin, found->end - found->begin, value);
      } else {
        add_member(text, at, key, value);
      }
      return true;
    }
    path.remove_prefix(dot + 1);
    const bool many = key.ends_with("[]");
    if (many) key.remove_suffix(2);
    const std::size_t begin =
        found ? found->begin : add_member(text, at, key, many ? "[{}]" : "{}");
    if (begin >= text.size() || text[begin] != (many ? '[' : '{')) return false;
    at = begin + 1;
    if (!many) continue;
    const std::vector<std::size_t> objects = objects_of(text, at);
    if (objects.empty()) return false;
    at = objects[choose(objects.size())];
  }
}

}  // namespace pinfold::fuzz
