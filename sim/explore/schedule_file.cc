#include "sim/explore/schedule_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/config/json_object.h"
#include "sim/config/json_writer.h"
#include "sim/explore/scenario_file.h"
#include "sim/trace/closest_word.h"

namespace pinfold::sim {
namespace {

bool has_choice(EventKind kind) {
  return kind == EventKind::kRun || kind == EventKind::kResult || kind == EventKind::kLose;
}
bool has_request(EventKind kind) { return kind == EventKind::kArrive || kind == EventKind::kAbort; }

/// The lines that say something: not empty, no comment.
struct Line {
  std::uint64_t number = 0;
  std::string_view text;
};
std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  std::uint64_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    ++number;
    at = end + 1;
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line.substr(first, 2) == "//") continue;
    lines.push_back({number, line});
  }
  return lines;
}

/// Moves a parsed line's positions to where it stands in the file.
void place(JsonValue& value, std::uint64_t line) {
  value.position.line = line;
  for (JsonValue& item : value.items) place(item, line);
  for (JsonMember& member : value.members) {
    member.position.line = line;
    place(member.value, line);
  }
}

Outcome<JsonValue> parse_line(const Line& line, const std::string& path) {
  Outcome<JsonValue> value = parse_json(line.text, path);
  if (!value) {
    InputError error = value.error();
    error.line = line.number;
    return error;
  }
  place(value.value(), line.number);
  return value;
}

}  // namespace

std::string schedule_text(const Schedule& schedule, const Walked& walked) {
  const Stage stage = stage_of(schedule.scenario, schedule.reduce, schedule.watch);
  std::string text = fmt::format(
      "{{\"pinfold_events\": 1, \"view\": \"schedule\", \"title\": {}, \"reduced\": {}, "
      "{}\"scenario\": {}}}\n",
      json_string(schedule.title), schedule.reduce, schedule.watch ? "\"invariants\": true, " : "",
      scenario_text(schedule.scenario));
  for (std::size_t n = 0; n < schedule.events.size(); ++n) {
    const WorldEvent& event = schedule.events[n];
    text += fmt::format("{{\"event\": \"{}\"", name_of(event.kind));
    if (has_request(event.kind)) {
      text += fmt::format(", \"request\": {}", json_string(stage.actors[event.actor].name));
    }
    const bool of_store = event.kind == EventKind::kPass && event.choice > 0;
    if (has_choice(event.kind) || of_store) text += fmt::format(", \"choice\": {}", event.choice);
    if (n < walked.told.size()) text += fmt::format(", \"story\": {}", json_string(walked.told[n]));
    text += "}\n";
  }
  return text;
}

bool is_schedule(std::string_view text) {
  const std::vector<Line> lines = lines_of(text);
  if (lines.empty()) return false;
  const Outcome<JsonValue> head = parse_line(lines.front(), "");
  if (!head) return false;
  return std::any_of(head.value().members.begin(), head.value().members.end(),
                     [](const JsonMember& member) {
                       return member.key == "view" && member.value.text == "schedule";
                     });
}

Outcome<Schedule> parse_schedule(std::string_view text, const std::string& path) {
  const std::vector<Line> lines = lines_of(text);
  JsonMistake mistake;
  mistake.file = path;
  Schedule schedule;
  if (lines.empty()) {
    InputError error;
    error.path = path;
    error.found = "no header";
    error.expected = "a schedule";
    return error;
  }
  const Outcome<JsonValue> head = parse_line(lines.front(), path);
  if (!head) return head.error();
  JsonObject header(head.value(), "", mistake);
  header.integer("pinfold_events", 1, 1);
  header.text("view");
  schedule.title = header.text("title");
  const JsonValue& reduced = header.member("reduced");
  if (reduced.kind != JsonValue::Kind::kBoolean) mistake.note(reduced, "reduced", "true or false");
  schedule.reduce = reduced.text == "true";
  if (header.has("invariants")) {
    const JsonValue& watch = header.member("invariants");
    if (watch.kind != JsonValue::Kind::kBoolean) mistake.note(watch, "invariants", "true or false");
    schedule.watch = watch.text == "true";
  }
  const JsonValue& inner = header.member("scenario");
  header.refuse_others();
  if (mistake.error) return *mistake.error;
  Outcome<Scenario> scenario = parse_scenario(inner, path);
  if (!scenario) return scenario.error();
  schedule.scenario = std::move(scenario.value());

  const Stage stage = stage_of(schedule.scenario, schedule.reduce, schedule.watch);
  std::vector<std::string_view> names;
  for (const Actor& actor : stage.actors) names.push_back(actor.name);
  std::vector<std::string_view> kinds;
  for (std::size_t n = 0; n < kEventKinds; ++n) kinds.emplace_back(name_of(EventKind(n)));
  for (std::size_t n = 1; n < lines.size(); ++n) {
    const Outcome<JsonValue> value = parse_line(lines[n], path);
    if (!value) return value.error();
    JsonObject object(value.value(), "", mistake);
    const std::string kind = object.text("event");
    const auto known = std::find(kinds.begin(), kinds.end(), kind);
    if (known == kinds.end()) {
      mistake.note(object.member("event"), "event",
                   fmt::format("one of {}", fmt::join(kinds, ", ")));
      break;
    }
    WorldEvent event;
    event.kind = EventKind(known - kinds.begin());
    if (has_request(event.kind)) {
      const std::string name = object.text("request");
      const auto actor = std::find(names.begin(), names.end(), name);
      if (actor == names.end()) {
        mistake.note(object.member("request"), "request", "a request of the scenario");
        break;
      }
      event.actor = static_cast<std::uint8_t>(actor - names.begin());
    }
    const bool of_store = event.kind == EventKind::kPass && object.has("choice");
    if (has_choice(event.kind) || of_store) {
      event.choice = static_cast<std::uint16_t>(object.integer("choice", 0, UINT16_MAX));
    }
    if (object.has("story")) object.text("story");
    object.refuse_others();
    if (mistake.error) break;
    schedule.events.push_back(event);
  }
  if (mistake.error) return *mistake.error;
  return schedule;
}

std::vector<std::string> schedule_lines(const std::string& title, const Walked& walked) {
  std::vector<std::string> lines{title};
  for (std::size_t n = 0; n < walked.told.size(); ++n) {
    lines.push_back(fmt::format("{:3}  {}", n + 1, walked.told[n]));
    lines.push_back("     " + walked.shown[n]);
  }
  if (walked.finding) {
    lines.push_back(fmt::format("{}: {}", walked.finding->check, walked.finding->text));
  } else if (walked.stalled) {
    lines.push_back("I9: nothing is pending, nothing can run, and somebody waits");
  }
  for (const std::string& text : walked.waits) lines.push_back("  " + text);
  return lines;
}

}  // namespace pinfold::sim
