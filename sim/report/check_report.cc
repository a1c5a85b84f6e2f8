#include "sim/report/check_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/json_writer.h"
#include "sim/report/difference_text.h"
#include "sim/report/field_text.h"
#include "sim/report/text_table.h"

namespace pinfold::sim {
namespace {

using Align = TextTable::Align;

constexpr const char* kBaseline = "baseline";
constexpr const char* kNow = "now";

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

/// Figures that moved and are judged, worst first, else in their order.
std::vector<const FigureChange*> moved(const GateResult& result) {
  std::vector<const FigureChange*> rows;
  for (const ChangeVerdict verdict :
       {ChangeVerdict::kWorse, ChangeVerdict::kWithin, ChangeVerdict::kBetter}) {
    for (const FigureChange& row : result.figures) {
      if (row.verdict == verdict) rows.push_back(&row);
    }
  }
  return rows;
}

std::size_t count(const GateResult& result, ChangeVerdict verdict) {
  return static_cast<std::size_t>(
      std::count_if(result.figures.begin(), result.figures.end(),
                    [verdict](const FigureChange& row) { return row.verdict == verdict; }));
}

/// "2 worse, 1 within tolerance, 3 better, 40 same, 12 changed and not judged"
std::string tally(const GateResult& result) {
  std::string text;
  const auto add = [&](ChangeVerdict verdict, const char* words) {
    const std::size_t rows = count(result, verdict);
    if (rows > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", rows, words);
  };
  add(ChangeVerdict::kWorse, "worse");
  add(ChangeVerdict::kWithin, "within tolerance");
  add(ChangeVerdict::kBetter, "better");
  add(ChangeVerdict::kSame, "same");
  add(ChangeVerdict::kChanged, "changed and not judged");
  add(ChangeVerdict::kNew, "new");
  add(ChangeVerdict::kGone, "gone");
  return text.empty() ? "not compared" : text;
}

std::string settings_text(const GateResult& result) {
  std::string text;
  for (const OptionChange& change : result.settings) {
    text +=
        fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", change.path, change.old, change.now);
  }
  return text;
}

std::string digest_of(const GateResult& result) {
  for (const ReportField& field : result.run) {
    if (field.name == "digest") return field.text;
  }
  return "-";
}

std::string summary_line(std::span<const GateResult> results) {
  const auto states = [&](CheckState state) {
    return std::count_if(results.begin(), results.end(),
                         [state](const GateResult& one) { return one.state == state; });
  };
  std::string text =
      fmt::format("{} of {} check{} hold{}", states(CheckState::kHolds), results.size(),
                  results.size() == 1 ? "" : "s", results.size() == 1 ? "s" : "");
  if (states(CheckState::kFailed) > 0) {
    text += fmt::format(", {} failed", states(CheckState::kFailed));
  }
  if (states(CheckState::kAccepted) > 0) {
    text = fmt::format("{} baseline{} accepted", states(CheckState::kAccepted),
                       states(CheckState::kAccepted) == 1 ? "" : "s");
  }
  if (states(CheckState::kNotComparable) > 0) {
    text += fmt::format(", {} not comparable", states(CheckState::kNotComparable));
  }
  return text;
}

void add_text(std::string& text, const GateResult& result) {
  text += fmt::format("{}: {}\n", result.name, name_of(result.state));
  const Provenance& made = result.provenance;
  text += fmt::format("  {}, pinfold {}, trace {}, configuration {}, seed {}, digest {}\n",
                      result.trace, made.version, made.trace_digest, made.config_digest, made.seed,
                      digest_of(result));
  for (const std::string& reason : result.incomparable) text += "  " + reason + '\n';
  if (!result.requirements.empty()) {
    TextTable table({Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft});
    table.row({"", "requirement", "found", "verdict"});
    for (const RequirementResult& row : result.requirements) {
      table.row({"", row.requirement.text(), or_dash(row.found), row.holds ? "holds" : "FAILED"});
    }
    text += table.text();
  }
  if (result.baseline) {
    text += fmt::format("  Against {} of pinfold {}: {}\n", *result.baseline,
                        result.baseline_version, tally(result));
    if (!result.settings.empty()) {
      text += fmt::format("  Settings that differ: {}\n", settings_text(result));
    }
  }
  const std::vector<const FigureChange*> rows = moved(result);
  if (!rows.empty()) {
    TextTable table({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight,
                     Align::kRight, Align::kLeft});
    table.row({"", "metric", "old", "new", "change", "tolerance", "verdict"});
    for (const FigureChange* row : rows) {
      table.row({"", row->figure, or_dash(row->old), or_dash(row->now), row->change, row->tolerance,
                 std::string(name_of(row->verdict))});
    }
    text += table.text();
  }
  if (result.difference) text += difference_text(*result.difference, kBaseline, kNow);
  for (const std::string& note : result.notes) text += "  note: " + note + '\n';
  text += '\n';
}

// --- JSON -----------------------------------------------------------------------------------------

void write_value(JsonWriter& json, const std::string& text) {
  text.empty() ? json.null() : json.string(text);
}

void write_texts(JsonWriter& json, const std::vector<std::string>& texts) {
  json.open_array();
  for (const std::string& text : texts) json.string(text);
  json.close();
}

void write_baseline(JsonWriter& json, const GateResult& result) {
  json.open_object();
  json.key("path").string(*result.baseline);
  json.key("version").string(result.baseline_version);
  json.key("settings").open_array();
  for (const OptionChange& change : result.settings) {
    json.open_object();
    json.key("option").string(change.path);
    json.key("old").string(change.old);
    json.key("new").string(change.now);
    json.close();
  }
  json.close();
  json.key("figures").open_array();
  for (const FigureChange& row : result.figures) {
    json.open_object();
    json.key("metric").string(row.figure);
    write_value(json.key("old"), row.old);
    write_value(json.key("new"), row.now);
    write_value(json.key("change"), row.change);
    write_value(json.key("tolerance"), row.tolerance);
    json.key("better").string(name_of(row.better));
    json.key("verdict").string(name_of(row.verdict));
    json.close();
  }
  json.close();
  json.key("first_difference");
  result.difference ? write_difference(json, *result.difference) : json.null();
  json.close();
}

void write_check(JsonWriter& json, const GateResult& result) {
  json.open_object();
  json.key("name").string(result.name);
  json.key("trace").string(result.trace);
  json.key("state").string(name_of(result.state));
  json.key("not_comparable");
  write_texts(json, result.incomparable);
  json.key("requirements").open_array();
  for (const RequirementResult& row : result.requirements) {
    json.open_object();
    json.key("requirement").string(row.requirement.text());
    write_value(json.key("found"), row.found);
    json.key("holds").boolean(row.holds);
    json.close();
  }
  json.close();
  json.key("baseline");
  result.baseline ? write_baseline(json, result) : json.null();
  json.key("notes");
  write_texts(json, result.notes);
  json.key("run").open_object();
  write_fields(json, result.run);
  json.close();
  json.close();
}

// --- Markdown -------------------------------------------------------------------------------------

/// A cell, or any text that is not to be read as Markdown or HTML.
std::string markdown(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '\n':
      case '\r': result += ' '; break;
      case '|':
      case '`':
      case '*':
      case '_':
      case '[':
      case ']':
      case '#':
      case '\\': result += '\\'; [[fallthrough]];
      default: result += letter;
    }
  }
  return result;
}

void add_markdown(std::string& text, const GateResult& result) {
  text += fmt::format("### {}: {}\n\n", markdown(result.name), name_of(result.state));
  text += fmt::format("{}, digest {}\n\n", markdown(result.trace), digest_of(result));
  for (const std::string& reason : result.incomparable) {
    text += fmt::format("- {}\n", markdown(reason));
  }
  if (!result.requirements.empty()) {
    text += "| requirement | found | verdict |\n| :-- | --: | :-- |\n";
    for (const RequirementResult& row : result.requirements) {
      text += fmt::format("| {} | {} | {} |\n", markdown(row.requirement.text()),
                          markdown(or_dash(row.found)), row.holds ? "holds" : "**FAILED**");
    }
    text += '\n';
  }
  if (result.baseline) {
    text += fmt::format("Against {} of pinfold {}: {}.\n\n", markdown(*result.baseline),
                        markdown(result.baseline_version), tally(result));
    if (!result.settings.empty()) {
      text += fmt::format("Settings that differ: {}\n\n", markdown(settings_text(result)));
    }
  }
  const std::vector<const FigureChange*> rows = moved(result);
  if (!rows.empty()) {
    text +=
        "| metric | old | new | change | tolerance | verdict |\n"
        "| :-- | --: | --: | --: | --: | :-- |\n";
    for (const FigureChange* row : rows) {
      const bool worse = row->verdict == ChangeVerdict::kWorse;
      text += fmt::format("| {} | {} | {} | {} | {} | {}{}{} |\n", markdown(row->figure),
                          markdown(or_dash(row->old)), markdown(or_dash(row->now)),
                          markdown(row->change), row->tolerance, worse ? "**" : "",
                          name_of(row->verdict), worse ? "**" : "");
    }
    text += '\n';
  }
  if (result.difference) {
    text += "```\n" + difference_text(*result.difference, kBaseline, kNow) + "```\n\n";
  }
  for (const std::string& note : result.notes) text += fmt::format("- {}\n", markdown(note));
  if (!result.notes.empty()) text += '\n';
}

}  // namespace

std::string check_text(std::span<const GateResult> results) {
  std::string text;
  for (const GateResult& result : results) add_text(text, result);
  return text + summary_line(results) + '\n';
}

std::string check_json(std::span<const GateResult> results) {
  JsonWriter json;
  json.open_object();
  json.key("summary").string(summary_line(results));
  json.key("checks").open_array();
  for (const GateResult& result : results) write_check(json, result);
  json.close();
  json.close();
  return json.finish();
}

std::string check_markdown(std::span<const GateResult> results) {
  std::string text = fmt::format("## Pinfold: {}\n\n", summary_line(results));
  for (const GateResult& result : results) add_markdown(text, result);
  return text;
}

}  // namespace pinfold::sim
