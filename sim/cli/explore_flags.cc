#include "sim/cli/commands.h"

#include <unistd.h>
#include <iostream>
#include <string>

#include "sim/cli/explore_command.h"
#include "sim/cli/flag_value.h"
#include "sim/cli/shared_flags.h"

namespace pinfold::sim {
namespace {

class Explore final : public Command {
 public:
  explicit Explore(CLI::App& program)
      : Command(program, "explore", "Try every order of a scenario's events.") {
    text("SCENARIO", command_.scenario, "FILE", "Scenario (JSON): docs/scenarios.md.", kMayLack);
    texts("--set", command_.overrides, "KEY=VALUE",
          "Override one option of the scenario's configuration; may be repeated.");
    text("--max-states", max_states_, "N", "Stop after so many states. Default: 20000000.");
    text("--max-depth", max_depth_, "N", "Stop after so many events. Default: no bound.");
    flag("--no-reduction", no_reduction_,
         "Neither rename ids nor skip orders that commute: the same verdict, many more states "
         "(with prefix reuse ids are never renamed).");
    flag("--invariants", command_.watch,
         "Judge every event by the named invariants and shadow memory too; takes a few times as "
         "long.");
    flag("--expect", command_.expect,
         "Exit with 0 where the scenario's expect.explore holds and with 3 where not.");
    text("-o,--output", output_, "FILE",
         "Write a counter-example here; `pinfold replay` shows it.");
    text("--random-scenarios", random_, "N",
         "Instead of a scenario, draw so many at random, explore each within the bounds (default: "
         "2000 states) and walk at random beyond.");
    seed_.declare(*this, "--random-scenarios");
    json_.declare(*this);
  }
  ExitCode run() override {
    const bool random = given("--random-scenarios");
    if (!random) needed("SCENARIO", command_.scenario, "the path of a scenario");
    if (random && !command_.scenario.empty()) {
      throw UsageError{"found a scenario and --random-scenarios, expected one of them"};
    }
    if (!random && given("--seed")) {
      throw UsageError{"--seed: found it without --random-scenarios"};
    }
    if (random) command_.limits.states = 2'000;
    if (given("--max-states")) {
      command_.limits.states = count_of("--max-states", max_states_, "a number of states from 1");
    }
    if (given("--max-depth")) {
      command_.limits.depth = count_of("--max-depth", max_depth_, "a number of events from 1");
    }
    command_.reduce = !no_reduction_;
    if (given("--output")) command_.output = output_;
    command_.json = json_.take();
    if (random) {
      RandomExploreCommand search;
      search.scenarios = count_of("--random-scenarios", random_, "a number of scenarios from 1");
      search.seed = seed_.take();
      search.limits = command_.limits;
      search.watch = command_.watch;
      search.json = command_.json;
      search.output = command_.output;
      return random_explore_command(search, std::cout, std::cerr);
    }
    command_.timing = ::isatty(STDERR_FILENO) == 1;
    return explore_command(command_, std::cout, std::cerr);
  }

 private:
  ExploreCommand command_;
  std::string max_states_;
  std::string max_depth_;
  std::string random_;
  SeedFlag seed_;
  std::string output_;
  JsonFlag json_;
  bool no_reduction_ = false;
};

}  // namespace

std::unique_ptr<Command> declare_explore(CLI::App& parent) {
  return std::make_unique<Explore>(parent);
}

}  // namespace pinfold::sim
