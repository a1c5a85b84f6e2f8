#pragma once
// The commands of the program. Each reads its own flags (X_flags.cc) and knows what they ask for; the work is in
// functions that know no flags (X_command.h).

#include <memory>

#include "sim/cli/command.h"

namespace pinfold::sim {

std::unique_ptr<Command> declare_run(CLI::App& parent);
std::unique_ptr<Command> declare_replay(CLI::App& parent);
std::unique_ptr<Command> declare_explore(CLI::App& parent);
std::unique_ptr<Command> declare_size(CLI::App& parent);
std::unique_ptr<Command> declare_trace_info(CLI::App& parent);
std::unique_ptr<Command> declare_trace_head(CLI::App& parent);
std::unique_ptr<Command> declare_trace_convert(CLI::App& parent);
std::unique_ptr<Command> declare_trace_synth(CLI::App& parent);
std::unique_ptr<Command> declare_check(CLI::App& parent);
std::unique_ptr<Command> declare_compare(CLI::App& parent);
std::unique_ptr<Command> declare_report(CLI::App& parent);
std::unique_ptr<Command> declare_sweep(CLI::App& parent);
std::unique_ptr<Command> declare_capacity(CLI::App& parent);
std::unique_ptr<Command> declare_schema(CLI::App& parent);
std::unique_ptr<Command> declare_mutants(CLI::App& parent);

}  // namespace pinfold::sim
