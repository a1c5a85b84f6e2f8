#include "sim/cli/commands.h"

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "sim/cli/check_command.h"
#include "sim/cli/flag_value.h"
#include "sim/cli/shared_flags.h"

namespace pinfold::sim {
namespace {

class Check final : public Command {
 public:
  explicit Check(CLI::App& program)
      : Command(program, "check", "Hold a run against requirements and a baseline.") {
    text("TRACE|SUITE", command_.target, "FILE",
         "Request trace; or a suite (.json) of many checks, as configs/checks holds.");
    configuration_.declare(*this, kBuiltInConfig);
    text("--require", require_, "REQUIREMENTS",
         "What has to hold, as 'preemptions<=0,p99_ttft_ms<=500': figures of `run --format json`.");
    text("--baseline", baseline_, "FILE",
         "The run to be held against, as --accept wrote it: no judged figure may be worse.");
    texts("--tolerance", tolerances_, "FIGURE=P%|N",
          "How far a figure may be worse than the baseline, as 'p99_*=1%' or preemptions=3; may be "
          "repeated, later ones beat earlier ones. Default: not at all.");
    trace_flags_.declare(*this);
    flag("--accept", command_.accept,
         "Make this run the baseline, if the requirements hold. With a suite: all of them.");
    flag("--events", command_.events,
         "With --accept: keep the run's events beside the baseline (NAME.events.jsonl), so that a "
         "later failure can say at which event another program parts from it.");
    text("--format", format_, "FORMAT",
         "text, json, md, junit or github. junit is XML; github prints annotations and appends the "
         "report to the file that GITHUB_STEP_SUMMARY names. Default: text.");
    quiet_.declare(*this);
  }

  ExitCode run() override {
    needed("TRACE or SUITE", command_.target, "the path of a request trace or of a suite (.json)");
    command_.config = configuration_.take();
    if (is_suite(command_.target)) {
      for (const GivenFlag& given : all_given()) {
        const std::string& name = given.name;
        const bool said_there = name == "--config" || name == "--vllm-args" ||
                                name == "--require" || name == "--baseline" ||
                                name == "--tolerance" || given.group == TraceFlags::kGroup;
        if (!said_there) continue;
        throw UsageError{"found " + name + " beside a suite, expected it in the suite"};
      }
    } else if (!given("--require") && !given("--baseline")) {
      throw UsageError{"found neither --require nor --baseline, expected what to check"};
    }
    if (given("--require")) {
      command_.requirements = value_of(parse_requirements(require_, "--require"));
    }
    if (given("--baseline")) {
      command_.baseline = needed("FILE of --baseline", baseline_, "a path");
    } else if (!is_suite(command_.target)) {
      for (const char* flag : {"--tolerance", "--accept"}) {
        if (!given(flag)) continue;
        throw UsageError{std::string("found ") + flag + " without --baseline, expected both"};
      }
    }
    command_.trace_options = trace_flags_.take();
    if (command_.events && !command_.accept) {
      throw UsageError{"found --events without --accept, expected both"};
    }
    for (const std::string& text : tolerances_) {
      for (FigureTolerance& one : value_of(parse_tolerances(text, "--tolerance"))) {
        command_.tolerances.push_back(std::move(one));
      }
    }
    command_.format = one_of<CheckFormat>("--format", format_,
                                          {{"text", CheckFormat::kText},
                                           {"json", CheckFormat::kJson},
                                           {"md", CheckFormat::kMarkdown},
                                           {"junit", CheckFormat::kJunit},
                                           {"github", CheckFormat::kGithub}});
    if (command_.format == CheckFormat::kGithub) {
      const char* const summary = std::getenv("GITHUB_STEP_SUMMARY");
      if (summary != nullptr && *summary != '\0') command_.step_summary = summary;
    }
    command_.progress = quiet_.progress();
    return check_command(command_, std::cout, std::cerr);
  }

 private:
  CheckCommand command_;
  TraceFlags trace_flags_;
  ConfigurationFlags configuration_;
  std::string require_;
  std::string baseline_;
  std::vector<std::string> tolerances_;
  std::string format_ = "text";
  QuietFlag quiet_;
};

}  // namespace

std::unique_ptr<Command> declare_check(CLI::App& parent) { return std::make_unique<Check>(parent); }

}  // namespace pinfold::sim
