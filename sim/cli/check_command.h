#pragma once
// `pinfold check`: requirements and baselines, with an exit code.

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "sim/cli/config_flags.h"
#include "sim/cli/exit_code.h"
#include "sim/gate/figure_tolerance.h"
#include "sim/sweep/requirement.h"
#include "sim/trace/trace_source.h"

namespace pinfold::sim {

enum class CheckFormat : std::uint8_t { kText, kJson, kMarkdown, kJunit, kGithub };

struct CheckCommand {
  std::string target;            // a trace, or a suite (.json)
  TraceOptions trace_options{};  // of a suite: none
  ConfigFlags config;            // of a suite: overrides only, for every check
  std::vector<Requirement> requirements{};
  std::vector<FigureTolerance> tolerances{};
  std::optional<std::string> baseline{};
  bool accept = false;  // write the baselines instead of comparing with them
  bool events = false;  // ... and the events beside them
  CheckFormat format = CheckFormat::kText;
  std::optional<std::string> step_summary{};  // file to append the Markdown report to
  bool progress = false;                      // show it on `err`, which must be a terminal
};

/// Whether the target is a suite.
bool is_suite(const std::string& target);

/// Finds every mistake before the first run. kOk: everything holds. kCheckFailed: something failed.
/// kUsageError: a usage error, or nothing failed and a run could not be compared. kDataError: an input
/// or an output.
ExitCode check_command(const CheckCommand& command, std::ostream& out, std::ostream& err);

}  // namespace pinfold::sim
