#include "sim/report/trace_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/config/decimal.h"
#include "sim/config/json_writer.h"

namespace pinfold::sim {
namespace {

constexpr std::uint64_t kNanoseconds = 1'000'000'000;

/// Requests a second over the span between first and last arrival, in which all but one arrive;
/// "-" or null where all arrive at once.
std::string arrival_rate(const TraceSurvey& survey, std::uint32_t places, const char* none) {
  if (survey.span_ns() == 0) return none;
  return decimal(Unsigned128{survey.requests - 1} * kNanoseconds,
                 static_cast<std::uint64_t>(survey.span_ns()), places);
}

std::string variation(const TraceSurvey& survey, std::uint32_t places, const char* none) {
  const TraceSurvey::Ratio ratio = survey.gap_variation();
  if (ratio.denominator == 0) return none;
  return decimal(ratio.numerator, ratio.denominator, places);
}

/// Share of prefix ids that had come before, as a decimal.
std::string seen_before(const TraceSurvey& survey, std::uint32_t places) {
  const std::uint64_t distinct = std::min(survey.distinct_ids.count(), survey.prefix_ids);
  return decimal(survey.prefix_ids - distinct, survey.prefix_ids, places);
}

std::string lines_text(const Sightings& sightings) {
  std::string text = fmt::format("{}", sightings.count);
  if (sightings.count == 0) return text;
  text += sightings.count == 1 ? ", line" : ", lines";
  for (const std::uint64_t line : sightings.lines) text += fmt::format(" {}", line);
  if (sightings.count > sightings.lines.size()) text += " ...";
  return text;
}

/// A bar for each power of two between the smallest and the largest count.
std::string histogram(std::string_view title, const LengthSurvey& lengths) {
  const auto used = [](std::uint64_t count) { return count > 0; };
  const auto first = std::find_if(lengths.by_width.begin(), lengths.by_width.end(), used);
  const auto last = std::find_if(lengths.by_width.rbegin(), lengths.by_width.rend(), used).base();
  const std::uint64_t most = *std::max_element(first, last);
  std::string text = fmt::format("\n{} tokens, requests\n", title);
  for (auto at = first; at != last; ++at) {
    const auto width = static_cast<unsigned>(at - lengths.by_width.begin());
    const std::uint64_t low = width == 0 ? 0 : std::uint64_t{1} << (width - 1);
    const std::uint64_t high = width == 0 ? 0 : (std::uint64_t{1} << width) - 1;
    // 40 letters for the most; a bar that would be none but stands for somebody is a dot.
    const auto bar = static_cast<std::size_t>(Unsigned128{*at} * 40 / most);
    text += fmt::format("{:>10} - {:<10} {:>10} {}\n", low, high, *at,
                        bar == 0 && *at > 0 ? std::string(".") : std::string(bar, '#'));
  }
  return text;
}

}  // namespace

std::string trace_report_text(const TraceReport& report) {
  TraceSurvey& survey = report.survey;
  const TraceNotes& notes = report.notes;
  std::string text;
  const auto line = [&](std::string_view label, std::string_view value) {
    text += fmt::format("{:<24} {}\n", label, value);
  };
  const auto number = [&](std::string_view label, std::uint64_t value) {
    if (value > 0) line(label, fmt::format("{}", value));
  };
  line("Trace:", report.path);
  line("Format:", fmt::format("{}, {}", report.format.name, report.format.what));
  line("Rows:", fmt::format("{}", notes.rows));
  line("Requests:", fmt::format("{}", survey.requests));
  line("Span (s):", seconds(survey.span_ns(), 3));
  line("Requests per second:", arrival_rate(survey, 3, "-"));
  line("Gap variation (cv):", variation(survey, 2, "-"));
  number("Requests in sessions:", survey.in_sessions);
  number("Sessions:", survey.sessions.count());
  number("Forks:", survey.forks);
  number("Aborts:", survey.aborts);
  number("Several samples:", survey.sampled);
  if (survey.prefix_ids > 0) {
    line("Prefix ids:",
         fmt::format("{} of {} tokens, {}{} different", survey.prefix_ids, report.id_block,
                     survey.distinct_ids.exact() ? "" : "about ", survey.distinct_ids.count()));
    line("Seen before:", seen_before(survey, 4));
  }
  line("Digest:", report.digest);

  text += fmt::format("\n{:<8} {:>14} {:>12} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "tokens", "total",
                      "mean", "min", "p50", "p90", "p99", "max");
  const auto row = [&](std::string_view label, LengthSurvey& lengths) {
    Quantiles& tokens = lengths.tokens;
    text += fmt::format("{:<8} {:>14} {:>12} {:>8} {:>8} {:>8} {:>8} {:>8}\n", label,
                        decimal(tokens.total(), 1, 0), decimal(tokens.total(), tokens.count(), 2),
                        tokens.min(), tokens.at_percent(50), tokens.at_percent(90),
                        tokens.at_percent(99), tokens.max());
  };
  row("prompt", survey.prompt);
  row("output", survey.output);
  if (!survey.prompt.tokens.exact()) {
    text += fmt::format("Percentiles may be up to 1/{} too high.\n", Quantiles::kBound);
  }
  text += histogram("prompt", survey.prompt);
  text += histogram("output", survey.output);

  std::string found;
  const auto irregular = [&](std::string_view label, const std::string& value, bool any) {
    if (any) found += fmt::format("{:<24} {}\n", label, value);
  };
  irregular("Rows skipped:", fmt::format("{}", notes.skipped), notes.skipped > 0);
  irregular("Back in time:", lines_text(notes.backward), notes.backward.count > 0);
  irregular("Recordings:", fmt::format("{}", notes.segments), notes.segments > 1);
  irregular("Without output:", lines_text(notes.zero_outputs), notes.zero_outputs.count > 0);
  irregular("Of these, dropped:", fmt::format("{}", notes.dropped), notes.dropped > 0);
  irregular("Arriving together:", fmt::format("{}", notes.equal_times), notes.equal_times > 0);
  irregular("Other records:", fmt::format("{}", notes.other_records), notes.other_records > 0);
  irregular("Blank lines:", fmt::format("{}", notes.blank_lines), notes.blank_lines > 0);
  if (!found.empty()) text += "\n" + found;
  return text;
}

std::string trace_report_json(const TraceReport& report) {
  TraceSurvey& survey = report.survey;
  const TraceNotes& notes = report.notes;
  JsonWriter json;
  json.open_object();
  json.key("trace").string(report.path);
  json.key("trace_format").string(report.format.name);
  json.key("rows").integer(notes.rows);
  json.key("requests").integer(survey.requests);
  json.key("span_s").number(seconds(survey.span_ns(), 9));
  json.key("request_rate").number(arrival_rate(survey, 6, "null"));
  json.key("gap_cv").number(variation(survey, 6, "null"));
  const auto add = [&](std::string_view name, LengthSurvey& lengths) {
    Quantiles& tokens = lengths.tokens;
    json.key(name).open_object();
    json.key("total").number(decimal(tokens.total(), 1, 0));
    json.key("mean").number(decimal(tokens.total(), tokens.count(), 6));
    json.key("min").integer(tokens.min());
    json.key("p50").integer(tokens.at_percent(50));
    json.key("p90").integer(tokens.at_percent(90));
    json.key("p99").integer(tokens.at_percent(99));
    json.key("max").integer(tokens.max());
    json.key("by_power_of_two").open_array();
    const auto last = std::find_if(lengths.by_width.rbegin(), lengths.by_width.rend(),
                                   [](std::uint64_t count) { return count > 0; });
    for (auto at = lengths.by_width.begin(); at != last.base(); ++at) json.integer(*at);
    json.close();
    json.close();
  };
  add("prompt_tokens", survey.prompt);
  add("output_tokens", survey.output);
  json.key("percentiles_exact").boolean(survey.prompt.tokens.exact());
  json.key("percentile_error").number(survey.prompt.tokens.exact() ? "0" : "0.0078125");
  json.key("sessions").open_object();
  json.key("count").integer(survey.sessions.count());
  json.key("requests").integer(survey.in_sessions);
  json.close();
  json.key("forks").integer(survey.forks);
  json.key("aborts").integer(survey.aborts);
  json.key("sampled").integer(survey.sampled);
  json.key("prefix_ids").open_object();
  json.key("block_tokens").integer(report.id_block);
  json.key("count").integer(survey.prefix_ids);
  json.key("different").integer(survey.distinct_ids.count());
  json.key("exact").boolean(survey.distinct_ids.exact());
  json.key("seen_before");
  survey.prefix_ids > 0 ? json.number(seen_before(survey, 6)) : json.null();
  json.close();

  json.key("irregularities").open_object();
  json.key("skipped").integer(notes.skipped);
  const auto sightings = [&](std::string_view name, const Sightings& all) {
    json.key(name).open_object();
    json.key("count").integer(all.count);
    json.key("first_lines").open_array();
    for (const std::uint64_t line : all.lines) json.integer(line);
    json.close();
    json.close();
  };
  sightings("back_in_time", notes.backward);
  json.key("recordings").integer(notes.segments);
  sightings("without_output", notes.zero_outputs);
  json.key("dropped").integer(notes.dropped);
  json.key("arriving_together").integer(notes.equal_times);
  json.key("other_records").integer(notes.other_records);
  json.key("blank_lines").integer(notes.blank_lines);
  json.close();
  json.key("trace_digest").string(report.digest);
  json.close();
  return json.finish();
}

}  // namespace pinfold::sim
