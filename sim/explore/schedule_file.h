#pragma once
// A counter-example as a file: ownership events of view `schedule`. The first line holds the scenario, each
// further one an event of the engine, and `pinfold replay` drives the real scheduler along them.

#include <string>
#include <string_view>
#include <vector>

#include "sim/explore/explorer.h"

namespace pinfold::sim {

struct Schedule {
  std::string title;
  Scenario scenario;
  bool reduce = true;  // whether arrivals came only where a plan could see them
  std::vector<WorldEvent> events;
  bool watch = false;  // whether the named invariants and shadow memory judged it
};

/// The file's text. `walked` is the path walked: its sentences stand beside the events.
std::string schedule_text(const Schedule& schedule, const Walked& walked);

/// Whether this is such a file, and not one that tests ownership alone.
bool is_schedule(std::string_view text);

/// Parses the text; `path` stands in errors.
Outcome<Schedule> parse_schedule(std::string_view text, const std::string& path);

/// What a reader of a walked schedule sees: title, each event with the tables behind it, what broke.
std::vector<std::string> schedule_lines(const std::string& title, const Walked& walked);

}  // namespace pinfold::sim
