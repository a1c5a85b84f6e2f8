// Scenario files: the line that says a scenario reads as the same scenario.

#include "sim/explore/scenario_file.h"
#include "tests/fuzz/fuzz_target.h"

namespace pinfold::fuzz {
namespace {

void run(std::string_view text) {
  const auto scenario = sim::parse_scenario(text, "fuzz.json");
  if (!scenario) {
    require(!describe(scenario.error()).empty(), "a mistake is described");
    return;
  }
  const std::string line = sim::scenario_text(scenario.value());
  const auto again = sim::parse_scenario(line, "line.json");
  require(static_cast<bool>(again),
          "a scenario's line is a scenario: " + (again ? "" : describe(again.error())));
  require(sim::scenario_text(again.value()) == line, "a scenario's line says the same when read");
}

}  // namespace
}  // namespace pinfold::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pinfold::fuzz::run(pinfold::fuzz::text_of(data, size));
  return 0;
}
