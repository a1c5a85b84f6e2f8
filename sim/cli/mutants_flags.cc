#include "sim/cli/commands.h"

#include <unistd.h>
#include <array>
#include <iostream>
#include <string>
#include <vector>

#include "sim/cli/flag_value.h"
#include "sim/cli/mutants_command.h"
#include "sim/cli/shared_flags.h"

namespace pinfold::sim {
namespace {

/// The program with the planted bugs lies beside this one; returns only if it cannot be started.
[[maybe_unused]] ExitCode start_mutants_program(const MutantsCommand& command) {
  std::array<char, 4096> self{};
  const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size());
  std::string path(self.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  path = path.substr(0, path.rfind('/') + 1) + "pinfold-mutants";
  std::vector<std::string> words{path, "mutants", "--format",
                                 command.format == MutantsFormat::kJson ? "json" : "text"};
  if (command.only) words.insert(words.end(), {"--mutant", *command.only});
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(path.c_str(), arguments.data());
  return fail(std::cerr, ExitCode::kDataError,
              path + ": cannot be started; `./dev build` makes it beside this program");
}

class Mutants final : public Command {
 public:
  explicit Mutants(CLI::App& program)
      : Command(program, "mutants", "Plant known bugs; say which check finds each.") {
    text("--mutant", only_, "NAME", "This bug alone, with every finding. Default: all.");
    json_.declare(*this);
  }
  ExitCode run() override {
    MutantsCommand command;
    command.format = json_.take() ? MutantsFormat::kJson : MutantsFormat::kText;
    if (!only_.empty()) command.only = only_;
#if defined(PINFOLD_MUTANTS)
    return mutants_command(command, std::cout, std::cerr);
#else
    return start_mutants_program(command);
#endif
  }

 private:
  std::string only_;
  JsonFlag json_;
};

}  // namespace

std::unique_ptr<Command> declare_mutants(CLI::App& parent) {
  return std::make_unique<Mutants>(parent);
}

}  // namespace pinfold::sim
