#pragma once
// The formats of request traces: which there are, and which one a file has.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/input_error.h"
#include "sim/trace/plain_trace.h"
#include "sim/trace/row_reader.h"

namespace pinfold::sim {

/// What to do with rows that go back in time.
enum class Unordered : std::uint8_t {
  kError,
  kSort,      // stable by arrival, all in memory unless the file turns out to be in order
  kSegments,  // what follows is another recording: its first row arrives with the last one before it
};

struct TraceFormat {
  std::string_view name;
  std::string_view what;
  Unordered order;  // unless the user says otherwise
};

/// All formats, by name.
std::span<const TraceFormat> trace_formats();

struct ReaderOptions {
  std::string format;  // empty: found out from the content
  std::vector<ColumnName> columns;
  std::uint32_t id_block = 0;  // tokens of a prefix id; 0: what the format says
  std::uint64_t seed = 0;      // for formats that are parameters of a generator
};

/// A trace opened, before its first row.
struct OpenedTrace {
  const TraceFormat* format = nullptr;
  std::unique_ptr<RowReader> rows;
};

/// Opens a file, a directory of files (Weka, ServeGen), or "-" for standard input.
Outcome<OpenedTrace> open_rows(const std::string& path, const ReaderOptions& options);

/// The same from memory; `name` stands for the path.
Outcome<OpenedTrace> open_rows_of(std::string_view text, const std::string& name,
                                  const ReaderOptions& options);

}  // namespace pinfold::sim
