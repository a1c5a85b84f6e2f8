#include "sim/cli/commands.h"

#include <iostream>
#include <string>

#include "sim/cli/explore_command.h"
#include "sim/cli/flag_value.h"
#include "sim/cli/shared_flags.h"
#include "sim/record/replay_command.h"

namespace pinfold::sim {
namespace {

class Replay final : public Command {
 public:
  explicit Replay(CLI::App& program)
      : Command(program, "replay", "Replay an ownership-event file and show every block table.") {
    text(
        "EVENTS", options_.path, "FILE",
        "Ownership events (JSON Lines): a recorded run (docs/recording.md) or a story told by hand "
        "(configs/labs/README.md).");
    json_.declare(*this);
    flag(
        "--verify", options_.verify,
        "Judge the events by the ownership rules, whoever issued the ids; a broken rule gives exit "
        "code 3.");
  }
  ExitCode run() override {
    needed("EVENTS", options_.path, "the path of an ownership-event file");
    const bool json = json_.take();
    options_.format = json ? ReplayOptions::Format::kJson : ReplayOptions::Format::kText;
    if (auto code = replay_schedule_command(options_.path, json, std::cout, std::cerr)) {
      return *code;
    }
    return static_cast<ExitCode>(run_replay(options_, std::cout, std::cerr));
  }

 private:
  ReplayOptions options_;
  JsonFlag json_;
};

}  // namespace

std::unique_ptr<Command> declare_replay(CLI::App& parent) {
  return std::make_unique<Replay>(parent);
}

}  // namespace pinfold::sim
