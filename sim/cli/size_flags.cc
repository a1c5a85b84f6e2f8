#include "sim/cli/commands.h"

#include <iostream>
#include <string>

#include "sim/cli/flag_value.h"
#include "sim/cli/shared_flags.h"
#include "sim/cli/size_command.h"

namespace pinfold::sim {
namespace {

class Size final : public Command {
 public:
  explicit Size(CLI::App& program)
      : Command(program, "size",
                "Work out blocks, tokens and concurrency from an engine's memory.") {
    configuration_.declare(*this, "no memory, so one of the two below is needed.");
    text("--available-gib", available_, "GIB",
         "Memory left for caches on one GPU, as the engine logs it.");
    text("--num-blocks", blocks_, "N", "Block ids as the engine logs them, block 0 counted.");
    text("--prompt-tokens", prompt_, "N", "With --output-tokens: also how many such requests fit.");
    text("--output-tokens", output_, "N", "See --prompt-tokens.");
    json_.declare(*this);
  }

  ExitCode run() override {
    SizeCommand command;
    command.config = configuration_.take();
    const auto value = [&](const std::string& flag, const std::string& option,
                           const std::string& text) {
      if (!given(flag)) return;
      command.config.values.push_back({option, text, flag + " " + text});
    };
    value("--available-gib", "memory.available_gib", available_);
    value("--num-blocks", "engine.num_blocks", blocks_);
    const bool prompt = given("--prompt-tokens");
    if (prompt != (given("--output-tokens"))) {
      throw UsageError{"found one of --prompt-tokens and --output-tokens, expected both"};
    }
    if (prompt) {
      command.shape = {.prompt = tokens_of("--prompt-tokens", prompt_, 1),
                       .output = tokens_of("--output-tokens", output_, 0)};
    }
    command.json = json_.take();
    return size_command(command, std::cout, std::cerr);
  }

 private:
  ConfigurationFlags configuration_;
  std::string available_;
  std::string blocks_;
  std::string prompt_;
  std::string output_;
  JsonFlag json_;
};

}  // namespace

std::unique_ptr<Command> declare_size(CLI::App& parent) { return std::make_unique<Size>(parent); }

}  // namespace pinfold::sim
