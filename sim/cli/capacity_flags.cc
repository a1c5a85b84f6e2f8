#include "sim/cli/commands.h"

#include <iostream>
#include <string>

#include "sim/cli/capacity_command.h"
#include "sim/cli/flag_value.h"
#include "sim/cli/shared_flags.h"

namespace pinfold::sim {
namespace {

class Capacity final : public Command {
 public:
  explicit Capacity(CLI::App& program)
      : Command(program, "capacity",
                "Find the largest rate, or the smallest pool, that meets objectives.") {
    trace_.declare(*this);
    configuration_.declare(*this, kBuiltInConfig);
    text(
        "--slo", slo_, "OBJECTIVES",
        "What has to hold, as 'p99_ttft_ms<=500,p99_tpot_ms<=50': figures of `run --format json`.");
    text("--vary", vary_, "rate|memory",
         "rate: arrival times are stretched or squeezed (workload.time_scale). memory: "
         "engine.num_blocks. Default: rate.");
    text("--tolerance", tolerance_, "P%",
         "How close the last run that meets and the first one that does not are. Default: 1%.");
    json_.declare(*this);
    quiet_.declare(*this);
    trace_flags_.declare(*this);
  }

  ExitCode run() override {
    CapacityCommand command;
    command.trace = trace_.take();
    command.trace_options = trace_flags_.take();
    command.config = configuration_.take();
    command.question.requirements = value_of(
        parse_requirements(needed("--slo", slo_, "objectives, as 'p99_ttft_ms<=500'"), "--slo"));
    command.question.vary = one_of<CapacityOf>(
        "--vary", vary_, {{"rate", CapacityOf::kRate}, {"memory", CapacityOf::kMemory}});
    command.question.tolerance = value_of(parse_tolerance(tolerance_));
    command.json = json_.take();
    command.progress = quiet_.progress();
    return capacity_command(command, std::cout, std::cerr);
  }

 private:
  TraceArgument trace_;
  TraceFlags trace_flags_;
  ConfigurationFlags configuration_;
  std::string slo_;
  std::string vary_ = "rate";
  std::string tolerance_ = "1%";
  JsonFlag json_;
  QuietFlag quiet_;
};

}  // namespace

std::unique_ptr<Command> declare_capacity(CLI::App& parent) {
  return std::make_unique<Capacity>(parent);
}

}  // namespace pinfold::sim
