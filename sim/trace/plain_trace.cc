#include "sim/trace/plain_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/trace/closest_word.h"
#include "sim/trace/decimal_number.h"

namespace pinfold::sim {
namespace {

struct Name {
  std::string_view text;
  Field field;
  Clock clock;
};

constexpr Name kNames[] = {
    {"arrival_ns", Field::kArrival, Clock::kNs}, {"arrival_us", Field::kArrival, Clock::kUs},
    {"arrival_ms", Field::kArrival, Clock::kMs}, {"arrival_s", Field::kArrival, Clock::kSeconds},
    {"arrival", Field::kArrival, Clock::kDate},  {"prompt", Field::kPrompt, Clock::kNs},
    {"output", Field::kOutput, Clock::kNs},      {"limit", Field::kLimit, Clock::kNs},
    {"samples", Field::kSamples, Clock::kNs},    {"priority", Field::kPriority, Clock::kNs},
    {"abort_ns", Field::kAbort, Clock::kNs},     {"abort_us", Field::kAbort, Clock::kUs},
    {"abort_ms", Field::kAbort, Clock::kMs},     {"abort_s", Field::kAbort, Clock::kSeconds},
    {"fork_of", Field::kForkOf, Clock::kNs},     {"fork_at", Field::kForkAt, Clock::kNs},
    {"session", Field::kSession, Clock::kNs},    {"delay_ns", Field::kDelay, Clock::kNs},
    {"delay_us", Field::kDelay, Clock::kUs},     {"delay_ms", Field::kDelay, Clock::kMs},
    {"delay_s", Field::kDelay, Clock::kSeconds}, {"accepted", Field::kAccepted, Clock::kNs},
};
constexpr std::string_view kPrefixIds = "prefix_ids_";

/// Adds what `name` stands for; false if it stands for nothing.
bool add(TableSchema& schema, std::string_view name, std::string_view column) {
  if (name.starts_with(kPrefixIds)) {
    const auto block = unsigned_integer(name.substr(kPrefixIds.size()));
    if (!block || *block == 0 || *block > kIdBlockMost) return false;
    schema.columns.push_back({std::string(column), Field::kPrefixIds});
    schema.id_block = static_cast<std::uint32_t>(*block);
    return true;
  }
  for (const Name& known : kNames) {
    if (known.text != name) continue;
    const bool required = known.field == Field::kPrompt || known.field == Field::kOutput;
    schema.columns.push_back({std::string(column), known.field, required, known.clock});
    return true;
  }
  return false;
}

void require(TableSchema& schema, Field field, const char* name) {
  for (const TraceColumn& column : schema.columns) {
    if (column.field == field) return;
  }
  schema.columns.push_back({name, field, true});
}

}  // namespace

Outcome<TableSchema> plain_trace(std::span<const std::string_view> header) {
  TableSchema schema{.format = "plain", .columns = {}, .id_keys = kPrefixIds};
  // All names, since a line may have keys that the first has not.
  for (const Name& name : kNames) add(schema, name.text, name.text);
  std::string_view ids;
  for (const std::string_view name : header) {
    if (!name.starts_with(kPrefixIds)) continue;
    InputError error;
    if (!ids.empty() && ids != name) {  // the same one again is its reader's to refuse
      error.found = fmt::format("{} and {}", in_quotes(ids), in_quotes(name));
      error.expected = "one of them, since both say the same";
      return error;
    }
    if (!ids.empty() || add(schema, name, name)) {
      ids = name;
      continue;
    }
    error.found = "the column " + in_quotes(name);
    error.expected =
        fmt::format("{}N, each id for N tokens from 1 to {}", kPrefixIds, kIdBlockMost);
    return error;
  }
  return schema;
}

Outcome<TableSchema> plain_trace(std::span<const ColumnName> columns) {
  TableSchema schema{.format = "plain", .columns = {}};
  for (const ColumnName& column : columns) {
    if (add(schema, column.name, column.column)) {
      const TraceColumn& added = schema.columns.back();
      const TraceColumn& first =
          *std::find_if(schema.columns.begin(), schema.columns.end(),
                        [&](const TraceColumn& other) { return other.field == added.field; });
      if (&first == &added) continue;
      InputError error;
      error.path = "--columns";
      error.found = fmt::format("the columns {} and {} for one field", in_quotes(first.name),
                                in_quotes(added.name));
      error.expected = "one of them";
      return error;
    }
    std::vector<std::string_view> known;
    for (const Name& name : kNames) known.push_back(name.text);
    known.push_back("prefix_ids_16");
    InputError error;
    error.path = "--columns";
    error.found = "the unknown field " + in_quotes(column.name);
    for (const std::string_view name : known) {
      error.expected += fmt::format("{}{}", error.expected.empty() ? "one of " : ", ", name);
    }
    if (const auto close = closest_word(column.name, known)) {
      error.hint = fmt::format("did you mean {}?", *close);
    }
    return error;
  }
  require(schema, Field::kPrompt, "prompt");
  require(schema, Field::kOutput, "output");
  return schema;
}

Outcome<std::vector<ColumnName>> parse_column_names(const std::string& text) {
  std::vector<ColumnName> names;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view one = rest.substr(0, comma);
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == one.size()) {
      InputError error;
      error.path = "--columns";
      error.found = in_quotes(one);
      error.expected = "FIELD=COLUMN, as arrival_ms=timestamp";
      return error;
    }
    names.push_back({std::string(one.substr(0, equals)), std::string(one.substr(equals + 1))});
    if (comma == rest.size()) return names;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace pinfold::sim
