#include "sim/trace/csv_rows.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "sim/trace/closest_word.h"
#include "sim/trace/digits.h"
#include "sim/trace/timestamp.h"

namespace pinfold::sim {
namespace {

/// A count of at most nine digits, so that it fits.
bool quick_digits(const char*& at, std::uint32_t& value) {
  std::uint64_t wide = 0;
  const unsigned count = all_digits(at, wide);
  value = static_cast<std::uint32_t>(wide);
  return count - 1 < 9;
}

bool quick_nanoseconds(const char*& at, std::int64_t& value) {
  std::uint64_t wide = 0;
  const unsigned count = all_digits(at, wide);
  value = static_cast<std::int64_t>(wide);
  return count - 1 < 18;
}

}  // namespace

CsvRows::CsvRows(LineWindow lines, TableSchema schema, std::string path)
    : lines_(std::move(lines)), schema_(std::move(schema)), path_(std::move(path)) {
  id_block_ = schema_.id_block;
}

InputError CsvRows::at(std::uint64_t line, std::uint64_t column, std::string found,
                       std::string expected, std::string hint) const {
  return InputError{.path = path_,
                    .line = line,
                    .column = column,
                    .key = {},
                    .found = std::move(found),
                    .expected = std::move(expected),
                    .hint = std::move(hint)};
}

RowReader::Step CsvRows::next(TraceRequest& request) {
  if (!started_) {
    started_ = true;
    if (auto error = header()) return break_off(std::move(*error));
  }
  if (quick_ && quick_row(request)) return Step::kRow;
  Line line;
  if (!lines_.next(line)) {
    if (lines_.error()) return break_off(*lines_.error());
    if (rows_ > 0) return Step::kEnd;
    return break_off(
        at(header_line_ + 1, 0, "the end of the file behind the header", "at least one row"));
  }
  ++rows_;
  if (auto error = row(line, request)) return bad(std::move(*error));
  return Step::kRow;
}

std::optional<InputError> CsvRows::header() {
  Line line;
  if (!lines_.next(line)) {
    if (lines_.error()) return lines_.error();
    return at(0, 0, "an empty file", "a CSV header with " + required_columns(schema_));
  }
  header_line_ = line.number;
  return read_header(line);
}

std::optional<InputError> CsvRows::read_header(const Line& line) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  std::string_view rest = line.text;
  if (rest.starts_with(kMark)) rest.remove_prefix(kMark.size());
  const char* const start = rest.data();
  std::vector<std::string_view> names;
  std::vector<bool> seen(schema_.columns.size(), false);
  std::vector<std::uint64_t> begins;  // of each in wanted_
  for (;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view name = rest.substr(0, comma);
    const std::uint64_t column = static_cast<std::uint64_t>(name.data() - start) + 1;
    if (name.starts_with('"')) {
      return at(line.number, column, "the quoted column name " + in_quotes(name),
                "column names without quotes");
    }
    for (std::size_t wanted = 0; wanted < schema_.columns.size(); ++wanted) {
      if (name != schema_.columns[wanted].name) continue;
      if (seen[wanted]) {
        return at(line.number, column, fmt::format("a second column {}", name), "only one");
      }
      seen[wanted] = true;
      wanted_.push_back({names.size(), wanted});
      begins.push_back(column);
    }
    names.push_back(name);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  column_count_ = names.size();
  for (std::size_t wanted = 0; wanted < schema_.columns.size(); ++wanted) {
    const TraceColumn& column = schema_.columns[wanted];
    if (column.required && !seen[wanted]) return missing_column(line, column, names);
  }
  for (const std::uint64_t group : alternatives(schema_)) {
    const TraceColumn* first = nullptr;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if ((group & std::uint64_t{1} << wanted_[i].column) == 0) continue;
      const TraceColumn& column = schema_.columns[wanted_[i].column];
      if (first != nullptr) {
        return at(line.number, begins[i],
                  fmt::format("the columns {} and {}", first->name, column.name),
                  "one of them, since both say the same");
      }
      first = &column;
    }
  }
  fields_.resize(wanted_.size());
  bool arrival = false;
  quick_ = column_count_ == 3 && wanted_.size() == 3 && !schema_.rule;
  for (const Wanted& wanted : wanted_) {
    const TraceColumn& column = schema_.columns[wanted.column];
    const bool usual = column.field == Field::kPrompt || column.field == Field::kOutput;
    arrival = column.field == Field::kArrival &&
              (column.clock == Clock::kDate || column.clock == Clock::kNs);
    quick_ = quick_ && (usual || arrival);
    if (arrival) place_.name = column.name;
  }
  for (std::size_t i = 0; quick_ && i < 3; ++i) {
    const TraceColumn& column = schema_.columns[wanted_[i].column];
    quick_columns_[i] = {column.field, column.clock};
  }
  return std::nullopt;
}

InputError CsvRows::missing_column(const Line& line, const TraceColumn& wanted,
                                   const std::vector<std::string_view>& names) const {
  std::string hint;
  if (const auto close = closest_word(wanted.name, names)) {
    hint = fmt::format("is column {} meant?", in_quotes(*close));
  }
  return at(line.number, 0, "the header " + in_quotes(line.text),
            fmt::format("a column {}", wanted.name), hint);
}

/// A row that is written as most are, without looking for its end first. False, and nothing is passed, for
/// any other: the long way then reads it or says what is wrong.
bool CsvRows::quick_row(TraceRequest& request) {
  const char* const start = lines_.at();
  if (start == lines_.whole_end()) return false;
  const char* at = start;
  const char* arrival_end = nullptr;
  const char* arrival_at = nullptr;
  std::int64_t arrival_ns = 0;
  std::uint32_t prompt = 0;
  std::uint32_t output = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    if (i > 0 && *at++ != ',') return false;
    const QuickColumn column = quick_columns_[i];
    if (column.field == Field::kPrompt) {
      if (!quick_digits(at, prompt) || prompt == 0) return false;
    } else if (column.field == Field::kOutput) {
      if (!quick_digits(at, output)) return false;
    } else {
      arrival_at = at;
      if (column.clock == Clock::kNs ? !quick_nanoseconds(at, arrival_ns)
                                     : !quick_date(at, arrival_ns)) {
        return false;
      }
      arrival_end = at;
    }
  }
  if (*at == '\r') ++at;
  if (*at++ != '\n') return false;
  clear(request);
  request.arrival_ns = arrival_ns;
  request.prompt = prompt;
  request.output = output;
  place_.line = lines_.pass_line(at);
  place_.column = static_cast<std::uint64_t>(arrival_at - start) + 1;
  place_.text = {arrival_at, static_cast<std::size_t>(arrival_end - arrival_at)};
  ++rows_;
  return true;
}

/// A date of the minute that was read before.
bool CsvRows::quick_date(const char*& at, std::int64_t& ns) const {
  if (!minute_known_ || std::memcmp(at, minute_.data(), kMinuteText) != 0) return false;
  const char* here = at + kMinuteText;
  const unsigned tens = static_cast<unsigned char>(here[0]) - unsigned{'0'};
  const unsigned ones = static_cast<unsigned char>(here[1]) - unsigned{'0'};
  if (tens > 5 || ones > 9) return false;
  here += 2;
  std::uint64_t fraction = 0;
  if (*here == '.') {
    static constexpr std::array<std::uint32_t, 10> kScale{
        0, 100'000'000, 10'000'000, 1'000'000, 100'000, 10'000, 1'000, 100, 10, 1};
    const unsigned count = all_digits(++here, fraction);
    if (count - 1 >= 9) return false;
    fraction *= kScale[count];
  }
  if (std::memcmp(here, zone_text_.data(), zone_text_.size()) != 0) return false;
  here += zone_text_.size();
  if (*here != ',' && *here != '\n' && *here != '\r') return false;
  ns = minute_ns_ + std::int64_t{tens * 10 + ones} * 1'000'000'000 +
       static_cast<std::int64_t>(fraction);
  at = here;
  return true;
}

std::optional<InputError> CsvRows::row(const Line& line, TraceRequest& request) {
  if (auto error = split(line)) return error;
  clear(request);
  place_.line = line.number;
  place_.column = 0;
  place_.text = {};
  RowExtras extras;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const TraceColumn& column = schema_.columns[wanted_[i].column];
    if (auto error = set_field(column, fields_[i], request, extras)) {
      return in_field(line, fields_[i], column, *error);
    }
    if (column.field != Field::kArrival) continue;
    if (fields_[i].empty()) {
      if (schema_.rule) continue;  // which works it out, or refuses it
      return in_field(line, fields_[i], column, no_arrival());
    }
    place_.column = static_cast<std::uint64_t>(fields_[i].data() - line.text.data()) + 1;
    place_.text = fields_[i];
    place_.name = column.name;
    if (column.clock == Clock::kDate) {
      if (auto error = check_zone(line, fields_[i])) return error;
    }
  }
  std::optional<InputError> error = add_prefix(request, extras);
  if (!error) error = check_row(schema_, rows_ - 1, request, extras);
  if (!error && schema_.rule) error = schema_.rule(request, extras);
  if (error) {
    error->path = path_;
    error->line = line.number;
  }
  return error;
}

std::optional<InputError> CsvRows::split(const Line& line) {
  const char* at = line.text.data();
  const char* const end = at + line.text.size();
  std::size_t column = 0;
  std::size_t wanted = 0;
  for (;; ++column) {
    const char* const start = at;
    while (at != end && *at != ',') ++at;
    if (start != at && *start == '"') {
      const std::string_view field{start, static_cast<std::size_t>(at - start)};
      return this->at(line.number, static_cast<std::uint64_t>(start - line.text.data()) + 1,
                      "the quoted field " + in_quotes(field), "fields without quotes");
    }
    if (wanted < wanted_.size() && column == wanted_[wanted].position) {
      fields_[wanted++] = {start, static_cast<std::size_t>(at - start)};
    }
    if (at == end) break;
    ++at;
  }
  if (column + 1 == column_count_) return std::nullopt;
  return wrong_field_count(line, column + 1);
}

InputError CsvRows::wrong_field_count(const Line& line, std::size_t found) {
  if (line.text.empty() && lines_.only_blank_left()) {
    return at(line.number, 0, "a blank line at the end of the file",
              "nothing behind the last row's line end", "delete it");
  }
  if (line.text.empty()) {
    return at(line.number, 0, "a blank line", fmt::format("{} fields", column_count_), "delete it");
  }
  const char* hint = found < column_count_ ? "is the line cut off?" : "";
  return at(line.number, line.text.size() + 1,
            fmt::format("{} field{} in {}", found, found == 1 ? "" : "s", in_quotes(line.text)),
            fmt::format("{} as in the header", column_count_), hint);
}

/// Dates with an offset and naive ones do not mix. Remembers the minute, for the quick way.
std::optional<InputError> CsvRows::check_zone(const Line& line, std::string_view field) {
  const Timestamp time = parse_timestamp(field).value();
  if (!zone_known_) {
    zone_known_ = true;
    zoned_ = time.zoned;
  } else if (time.zoned != zoned_) {
    return at(line.number, place_.column,
              fmt::format("{} {} offset", in_quotes(field), time.zoned ? "with an" : "without an"),
              fmt::format("times {} as in line {}", zoned_ ? "with an offset" : "without one",
                          header_line_ + 1));
  }
  std::memcpy(minute_.data(), field.data(), kMinuteText);
  std::string_view rest = field.substr(kMinuteText + 2);
  if (rest.starts_with('.')) rest.remove_prefix(1);
  rest.remove_prefix(std::min(rest.find_first_not_of("0123456789"), rest.size()));
  zone_text_ = rest;
  // A minute begins at a whole number of minutes of any zone's clock.
  minute_ns_ = time.unix_ns - time.unix_ns % 60'000'000'000;
  minute_known_ = true;
  return std::nullopt;
}

/// Completes an error that a field's parser made: its place, and the hint that spaces need.
InputError CsvRows::in_field(const Line& line, std::string_view field, const TraceColumn& column,
                             const InputError& part) const {
  InputError error =
      at(line.number, static_cast<std::uint64_t>(field.data() - line.text.data()) + part.column,
         part.found, part.expected, part.hint);
  if (field.starts_with(' ') || field.ends_with(' ') || field.starts_with('\t') ||
      field.ends_with('\t')) {
    error.hint = fmt::format("remove the spaces around {}", column.name);
  }
  return error;
}

}  // namespace pinfold::sim
