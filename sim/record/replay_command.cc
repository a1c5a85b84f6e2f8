#include "sim/record/replay_command.h"

#include <ostream>

#include "base/check.h"
#include "sim/record/journal_replay.h"
#include "sim/record/replay.h"
#include "sim/trace/read_file.h"

namespace pinfold::sim {

namespace {

int replay_recorded(const ReplayOptions& options, const std::string& text, std::ostream& out,
                    std::ostream& err) {
  const Outcome<JournalOutcome> outcome = replay_journal(text, options.path);
  if (!outcome) {
    err << "pinfold: error: " << describe(outcome.error()) << '\n';
    return 1;
  }
  const bool json = options.format == ReplayOptions::Format::kJson;
  out << (json ? journal_json(outcome.value()) : journal_text(outcome.value()));
  if (outcome.value().agrees) return 0;
  const Difference& difference = outcome.value().difference;
  err << "pinfold: error: " << options.path;
  if (difference.line > 0) err << ':' << difference.line;
  err << ": event " << difference.event << " does not happen again: " << difference.text << '\n';
  return 3;
}

}  // namespace

int run_replay(const ReplayOptions& options, std::ostream& out, std::ostream& err) {
  if (options.verify) {
    err << "pinfold: error: replay: --verify is not built yet; without it the events are replayed, "
           "not judged\n";
    return 2;
  }
  const Outcome<std::string> text = read_file(options.path, "an ownership-event file");
  if (!text) {
    err << "pinfold: error: " << describe(text.error()) << '\n';
    return 1;
  }
  if (JournalReader::recognises(text.value())) {
    return replay_recorded(options, text.value(), out, err);
  }
  const Outcome<EventFile> file = parse_event_file(text.value(), options.path);
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
