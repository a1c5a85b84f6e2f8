#include "sim/cli/commands.h"

#include <iostream>
#include <string>

#include "sim/cli/compare_command.h"
#include "sim/cli/flag_value.h"
#include "sim/cli/shared_flags.h"

namespace pinfold::sim {
namespace {

class Compare final : public Command {
 public:
  explicit Compare(CLI::App& program)
      : Command(program, "compare", "Compare two earlier runs and find where they part.") {
    text("A", command_.a, "RUN",
         "A directory of `run -o`, a file of `run --format json`, a baseline of `check`, or a file "
         "of `run --record`.");
    text("B", command_.b, "RUN", "The other one.");
    text("--trace", trace_, "FILE",
         "The trace that both ran, to run them again. Default: the one that A names.");
    trace_flags_.declare(*this);
    flag("--exit-code", command_.exit_code, "Exit with 3 where they differ. Default: with 0.");
    text("--format", format_, "FORMAT", "text, json or md. Default: text.");
  }

  ExitCode run() override {
    needed("A", command_.a, "two runs to compare");
    needed("B", command_.b, "two runs to compare");
    if (given("--trace")) command_.trace = trace_;
    command_.trace_options = trace_flags_.take();
    command_.format = one_of<CompareFormat>("--format", format_,
                                            {{"text", CompareFormat::kText},
                                             {"json", CompareFormat::kJson},
                                             {"md", CompareFormat::kMarkdown}});
    return compare_command(command_, std::cout, std::cerr);
  }

 private:
  CompareCommand command_;
  TraceFlags trace_flags_;
  std::string trace_;
  std::string format_ = "text";
};

}  // namespace

std::unique_ptr<Command> declare_compare(CLI::App& parent) {
  return std::make_unique<Compare>(parent);
}

}  // namespace pinfold::sim
