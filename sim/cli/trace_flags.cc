#include "sim/cli/commands.h"

#include <iostream>
#include <string>

#include "sim/cli/flag_value.h"
#include "sim/cli/shared_flags.h"
#include "sim/cli/trace_command.h"

namespace pinfold::sim {
namespace {

class TraceInfo final : public Command {
 public:
  explicit TraceInfo(CLI::App& trace) : Command(trace, "info", "Show what a trace holds.") {
    trace_.declare(*this);
    json_.declare(*this);
    trace_flags_.declare(*this);
  }
  ExitCode run() override {
    const TraceInfoCommand command{trace_.take(), trace_flags_.take(),
                                   json_.take() ? TableFormat::kJson : TableFormat::kText};
    return trace_info_command(command, std::cout, std::cerr);
  }

 private:
  TraceArgument trace_;
  TraceFlags trace_flags_;
  JsonFlag json_;
};

class TraceHead final : public Command {
 public:
  explicit TraceHead(CLI::App& trace) : Command(trace, "head", "Show a trace's first requests.") {
    trace_.declare(*this);
    text("-n,--rows", rows_, "N", "Number of requests to show. Default: 10.");
    json_.declare(*this);
    trace_flags_.declare(*this);
  }
  ExitCode run() override {
    const TraceHeadCommand command{trace_.take(), trace_flags_.take(),
                                   count_of("-n", rows_, "a number of requests from 1"),
                                   json_.take() ? TableFormat::kJson : TableFormat::kText};
    return trace_head_command(command, std::cout, std::cerr);
  }

 private:
  TraceArgument trace_;
  TraceFlags trace_flags_;
  std::string rows_ = "10";
  JsonFlag json_;
};

class TraceConvert final : public Command {
 public:
  explicit TraceConvert(CLI::App& trace)
      : Command(trace, "convert", "Write a trace in our own format, or as an Azure CSV.") {
    trace_.declare(*this);
    text("--format", format_, "FORMAT",
         "jsonl, csv, or azure (arrivals and lengths only). Default: jsonl.");
    text("-o,--output", output_, "FILE", "File to write. Default: standard output.");
    seed_.declare(*this, "the draws from ServeGen parameters");
    trace_flags_.declare(*this);
  }
  ExitCode run() override {
    TraceConvertCommand command{trace_.take(), trace_flags_.take(),
                                one_of<WrittenFormat>("--format", format_,
                                                      {{"jsonl", WrittenFormat::kJsonLines},
                                                       {"csv", WrittenFormat::kCsv},
                                                       {"azure", WrittenFormat::kAzure}}),
                                output_};
    command.options.reader.seed = seed_.take();
    return trace_convert_command(command, std::cout, std::cerr);
  }

 private:
  TraceArgument trace_;
  TraceFlags trace_flags_;
  std::string format_ = "jsonl";
  std::string output_ = "-";
  SeedFlag seed_;
};

}  // namespace

std::unique_ptr<Command> declare_trace_info(CLI::App& parent) {
  return std::make_unique<TraceInfo>(parent);
}

std::unique_ptr<Command> declare_trace_head(CLI::App& parent) {
  return std::make_unique<TraceHead>(parent);
}

std::unique_ptr<Command> declare_trace_convert(CLI::App& parent) {
  return std::make_unique<TraceConvert>(parent);
}

}  // namespace pinfold::sim
