#include "sim/cli/trace_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "sim/config/decimal.h"
#include "sim/config/json_writer.h"
#include "sim/trace/azure_csv.h"
#include "sim/trace/trace_digest.h"
#include "sim/trace/trace_statistics.h"

namespace pinfold::sim {
namespace {

constexpr std::uint64_t kNanoseconds = 1'000'000'000;

/// Requests a second over the span between first and last arrival, in which all but one arrive;
/// "-" or null where all arrive at once.
std::string arrival_rate(const TraceStatistics& statistics, std::uint32_t places,
                         const char* none) {
  if (statistics.span_ns == 0) return none;
  return decimal(Unsigned128{statistics.requests} * kNanoseconds,
                 static_cast<std::uint64_t>(statistics.span_ns), places);
}

std::string mean(const TokenStatistics& tokens, std::uint64_t requests, std::uint32_t places) {
  return decimal(tokens.total, requests, places);
}

std::string info_text(const Trace& trace, const TraceStatistics& statistics) {
  std::string text;
  const auto line = [&](std::string_view label, std::string_view value) {
    text += fmt::format("{:<24} {}\n", label, value);
  };
  line("Trace:", trace.name);
  line("Requests:", fmt::format("{}", statistics.requests));
  line("Span (s):", seconds(statistics.span_ns, 3));
  line("Requests per second:", arrival_rate(statistics, 3, "-"));
  line("Digest:", trace_digest(trace));
  text += fmt::format("\n{:<8} {:>14} {:>12} {:>10} {:>10} {:>10}\n", "tokens", "total", "mean",
                      "p50", "p99", "max");
  const auto row = [&](std::string_view label, const TokenStatistics& tokens) {
    text += fmt::format("{:<8} {:>14} {:>12} {:>10} {:>10} {:>10}\n", label, tokens.total,
                        mean(tokens, statistics.requests, 2), tokens.p50, tokens.p99, tokens.max);
  };
  row("prompt", statistics.prompt);
  row("output", statistics.output);
  return text;
}

std::string info_json(const Trace& trace, const TraceStatistics& statistics) {
  JsonWriter json;
  json.open_object();
  json.key("trace").string(trace.name);
  json.key("requests").integer(statistics.requests);
  json.key("span_s").number(seconds(statistics.span_ns, 9));
  json.key("request_rate").number(arrival_rate(statistics, 6, "null"));
  const auto add = [&](std::string_view name, const TokenStatistics& tokens) {
    json.key(name).open_object();
    json.key("total").integer(tokens.total);
    json.key("mean").number(mean(tokens, statistics.requests, 6));
    json.key("p50").integer(tokens.p50);
    json.key("p99").integer(tokens.p99);
    json.key("max").integer(tokens.max);
    json.close();
  };
  add("prompt_tokens", statistics.prompt);
  add("output_tokens", statistics.output);
  json.key("trace_digest").string(trace_digest(trace));
  json.close();
  return json.finish();
}

std::string head_text(std::span<const TraceRequest> requests) {
  std::string text =
      fmt::format("{:>8} {:>18} {:>10} {:>10}\n", "request", "arrival (s)", "prompt", "output");
  std::uint64_t number = 0;
  for (const TraceRequest& request : requests) {
    text += fmt::format("{:>8} {:>18} {:>10} {:>10}\n", number++, seconds(request.arrival_ns, 9),
                        request.prompt, request.output);
  }
  return text;
}

std::string head_json(const Trace& trace, std::span<const TraceRequest> requests) {
  JsonWriter json;
  json.open_object();
  json.key("trace").string(trace.name);
  json.key("requests").open_array();
  for (const TraceRequest& request : requests) {
    json.open_object();
    json.key("arrival_s").number(seconds(request.arrival_ns, 9));
    json.key("prompt_tokens").integer(request.prompt);
    json.key("output_tokens").integer(request.output);
    json.close();
  }
  json.close();
  json.close();
  return json.finish();
}

}  // namespace

ExitCode trace_info_command(const TraceInfoCommand& command, std::ostream& out, std::ostream& err) {
  const Outcome<Trace> trace = read_azure_csv(command.trace);
  if (!trace) return fail(err, ExitCode::kDataError, trace.error());
  const TraceStatistics statistics = trace_statistics(trace.value());
  switch (command.format) {
    case TableFormat::kText: out << info_text(trace.value(), statistics); break;
    case TableFormat::kJson: out << info_json(trace.value(), statistics); break;
  }
  return ExitCode::kOk;
}

ExitCode trace_head_command(const TraceHeadCommand& command, std::ostream& out, std::ostream& err) {
  const Outcome<Trace> trace = read_azure_csv(command.trace);
  if (!trace) return fail(err, ExitCode::kDataError, trace.error());
  const std::span<const TraceRequest> all = trace.value().requests;
  const auto shown = all.first(std::min<std::size_t>(all.size(), command.rows));
  switch (command.format) {
    case TableFormat::kText: out << head_text(shown); break;
    case TableFormat::kJson: out << head_json(trace.value(), shown); break;
  }
  return ExitCode::kOk;
}

ExitCode trace_synth_command(const SyntheticTrace& command, std::ostream& out, std::ostream& err) {
  // The reader's bound on a request; the other flags were checked one by one.
  if (std::uint64_t{command.prompt.most} + command.output.most > UINT32_MAX) {
    return fail(err, ExitCode::kUsageError,
                fmt::format("--prompt and --output: found up to {} and {} tokens, expected at most "
                            "{} together",
                            command.prompt.most, command.output.most, UINT32_MAX));
  }
  out << synthetic_csv(command);
  return ExitCode::kOk;
}

}  // namespace pinfold::sim
