#pragma once
// `pinfold trace info`, `head` and `synth`: what is in a trace, and traces that are made up.

#include <cstdint>
#include <ostream>
#include <string>

#include "sim/cli/exit_code.h"
#include "sim/trace/synthetic_trace.h"

namespace pinfold::sim {

enum class TableFormat : std::uint8_t { kText, kJson };

struct TraceInfoCommand {
  std::string trace;
  TableFormat format = TableFormat::kText;
};
ExitCode trace_info_command(const TraceInfoCommand& command, std::ostream& out, std::ostream& err);

struct TraceHeadCommand {
  std::string trace;
  std::uint64_t rows = 10;
  TableFormat format = TableFormat::kText;
};
ExitCode trace_head_command(const TraceHeadCommand& command, std::ostream& out, std::ostream& err);

/// `pinfold trace synth`: a made-up trace as CSV.
ExitCode trace_synth_command(const SyntheticTrace& command, std::ostream& out, std::ostream& err);

}  // namespace pinfold::sim
