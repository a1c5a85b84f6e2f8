#pragma once
// What judging a file of events finds.

#include <cstdint>
#include <string>
#include <vector>

namespace pinfold::sim {

/// One broken rule.
struct BrokenRule {
  std::string rule;                  // "I2 owners", "O12 visible rows", ...
  std::uint64_t line = 0;            // of the event that shows it
  std::string text;                  // who, expected, found
  std::vector<std::string> history;  // the earlier lines that led to it
};

}  // namespace pinfold::sim
