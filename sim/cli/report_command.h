#pragma once
// `pinfold report`: the page of a run.

#include <ostream>
#include <string>

#include "sim/cli/exit_code.h"

namespace pinfold::sim {

struct ReportCommand {
  std::string directory;  // that `pinfold run -o` wrote; gets report.html
};

/// Prints the page's path on `out`.
ExitCode report_command(const ReportCommand& command, std::ostream& out, std::ostream& err);

}  // namespace pinfold::sim
