#include "sim/record/replay_command.h"

#include <ostream>
#include <span>

#include "base/check.h"
#include "sim/record/journal_replay.h"
#include "sim/record/journal_verify.h"
#include "sim/record/replay.h"
#include "sim/record/verify_text.h"
#include "sim/trace/read_file.h"

namespace pinfold::sim {

namespace {

/// The exit code, and the first broken rule on the error stream.
int judge(const std::string& path, std::span<const BrokenRule> broken, std::uint64_t count,
          std::ostream& err) {
  if (broken.empty()) return 0;
  err << "pinfold: error: " << broken_text(path, broken.first(1));
  if (count > 1) err << "pinfold: error: " << count << " broken rules in all\n";
  return 3;
}

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

int verify_recorded(const ReplayOptions& options, const std::string& text, std::ostream& out,
                    std::ostream& err) {
  const Outcome<JournalVerdict> outcome = verify_journal(text, options.path);
  if (!outcome) {
    err << "pinfold: error: " << describe(outcome.error()) << '\n';
    return 1;
  }
  const JournalVerdict& verdict = outcome.value();
  const bool json = options.format == ReplayOptions::Format::kJson;
  out << (json ? verdict_json(verdict) : verdict_text(options.path, verdict));
  return judge(options.path, verdict.broken, verdict.broken_count, err);
}

}  // namespace

int run_replay(const ReplayOptions& options, std::ostream& out, std::ostream& err) {
  const Outcome<std::string> text = read_file(options.path, "an ownership-event file");
  if (!text) {
    err << "pinfold: error: " << describe(text.error()) << '\n';
    return 1;
  }
  if (JournalReader::recognises(text.value())) {
    if (options.verify) return verify_recorded(options, text.value(), out, err);
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
      out << replay_json(file.value(), output.value(), options.verify);
    } else {
      for (const std::string& line : output.value().lines) out << line << '\n';
      if (options.verify) out << broken_text(options.path, output.value().broken);
    }
    if (options.verify) {
      const auto& broken = output.value().broken;
      return judge(options.path, broken, broken.size(), err);
    }
  } catch (const InvariantViolation& violation) {
    err << "pinfold: error: " << violation.what() << '\n';
    return 3;
  }
  return 0;
}

}  // namespace pinfold::sim
