#include "sim/report/compare_report.h"

#include <fmt/format.h>

#include "sim/report/difference_text.h"
#include "sim/report/text_table.h"

namespace pinfold::sim {
namespace {

using Align = TextTable::Align;

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

const char* word_of(ChangeVerdict verdict) {
  return verdict == ChangeVerdict::kWorse ? "worse" : name_of(verdict).data();
}

std::vector<const FigureChange*> changed(const RunComparison& compared) {
  std::vector<const FigureChange*> rows;
  for (const FigureChange& row : compared.figures) {
    if (row.verdict != ChangeVerdict::kSame) rows.push_back(&row);
  }
  return rows;
}

std::string conclusion(const RunComparison& compared) {
  const std::size_t rows = changed(compared).size();
  if (compared.same) return "They are the same.";
  if (rows == 0) return "Their events differ.";
  return fmt::format("{} of {} figures differ.", rows, compared.figures.size());
}

}  // namespace

std::string compare_text(const RunComparison& compared) {
  std::string text = fmt::format("A: {}\nB: {}\n", compared.a, compared.b);
  for (const OptionChange& change : compared.settings) {
    text += fmt::format("Setting: {} {} -> {}\n", change.path, change.old, change.now);
  }
  TextTable table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.row({"metric", "A", "B", "change", "B is"});
  for (const FigureChange* row : changed(compared)) {
    table.row(
        {row->figure, or_dash(row->old), or_dash(row->now), row->change, word_of(row->verdict)});
  }
  if (!changed(compared).empty()) text += '\n' + table.text() + '\n';
  if (compared.difference) text += difference_text(*compared.difference, "A", "B");
  for (const std::string& note : compared.notes) text += "note: " + note + '\n';
  return text + conclusion(compared) + '\n';
}

std::string compare_markdown(const RunComparison& compared) {
  std::string text = "| metric | A | B | change | B is |\n| :-- | --: | --: | --: | :-- |\n";
  for (const FigureChange* row : changed(compared)) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n", row->figure, or_dash(row->old),
                        or_dash(row->now), row->change, word_of(row->verdict));
  }
  if (compared.difference) {
    text += "\n```\n" + difference_text(*compared.difference, "A", "B") + "```\n";
  }
  for (const std::string& note : compared.notes) text += "\n" + note + '\n';
  return text + '\n' + conclusion(compared) + '\n';
}

std::string compare_json(const RunComparison& compared) {
  JsonWriter json;
  json.open_object();
  json.key("a").string(compared.a);
  json.key("b").string(compared.b);
  json.key("same").boolean(compared.same);
  json.key("settings").open_array();
  for (const OptionChange& change : compared.settings) {
    json.open_object();
    json.key("option").string(change.path);
    json.key("a").string(change.old);
    json.key("b").string(change.now);
    json.close();
  }
  json.close();
  json.key("figures").open_array();
  for (const FigureChange& row : compared.figures) {
    json.open_object();
    json.key("metric").string(row.figure);
    row.old.empty() ? json.key("a").null() : json.key("a").string(row.old);
    row.now.empty() ? json.key("b").null() : json.key("b").string(row.now);
    json.key("change").string(row.change);
    json.key("b_is").string(word_of(row.verdict));
    json.close();
  }
  json.close();
  json.key("first_difference");
  compared.difference ? write_difference(json, *compared.difference) : json.null();
  json.key("notes").open_array();
  for (const std::string& note : compared.notes) json.string(note);
  json.close();
  json.close();
  return json.finish();
}

}  // namespace pinfold::sim
