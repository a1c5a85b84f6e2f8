#pragma once
// `pinfold explore`: every order of a scenario's events.

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "sim/cli/exit_code.h"
#include "sim/explore/explorer.h"

namespace pinfold::sim {

struct ExploreCommand {
  std::string scenario;
  std::vector<std::string> overrides{};
  ExploreLimits limits{};
  bool reduce = true;
  bool watch = false;  // judged by the named invariants and shadow memory too
  bool json = false;
  bool expect = false;                  // the exit code says whether `expect.explore` holds
  std::optional<std::string> output{};  // where a counter-example goes
  bool timing = false;                  // the time taken goes to `err`
};

/// Exit codes: 0 proved, 1 bounded without a finding, 3 a counter-example; with `expect`, 0 where the
/// expectation holds and 3 where not.
ExitCode explore_command(const ExploreCommand& command, std::ostream& out, std::ostream& err);

struct RandomExploreCommand {
  std::uint64_t seed = 0;
  std::uint64_t scenarios = 0;
  ExploreLimits limits{};
  bool watch = false;  // as of one scenario
  bool json = false;
  std::optional<std::string> output{};  // where the first counter-example goes
};

/// Scenarios drawn at random. Exit code 3 if one has a counter-example.
ExitCode random_explore_command(const RandomExploreCommand& command, std::ostream& out,
                                std::ostream& err);

/// `pinfold replay` of a counter-example; nothing where the file is none. Exit code 3 where it reproduces.
std::optional<ExitCode> replay_schedule_command(const std::string& path, bool json,
                                                std::ostream& out, std::ostream& err);

}  // namespace pinfold::sim
