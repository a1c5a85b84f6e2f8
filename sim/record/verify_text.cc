#include "sim/record/verify_text.h"

#include <fmt/format.h>

namespace pinfold::sim {

std::string broken_text(const std::string& path, std::span<const BrokenRule> broken) {
  std::string text;
  for (const BrokenRule& rule : broken) {
    text += fmt::format("{}:{}: {}: {}\n", path, rule.line, rule.rule, rule.text);
    for (const std::string& line : rule.history) text += fmt::format("    {}\n", line);
  }
  return text;
}

void write_broken(JsonWriter& json, std::span<const BrokenRule> broken) {
  json.open_array();
  for (const BrokenRule& rule : broken) {
    json.open_object();
    json.key("rule").string(rule.rule);
    json.key("line").integer(rule.line);
    json.key("text").string(rule.text);
    json.key("history").open_array();
    for (const std::string& line : rule.history) json.string(line);
    json.close();
    json.close();
  }
  json.close();
}

std::string verdict_text(const std::string& path, const JournalVerdict& verdict) {
  const bool clean = verdict.broken_count == 0;
  std::string text = fmt::format("{:<24}{}\n", "Ownership rules:", clean ? "kept" : "broken");
  text += fmt::format("{:<24}{}\n", "Recorded by:", verdict.header.made_by);
  text += fmt::format("{:<24}{} of {} positions, {} state slots\n",
                      "Usable blocks:", verdict.header.block_ids - 1, verdict.header.block_size,
                      verdict.header.state_ids - 1);
  text += fmt::format("{:<24}{}\n", "Events:", verdict.events);
  text += fmt::format("{:<24}{}, {} of them unfinished\n", "Sequences:", verdict.sequences,
                      verdict.unfinished);
  text += fmt::format("{:<24}{}\n", "Row reads checked:", verdict.rows_read);
  if (clean) return text;
  text += fmt::format("{:<24}{}{}\n", "Broken rules found:", verdict.broken_count,
                      verdict.stopped ? "; what follows the last one is not judged" : "");
  return text + broken_text(path, verdict.broken);
}

std::string verdict_json(const JournalVerdict& verdict) {
  JsonWriter json;
  json.open_object();
  json.key("made_by").string(verdict.header.made_by);
  json.key("workload").string(verdict.header.workload);
  json.key("verified").boolean(verdict.broken_count == 0);
  json.key("events").integer(verdict.events);
  json.key("sequences").integer(verdict.sequences);
  json.key("unfinished").integer(verdict.unfinished);
  json.key("rows_read").integer(verdict.rows_read);
  json.key("broken_rules").integer(verdict.broken_count);
  json.key("judged_to_the_end").boolean(!verdict.stopped);
  json.key("broken");
  write_broken(json, verdict.broken);
  json.close();
  return json.finish();
}

}  // namespace pinfold::sim
