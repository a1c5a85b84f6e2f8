#include "sim/trace/table_schema.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "sim/trace/decimal_number.h"
#include "sim/trace/timestamp.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace pinfold::sim {
namespace {

constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();

InputError mistake(std::string found, std::string expected, std::string hint = {}) {
  InputError error;
  error.column = 1;
  error.found = std::move(found);
  error.expected = std::move(expected);
  error.hint = std::move(hint);
  return error;
}

/// Why `text` is no count from `least` to `most`.
InputError no_count(const TraceColumn& column, std::string_view text, std::uint64_t least,
                    std::uint64_t most) {
  InputError error =
      mistake(in_quotes(text), fmt::format("{} from {} to {}", column.name, least, most));
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  const bool whole = stop == end && !text.empty();
  std::string_view digits = text;
  if (digits.starts_with('-')) digits.remove_prefix(1);
  const bool negative = digits.size() < text.size() && !digits.empty() &&
                        digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (text.empty()) {
    error.found = "an empty field";
  } else if (negative) {
    error.found = "the negative count " + in_quotes(text);
  } else if (whole && (failure == std::errc::result_out_of_range || value > most)) {
    error.found = "the too large count " + in_quotes(text);
  } else if (whole) {
    error.found = fmt::format("{} tokens", value);
  } else if (failure == std::errc() && stop != end && *stop == '.') {
    error.hint = "a count has no fraction";
  }
  return error;
}

template <class Number>
std::optional<InputError> count(const TraceColumn& column, std::string_view text, Number least,
                                Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure == std::errc() && stop == end && value >= least) return std::nullopt;
  return no_count(column, text, least, std::numeric_limits<Number>::max());
}

const char* unit_of(Clock clock) {
  switch (clock) {
    case Clock::kNs: return "nanoseconds";
    case Clock::kUs: return "microseconds";
    case Clock::kMs: return "milliseconds";
    case Clock::kSeconds: return "seconds";
    case Clock::kDate: break;
  }
  return "a date and a time";
}

std::optional<InputError> time(const TraceColumn& column, std::string_view text, std::int64_t& ns) {
  if (column.clock == Clock::kDate) {
    const Outcome<Timestamp> parsed = parse_timestamp(text);
    if (!parsed) return parsed.error();
    ns = parsed.value().unix_ns;
    return std::nullopt;
  }
  const auto value = scaled_decimal(text, static_cast<int>(column.clock));
  if (value && *value >= 0) {
    ns = *value;
    return std::nullopt;
  }
  return mistake(text.empty() ? "an empty field" : in_quotes(text),
                 fmt::format("{} as {}, from 0 to 292 years", column.name, unit_of(column.clock)));
}

/// Numbers with a space between them.
template <class Number>
std::optional<InputError> list(const TraceColumn& column, std::string_view text,
                               std::vector<Number>& values) {
  values.clear();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view one = text.substr(at, end - at);
    Number value = 0;
    const auto [stop, failure] = std::from_chars(one.data(), one.data() + one.size(), value);
    if (failure != std::errc() || stop != one.data() + one.size()) {
      InputError error = no_count(column, one, 0, std::numeric_limits<Number>::max());
      error.column = at + 1;
      return error;
    }
    values.push_back(value);
    at = end + 1;
  }
  return std::nullopt;
}

/// Integers that may be -1 for "none".
std::optional<InputError> chat(const TraceColumn& column, std::string_view text,
                               std::optional<std::int64_t>& value) {
  value = scaled_decimal(text, 0);
  if (value && *value >= -1) return std::nullopt;
  return mistake(in_quotes(text), fmt::format("{} from -1 on", column.name));
}

}  // namespace

InputError no_arrival() { return mistake("no arrival", "one in every row, or in none"); }

InputError first_arrival() {
  return mistake("an arrival behind rows without one", "one in every row, or in none");
}

InputError too_late() {
  InputError error;
  error.found = "a turn more than 292 years after time 0";
  error.expected = "times from 0 to 292 years";
  return error;
}

std::vector<std::uint64_t> alternatives(const TableSchema& schema) {
  std::vector<std::uint64_t> groups;
  for (std::size_t first = 0; first < schema.columns.size(); ++first) {
    std::uint64_t group = 0;
    for (std::size_t i = 0; i < schema.columns.size(); ++i) {
      if (schema.columns[i].field != schema.columns[first].field) continue;
      if (i < first) break;  // has been looked at
      group |= std::uint64_t{1} << i;
    }
    if (std::popcount(group) > 1 && schema.columns[first].field != Field::kText) {
      groups.push_back(group);
    }
  }
  return groups;
}

bool is_list(Field field) { return field == Field::kPrefixIds || field == Field::kAccepted; }

std::uint64_t session_number(std::string_view name) {
  if (const auto number = unsigned_integer(name)) {
    if (*number != kNoSession && (name.size() == 1 || name[0] != '0')) return *number;
  }
  const std::uint64_t hash = XXH3_64bits(name.data(), name.size());
  return hash == kNoSession ? 0 : hash;
}

std::optional<InputError> set_field(const TraceColumn& column, std::string_view text,
                                    TraceRequest& request, RowExtras& extras) {
  // An optional field that is empty says nothing.
  if (text.empty() && !column.required) return std::nullopt;
  switch (column.field) {
    case Field::kArrival: extras.has_arrival = true; return time(column, text, request.arrival_ns);
    case Field::kPrompt:
      extras.has_prompt = true;
      return count<std::uint32_t>(column, text, 1, request.prompt);
    case Field::kOutput: return count<std::uint32_t>(column, text, 0, request.output);
    case Field::kLimit: return count<std::uint32_t>(column, text, 0, request.limit);
    case Field::kSamples: return count<std::uint32_t>(column, text, 1, request.samples);
    case Field::kPriority: return count<std::uint32_t>(column, text, 0, request.priority);
    case Field::kAbort: return time(column, text, request.abort_ns);
    case Field::kForkOf: return count<std::uint64_t>(column, text, 0, request.fork_of);
    case Field::kForkAt: return count<std::uint32_t>(column, text, 0, request.fork_at);
    case Field::kSession: request.session = session_number(text); return std::nullopt;
    case Field::kDelay: extras.has_delay = true; return time(column, text, request.delay_ns);
    case Field::kPrefixIds: return list(column, text, request.prefix_ids);
    case Field::kAccepted: return list(column, text, request.accepted);
    case Field::kElapsed: {
      std::int64_t ns = 0;
      auto error = time(column, text, ns);
      extras.elapsed_ns = ns;
      return error;
    }
    case Field::kChat: return chat(column, text, extras.chat);
    case Field::kParentChat: return chat(column, text, extras.parent_chat);
    case Field::kPrefix: return count<std::uint32_t>(column, text, 0, extras.prefix);
    case Field::kText: extras.has_text = true; return std::nullopt;
  }
  return std::nullopt;
}

std::optional<InputError> add_prefix(TraceRequest& request, const RowExtras& extras) {
  request.prompt += extras.prefix;
  if (request.prompt >= extras.prefix) return std::nullopt;
  InputError error;
  error.found = "more prompt tokens than 32 bits hold";
  error.expected = "at most 4294967295";
  return error;
}

std::optional<InputError> check_row(const TableSchema& schema, std::uint64_t row,
                                    const TraceRequest& request, const RowExtras& extras) {
  InputError error;
  if (!extras.has_prompt && extras.has_text) {
    error.found = "a prompt as text";
    error.expected = "its length in tokens";
    error.hint = "run the model's tokenizer over the trace first";
    return error;
  }
  // Positions are 32-bit numbers, and the last token still has one.
  if (request.output > kMost - request.prompt) {
    error.found = fmt::format("{} prompt and {} generated tokens", request.prompt, request.output);
    error.expected = "at most 4294967295 tokens a request";
    return error;
  }
  if (!request.prefix_ids.empty() && schema.id_block > 0 && schema.id_rule != IdRule::kAny) {
    const std::uint64_t floor = request.prompt / schema.id_block;
    const std::uint64_t wanted =
        floor + (schema.id_rule == IdRule::kCeil && request.prompt % schema.id_block != 0 ? 1 : 0);
    if (request.prefix_ids.size() != wanted) {
      error.found = fmt::format("{} prefix ids for {} prompt tokens", request.prefix_ids.size(),
                                request.prompt);
      error.expected = fmt::format("{}, one for each {} tokens{}", wanted, schema.id_block,
                                   schema.id_rule == IdRule::kCeil ? ", the last one partly" : "");
      error.hint = "--id-block says another block size";
      return error;
    }
  }
  if (request.abort_ns < request.arrival_ns) {
    error.found = "an abort before the arrival";
    error.expected = "one from the arrival on, on the same clock";
    return error;
  }
  if (request.fork_of != kNoRequest && request.fork_of >= row) {
    error.found = fmt::format("a fork of request {} in request {}", request.fork_of, row);
    error.expected = "a request before it, the first being 0";
    return error;
  }
  if (request.fork_of != kNoRequest && request.fork_at > request.prompt) {
    error.found =
        fmt::format("a fork at {} of a prompt of {} tokens", request.fork_at, request.prompt);
    error.expected = "a place within the prompt";
    return error;
  }
  return std::nullopt;
}

std::string required_columns(const TableSchema& schema) {
  std::string text;
  std::size_t left = 0;
  for (const TraceColumn& column : schema.columns) left += column.required ? 1 : 0;
  for (const TraceColumn& column : schema.columns) {
    if (!column.required) continue;
    text += column.name;
    --left;
    if (left > 0) text += left == 1 ? " and " : ", ";
  }
  return text;
}

}  // namespace pinfold::sim
