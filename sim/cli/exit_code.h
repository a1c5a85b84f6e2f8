#pragma once
// What the program's exit code says.

#include <ostream>
#include <string_view>

#include "sim/trace/input_error.h"

namespace pinfold::sim {

enum class ExitCode : int {
  kOk = 0,
  kDataError = 1,    // a run-time or data error: a trace, a file that cannot be written
  kUsageError = 2,   // a flag or the configuration
  kCheckFailed = 3,  // the run stalled, an invariant broke, a check failed
  kInterrupted = 130,
};

/// Prints `pinfold: error: ...` and returns `code`, so that a command can end with it.
inline ExitCode fail(std::ostream& err, ExitCode code, std::string_view message) {
  err << "pinfold: error: " << message << '\n';
  return code;
}

inline ExitCode fail(std::ostream& err, ExitCode code, const InputError& error) {
  return fail(err, code, describe(error));
}

/// A flag's mistake, which carries the flag in place of a path, or one in the data.
inline ExitCode exit_code_of(const InputError& error) {
  return error.path.starts_with("--") ? ExitCode::kUsageError : ExitCode::kDataError;
}

/// The same of a scenario: the configuration inside it is a configuration, wherever it stands.
inline ExitCode exit_code_of_scenario(const InputError& error) {
  return error.key == "config" || error.key.starts_with("config.") ? ExitCode::kUsageError
                                                                   : exit_code_of(error);
}

}  // namespace pinfold::sim
