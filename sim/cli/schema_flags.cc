#include "sim/cli/commands.h"

#include <cstdint>
#include <iostream>
#include <string>

#include "sim/cli/flag_value.h"
#include "sim/cli/manual.h"
#include "sim/cli/shared_flags.h"
#include "sim/config/resolved_config.h"

namespace pinfold::sim {
namespace {

class Schema final : public Command {
 public:
  explicit Schema(CLI::App& program)
      : Command(program, "schema", "Print the configuration's JSON Schema, or a manual page."),
        program_(program) {
    text("--format", format_, "FORMAT",
         "json, man or bash. The manual page and the completion are of this program's commands. "
         "Default: json.");
  }
  ExitCode run() override {
    enum class Format : std::uint8_t { kJson, kMan, kBash };
    const Format format =
        one_of<Format>("--format", format_,
                       {{"json", Format::kJson}, {"man", Format::kMan}, {"bash", Format::kBash}});
    switch (format) {
      case Format::kJson: std::cout << config_schema(); break;
      case Format::kMan: std::cout << manual_page(manual_of(program_)); break;
      case Format::kBash: std::cout << bash_completion(manual_of(program_)); break;
    }
    return ExitCode::kOk;
  }

 private:
  CLI::App& program_;
  std::string format_ = "json";
};

}  // namespace

std::unique_ptr<Command> declare_schema(CLI::App& parent) {
  return std::make_unique<Schema>(parent);
}

}  // namespace pinfold::sim
