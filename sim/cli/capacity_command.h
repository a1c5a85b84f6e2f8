#pragma once
// `pinfold capacity`: the largest request rate, or the smallest pool, that meets objectives.

#include <ostream>
#include <string>

#include "sim/cli/config_flags.h"
#include "sim/cli/exit_code.h"
#include "sim/sweep/capacity.h"

namespace pinfold::sim {

struct CapacityCommand {
  std::string trace;
  ConfigFlags config;
  CapacityQuestion question;
  bool json = false;
};

/// kCheckFailed where nothing meets the objectives; the result says so too.
ExitCode capacity_command(const CapacityCommand& command, std::ostream& out, std::ostream& err);

/// `1%`: more than 0 and at most 50.
Outcome<Tolerance> parse_tolerance(const std::string& text);

}  // namespace pinfold::sim
