#pragma once
// Our own trace format, as CSV with a header or as JSON Lines: the fields of TraceRequest by their names.
// `pinfold trace convert` writes it; for other tables, `--columns` says which column is which field.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/input_error.h"
#include "sim/trace/table_schema.h"

namespace pinfold::sim {

/// `--columns NAME=COLUMN`: the trace has field NAME in this column.
struct ColumnName {
  std::string name;
  std::string column;
};

/// The format for a table with these columns (CSV) or keys (JSON): `prompt` and `output` must be there.
/// Times are `arrival_ns`, `arrival_us`, `arrival_ms`, `arrival_s` or `arrival` (a date), and `delay_`
/// and `abort_` likewise; `prefix_ids_N` are ids of N tokens each. Another N is an error.
Outcome<TableSchema> plain_trace(std::span<const std::string_view> header);

/// The same with names of the user's own. An unknown name is an error that names `--columns`.
Outcome<TableSchema> plain_trace(std::span<const ColumnName> columns);

/// `a=b,c=d`.
Outcome<std::vector<ColumnName>> parse_column_names(const std::string& text);

}  // namespace pinfold::sim
