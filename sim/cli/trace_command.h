#pragma once
// `pinfold trace info`, `head`, `convert` and `synth`: what is in a trace, the same trace in our own format,
// and traces that are made up.

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "sim/cli/exit_code.h"
#include "sim/trace/synthetic_trace.h"
#include "sim/trace/trace_source.h"
#include "sim/trace/trace_writer.h"

namespace pinfold::sim {

enum class TableFormat : std::uint8_t { kText, kJson };

struct TraceInfoCommand {
  std::string trace;
  TraceOptions options;
  TableFormat format = TableFormat::kText;
};
ExitCode trace_info_command(const TraceInfoCommand& command, std::ostream& out, std::ostream& err);

struct TraceHeadCommand {
  std::string trace;
  TraceOptions options;
  std::uint64_t rows = 10;
  TableFormat format = TableFormat::kText;
};
ExitCode trace_head_command(const TraceHeadCommand& command, std::ostream& out, std::ostream& err);

struct TraceConvertCommand {
  std::string trace;
  TraceOptions options;
  WrittenFormat format = WrittenFormat::kJsonLines;
  std::string output =
      "-";  // a file, written under another name and then renamed; "-": standard output
};
ExitCode trace_convert_command(const TraceConvertCommand& command, std::ostream& out,
                               std::ostream& err);

struct TraceSynthCommand {
  SyntheticTrace synthetic;
  std::optional<std::string> like{};  // a trace whose lengths are drawn from
  TraceOptions options{};             // of that trace
  WrittenFormat format = WrittenFormat::kAzure;
};
/// `pinfold trace synth`: a made-up trace.
ExitCode trace_synth_command(const TraceSynthCommand& command, std::ostream& out,
                             std::ostream& err);

}  // namespace pinfold::sim
