#include "sim/record/replay_command.h"

#include <ostream>

#include "base/check.h"
#include "sim/record/replay.h"

namespace pinfold::sim {

int run_replay(const ReplayOptions& options, std::ostream& out, std::ostream& err) {
  if (options.verify) {
    err << "pinfold: error: replay: --verify is not built yet; without it the events are replayed, "
           "not judged\n";
    return 2;
  }
  const Outcome<EventFile> file = read_event_file(options.path);
  if (!file) {
    err << "pinfold: error: " << describe(file.error()) << '\n';
    return 1;
  }
  try {
    const Outcome<ReplayOutput> output = replay(file.value());
    if (!output) {
      err << "pinfold: error: " << describe(output.error()) << '\n';
      return 1;
    }
    if (options.format == ReplayOptions::Format::kJson) {
      out << replay_json(file.value(), output.value());
    } else {
      for (const std::string& line : output.value().lines) out << line << '\n';
    }
  } catch (const InvariantViolation& violation) {
    err << "pinfold: error: " << violation.what() << '\n';
    return 3;
  }
  return 0;
}

}  // namespace pinfold::sim
