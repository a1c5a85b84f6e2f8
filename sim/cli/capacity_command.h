#pragma once
// `pinfold capacity`: the largest request rate, or the smallest pool, that meets objectives.

#include <ostream>
#include <string>

#include "sim/cli/config_flags.h"
#include "sim/cli/exit_code.h"
#include "sim/sweep/capacity.h"
#include "sim/trace/trace_source.h"

namespace pinfold::sim {

struct CapacityCommand {
  std::string trace;
  TraceOptions trace_options{};
  ConfigFlags config;
  CapacityQuestion question;
  bool json = false;
  bool progress = false;  // show it on `err`, which must be a terminal
};

/// kCheckFailed where nothing meets the objectives; the result says so too.
ExitCode capacity_command(const CapacityCommand& command, std::ostream& out, std::ostream& err);

/// `1%`: more than 0 and at most 50.
Outcome<Tolerance> parse_tolerance(const std::string& text);

}  // namespace pinfold::sim
