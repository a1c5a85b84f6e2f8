#include "sim/cli/commands.h"

#include <iostream>
#include <optional>
#include <string>

#include "sim/cli/flag_value.h"
#include "sim/cli/shared_flags.h"
#include "sim/cli/synthetic_laws.h"
#include "sim/cli/trace_command.h"

namespace pinfold::sim {
namespace {

class TraceSynth final : public Command {
 public:
  explicit TraceSynth(CLI::App& trace) : Command(trace, "synth", "Make up a trace and print it.") {
    text("--requests", requests_, "N", "Number of requests. Default: 1000.");
    text(
        "--prompt", prompt_, "LENGTHS",
        "Prompt tokens: uniform:LO:HI, exponential:MEAN, lognormal:MEDIAN:SIGMA, or one number for "
        "all.");
    text("--output", output_, "LENGTHS", "Generated tokens, likewise; 0 for prefill only.");
    text("--like", like_, "TRACE", "Lengths drawn from this trace's instead, both of one request.");
    text("--rate", rate_, "R",
         "Requests (or sessions) a second; 0: all arrive at once, as closed-loop runs "
         "(workload.concurrency) want them. Default: 0.");
    text("--arrivals", arrivals_, "LAW",
         "even, poisson, gamma:CV, weibull:SHAPE, onoff:ON_S:OFF_S or diurnal:PERIOD_S:PEAK, the "
         "peak "
         "in troughs. Default: even.");
    text("--sessions", sessions_, "TURNS:THINK_S",
         "Sessions of so many turns, each with all before it as its prompt, THINK_S apart in the "
         "mean.");
    text("--prefix-tree", tree_, "FANOUT:DEPTH:BLOCKS",
         "Shared prefixes: a tree, so many blocks of 16 tokens a level. Adds prefix ids.");
    text("--forks", forks_, "PERMILLE", "Forks of the request before them. Default: 0.");
    text("--aborts", aborts_, "PERMILLE:PATIENCE_S",
         "Requests that give up, after so long in the mean.");
    text("--format", format_, "FORMAT",
         "azure (arrivals and lengths only), csv or jsonl. Default: azure, or jsonl where that is "
         "not "
         "enough.");
    seed_.declare(*this, "all draws");
  }
  ExitCode run() override {
    TraceSynthCommand command;
    SyntheticTrace& trace = command.synthetic;
    trace.requests = count_of("--requests", requests_, "a number of requests from 1");
    if (given("--like")) {
      if (given("--prompt") || given("--output")) {
        throw UsageError{"found --like beside --prompt or --output, expected one of the two"};
      }
      command.like = like_;
    } else {
      trace.prompt = length_law("--prompt", prompt_, 1);
      trace.output = length_law("--output", output_, 0);
    }
    const std::optional<Rational> rate = parse_decimal(rate_);
    // Below one request in 200 years the trace would outlast its format.
    const bool too_slow = rate && rate->numerator > 0 &&
                          trace.requests / rate->numerator >= kLongestS / rate->denominator;
    if (!rate || too_slow) {
      throw UsageError{"--rate: found " + in_quotes(rate_) +
                       ", expected requests a second, so many that all arrive within 200 years"};
    }
    trace.rate_numerator = rate->numerator;
    trace.rate_denominator = rate->denominator;
    trace.arrivals = arrival_law("--arrivals", arrivals_);
    if (rate->numerator == 0 && given("--arrivals")) {
      throw UsageError{"found --arrivals without --rate, expected both"};
    }
    bool extras = false;
    if (given("--sessions")) {
      const auto parts = positive_decimals("--sessions", sessions_, 2, "TURNS:THINK_S, as 5:30");
      trace.turns = whole_number("--sessions", sessions_, parts[0]);
      trace.think_ns = nanoseconds(parts[1]);
      extras = true;
    }
    if (given("--prefix-tree")) {
      const auto parts =
          positive_decimals("--prefix-tree", tree_, 3, "FANOUT:DEPTH:BLOCKS, as 4:2:8");
      trace.id_block = 16;
      trace.fanout = whole_number("--prefix-tree", tree_, parts[0]);
      trace.depth = whole_number("--prefix-tree", tree_, parts[1]);
      trace.level_blocks = whole_number("--prefix-tree", tree_, parts[2]);
      extras = true;
    }
    if (given("--forks")) {
      const auto parts = positive_decimals("--forks", forks_, 1, "a number from 1 to 1000");
      trace.forks = whole_number("--forks", forks_, parts[0]);
      extras = true;
    }
    if (given("--aborts")) {
      const auto parts = positive_decimals("--aborts", aborts_, 2, "PERMILLE:PATIENCE_S, as 50:10");
      trace.aborts = whole_number("--aborts", aborts_, parts[0]);
      trace.patience_ns = nanoseconds(parts[1]);
      extras = true;
    }
    command.format = extras ? WrittenFormat::kJsonLines : WrittenFormat::kAzure;
    if (given("--format")) {
      command.format = one_of<WrittenFormat>("--format", format_,
                                             {{"azure", WrittenFormat::kAzure},
                                              {"csv", WrittenFormat::kCsv},
                                              {"jsonl", WrittenFormat::kJsonLines}});
      if (extras && command.format == WrittenFormat::kAzure) {
        throw UsageError{
            "--format: found azure, which has arrivals and lengths only, expected csv or jsonl"};
      }
    }
    trace.seed = seed_.take();
    return trace_synth_command(command, std::cout, std::cerr);
  }

 private:
  static constexpr std::uint64_t kLongestS = 199ULL * 365 * 86'400;

  std::string requests_ = "1000";
  std::string prompt_;
  std::string output_;
  std::string like_;
  std::string rate_ = "0";
  std::string arrivals_ = "even";
  std::string sessions_;
  std::string tree_;
  std::string forks_;
  std::string aborts_;
  std::string format_;
  SeedFlag seed_;
};

}  // namespace

std::unique_ptr<Command> declare_trace_synth(CLI::App& parent) {
  return std::make_unique<TraceSynth>(parent);
}

}  // namespace pinfold::sim
