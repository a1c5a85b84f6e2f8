#pragma once
// The Azure LLM inference traces: CSV with a header line and the columns TIMESTAMP, ContextTokens and
// GeneratedTokens.
//
// The 2023 files have 7 fraction digits, CRLF line ends and no newline after the last row; the 2024
// week has an offset (+00:00) and drops a fraction that is zero; the multimodal trace has `T`, `Z`,
// milliseconds, a column NumImages and another order of columns.

#include <string>
#include <string_view>

#include "sim/trace/input_error.h"
#include "sim/trace/request.h"
#include "sim/trace/table_schema.h"

namespace pinfold::sim {

TableSchema azure_csv();

/// Reads a trace file whole. Arrivals are rebased to the first one. An error names path, line and column;
/// rows that go back in time are one.
Outcome<Trace> read_azure_csv(const std::string& path);

/// The same from memory; `name` stands for the path.
Outcome<Trace> parse_azure_csv(std::string_view text, const std::string& name);

}  // namespace pinfold::sim
