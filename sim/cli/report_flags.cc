#include "sim/cli/commands.h"

#include <iostream>

#include "sim/cli/flag_value.h"
#include "sim/cli/report_command.h"
#include "sim/cli/shared_flags.h"

namespace pinfold::sim {
namespace {

class Report final : public Command {
 public:
  explicit Report(CLI::App& program)
      : Command(program, "report", "Make one HTML page of what `pinfold run -o DIR` wrote.") {
    text("DIR", command_.directory, "DIR",
         "The directory; report.html is written into it and needs nothing else to be looked at.");
  }
  ExitCode run() override {
    needed("DIR", command_.directory, "the directory that `pinfold run -o DIR` wrote");
    return report_command(command_, std::cout, std::cerr);
  }

 private:
  ReportCommand command_;
};

}  // namespace

std::unique_ptr<Command> declare_report(CLI::App& parent) {
  return std::make_unique<Report>(parent);
}

}  // namespace pinfold::sim
