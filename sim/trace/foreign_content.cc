#include "sim/trace/foreign_content.h"

#include <algorithm>

namespace pinfold::sim {
namespace {

struct Mark {
  std::string_view bytes;
  const char* found;
  const char* hint;
};

constexpr const char* kConvert =
    "convert it to JSON Lines or CSV with the tool that wrote it; docs/traces.md lists the columns";

constexpr Mark kMarks[] = {
    {"version https://git-lfs", "a Git LFS pointer in place of the data",
     "fetch the file with `git lfs pull`"},
    {"\x1F\x8B", "compressed data", "unpack the file first"},
    {"\x28\xB5\x2F\xFD", "compressed data", "unpack the file first"},
    {"\xFD"
     "7zXZ",
     "xz-compressed data", "unpack the file first"},
    {"BZh", "bzip2-compressed data", "unpack the file first"},
    {"PK\x03\x04", "a zip archive", "unpack the file first"},
    {"PAR1", "a Parquet table", kConvert},
    {"ARROW1", "an Arrow table", kConvert},
    {"Obj\x01", "an Avro table", kConvert},
};

bool is_pickle(std::string_view text) {
  return text.size() >= 2 && text[0] == '\x80' && text[1] >= '\x02' && text[1] <= '\x05';
}

/// Git on a system without symbolic links leaves a file that holds only the path the link had.
bool is_link_text(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const bool one_word =
      text.size() < 512 && text.find_first_of("\n,;{}[] \t\"") == std::string_view::npos;
  const std::size_t dot = text.rfind('.');
  if (!one_word || dot == std::string_view::npos || dot == 0) return false;
  const std::string_view suffix = text.substr(dot);
  constexpr std::string_view kSuffixes[] = {".csv", ".json", ".jsonl", ".gz", ".zst", ".txt"};
  return std::find(std::begin(kSuffixes), std::end(kSuffixes), suffix) != std::end(kSuffixes);
}

bool looks_binary(std::string_view line) {
  return std::any_of(line.begin(), line.end(), [](char letter) {
    return letter < ' ' && letter != '\t' && letter != '\r';  // bytes above 127 included
  });
}

}  // namespace

std::optional<InputError> foreign_content(std::string_view text, const std::string& path,
                                          const std::string& expected) {
  InputError error;
  error.path = path;
  error.line = 1;
  error.expected = expected;
  for (const Mark& mark : kMarks) {
    if (!text.starts_with(mark.bytes)) continue;
    error.found = mark.found;
    error.hint = mark.hint;
    return error;
  }
  if (is_pickle(text)) {
    error.found = "a Python pickle";
    error.hint =
        "a pickle can run any code, so it is never read here; write the lengths as JSON Lines from "
        "the program that made it";
    return error;
  }
  if (is_link_text(text)) {
    error.found = "the text of a symbolic link, " +
                  in_quotes(text.substr(0, std::min(text.find('\n'), text.size())));
    error.hint = "name the file that it points to";
    return error;
  }
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  std::string_view line = text.substr(0, std::min(text.find('\n'), text.size()));
  if (line.starts_with(kMark)) line.remove_prefix(kMark.size());
  // A JSON document may hold any letters, and its parser knows which bytes are none.
  const bool json = line.starts_with('{') || line.starts_with('[');
  if (!json && looks_binary(line)) {
    error.found = "binary data";
    return error;
  }
  return std::nullopt;
}

}  // namespace pinfold::sim
