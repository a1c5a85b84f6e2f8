#pragma once
// `pinfold run`: a trace on an engine.

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "sim/cli/config_flags.h"
#include "sim/cli/exit_code.h"
#include "sim/metrics/measurement.h"
#include "sim/report/run_report.h"
#include "sim/trace/trace_source.h"

namespace pinfold::sim {

struct RunCommand {
  std::string trace;
  TraceOptions trace_options{};
  ConfigFlags config;  // without files: the defaults, as configs/runs/default.json
  std::optional<std::string> directory;  // for the files of docs/results.md
  ReportFormat format = ReportFormat::kText;
  Measurement measure{};
  std::optional<std::string> why{};      // this request's timeline instead of the report
  std::optional<std::string> record{};   // the file that gets its ownership events
  std::optional<std::string> metrics{};  // the file that gets it in OpenMetrics text
  bool fast_path = true;
  bool shadow = false;
  bool ledger = true;
  std::uint64_t audit_every = 0;  // events; 0: only at the end
  bool progress = false;          // show it on `err`, which must be a terminal
};

/// Checks everything before it runs anything. `out` gets the result and nothing else.
ExitCode run_command(const RunCommand& command, std::ostream& out, std::ostream& err);

}  // namespace pinfold::sim
