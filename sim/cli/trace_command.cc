#include "sim/cli/trace_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/cli/pending_file.h"
#include "sim/config/decimal.h"
#include "sim/config/json_writer.h"
#include "sim/report/trace_report.h"
#include "sim/trace/trace_digest.h"

namespace pinfold::sim {
namespace {

std::string head_text(const Trace& trace) {
  std::string text =
      fmt::format("{:>8} {:>18} {:>10} {:>10}\n", "request", "arrival (s)", "prompt", "output");
  std::uint64_t number = 0;
  for (const TraceRequest& request : trace.requests) {
    text += fmt::format("{:>8} {:>18} {:>10} {:>10}\n", number++, seconds(request.arrival_ns, 9),
                        request.prompt, request.output);
  }
  return text;
}

std::string head_json(const Trace& trace) {
  JsonWriter json;
  json.open_object();
  json.key("trace").string(trace.name);
  json.key("requests").open_array();
  for (const TraceRequest& request : trace.requests) {
    json.open_object();
    json.key("arrival_s").number(seconds(request.arrival_ns, 9));
    json.key("prompt_tokens").integer(request.prompt);
    json.key("output_tokens").integer(request.output);
    if (request.session != kNoSession) {
      json.key("session").integer(request.session);
      json.key("delay_s").number(seconds(request.delay_ns, 9));
    }
    if (!request.prefix_ids.empty()) {
      json.key("prefix_ids").open_array();
      for (const std::uint64_t id : request.prefix_ids) json.integer(id);
      json.close();
    }
    json.close();
  }
  json.close();
  json.close();
  return json.finish();
}

/// One line for all mistakes that --on-error skip passed over, and one for each of the first ten.
void report_skipped(const TraceNotes& notes, std::ostream& err) {
  if (notes.skipped == 0) return;
  err << fmt::format("pinfold: note: {} rows skipped, the first of them:\n", notes.skipped);
  for (const InputError& mistake : notes.mistakes) err << "  " << describe(mistake) << '\n';
}

}  // namespace

ExitCode trace_info_command(const TraceInfoCommand& command, std::ostream& out, std::ostream& err) {
  const Outcome<std::unique_ptr<OpenTraceSource>> opened =
      open_trace(command.trace, command.options);
  if (!opened) return fail(err, exit_code_of(opened.error()), opened.error());
  OpenTraceSource& source = *opened.value();
  TraceSurvey survey;
  TraceDigest digest;
  TraceRequest request;
  while (source.next(request)) {
    survey.add(request);
    digest.add(request);
  }
  if (source.error()) return fail(err, ExitCode::kDataError, *source.error());
  report_skipped(source.notes(), err);
  TraceReport report{.path = command.trace,
                     .format = source.format(),
                     .id_block = source.id_block(),
                     .survey = survey,
                     .notes = source.notes(),
                     .digest = digest.text()};
  switch (command.format) {
    case TableFormat::kText: out << trace_report_text(report); break;
    case TableFormat::kJson: out << trace_report_json(report); break;
  }
  return ExitCode::kOk;
}

ExitCode trace_head_command(const TraceHeadCommand& command, std::ostream& out, std::ostream& err) {
  const Outcome<std::unique_ptr<OpenTraceSource>> opened =
      open_trace(command.trace, command.options);
  if (!opened) return fail(err, exit_code_of(opened.error()), opened.error());
  OpenTraceSource& source = *opened.value();
  Trace trace;
  trace.name = command.trace;
  TraceRequest request;
  while (source.next(request)) {
    // A mistake further down is one too.
    if (trace.requests.size() < command.rows) trace.requests.push_back(request);
  }
  if (source.error()) return fail(err, ExitCode::kDataError, *source.error());
  report_skipped(source.notes(), err);
  switch (command.format) {
    case TableFormat::kText: out << head_text(trace); break;
    case TableFormat::kJson: out << head_json(trace); break;
  }
  return ExitCode::kOk;
}

ExitCode trace_convert_command(const TraceConvertCommand& command, std::ostream& out,
                               std::ostream& err) {
  UsedFields used = UsedFields::all();
  if (command.format == WrittenFormat::kCsv && command.trace != "-") {
    // A first reading, for the columns.
    const Outcome<std::unique_ptr<OpenTraceSource>> first =
        open_trace(command.trace, command.options);
    if (!first) return fail(err, exit_code_of(first.error()), first.error());
    used = {};
    TraceRequest request;
    while (first.value()->next(request)) used.add(request);
  }
  const Outcome<std::unique_ptr<OpenTraceSource>> opened =
      open_trace(command.trace, command.options);
  if (!opened) return fail(err, exit_code_of(opened.error()), opened.error());
  OpenTraceSource& source = *opened.value();
  const TraceWriter writer(command.format, source.id_block(), used);

  std::optional<PendingFile> file;
  if (command.output != "-") {
    file.emplace(command.output);
    if (auto error = file->open()) return fail(err, ExitCode::kDataError, *error);
  }
  constexpr std::size_t kChunk = std::size_t{1} << 18;
  std::string text = writer.header();
  TraceRequest request;
  const auto flush = [&] {
    if (file) {
      file->write(text);
    } else {
      out << text;
    }
    text.clear();
  };
  while (source.next(request)) {
    writer.append(request, text);
    if (text.size() >= kChunk) flush();
  }
  if (source.error()) return fail(err, ExitCode::kDataError, *source.error());
  flush();
  report_skipped(source.notes(), err);
  if (file) {
    if (auto error = file->finish()) return fail(err, ExitCode::kDataError, *error);
  }
  return ExitCode::kOk;
}

ExitCode trace_synth_command(const TraceSynthCommand& command, std::ostream& out,
                             std::ostream& err) {
  SyntheticTrace synthetic = command.synthetic;
  // The reader's bound on a request; the other flags were checked one by one.
  if (std::uint64_t{synthetic.prompt.most} + synthetic.output.most > UINT32_MAX) {
    return fail(err, ExitCode::kUsageError,
                fmt::format("--prompt and --output: found up to {} and {} tokens, expected at most "
                            "{} together",
                            synthetic.prompt.most, synthetic.output.most, UINT32_MAX));
  }
  if (command.like) {
    const Outcome<std::unique_ptr<OpenTraceSource>> opened =
        open_trace(*command.like, command.options);
    if (!opened) return fail(err, exit_code_of(opened.error()), opened.error());
    // As many as memory should hold; a trace longer than this gives its first ones.
    constexpr std::size_t kMost = std::size_t{1} << 24;
    TraceRequest request;
    while (synthetic.like.size() < kMost && opened.value()->next(request)) {
      synthetic.like.emplace_back(request.prompt, request.output);
    }
    if (opened.value()->error()) return fail(err, ExitCode::kDataError, *opened.value()->error());
  }
  SyntheticSource source(std::move(synthetic));
  const TraceWriter writer(command.format, source.id_block(), UsedFields::all());
  constexpr std::size_t kChunk = std::size_t{1} << 18;
  std::string text = writer.header();
  TraceRequest request;
  while (source.next(request)) {
    writer.append(request, text);
    if (text.size() < kChunk) continue;
    out << text;
    text.clear();
  }
  // The beginning may be out already; the exit status says that it is not all.
  if (source.error()) return fail(err, ExitCode::kUsageError, *source.error());
  out << text;
  return ExitCode::kOk;
}

}  // namespace pinfold::sim
