#include "sim/cli/commands.h"

#include <iostream>
#include <string>
#include <vector>

#include "sim/cli/fault_flag.h"
#include "sim/cli/flag_value.h"
#include "sim/cli/measure_flags.h"
#include "sim/cli/run_command.h"
#include "sim/cli/shared_flags.h"

namespace pinfold::sim {
namespace {

class Run final : public Command {
 public:
  explicit Run(CLI::App& program) : Command(program, "run", "Replay a trace on an engine.") {
    trace_.declare(
        *this,
        " Or a scenario (.json, docs/scenarios.md), which brings its configuration and what "
        "must come of it.");
    configuration_.declare(*this, kBuiltInConfig);
    text("--why", why_, "ID",
         "Instead of the report, show what happened to this request of the trace (0 is the first), "
         "and "
         "what it waited for.");
    words("--goodput", goodput_, "METRIC:MS",
          "Count requests that meet all of these, in milliseconds: ttft:500 tpot:50 "
          "e2el:9000, one or more.");
    text("--measure-from", measure_from_, "SECONDS",
         "The benchmark's figures (requests, tokens, throughputs, latencies) count only requests "
         "that "
         "arrive from this simulated time on. Default: 0.");
    text("--measure-to", measure_to_, "SECONDS", "... and before this one. Default: all.");
    text("-o,--output", directory_, "DIR",
         "Write the run into this directory: summary.json, config.resolved.json, requests.csv, "
         "timeline.csv, preemptions.csv, blockmap.json, recording.json and trace.pftrace (for "
         "Perfetto), all or none. `pinfold report DIR` makes a page of them. Default: no files.");
    text("--record", record_, "FILE",
         "Write every ownership event into this file, for `pinfold replay`. Default: none.");
    text("--metrics-out", metrics_, "FILE",
         "Write the run over simulated time into this file: OpenMetrics text with vLLM's names, "
         "for `promtool tsdb create-blocks-from openmetrics`. Default: none.");
    text("--format", format_, "FORMAT", "text, json, csv or md. Default: text.");
    text(
        "--shadow", shadow_, "on|off",
        "on: follow every row in shadow memory, which shares no code with the allocator; a finding "
        "is a violation. Default: off.");
    text("--ledger", ledger_, "on|off",
         "on: count what every position of the pool is at every instant, and report where the "
         "memory "
         "went. Default: on.");
    text("--fast-path", fast_path_, "on|off",
         "off: visit every row of every step; the same result, slower. Default: on.");
    text("--audit", audit_, "every|N|end",
         "Check the ownership records after every event, after every N events, or only at the end. "
         "Default: end.");
    texts("--fault", faults_, "NAME[=VALUE]",
          "Let something go wrong: copy_delay=MICROSECONDS, copy_lost[=N] (the event of the n-th "
          "step with copies; 1), load_lost[=N], save_lost[=N] (the event of the n-th; 1), "
          "step_failed[=PERMILLE] (10), abort_storm[=PERMILLE] of the live "
          "requests (500); may be repeated. The options fault.* say the same.");
    quiet_.declare(*this);
    trace_flags_.declare(*this);
  }

  ExitCode run() override {
    RunCommand command;
    command.trace = trace_.take();
    command.trace_options = trace_flags_.take();
    command.config = configuration_.take();
    for (const std::string& fault : faults_) command.config.values.push_back(fault_of(fault));
    if (given("--output")) command.directory = directory_;
    if (given("--record")) command.record = needed("FILE of --record", record_, "a path");
    if (given("--metrics-out")) {
      command.metrics = needed("FILE of --metrics-out", metrics_, "a path");
    }
    command.format = one_of<ReportFormat>("--format", format_,
                                          {{"text", ReportFormat::kText},
                                           {"json", ReportFormat::kJson},
                                           {"csv", ReportFormat::kCsv},
                                           {"md", ReportFormat::kMarkdown}});
    command.shadow = on_or_off("--shadow", shadow_);
    command.ledger = on_or_off("--ledger", ledger_);
    command.fast_path = on_or_off("--fast-path", fast_path_);
    command.audit_every = audit_every();
    command.measure = measurement();
    if (given("--why")) command.why = why_;
    command.progress = quiet_.progress();
    return run_command(command, std::cout, std::cerr);
  }

 private:
  Measurement measurement() {
    Measurement measure;
    if (given("--goodput")) measure.goodput = value_of(parse_goodput(goodput_));
    const auto take_seconds = [&](const std::string& flag, const std::string& text,
                                  std::int64_t& place) {
      if (given(flag)) place = value_of(parse_seconds(flag, text));
    };
    take_seconds("--measure-from", measure_from_, measure.from_ns);
    take_seconds("--measure-to", measure_to_, measure.to_ns);
    if (measure.from_ns >= measure.to_ns) {
      throw UsageError{"found --measure-from " + measure_from_ + " and --measure-to " +
                       measure_to_ + ", expected the first to be less"};
    }
    return measure;
  }

  std::uint64_t audit_every() const {
    if (audit_ == "end") return 0;
    if (audit_ == "every") return 1;
    return count_of("--audit", audit_, "every, end, or a number of events from 1");
  }

  TraceArgument trace_;
  TraceFlags trace_flags_;
  ConfigurationFlags configuration_;
  std::vector<std::string> goodput_;
  std::string measure_from_ = "0";
  std::string measure_to_;
  std::string why_;
  std::string directory_;
  std::string record_;
  std::string metrics_;
  std::string format_ = "text";
  std::string fast_path_ = "on";
  std::string shadow_ = "off";
  std::string ledger_ = "on";
  std::string audit_ = "end";
  std::vector<std::string> faults_;
  QuietFlag quiet_;
};

}  // namespace

std::unique_ptr<Command> declare_run(CLI::App& parent) { return std::make_unique<Run>(parent); }

}  // namespace pinfold::sim
