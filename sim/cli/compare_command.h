#pragma once
// `pinfold compare`: two earlier runs, figure by figure and event by event.

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "sim/cli/exit_code.h"
#include "sim/trace/trace_source.h"

namespace pinfold::sim {

enum class CompareFormat : std::uint8_t { kText, kJson, kMarkdown };

struct CompareCommand {
  std::string a;
  std::string b;
  std::optional<std::string> trace{};  // to run both again; default: the one that A names
  TraceOptions trace_options{};
  CompareFormat format = CompareFormat::kText;
  bool exit_code = false;  // kCheckFailed where they differ
};

/// kOk where they could be compared, the same or not. Where their events differ and both can be run again, or both
/// are recorded journals, the first event is shown at which they part.
ExitCode compare_command(const CompareCommand& command, std::ostream& out, std::ostream& err);

}  // namespace pinfold::sim
