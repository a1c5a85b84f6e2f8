#pragma once
// `pinfold-mutants mutants`: every planted bug against every outside check. `pinfold mutants` starts
// that program, which lies beside it.

#include <optional>
#include <ostream>
#include <string>

#include "sim/cli/exit_code.h"

namespace pinfold::sim {

enum class MutantsFormat : std::uint8_t { kText, kJson };

struct MutantsCommand {
  MutantsFormat format = MutantsFormat::kText;
  std::optional<std::string> only{};  // this bug alone
};

/// Exit code 0 if every bug is caught by an outside check, none broke the program, the sound engine is
/// clean, and every check that is expressible is the only one to catch some bug; else 3.
ExitCode mutants_command(const MutantsCommand& command, std::ostream& out, std::ostream& err);

/// Switches a bug on for whatever the process does next; false: no such bug, or no mutants build.
bool choose_mutant(const std::string& name);

}  // namespace pinfold::sim
