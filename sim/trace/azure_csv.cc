#include "sim/trace/azure_csv.h"

#include <memory>
#include <utility>

#include "sim/trace/byte_stream.h"
#include "sim/trace/csv_rows.h"
#include "sim/trace/foreign_content.h"
#include "sim/trace/trace_input.h"

namespace pinfold::sim {
namespace {

Outcome<Trace> read(std::unique_ptr<ByteStream> bytes, const std::string& name) {
  LineWindow lines(std::move(bytes));
  const std::string expected = "a CSV header with " + required_columns(azure_csv());
  const std::string_view start = lines.peek();
  if (auto error = foreign_content(start, name, expected)) return *error;
  if (start.starts_with('{') || start.starts_with('[')) {
    InputError error;
    error.path = name;
    error.line = 1;
    error.found = "JSON";
    error.expected = expected;
    return error;
  }
  TraceInput input(name, std::make_unique<CsvRows>(std::move(lines), azure_csv(), name), {});
  return read_all(input, name);
}

}  // namespace

TableSchema azure_csv() {
  return {.format = "azure",
          .columns = {{"TIMESTAMP", Field::kArrival, true, Clock::kDate},
                      {"ContextTokens", Field::kPrompt, true},
                      {"GeneratedTokens", Field::kOutput, true}}};
}

Outcome<Trace> parse_azure_csv(std::string_view text, const std::string& name) {
  return read(bytes_of(text), name);
}

Outcome<Trace> read_azure_csv(const std::string& path) {
  Outcome<std::unique_ptr<ByteStream>> bytes = open_bytes(path, "a request trace");
  if (!bytes) return bytes.error();
  return read(std::move(bytes.value()), path);
}

}  // namespace pinfold::sim
