#pragma once
// A command of the program: it declares its flags, and knows what to do with them.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/exit_code.h"
#include "sim/cli/manual.h"

// The reader of the command line, which only command.cc knows.
namespace CLI {
class App;
}

namespace pinfold::sim {

/// A flag that was given.
struct GivenFlag {
  std::string name;
  std::string group;
};

/// A command's flags as they were given, and its action once they are complete. All values are texts: what they
/// mean is read where they are used (sim/cli/flag_value.h), so that mistakes are told in our words.
class Command {
 public:
  static constexpr const char* kMayLack = "Instead of flags";

  Command(CLI::App& parent, const std::string& name, const std::string& description);
  virtual ~Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// `name` is "--long", "-s,--long", or a word for a positional; `type` stands for the value in the help. A
  /// group has a heading of its own there; kMayLack is that of a positional that other flags stand in for.
  void text(const std::string& name, std::string& value, const std::string& type,
            const std::string& description, const std::string& group = "");
  /// The same where a value that is not given is none.
  void text(const std::string& name, std::optional<std::string>& value, const std::string& type,
            const std::string& description, const std::string& group = "");
  /// May be given several times, one value each.
  void texts(const std::string& name, std::vector<std::string>& values, const std::string& type,
             const std::string& description);
  /// Takes one or more values.
  void words(const std::string& name, std::vector<std::string>& values, const std::string& type,
             const std::string& description);
  void flag(const std::string& name, bool& value, const std::string& description);

  bool given(const std::string& name) const;
  /// In the order in which they were declared.
  std::vector<GivenFlag> all_given() const;

  /// Whether the command line names this one.
  bool chosen() const;

  /// Throws UsageError.
  virtual ExitCode run() = 0;

 private:
  CLI::App& app_;
};

/// A command that only holds others, such as `trace`.
CLI::App& add_group(CLI::App& parent, const std::string& name, const std::string& description);

/// What the table of flags says of the program and its commands.
Manual manual_of(CLI::App& program);

/// Reads the command line and runs what it names. `declare` adds the program's commands, in the order of the
/// help.
ExitCode run_program(int argc, char** argv,
                     void (*declare)(CLI::App& program,
                                     std::vector<std::unique_ptr<Command>>& commands));

}  // namespace pinfold::sim
