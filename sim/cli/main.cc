// The program: its commands in the order of its help, and what ends it.

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <new>
#include <string>
#include <utility>

#include "base/check.h"
#include "sim/cli/commands.h"
#include "sim/cli/mutants_command.h"

namespace pinfold::sim {
namespace {

void declare(CLI::App& program, std::vector<std::unique_ptr<Command>>& commands) {
  commands.push_back(declare_run(program));
  commands.push_back(declare_replay(program));
  commands.push_back(declare_explore(program));
  commands.push_back(declare_size(program));
  CLI::App& trace = add_group(program, "trace", "Look into a request trace.");
  commands.push_back(declare_trace_info(trace));
  commands.push_back(declare_trace_head(trace));
  commands.push_back(declare_trace_convert(trace));
  commands.push_back(declare_trace_synth(trace));
  commands.push_back(declare_check(program));
  commands.push_back(declare_compare(program));
  commands.push_back(declare_report(program));
  commands.push_back(declare_sweep(program));
  commands.push_back(declare_capacity(program));
  commands.push_back(declare_schema(program));
  commands.push_back(declare_mutants(program));
}

/// SIGINT ends the program with 130 whatever started it; files are never left half-written
/// (sim/cli/output_directory.h).
void on_interrupt(int) { ::_exit(static_cast<int>(ExitCode::kInterrupted)); }

#if defined(PINFOLD_MUTANTS)
/// Every command of this program takes `--mutant NAME`; `mutants` reads it itself. Returns what is left.
int take_mutant(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "mutants") return argc;
  for (int n = 1; n + 1 < argc; ++n) {
    if (std::string_view(argv[n]) != "--mutant") continue;
    if (!choose_mutant(argv[n + 1])) {
      std::exit(static_cast<int>(fail(std::cerr, ExitCode::kUsageError,
                                      std::string("--mutant: found '") + argv[n + 1] +
                                          "'; `pinfold-mutants mutants` lists the names")));
    }
    std::move(argv + n + 2, argv + argc, argv + n);
    return argc - 2;
  }
  return argc;
}
#endif

}  // namespace
}  // namespace pinfold::sim

int main(int argc, char** argv) {
  using pinfold::sim::ExitCode;
  std::ios::sync_with_stdio(false);
  std::signal(SIGINT, pinfold::sim::on_interrupt);
  ExitCode code = ExitCode::kOk;
  try {
#if defined(PINFOLD_MUTANTS)
    argc = pinfold::sim::take_mutant(argc, argv);
#endif
    code = pinfold::sim::run_program(argc, argv, pinfold::sim::declare);
  } catch (const pinfold::InvariantViolation& violation) {
    code = pinfold::sim::fail(std::cerr, ExitCode::kCheckFailed, violation.what());
  } catch (const std::bad_alloc&) {
    code = pinfold::sim::fail(std::cerr, ExitCode::kDataError, "out of memory");
  } catch (const std::exception& error) {
    code = pinfold::sim::fail(std::cerr, ExitCode::kDataError, error.what());
  }
  if (!std::cout.flush() && code == ExitCode::kOk) {
    code = pinfold::sim::fail(std::cerr, ExitCode::kDataError, "stdout: cannot write the result");
  }
  return static_cast<int>(code);
}
