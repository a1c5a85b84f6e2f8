#include "sim/cli/compare_command.h"

#include <fmt/format.h>

#include "sim/gate/compared.h"
#include "sim/report/compare_report.h"
#include "sim/trace/trace_digest.h"
#include "sim/trace/trace_source.h"

namespace pinfold::sim {
namespace {

/// Runs both again and looks for the event, or says why it cannot.
std::optional<InputError> find_difference(const CompareCommand& command, const Compared& a,
                                          const Compared& b, RunComparison& result) {
  const auto cannot = [&](const std::string& why) {
    result.notes.push_back("where the events part is not known: " + why);
    return std::nullopt;
  };
  if (a.figure("trace_digest") != b.figure("trace_digest")) return cannot("two traces were run");
  if (!a.config || !b.config) {
    return cannot("a result without its configuration cannot be run again; `run -o` keeps both");
  }
  std::string path = command.trace.value_or(a.figure("trace"));
  if (path.empty()) path = b.figure("trace");
  if (path.empty()) return cannot("neither result names its trace; --trace does");
  const Outcome<Trace> trace = read_trace(path, command.trace_options);
  if (!trace) {
    if (command.trace || exit_code_of(trace.error()) == ExitCode::kUsageError) {
      return trace.error();
    }
    return cannot(describe(trace.error()) + "; --trace names it");
  }
  if (trace_digest(trace.value()) != a.figure("trace_digest")) {
    return cannot(path + " is another trace than the one that was run");
  }
  result.difference = first_difference(trace.value(), *a.config, *b.config);
  if (!result.difference) {
    return cannot(
        "with this program both configurations give the same events, so another program made one "
        "of them; files of `run --record` can be compared");
  }
  return std::nullopt;
}

}  // namespace

ExitCode compare_command(const CompareCommand& command, std::ostream& out, std::ostream& err) {
  const Outcome<Compared> a = read_compared(command.a);
  if (!a) return fail(err, ExitCode::kDataError, a.error());
  const Outcome<Compared> b = read_compared(command.b);
  if (!b) return fail(err, ExitCode::kDataError, b.error());
  if (a.value().journal.has_value() != b.value().journal.has_value()) {
    return fail(err, ExitCode::kUsageError,
                "found a recorded journal and a result, expected two journals or two results");
  }
  RunComparison result;
  result.a = command.a;
  result.b = command.b;
  if (a.value().journal) {
    const auto found =
        first_difference(*a.value().journal, command.a, *b.value().journal, command.b);
    if (!found) return fail(err, ExitCode::kDataError, found.error());
    result.difference = found.value();
    result.same = !result.difference;
  } else {
    result.figures = compare_figures(a.value().figures, b.value().figures, {});
    if (a.value().config && b.value().config) {
      result.settings = option_changes(*a.value().config, *b.value().config);
    }
    for (const FigureChange& row : result.figures) {
      result.same = result.same && row.verdict == ChangeVerdict::kSame;
    }
    if (a.value().figure("digest") != b.value().figure("digest")) {
      if (auto error = find_difference(command, a.value(), b.value(), result)) {
        return fail(err, exit_code_of(*error), *error);
      }
    }
  }
  switch (command.format) {
    case CompareFormat::kText: out << compare_text(result); break;
    case CompareFormat::kJson: out << compare_json(result); break;
    case CompareFormat::kMarkdown: out << compare_markdown(result); break;
  }
  return command.exit_code && !result.same ? ExitCode::kCheckFailed : ExitCode::kOk;
}

}  // namespace pinfold::sim
