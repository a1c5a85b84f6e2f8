#pragma once
// Event files as tests write them: one string literal a line.

#include <initializer_list>
#include <string>
#include <string_view>

#include "sim/record/replay.h"

namespace pinfold::test {

inline std::string lines_of(std::initializer_list<std::string_view> lines) {
  std::string text;
  for (const std::string_view line : lines) text.append(line).append("\n");
  return text;
}

/// The message of the first mistake in `text`, found by reading or by replaying; "none" without one.
inline std::string mistake_in(std::string_view text) {
  const auto file = sim::parse_event_file(text, "lab");
  if (!file) return sim::describe(file.error());
  const auto output = sim::replay(file.value());
  return output ? "none" : sim::describe(output.error());
}

/// The replay's lines, joined; the mistake if there is one.
inline std::string shown_by(std::initializer_list<std::string_view> lines) {
  const std::string text = lines_of(lines);
  const auto file = sim::parse_event_file(text, "lab");
  if (!file) return sim::describe(file.error());
  const auto output = sim::replay(file.value());
  if (!output) return sim::describe(output.error());
  std::string shown;
  for (const std::string& line : output.value().lines) shown += line + "\n";
  return shown;
}

}  // namespace pinfold::test
