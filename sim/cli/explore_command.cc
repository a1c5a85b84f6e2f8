#include "sim/cli/explore_command.h"

#include <fmt/format.h>

#include <chrono>

#include "sim/explore/scenario_file.h"

namespace pinfold::sim {

ExitCode explore_command(const ExploreCommand& command, std::ostream& out, std::ostream& err) {
  const Outcome<Scenario> scenario = read_scenario(command.scenario, command.overrides);
  if (!scenario) return fail(err, ExitCode::kDataError, scenario.error());
  const Stage stage = stage_of(scenario.value(), command.reduce);
  const auto start = std::chrono::steady_clock::now();
  const ExploreResult result = explore(stage, command.limits);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                      std::chrono::steady_clock::now() - start)
                      .count();
  out << fmt::format("{} states {} transitions {} depth {} over {} ms {}\n",
                     name_of(result.verdict), result.states, result.transitions, result.depth,
                     result.over, ms);
  if (!result.check.empty()) out << result.check << ": " << result.text << '\n';
  const Walked walked = walk(stage, result.path);
  for (std::size_t n = 0; n < walked.told.size(); ++n) {
    out << fmt::format("{:3} {}\n      {}\n", n + 1, walked.told[n], walked.shown[n]);
  }
  for (const std::string& text : walked.waits) out << text << '\n';
  return ExitCode::kOk;
}

}  // namespace pinfold::sim
