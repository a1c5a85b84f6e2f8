#include "sim/trace/json_rows.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "sim/trace/digits.h"
#include "sim/trace/json_walk.h"

namespace pinfold::sim {

static_assert(simdjson::SIMDJSON_PADDING <= LineWindow::kPadding);

JsonRows::JsonRows(LineWindow lines, TableSchema schema, std::string path)
    : lines_(std::move(lines)),
      schema_(std::move(schema)),
      path_(std::move(path)),
      walk_(std::make_unique<JsonWalk>()) {
  id_block_ = schema_.id_block;
  alternatives_ = alternatives(schema_);
  PINFOLD_CHECK(schema_.columns.size() <= 64, "trace", "a format of more than 64 fields");
  for (std::size_t i = 0; i < schema_.columns.size(); ++i) {
    if (schema_.columns[i].required) required_ |= std::uint64_t{1} << i;
    quick_ = quick_ && schema_.columns[i].name.size() + 4 < LineWindow::kPadding;
  }
}

JsonRows::~JsonRows() = default;

RowReader::Step JsonRows::next(TraceRequest& request) {
  Line line;
  RowExtras extras;
  std::uint64_t seen = 0;
  try {
    if (quick_ && quick_row(request, extras, seen)) {
      line.number = place_.line;
      finish(request, extras, seen);
      return Step::kRow;
    }
    for (;;) {
      if (!lines_.next(line)) {
        if (lines_.error()) return break_off(*lines_.error());
        if (rows_ > 0) return Step::kEnd;
        InputError error;
        error.path = path_;
        error.found = "an empty file";
        error.expected = "a JSON object a line";
        return break_off(std::move(error));
      }
      if (line.text.find_first_not_of(" \t") != std::string_view::npos) break;
      ++blank_lines_;
    }
    ++rows_;
    place_.line = line.number;
    place_.column = 0;
    place_.text = {};
    extras = {};
    seen = 0;
    clear(request);
    read(line, request, extras, seen);
    finish(request, extras, seen);
    return Step::kRow;
  } catch (const JsonTraceMistake& mistake) {
    return bad(walk_->placed(mistake, path_, line.number));
  } catch (const simdjson::simdjson_error& failure) {
    return bad(walk_->placed(walk_->mistake(failure.error()), path_, line.number));
  }
}

/// A line that is written as most are: known keys, integers and lists of them, a space at most behind a
/// colon or a comma. False, and nothing is passed, for any other: simdjson then reads it or says what is
/// wrong.
bool JsonRows::quick_row(TraceRequest& request, RowExtras& extras, std::uint64_t& seen) {
  const char* const start = lines_.at();
  if (start == lines_.whole_end()) return false;
  const char* at = start;
  if (*at++ != '{') return false;
  clear(request);
  const std::size_t count = schema_.columns.size();
  std::size_t index = 0;
  for (;;) {
    if (*at++ != '"') return false;
    for (;; ++index) {  // keys in the format's order, some left out
      if (index == count) return false;
      const std::string& name = schema_.columns[index].name;
      if (std::memcmp(at, name.data(), name.size()) != 0) continue;
      if (at[name.size()] == '"' && at[name.size() + 1] == ':') break;
    }
    const TraceColumn& column = schema_.columns[index];
    at += column.name.size() + 2;
    if (*at == ' ') ++at;
    const char* const value = at;
    if (!quick_value(column, at, request, extras)) return false;
    if (column.field == Field::kArrival) {
      place_.column = static_cast<std::uint64_t>(value - start) + 1;
      place_.text = {value, static_cast<std::size_t>(at - value)};
      place_.name = column.name;
    }
    seen |= std::uint64_t{1} << index++;
    if (*at == '}') break;
    if (*at++ != ',') return false;
    if (*at == ' ') ++at;
  }
  ++at;
  if (*at == '\r') ++at;
  if (*at++ != '\n') return false;
  place_.line = lines_.pass_line(at);
  ++rows_;
  return true;
}

bool JsonRows::quick_value(const TraceColumn& column, const char*& at, TraceRequest& request,
                           RowExtras& extras) {
  if (column.field == Field::kPrefixIds) return quick_ids(at, request);
  const char* const start = at;
  std::uint64_t value = 0;
  if (all_digits(at, value) > 9) return false;
  if (at == start || (*start == '0' && at - start > 1)) return false;
  switch (column.field) {
    case Field::kPrompt:
      if (value == 0) return false;
      request.prompt = static_cast<std::uint32_t>(value);
      extras.has_prompt = true;
      return true;
    case Field::kOutput: request.output = static_cast<std::uint32_t>(value); return true;
    case Field::kArrival: {
      if (column.quoted || (column.clock != Clock::kMs && column.clock != Clock::kNs)) return false;
      const std::int64_t unit_ns = column.clock == Clock::kMs ? 1'000'000 : 1;
      request.arrival_ns = static_cast<std::int64_t>(value) * unit_ns;
      extras.has_arrival = true;
      return true;
    }
    default: return false;
  }
}

bool JsonRows::quick_ids(const char*& at, TraceRequest& request) {
  if (*at++ != '[') return false;
  std::size_t count = 0;
  if (*at == ']') return ++at, true;
  for (;;) {
    const char* const start = at;
    std::uint64_t value = 0;
    const unsigned digits = all_digits(at, value);
    if (digits - 1 >= 19 || (*start == '0' && digits > 1)) return false;
    if (count == ids_.size()) ids_.resize(2 * count + 64);
    ids_[count++] = value;
    if (*at == ']') break;
    if (*at++ != ',') return false;
    if (*at == ' ') ++at;
  }
  ++at;
  request.prefix_ids.assign(ids_.data(), ids_.data() + count);
  return true;
}

void JsonRows::read(const Line& line, TraceRequest& request, RowExtras& extras,
                    std::uint64_t& seen) {
  std::size_t guess = 0;  // keys mostly come in the format's order
  const std::size_t count = schema_.columns.size();
  for (json::field field : walk_->open(line.text)) {
    const char* const raw = field.key().raw();
    std::size_t index = count;
    for (std::size_t tried = 0; tried < count; ++tried) {
      const std::size_t candidate = guess + tried < count ? guess + tried : guess + tried - count;
      if (key_is(raw, schema_.columns[candidate].name)) {
        index = candidate;
        break;
      }
    }
    if (index == count) {
      refuse_late_ids(raw);
      continue;
    }
    guess = index + 1 < count ? index + 1 : 0;
    const TraceColumn& column = schema_.columns[index];
    const std::uint64_t bit = std::uint64_t{1} << index;
    if ((seen & bit) != 0) {
      throw JsonTraceMistake{
          raw, {}, fmt::format("a second key {}", in_quotes(column.name)), "only one", {}};
    }
    seen |= bit;
    json::value value = field.value();
    if (column.field == Field::kPrefixIds) {
      if (token_of(value) == "null") continue;
      append_integers(value, column.name, request.prefix_ids);
      continue;
    }
    if (column.field == Field::kAccepted) {
      append_integers(value, column.name, request.accepted);
      continue;
    }
    std::string_view token = token_of(value);
    if (column.field == Field::kArrival) {
      place_.column = static_cast<std::uint64_t>(token.data() - line.text.data()) + 1;
      place_.text = token;
      place_.name = column.name;
    }
    const bool words =
        column.field == Field::kSession || column.clock == Clock::kDate || column.quoted;
    const bool none = token == "null" || token == "\"\"";
    if (none && !column.required) continue;
    if (column.field == Field::kText) {
      extras.has_text = true;
      continue;
    }
    if (words && is_string(token)) token = unquoted(token);
    if (auto error = set_field(column, token, request, extras)) {
      throw JsonTraceMistake{
          token.data() + error->column - 1, {}, error->found, error->expected, error->hint};
    }
  }
  walk_->close();
}

/// Ids whose key the first line did not have would be passed over like any other key.
void JsonRows::refuse_late_ids(const char* key) const {
  const std::string_view begin = schema_.id_keys;
  if (begin.empty() || std::strncmp(key, begin.data(), begin.size()) != 0) return;
  const std::string name(key, std::strcspn(key, "\""));
  throw JsonTraceMistake{key,
                         {},
                         fmt::format("the key {}", in_quotes(name)),
                         "the keys of prefix ids in the first line",
                         fmt::format("it may have {}: [] there", in_quotes(name))};
}

/// What must hold once all keys have been read.
void JsonRows::finish(TraceRequest& request, const RowExtras& extras, std::uint64_t seen) {
  const std::size_t count = schema_.columns.size();
  if ((seen & required_) != required_) {
    for (std::size_t i = 0; i < count; ++i) {
      if ((required_ & ~seen & std::uint64_t{1} << i) == 0) continue;
      throw JsonTraceMistake{nullptr,
                             {},
                             fmt::format("no key {}", in_quotes(schema_.columns[i].name)),
                             fmt::format("{} in every line", required_columns(schema_)),
                             {}};
    }
  }
  for (const std::uint64_t group : alternatives_) {
    const std::uint64_t both = seen & group;
    if (std::popcount(both) < 2) continue;
    const auto name = [&](std::uint64_t bits) {
      return in_quotes(schema_.columns[static_cast<std::size_t>(std::countr_zero(bits))].name);
    };
    throw JsonTraceMistake{nullptr,
                           {},
                           fmt::format("{} and {}", name(both), name(both & (both - 1))),
                           "one of them, since both say the same",
                           {}};
  }
  if (!schema_.rule) {
    if (arrivals_.value_or(extras.has_arrival) != extras.has_arrival) {
      const InputError wrong = extras.has_arrival ? first_arrival() : no_arrival();
      throw JsonTraceMistake{nullptr, {}, wrong.found, wrong.expected, wrong.hint};
    }
    arrivals_ = extras.has_arrival;
  }
  if (extras.prefix != 0) {
    if (auto wrong = add_prefix(request, extras)) {
      throw JsonTraceMistake{nullptr, {}, wrong->found, wrong->expected, {}};
    }
  }
  auto error = check_row(schema_, rows_ - 1, request, extras);
  if (!error && !extras.has_prompt) {
    error = InputError{};
    error->found = "no prompt length";
    error->expected = required_columns(schema_);
  }
  if (!error && schema_.rule) error = schema_.rule(request, extras);
  if (error)
    throw JsonTraceMistake{nullptr, error->key, error->found, error->expected, error->hint};
}

}  // namespace pinfold::sim
