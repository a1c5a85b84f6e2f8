#include "sim/trace/azure_csv.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "sim/trace/closest_word.h"
#include "sim/trace/read_file.h"
#include "sim/trace/timestamp.h"

// Fields are split by hand and read with std::from_chars: a CSV library would bring quotes and strict
// column lists that this format does not have, hand out strings, and keep the byte column of a
// mistake to itself.

namespace pinfold::sim {
namespace {

enum Column : std::size_t { kTimestamp, kContextTokens, kGeneratedTokens };
constexpr std::array<std::string_view, 3> kNames{"TIMESTAMP", "ContextTokens", "GeneratedTokens"};
constexpr std::size_t kAbsent = std::numeric_limits<std::size_t>::max();

/// One line of the file, without its line end.
struct Line {
  std::uint64_t number = 0;
  std::string_view text;
};

/// The rest of a text, line by line. A line ends with LF or CRLF; the last one need not.
class Lines {
 public:
  explicit Lines(std::string_view rest) : rest_(rest) {}

  std::optional<Line> next() {
    if (rest_.empty()) return std::nullopt;
    const std::size_t end = rest_.find('\n');
    std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    return Line{++number_, text};
  }

  /// True if only line ends follow.
  bool only_blank_left() const { return rest_.find_first_not_of("\r\n") == std::string_view::npos; }

 private:
  std::string_view rest_;
  std::uint64_t number_ = 0;
};

class AzureReader {
 public:
  AzureReader(std::string_view text, const std::string& name)
      : size_(text.size()), lines_(without_byte_order_mark(text)), name_(name) {}

  Outcome<Trace> read() {
    if (auto error = header()) return *error;
    Trace trace;
    trace.name = name_;
    trace.requests.reserve(size_ / 36);  // the shortest usual row; one allocation for real files
    while (const std::optional<Line> line = lines_.next()) {
      if (auto error = row(*line, trace)) return *error;
    }
    if (trace.requests.empty()) {
      return at(header_line_ + 1, 0, "the end of the file behind the header", "at least one row");
    }
    return trace;
  }

 private:
  static std::string_view without_byte_order_mark(std::string_view text) {
    constexpr std::string_view kMark = "\xEF\xBB\xBF";
    return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
  }

  InputError at(std::uint64_t line, std::uint64_t column, std::string found, std::string expected,
                std::string hint = {}) const {
    return InputError{.path = name_,
                      .line = line,
                      .column = column,
                      .key = {},
                      .found = std::move(found),
                      .expected = std::move(expected),
                      .hint = std::move(hint)};
  }

  static bool looks_binary(std::string_view text) {
    for (const char letter : text) {
      if (letter < ' ' && letter != '\t' && letter != '\r')
        return true;  // bytes above 127 included
    }
    return false;
  }

  /// Something that is no CSV at all, recognised by its first line.
  std::optional<InputError> foreign(const Line& line) const {
    const std::string expected = "a CSV header with TIMESTAMP, ContextTokens and GeneratedTokens";
    if (line.text.starts_with("version https://git-lfs")) {
      return at(line.number, 0, "a Git LFS pointer in place of the data", expected,
                "fetch the file with `git lfs pull`");
    }
    if (line.text.starts_with("\x1F\x8B") || line.text.starts_with("\x28\xB5\x2F\xFD")) {
      return at(line.number, 0, "compressed data", expected, "unpack the file first");
    }
    if (looks_binary(line.text)) return at(line.number, 0, "binary data", expected);
    if (line.text.starts_with('{') || line.text.starts_with('[')) {
      return at(line.number, 0, "JSON", expected);
    }
    return std::nullopt;
  }

  std::optional<InputError> header() {
    const std::optional<Line> line = lines_.next();
    if (!line) {
      return at(0, 0, "an empty file",
                "a CSV header with TIMESTAMP, ContextTokens and GeneratedTokens");
    }
    header_line_ = line->number;
    if (auto error = foreign(*line)) return error;

    std::vector<std::string_view> names;
    std::string_view rest = line->text;
    for (;;) {
      const std::size_t comma = rest.find(',');
      const std::string_view name = rest.substr(0, comma);
      const std::uint64_t column = static_cast<std::uint64_t>(name.data() - line->text.data()) + 1;
      if (name.starts_with('"')) {
        return at(line->number, column, "the quoted column name " + in_quotes(name),
                  "column names without quotes");
      }
      for (std::size_t wanted = 0; wanted < kNames.size(); ++wanted) {
        if (name != kNames[wanted]) continue;
        if (columns_[wanted] != kAbsent) {
          return at(line->number, column, fmt::format("a second column {}", name), "only one");
        }
        columns_[wanted] = names.size();
      }
      names.push_back(name);
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
    column_count_ = names.size();
    return missing_column(*line, names);
  }

  std::optional<InputError> missing_column(const Line& line,
                                           const std::vector<std::string_view>& names) const {
    for (std::size_t wanted = 0; wanted < kNames.size(); ++wanted) {
      if (columns_[wanted] != kAbsent) continue;
      std::string hint;
      if (const auto close = closest_word(kNames[wanted], names)) {
        hint = fmt::format("is column {} meant?", in_quotes(*close));
      }
      return at(line.number, 0, "the header " + in_quotes(line.text),
                fmt::format("a column {}", kNames[wanted]), hint);
    }
    return std::nullopt;
  }

  std::optional<InputError> row(const Line& line, Trace& trace) {
    std::array<std::string_view, 3> fields;
    if (auto error = split(line, fields)) return error;

    const Outcome<Timestamp> time = parse_timestamp(fields[kTimestamp]);
    if (!time) return in_field(line, fields[kTimestamp], kTimestamp, time.error());
    if (auto error = check_order(line, fields[kTimestamp], time.value())) return error;

    std::uint32_t prompt = 0;
    std::uint32_t output = 0;
    if (auto error = count(line, fields[kContextTokens], kContextTokens, 1, prompt)) return error;
    if (auto error = count(line, fields[kGeneratedTokens], kGeneratedTokens, 0, output))
      return error;
    // Positions are 32-bit numbers, and the last token still has one.
    if (output > std::numeric_limits<std::uint32_t>::max() - prompt) {
      return at(line.number, 0, fmt::format("{} prompt and {} generated tokens", prompt, output),
                "at most 4294967295 tokens a request");
    }
    trace.requests.push_back(TraceRequest{
        .arrival_ns = time.value().unix_ns - first_ns_, .prompt = prompt, .output = output});
    return std::nullopt;
  }

  std::optional<InputError> split(const Line& line, std::array<std::string_view, 3>& fields) const {
    std::string_view rest = line.text;
    std::size_t column = 0;
    for (;; ++column) {
      const std::size_t comma = rest.find(',');
      const std::string_view field = rest.substr(0, comma);
      if (field.starts_with('"')) {
        return at(line.number, position(line, field), "the quoted field " + in_quotes(field),
                  "fields without quotes");
      }
      for (std::size_t wanted = 0; wanted < fields.size(); ++wanted) {
        if (column == columns_[wanted]) fields[wanted] = field;
      }
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
    if (column + 1 == column_count_) return std::nullopt;
    return wrong_field_count(line, column + 1);
  }

  InputError wrong_field_count(const Line& line, std::size_t found) const {
    if (line.text.empty() && lines_.only_blank_left()) {
      return at(line.number, 0, "a blank line at the end of the file",
                "nothing behind the last row's line end", "delete it");
    }
    if (line.text.empty()) {
      return at(line.number, 0, "a blank line", fmt::format("{} fields", column_count_),
                "delete it");
    }
    const char* hint = found < column_count_ ? "is the line cut off?" : "";
    return at(line.number, line.text.size() + 1,
              fmt::format("{} field{} in {}", found, found == 1 ? "" : "s", in_quotes(line.text)),
              fmt::format("{} as in the header", column_count_), hint);
  }

  std::optional<InputError> check_order(const Line& line, std::string_view field, Timestamp time) {
    if (last_line_ == 0) {
      zoned_ = time.zoned;
      first_ns_ = time.unix_ns;
    } else if (time.zoned != zoned_) {
      return at(
          line.number, position(line, field),
          fmt::format("{} {} offset", in_quotes(field), time.zoned ? "with an" : "without an"),
          fmt::format("times {} as in line {}", zoned_ ? "with an offset" : "without one",
                      header_line_ + 1));
    } else if (time.unix_ns < last_ns_) {
      return at(line.number, position(line, field),
                fmt::format("{}, earlier than line {}", in_quotes(field), last_line_),
                "rows in order of TIMESTAMP", "sort the rows");
    }
    last_line_ = line.number;
    last_ns_ = time.unix_ns;
    return std::nullopt;
  }

  std::optional<InputError> count(const Line& line, std::string_view field, Column column,
                                  std::uint32_t least, std::uint32_t& value) const {
    const char* const end = field.data() + field.size();
    const auto [stop, failure] = std::from_chars(field.data(), end, value);
    if (failure == std::errc() && stop == end && value >= least) return std::nullopt;
    InputError error;
    error.column = 1;
    error.expected = fmt::format("{} from {} to 4294967295", kNames[column], least);
    error.found = in_quotes(field);
    const bool number = stop == end && !field.empty();
    if (field.empty()) {
      error.found = "an empty field";
    } else if (field.starts_with('-')) {
      error.found = "the negative count " + in_quotes(field);
    } else if (number && failure == std::errc::result_out_of_range) {
      error.found = "the too large count " + in_quotes(field);
    } else if (number) {
      error.found = fmt::format("{} tokens", value);
    } else if (failure == std::errc() && *stop == '.') {
      error.hint = "a count has no fraction";
    }
    return in_field(line, field, column, error);
  }

  /// Completes an error that a field's parser made: its place, and the hint that spaces need.
  InputError in_field(const Line& line, std::string_view field, Column column,
                      const InputError& part) const {
    InputError error = at(line.number, position(line, field) + part.column - 1, part.found,
                          part.expected, part.hint);
    if (field.starts_with(' ') || field.ends_with(' ') || field.starts_with('\t') ||
        field.ends_with('\t')) {
      error.hint = fmt::format("remove the spaces around {}", kNames[column]);
    }
    return error;
  }

  static std::uint64_t position(const Line& line, std::string_view field) {
    return static_cast<std::uint64_t>(field.data() - line.text.data()) + 1;
  }

  std::size_t size_;
  Lines lines_;
  const std::string& name_;
  std::array<std::size_t, 3> columns_{kAbsent, kAbsent, kAbsent};
  std::size_t column_count_ = 0;
  std::uint64_t header_line_ = 0;
  std::uint64_t last_line_ = 0;  // 0: no row yet
  std::int64_t last_ns_ = 0;
  std::int64_t first_ns_ = 0;
  bool zoned_ = false;
};

}  // namespace

Outcome<Trace> parse_azure_csv(std::string_view text, const std::string& name) {
  return AzureReader(text, name).read();
}

Outcome<Trace> read_azure_csv(const std::string& path) {
  const Outcome<std::string> text = read_file(path, "a request trace (CSV)");
  if (!text) return text.error();
  return parse_azure_csv(text.value(), path);
}

}  // namespace pinfold::sim
