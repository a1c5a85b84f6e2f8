#include "sim/cli/commands.h"

#include <iostream>
#include <optional>
#include <string>

#include "sim/cli/flag_value.h"
#include "sim/cli/shared_flags.h"
#include "sim/cli/sweep_command.h"

namespace pinfold::sim {
namespace {

class Sweep final : public Command {
 public:
  explicit Sweep(CLI::App& program)
      : Command(program, "sweep", "Run many settings on one or more traces.") {
    text("SWEEP", file_, "FILE",
         "Sweep file (JSON), as configs/sweeps holds; or --trace, -L and -P say it.", kMayLack);
    texts("--trace", command_.traces, "FILE", "Request trace; may be repeated.");
    texts("--config", command_.config.files, "FILE",
          "Base configuration, as for `run`; may be repeated.");
    texts("-L", command_.lists, "KEY=A,B,C", "Vary an option over these values; may be repeated.");
    texts("-P", command_.ranges, "KEY=LO:HI:STEP",
          "Vary an option from LO to HI, each value times F (*F) or plus S (+S) the one before; "
          "may be "
          "repeated.");
    text("--seeds", seeds_, "A,B", "Seeds; figures are the mean and range over them.");
    text("--hold", hold_, "memory|blocks",
         "What stays the same where a block or the state slots change size. Default: memory in "
         "bytes, unless the sweep varies the pool's size itself.");
    texts("--set", command_.config.overrides, "KEY=VALUE",
          "Override one option of the base; may be repeated.");
    text("--figures", figures_, "A,B", "Figures to show, by their names in `run --format json`.");
    text("--front", front_, "A,B",
         "Figures of the Pareto front. Default: output_throughput,p99_ttft_ms, and "
         "pool.positions where the pool's size is varied.");
    text("-o,--output", directory_, "DIR",
         "Keep results in this directory: sweep.sqlite and summary.csv. Default: no files.");
    jobs_.declare(*this);
    flag(
        "--resume", command_.resume,
        "Continue an interrupted sweep, or a smaller one, in the directory of -o: what is there is "
        "not run again.");
    flag("--dry-run", command_.dry_run, "Show the cells and run nothing.");
    text("--shuffle-seed", shuffle_, "N",
         "Start the runs in another order, for tests: the result is the same.");
    text("--format", format_, "FORMAT", "text, json or csv. Default: text.");
    quiet_.declare(*this);
    trace_flags_.declare(*this);
  }

  ExitCode run() override {
    const auto take = [&](const char* flag, const std::string& text,
                          std::optional<std::string>& place) {
      if (given(flag)) place = text;
    };
    take("SWEEP", file_, command_.file);
    take("--seeds", seeds_, command_.seeds);
    take("--hold", hold_, command_.hold);
    take("--figures", figures_, command_.figures);
    take("--front", front_, command_.front);
    take("--output", directory_, command_.directory);
    if (command_.file) {
      for (const char* flag :
           {"--trace", "--config", "-L", "-P", "--seeds", "--hold", "--figures", "--front"}) {
        if (!given(flag)) continue;
        throw UsageError{std::string("found ") + flag +
                         " beside a sweep file, expected one of them"};
      }
    }
    if (command_.resume && !command_.directory) {
      throw UsageError{"found --resume without -o, expected the directory with the results"};
    }
    command_.trace_options = trace_flags_.take();
    command_.jobs = jobs_.take();
    if (shuffle_ != "0") command_.shuffle_seed = count_of("--shuffle-seed", shuffle_, "an integer");
    command_.format = one_of<SweepFormat>(
        "--format", format_,
        {{"text", SweepFormat::kText}, {"json", SweepFormat::kJson}, {"csv", SweepFormat::kCsv}});
    command_.progress = quiet_.progress();
    return sweep_command(command_, std::cout, std::cerr);
  }

 private:
  SweepCommand command_;
  std::string file_;
  std::string seeds_;
  std::string hold_;
  std::string figures_;
  std::string front_;
  std::string directory_;
  TraceFlags trace_flags_;
  JobsFlag jobs_;
  std::string shuffle_ = "0";
  std::string format_ = "text";
  QuietFlag quiet_;
};

}  // namespace

std::unique_ptr<Command> declare_sweep(CLI::App& parent) { return std::make_unique<Sweep>(parent); }

}  // namespace pinfold::sim
