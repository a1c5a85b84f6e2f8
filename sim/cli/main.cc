// The program: flags are read here and nowhere else, every command is a function that knows no flags.

#include <unistd.h>
#include <csignal>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "sim/cli/capacity_command.h"
#include "sim/cli/check_command.h"
#include "sim/cli/compare_command.h"
#include "sim/cli/exit_code.h"
#include "sim/cli/explore_command.h"
#include "sim/cli/manual.h"
#include "sim/cli/measure_flags.h"
#include "sim/cli/mutants_command.h"
#include "sim/cli/report_command.h"
#include "sim/cli/run_command.h"
#include "sim/cli/size_command.h"
#include "sim/cli/sweep_command.h"
#include "sim/cli/trace_command.h"
#include "sim/config/decimal_text.h"
#include "sim/config/resolved_config.h"
#include "sim/record/replay_command.h"
#include "sim/report/version.h"
#include "sim/trace/closest_word.h"
#include "sim/trace/decimal_number.h"
#include "sim/trace/plain_trace.h"

namespace pinfold::sim {
namespace {

/// A mistake on the command line; ends in exit code 2 and the name of the command whose help to read.
struct UsageError {
  std::string message;
};

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  const std::optional<std::string_view> close = closest_word(word, views);
  return close ? " (did you mean " + std::string(*close) + "?)" : "";
}

/// One of a flag's words, as the enumerator that stands beside it.
template <class Enum>
struct Word {
  std::string text;
  Enum value;
};

template <class Enum>
Enum one_of(const std::string& flag, const std::string& text,
            const std::vector<Word<Enum>>& words) {
  std::vector<std::string> known;
  for (const Word<Enum>& word : words) {
    if (word.text == text) return word.value;
    known.push_back(word.text);
  }
  throw UsageError{flag + ": found " + in_quotes(text) + ", expected one of " + join(known) +
                   did_you_mean(text, known)};
}

/// A count that may be 0.
std::uint32_t tokens_of(const std::string& flag, const std::string& text, std::uint32_t least,
                        std::uint32_t most = UINT32_MAX) {
  std::uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end || value < least || value > most) {
    throw UsageError{flag + ": found " + in_quotes(text) + ", expected a number of tokens from " +
                     std::to_string(least) +
                     (most == UINT32_MAX ? "" : " to " + std::to_string(most))};
  }
  return value;
}

std::uint64_t count_of(const std::string& flag, const std::string& text,
                       const std::string& expected) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end || value == 0) {
    throw UsageError{flag + ": found " + in_quotes(text) + ", expected " + expected};
  }
  return value;
}

/// The value, or its error as one of ours.
template <class T>
T value_of(const Outcome<T>& outcome) {
  if (!outcome) throw UsageError{describe(outcome.error())};
  return outcome.value();
}

/// A positional that must be there.
std::string needed(const std::string& what, const std::string& text, const std::string& expected) {
  if (text.empty()) throw UsageError{"found no " + what + ", expected " + expected};
  return text;
}

/// CLI11 prints a description as it is: broken into lines that fit beside the column of flags.
std::string wrapped(const std::string& description) {
  constexpr std::size_t kWidth = 66;
  std::string text;
  std::size_t line = 0;
  std::size_t at = 0;
  while (at < description.size()) {
    const std::size_t end = std::min(description.find(' ', at), description.size());
    const std::size_t length = end - at;
    if (line > 0 && line + 1 + length > kWidth) {
      text += '\n';
      line = 0;
    } else if (line > 0) {
      text += ' ';
      ++line;
    }
    text += description.substr(at, length);
    line += length;
    at = end + 1;
  }
  return text;
}

// --- The commands: each declares its flags and returns what to do with them ------------------------

/// A command's flags as they were given, and its action once they are complete.
class Command {
 public:
  Command(CLI::App& parent, const std::string& name, const std::string& description)
      : app_(parent.add_subcommand(name, description)) {
    app_->allow_extras();  // to name an unknown flag ourselves
  }
  virtual ~Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  CLI::App& app() { return *app_; }
  bool chosen() const { return app_->parsed(); }
  virtual ExitCode run() = 0;

 protected:
  CLI::Option* text(const std::string& flag, std::string& value, const std::string& type,
                    const std::string& description) {
    return app_->add_option(flag, value, wrapped(description))->type_name(type);
  }
  /// May be given several times, one value each.
  void texts(const std::string& flag, std::vector<std::string>& values, const std::string& type,
             const std::string& description) {
    app_->add_option(flag, values, wrapped(description))->type_name(type)->allow_extra_args(false);
  }
  void flag(const std::string& name, bool& value, const std::string& description) {
    app_->add_flag(name, value, wrapped(description))->disable_flag_override();
  }

 private:
  CLI::App* app_;
};

/// The flags that say a configuration.
class ConfigurationFlags {
 public:
  void declare(CLI::App& app, const std::string& without) {
    app_ = &app;
    several(app.add_option("--config", files_,
                           wrapped("Configuration (JSON) or a part of one, as configs/models and "
                                   "configs/engines hold; may be repeated, later ones beat earlier "
                                   "ones. Default: " +
                                   without)))
        ->type_name("FILE");
    several(app.add_option("--set", overrides_,
                           wrapped("Override one option of the configuration, as "
                                   "engine.block_size=64; may be repeated. `pinfold schema` lists "
                                   "all options with units and defaults.")))
        ->type_name("KEY=VALUE");
    app.add_option("--vllm-args", vllm_args_,
                   wrapped("The flags of a vLLM server, as '--max-num-seqs 64 "
                           "--gpu-memory-utilization 0.95'; they beat --config, --set beats them. "
                           "What is not simulated is listed on stderr."))
        ->type_name("ARGS");
  }

  ConfigFlags take() const {
    ConfigFlags flags;
    flags.files = files_;
    flags.overrides = overrides_;
    if (app_->count("--vllm-args") > 0) flags.vllm_args = vllm_args_;
    return flags;
  }

 private:
  static CLI::Option* several(CLI::Option* option) { return option->allow_extra_args(false); }

  CLI::App* app_ = nullptr;
  std::vector<std::string> files_;
  std::vector<std::string> overrides_;
  std::string vllm_args_;
};

constexpr const char* kTraceExpected = "the path of a request trace";
constexpr const char* kTraceText =
    "Request trace: a file of any format in docs/traces.md, also as .gz or .zst, or - for standard "
    "input.";

/// The flags that say how a trace is read and how much of it.
class TraceFlags {
 public:
  void declare(CLI::App& app) {
    app_ = &app;
    flag("--trace-format", format_, "NAME",
         "Format of the trace. Default: found out from its content.");
    flag("--columns", columns_, "FIELD=COLUMN,...",
         "Which columns or keys of a table of your own are which fields, as "
         "arrival_ms=ts,prompt=in,output=out.");
    flag("--id-block", id_block_, "TOKENS",
         "Tokens that a prefix id of the trace stands for. Default: what the format says.");
    flag("--on-unordered", unordered_, "error|sort|segments",
         "Rows that go back in time: a mistake; sorted, in memory; or the beginning of another "
         "recording. Default: by format.");
    flag("--zero-output", zero_output_, "drop|prefill_only",
         "Requests without output. Default: prefill_only.");
    flag("--on-error", on_error_, "stop|skip",
         "At a broken row: end, or count it and go on. Default: stop.");
    flag("--start", start_, "SECONDS", "Leave out arrivals before this time of the trace.");
    flag("--end", end_, "SECONDS", "... and from this time on.");
    flag("--shard", shard_, "K/N", "One of N shares of the sessions, the first being 1/N.");
    flag("--limit", limit_, "N", "The first N requests.");
    flag("--repeat", repeat_, "N",
         "N times, one after the other, each with sessions and prefixes of its own. Default: 1.");
  }

  TraceOptions take() const {
    TraceOptions options;
    options.reader.format = format_;
    if (given("--columns")) options.reader.columns = value_of(parse_column_names(columns_));
    if (given("--id-block")) {
      options.reader.id_block = tokens_of("--id-block", id_block_, 1, kIdBlockMost);
    }
    if (given("--on-unordered")) {
      options.unordered = one_of<Unordered>("--on-unordered", unordered_,
                                            {{"error", Unordered::kError},
                                             {"sort", Unordered::kSort},
                                             {"segments", Unordered::kSegments}});
    }
    options.zero_output = one_of<ZeroOutput>(
        "--zero-output", zero_output_,
        {{"drop", ZeroOutput::kDrop}, {"prefill_only", ZeroOutput::kPrefillOnly}});
    options.on_error = one_of<OnError>("--on-error", on_error_,
                                       {{"stop", OnError::kStop}, {"skip", OnError::kSkip}});
    if (given("--start")) options.start_ns = seconds_of("--start", start_);
    if (given("--end")) options.end_ns = seconds_of("--end", end_);
    if (given("--limit")) {
      options.limit = count_of("--limit", limit_, "a number of requests from 1");
    }
    options.repeat = count_of("--repeat", repeat_, "a number from 1");
    if (given("--shard")) {
      const std::size_t slash = std::min(shard_.find('/'), shard_.size());
      const char* const expected = "K/N with K from 1 to N, as 1/4";
      options.shard = count_of("--shard", shard_.substr(0, slash), expected);
      options.shards =
          count_of("--shard", shard_.substr(std::min(slash + 1, shard_.size())), expected);
      if (options.shard > options.shards) {
        throw UsageError{"--shard: found " + in_quotes(shard_) + ", expected " + expected};
      }
    }
    return options;
  }

 private:
  void flag(const std::string& name, std::string& value, const std::string& type,
            const std::string& description) {
    app_->add_option(name, value, wrapped(description))->type_name(type)->group("Trace");
  }
  bool given(const std::string& name) const { return app_->count(name) > 0; }
  static std::int64_t seconds_of(const std::string& name, const std::string& text) {
    const auto ns = scaled_decimal(text, 9);
    if (ns && *ns >= 0) return *ns;
    throw UsageError{name + ": found " + in_quotes(text) + ", expected seconds from 0"};
  }

  CLI::App* app_ = nullptr;
  std::string format_;
  std::string columns_;
  std::string id_block_;
  std::string unordered_;
  std::string zero_output_ = "prefill_only";
  std::string on_error_ = "stop";
  std::string start_;
  std::string end_;
  std::string shard_;
  std::string limit_;
  std::string repeat_ = "1";
};

/// A fault of `--fault`, the option it sets, and its value where none is given (nullptr: one is needed).
struct Fault {
  const char* name;
  const char* option;
  const char* value;
};
constexpr Fault kFaults[] = {{"copy_delay", "fault.copy_delay_us", nullptr},
                             {"copy_lost", "fault.copy_lost", "1"},
                             {"load_lost", "fault.load_lost", "1"},
                             {"save_lost", "fault.save_lost", "1"},
                             {"step_failed", "fault.step_failed_permille", "10"},
                             {"abort_storm", "fault.abort_storm_permille", "500"}};

FlagValue fault_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  std::vector<std::string> known;
  for (const Fault& fault : kFaults) {
    known.emplace_back(fault.name);
    if (name != fault.name) continue;
    if (equals == std::string::npos && fault.value == nullptr) {
      throw UsageError{"--fault " + text + ": found no value, expected " + name + "=MICROSECONDS"};
    }
    const std::string value = equals == std::string::npos ? fault.value : text.substr(equals + 1);
    return {fault.option, value, "--fault " + text};
  }
  throw UsageError{"--fault: found " + in_quotes(name) + ", expected one of " + join(known) +
                   did_you_mean(name, known)};
}

class Run final : public Command {
 public:
  explicit Run(CLI::App& program) : Command(program, "run", "Replay a trace on an engine.") {
    text("TRACE", trace_, "FILE",
         std::string(kTraceText) +
             " Or a scenario (.json, docs/scenarios.md), which brings its configuration and what "
             "must come of it.");
    configuration_.declare(app(), "the one in configs/runs/default.json, which is built in.");
    text("--why", why_, "ID",
         "Instead of the report, show what happened to this request of the trace (0 is the first), "
         "and "
         "what it waited for.");
    app()
        .add_option(
            "--goodput", goodput_,
            wrapped("Count requests that meet all of these, in milliseconds: ttft:500 tpot:50 "
                    "e2el:9000, one or more."))
        ->type_name("METRIC:MS");
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
    flag("-q,--quiet", quiet_, "No progress. Default: progress where stderr is a terminal.");
    trace_flags_.declare(app());
  }

  ExitCode run() override {
    RunCommand command;
    command.trace = needed("TRACE", trace_, kTraceExpected);
    command.trace_options = trace_flags_.take();
    command.config = configuration_.take();
    for (const std::string& fault : faults_) command.config.values.push_back(fault_of(fault));
    if (app().count("--output") > 0) command.directory = directory_;
    if (app().count("--record") > 0) command.record = needed("FILE of --record", record_, "a path");
    if (app().count("--metrics-out") > 0) {
      command.metrics = needed("FILE of --metrics-out", metrics_, "a path");
    }
    command.format = one_of<ReportFormat>("--format", format_,
                                          {{"text", ReportFormat::kText},
                                           {"json", ReportFormat::kJson},
                                           {"csv", ReportFormat::kCsv},
                                           {"md", ReportFormat::kMarkdown}});
    command.shadow = one_of<bool>("--shadow", shadow_, {{"on", true}, {"off", false}});
    command.ledger = one_of<bool>("--ledger", ledger_, {{"on", true}, {"off", false}});
    command.fast_path = one_of<bool>("--fast-path", fast_path_, {{"on", true}, {"off", false}});
    command.audit_every = audit_every();
    command.measure = measurement();
    if (app().count("--why") > 0) command.why = why_;
    command.progress = !quiet_ && ::isatty(STDERR_FILENO) == 1;
    return run_command(command, std::cout, std::cerr);
  }

 private:
  Measurement measurement() {
    Measurement measure;
    if (app().count("--goodput") > 0) measure.goodput = value_of(parse_goodput(goodput_));
    const auto seconds_of = [&](const std::string& flag, const std::string& text,
                                std::int64_t& place) {
      if (app().count(flag) > 0) place = value_of(parse_seconds(flag, text));
    };
    seconds_of("--measure-from", measure_from_, measure.from_ns);
    seconds_of("--measure-to", measure_to_, measure.to_ns);
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

  std::string trace_;
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
  bool quiet_ = false;
};

class Replay final : public Command {
 public:
  explicit Replay(CLI::App& program)
      : Command(program, "replay", "Replay an ownership-event file and show every block table.") {
    text(
        "EVENTS", options_.path, "FILE",
        "Ownership events (JSON Lines): a recorded run (docs/recording.md) or a story told by hand "
        "(configs/labs/README.md).");
    text("--format", format_, "FORMAT", "text or json. Default: text.");
    flag(
        "--verify", options_.verify,
        "Judge the events by the ownership rules, whoever issued the ids; a broken rule gives exit "
        "code 3.");
  }
  ExitCode run() override {
    needed("EVENTS", options_.path, "the path of an ownership-event file");
    using Format = ReplayOptions::Format;
    options_.format =
        one_of<Format>("--format", format_, {{"text", Format::kText}, {"json", Format::kJson}});
    const bool json = options_.format == Format::kJson;
    if (auto code = replay_schedule_command(options_.path, json, std::cout, std::cerr)) {
      return *code;
    }
    return static_cast<ExitCode>(run_replay(options_, std::cout, std::cerr));
  }

 private:
  ReplayOptions options_;
  std::string format_ = "text";
};

class Explore final : public Command {
 public:
  explicit Explore(CLI::App& program)
      : Command(program, "explore", "Try every order of a scenario's events.") {
    text("SCENARIO", command_.scenario, "FILE", "Scenario (JSON): docs/scenarios.md.");
    texts("--set", command_.overrides, "KEY=VALUE",
          "Override one option of the scenario's configuration; may be repeated.");
    text("--max-states", max_states_, "N", "Stop after so many states. Default: 20000000.");
    text("--max-depth", max_depth_, "N", "Stop after so many events. Default: no bound.");
    flag("--no-reduction", no_reduction_,
         "Neither rename ids nor skip orders that commute: the same verdict, many more states "
         "(with prefix reuse ids are never renamed).");
    flag("--invariants", command_.watch,
         "Judge every event by the named invariants and shadow memory too; takes a few times as "
         "long.");
    flag("--expect", command_.expect,
         "Exit with 0 where the scenario's expect.explore holds and with 3 where not.");
    text("-o,--output", output_, "FILE",
         "Write a counter-example here; `pinfold replay` shows it.");
    text("--random-scenarios", random_, "N",
         "Instead of a scenario, draw so many at random, explore each within the bounds (default: "
         "2000 states) and walk at random beyond.");
    text("--seed", seed_, "N", "Seed of --random-scenarios. Default: 0.");
    text("--format", format_, "FORMAT", "text or json. Default: text.");
  }
  ExitCode run() override {
    const bool random = app().count("--random-scenarios") > 0;
    if (!random) needed("SCENARIO", command_.scenario, "the path of a scenario");
    if (random && !command_.scenario.empty()) {
      throw UsageError{"found a scenario and --random-scenarios, expected one of them"};
    }
    if (!random && app().count("--seed") > 0) {
      throw UsageError{"--seed: found it without --random-scenarios"};
    }
    if (random) command_.limits.states = 2'000;
    if (app().count("--max-states") > 0) {
      command_.limits.states = count_of("--max-states", max_states_, "a number of states from 1");
    }
    if (app().count("--max-depth") > 0) {
      command_.limits.depth = count_of("--max-depth", max_depth_, "a number of events from 1");
    }
    command_.reduce = !no_reduction_;
    if (app().count("--output") > 0) command_.output = output_;
    command_.json = one_of<bool>("--format", format_, {{"text", false}, {"json", true}});
    if (random) {
      RandomExploreCommand search;
      search.scenarios = count_of("--random-scenarios", random_, "a number of scenarios from 1");
      if (seed_ != "0") search.seed = count_of("--seed", seed_, "a seed, an integer");
      search.limits = command_.limits;
      search.watch = command_.watch;
      search.json = command_.json;
      search.output = command_.output;
      return random_explore_command(search, std::cout, std::cerr);
    }
    command_.timing = ::isatty(STDERR_FILENO) == 1;
    return explore_command(command_, std::cout, std::cerr);
  }

 private:
  ExploreCommand command_;
  std::string max_states_;
  std::string max_depth_;
  std::string random_;
  std::string seed_ = "0";
  std::string output_;
  std::string format_ = "text";
  bool no_reduction_ = false;
};

class Size final : public Command {
 public:
  explicit Size(CLI::App& program)
      : Command(program, "size",
                "Work out blocks, tokens and concurrency from an engine's memory.") {
    configuration_.declare(app(), "no memory, so one of the two below is needed.");
    text("--available-gib", available_, "GIB",
         "Memory left for caches on one GPU, as the engine logs it.");
    text("--num-blocks", blocks_, "N", "Block ids as the engine logs them, block 0 counted.");
    text("--prompt-tokens", prompt_, "N", "With --output-tokens: also how many such requests fit.");
    text("--output-tokens", output_, "N", "See --prompt-tokens.");
    text("--format", format_, "FORMAT", "text or json. Default: text.");
  }

  ExitCode run() override {
    SizeCommand command;
    command.config = configuration_.take();
    const auto value = [&](const std::string& flag, const std::string& option,
                           const std::string& text) {
      if (app().count(flag) == 0) return;
      command.config.values.push_back({option, text, flag + " " + text});
    };
    value("--available-gib", "memory.available_gib", available_);
    value("--num-blocks", "engine.num_blocks", blocks_);
    const bool prompt = app().count("--prompt-tokens") > 0;
    if (prompt != (app().count("--output-tokens") > 0)) {
      throw UsageError{"found one of --prompt-tokens and --output-tokens, expected both"};
    }
    if (prompt) {
      command.shape = {.prompt = tokens_of("--prompt-tokens", prompt_, 1),
                       .output = tokens_of("--output-tokens", output_, 0)};
    }
    command.json = one_of<bool>("--format", format_, {{"text", false}, {"json", true}});
    return size_command(command, std::cout, std::cerr);
  }

 private:
  ConfigurationFlags configuration_;
  std::string available_;
  std::string blocks_;
  std::string prompt_;
  std::string output_;
  std::string format_ = "text";
};

TableFormat table_format(const std::string& text) {
  return one_of<TableFormat>("--format", text,
                             {{"text", TableFormat::kText}, {"json", TableFormat::kJson}});
}

class TraceInfo final : public Command {
 public:
  explicit TraceInfo(CLI::App& trace) : Command(trace, "info", "Show what a trace holds.") {
    text("TRACE", trace_, "FILE", kTraceText);
    text("--format", format_, "FORMAT", "text or json. Default: text.");
    trace_flags_.declare(app());
  }
  ExitCode run() override {
    const TraceInfoCommand command{needed("TRACE", trace_, kTraceExpected), trace_flags_.take(),
                                   table_format(format_)};
    return trace_info_command(command, std::cout, std::cerr);
  }

 private:
  std::string trace_;
  TraceFlags trace_flags_;
  std::string format_ = "text";
};

class TraceHead final : public Command {
 public:
  explicit TraceHead(CLI::App& trace) : Command(trace, "head", "Show a trace's first requests.") {
    text("TRACE", trace_, "FILE", kTraceText);
    text("-n,--rows", rows_, "N", "Number of requests to show. Default: 10.");
    text("--format", format_, "FORMAT", "text or json. Default: text.");
    trace_flags_.declare(app());
  }
  ExitCode run() override {
    const TraceHeadCommand command{needed("TRACE", trace_, kTraceExpected), trace_flags_.take(),
                                   count_of("-n", rows_, "a number of requests from 1"),
                                   table_format(format_)};
    return trace_head_command(command, std::cout, std::cerr);
  }

 private:
  std::string trace_;
  TraceFlags trace_flags_;
  std::string rows_ = "10";
  std::string format_ = "text";
};

class TraceConvert final : public Command {
 public:
  explicit TraceConvert(CLI::App& trace)
      : Command(trace, "convert", "Write a trace in our own format, or as an Azure CSV.") {
    text("TRACE", trace_, "FILE", kTraceText);
    text("--format", format_, "FORMAT",
         "jsonl, csv, or azure (arrivals and lengths only). Default: jsonl.");
    text("-o,--output", output_, "FILE", "File to write. Default: standard output.");
    text("--seed", seed_, "N", "Seed of the draws from ServeGen parameters. Default: 0.");
    trace_flags_.declare(app());
  }
  ExitCode run() override {
    TraceConvertCommand command{needed("TRACE", trace_, kTraceExpected), trace_flags_.take(),
                                one_of<WrittenFormat>("--format", format_,
                                                      {{"jsonl", WrittenFormat::kJsonLines},
                                                       {"csv", WrittenFormat::kCsv},
                                                       {"azure", WrittenFormat::kAzure}}),
                                output_};
    if (seed_ != "0") command.options.reader.seed = count_of("--seed", seed_, "a seed, an integer");
    return trace_convert_command(command, std::cout, std::cerr);
  }

 private:
  std::string trace_;
  TraceFlags trace_flags_;
  std::string format_ = "jsonl";
  std::string output_ = "-";
  std::string seed_ = "0";
};

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
    text("--seed", seed_, "N", "Seed of all draws. Default: 0.");
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
      trace.prompt = lengths("--prompt", prompt_, 1);
      trace.output = lengths("--output", output_, 0);
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
    trace.arrivals = arrivals();
    if (rate->numerator == 0 && given("--arrivals")) {
      throw UsageError{"found --arrivals without --rate, expected both"};
    }
    bool extras = false;
    if (given("--sessions")) {
      const auto parts = numbers("--sessions", sessions_, 2, "TURNS:THINK_S, as 5:30");
      trace.turns = whole_number("--sessions", sessions_, parts[0]);
      trace.think_ns = nanoseconds(parts[1]);
      extras = true;
    }
    if (given("--prefix-tree")) {
      const auto parts = numbers("--prefix-tree", tree_, 3, "FANOUT:DEPTH:BLOCKS, as 4:2:8");
      trace.id_block = 16;
      trace.fanout = whole_number("--prefix-tree", tree_, parts[0]);
      trace.depth = whole_number("--prefix-tree", tree_, parts[1]);
      trace.level_blocks = whole_number("--prefix-tree", tree_, parts[2]);
      extras = true;
    }
    if (given("--forks")) {
      const auto parts = numbers("--forks", forks_, 1, "a number from 1 to 1000");
      trace.forks = whole_number("--forks", forks_, parts[0]);
      extras = true;
    }
    if (given("--aborts")) {
      const auto parts = numbers("--aborts", aborts_, 2, "PERMILLE:PATIENCE_S, as 50:10");
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
    if (seed_ != "0") trace.seed = count_of("--seed", seed_, "a seed, an integer");
    return trace_synth_command(command, std::cout, std::cerr);
  }

 private:
  static constexpr std::uint64_t kLongestS = 199ULL * 365 * 86'400;

  bool given(const std::string& flag) { return app().count(flag) > 0; }

  /// `count` positive decimals with colons between them.
  static std::vector<Rational> numbers(const std::string& flag, std::string_view text,
                                       std::size_t count, const std::string& expected) {
    std::vector<Rational> values;
    std::string_view rest = text;
    for (;;) {
      const std::size_t colon = std::min(rest.find(':'), rest.size());
      const std::optional<Rational> value = parse_decimal(rest.substr(0, colon));
      if (!value || value->numerator == 0 ||
          value->numerator / value->denominator > 1'000'000'000) {
        break;
      }
      values.push_back(*value);
      if (colon == rest.size()) {
        if (values.size() != count) break;
        return values;
      }
      rest.remove_prefix(colon + 1);
    }
    throw UsageError{flag + ": found " + in_quotes(text) + ", expected " + expected};
  }
  static std::uint32_t whole_number(const std::string& flag, const std::string& text,
                                    Rational value) {
    if (value.denominator == 1 && value.numerator <= 100'000) {
      return static_cast<std::uint32_t>(value.numerator);
    }
    throw UsageError{flag + ": found " + in_quotes(text) + ", expected whole numbers up to 100000"};
  }
  static std::int64_t nanoseconds(Rational value) {
    __extension__ typedef unsigned __int128 Wide;
    const Wide ns = Wide{value.numerator} * 1'000'000'000 / value.denominator;
    constexpr Wide kMost = Wide{10'000'000} * 1'000'000'000;
    if (ns <= kMost) return static_cast<std::int64_t>(ns);
    throw UsageError{"found a time of more than 10,000,000 s, expected at most so much"};
  }
  static Fixed fixed(Rational value) { return fixed_ratio(value.numerator, value.denominator); }

  ArrivalLaw arrivals() const {
    using Kind = ArrivalLaw::Kind;
    const char* const expected =
        "even, poisson, gamma:CV, weibull:SHAPE, onoff:ON_S:OFF_S or diurnal:PERIOD_S:PEAK";
    const std::size_t colon = std::min(arrivals_.find(':'), arrivals_.size());
    const std::string name = arrivals_.substr(0, colon);
    const std::string_view rest =
        std::string_view(arrivals_).substr(std::min(colon + 1, arrivals_.size()));
    const auto parts = [&](std::size_t count) {
      return numbers("--arrivals", rest, count, expected);
    };
    ArrivalLaw law;
    if (arrivals_ == "even" || arrivals_ == "poisson") {
      law.kind = arrivals_ == "even" ? Kind::kEven : Kind::kPoisson;
    } else if (name == "gamma" || name == "weibull") {
      law.kind = name == "gamma" ? Kind::kGamma : Kind::kWeibull;
      law.parameter = fixed(parts(1)[0]);
      // Beyond these the variates leave the range of the integers behind them.
      if (law.parameter < kFixedOne / 32 || law.parameter > fixed_of(32)) {
        throw UsageError{"--arrivals: found " + in_quotes(arrivals_) +
                         ", expected a parameter from 0.03125 to 32"};
      }
    } else if (name == "onoff") {
      const auto both = parts(2);
      law.kind = Kind::kOnOff;
      law.on_ns = nanoseconds(both[0]);
      law.off_ns = nanoseconds(both[1]);
      if (law.on_ns == 0) throw UsageError{"--arrivals: found no time on, expected some"};
    } else if (name == "diurnal") {
      const auto both = parts(2);
      law.kind = Kind::kDiurnal;
      law.period_ns = nanoseconds(both[0]);
      law.parameter = fixed(both[1]);
      if (law.parameter < kFixedOne) {
        throw UsageError{"--arrivals: found " + in_quotes(arrivals_) +
                         ", expected a peak of at least 1 trough"};
      }
    } else {
      throw UsageError{"--arrivals: found " + in_quotes(arrivals_) + ", expected " + expected};
    }
    return law;
  }

  static LengthRange lengths(const std::string& flag, const std::string& text,
                             std::uint32_t least) {
    const std::string_view all = text;
    const auto refuse = [&] {
      throw UsageError{flag + ": found " + (text.empty() ? "no value" : in_quotes(text)) +
                       ", expected uniform:LO:HI or one number, with counts from " +
                       std::to_string(least) +
                       " to 4294967295, exponential:MEAN or lognormal:MEDIAN:SIGMA"};
    };
    const auto number = [&](std::string_view digits) {
      std::uint32_t value = 0;
      const char* const end = digits.data() + digits.size();
      const auto [stop, failure] = std::from_chars(digits.data(), end, value);
      if (failure != std::errc() || stop != end || value < least) refuse();
      return value;
    };
    // A law without an upper end gets one, so that prompt and output fit a request together.
    constexpr std::uint32_t kMost = 1u << 30;
    const std::size_t colon = std::min(all.find(':'), all.size());
    const std::string_view name = all.substr(0, colon);
    const std::string_view rest = all.substr(std::min(colon + 1, all.size()));
    if (name == "exponential") {
      return {least, kMost, LengthRange::Law::kExponential, number(rest), 0};
    }
    if (name == "lognormal") {
      const std::size_t second = std::min(rest.find(':'), rest.size());
      const std::optional<Rational> sigma =
          parse_decimal(rest.substr(std::min(second + 1, rest.size())));
      if (!sigma || sigma->numerator / sigma->denominator >= 8) refuse();
      return {least, kMost, LengthRange::Law::kLogNormal, number(rest.substr(0, second)),
              fixed(*sigma)};
    }
    if (colon == all.size()) return {.least = number(all), .most = number(all)};
    if (name != "uniform") refuse();
    const std::size_t second = std::min(rest.find(':'), rest.size());
    const LengthRange range{.least = number(rest.substr(0, second)),
                            .most = number(rest.substr(std::min(second + 1, rest.size())))};
    if (range.least <= range.most) return range;
    throw UsageError{flag + ": found " + in_quotes(text) + ", expected LO up to HI"};
  }

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
  std::string seed_ = "0";
};

class Sweep final : public Command {
 public:
  explicit Sweep(CLI::App& program)
      : Command(program, "sweep", "Run many settings on one or more traces.") {
    text("SWEEP", file_, "FILE",
         "Sweep file (JSON), as configs/sweeps holds; or --trace, -L and -P say it.");
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
    text("--jobs", jobs_, "N", "Runs at a time; the result is the same for any. Default: 1.");
    flag(
        "--resume", command_.resume,
        "Continue an interrupted sweep, or a smaller one, in the directory of -o: what is there is "
        "not run again.");
    flag("--dry-run", command_.dry_run, "Show the cells and run nothing.");
    text("--shuffle-seed", shuffle_, "N",
         "Start the runs in another order, for tests: the result is the same.");
    text("--format", format_, "FORMAT", "text, json or csv. Default: text.");
    flag("-q,--quiet", quiet_, "No progress. Default: progress where stderr is a terminal.");
  }

  ExitCode run() override {
    const auto given = [&](const char* flag, const std::string& text,
                           std::optional<std::string>& place) {
      if (app().count(flag) > 0) place = text;
    };
    given("SWEEP", file_, command_.file);
    given("--seeds", seeds_, command_.seeds);
    given("--hold", hold_, command_.hold);
    given("--figures", figures_, command_.figures);
    given("--front", front_, command_.front);
    given("--output", directory_, command_.directory);
    if (command_.file) {
      for (const char* flag :
           {"--trace", "--config", "-L", "-P", "--seeds", "--hold", "--figures", "--front"}) {
        if (app().count(flag) == 0) continue;
        throw UsageError{std::string("found ") + flag +
                         " beside a sweep file, expected one of them"};
      }
    }
    if (command_.resume && !command_.directory) {
      throw UsageError{"found --resume without -o, expected the directory with the results"};
    }
    constexpr std::uint64_t kMostJobs = 1024;
    command_.jobs = std::min(count_of("--jobs", jobs_, "a number of runs from 1"), kMostJobs);
    if (shuffle_ != "0") command_.shuffle_seed = count_of("--shuffle-seed", shuffle_, "an integer");
    command_.format = one_of<SweepFormat>(
        "--format", format_,
        {{"text", SweepFormat::kText}, {"json", SweepFormat::kJson}, {"csv", SweepFormat::kCsv}});
    command_.progress = !quiet_ && ::isatty(STDERR_FILENO) == 1;
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
  std::string jobs_ = "1";
  std::string shuffle_ = "0";
  std::string format_ = "text";
  bool quiet_ = false;
};

class Capacity final : public Command {
 public:
  explicit Capacity(CLI::App& program)
      : Command(program, "capacity",
                "Find the largest rate, or the smallest pool, that meets objectives.") {
    text("TRACE", trace_, "FILE", "Request trace: Azure LLM inference CSV.");
    configuration_.declare(app(), "the one in configs/runs/default.json, which is built in.");
    text(
        "--slo", slo_, "OBJECTIVES",
        "What has to hold, as 'p99_ttft_ms<=500,p99_tpot_ms<=50': figures of `run --format json`.");
    text("--vary", vary_, "rate|memory",
         "rate: arrival times are stretched or squeezed (workload.time_scale). memory: "
         "engine.num_blocks. Default: rate.");
    text("--tolerance", tolerance_, "P%",
         "How close the last run that meets and the first one that does not are. Default: 1%.");
    text("--format", format_, "FORMAT", "text or json. Default: text.");
  }

  ExitCode run() override {
    CapacityCommand command;
    command.trace = needed("TRACE", trace_, kTraceExpected);
    command.config = configuration_.take();
    command.question.requirements = value_of(
        parse_requirements(needed("--slo", slo_, "objectives, as 'p99_ttft_ms<=500'"), "--slo"));
    command.question.vary = one_of<CapacityOf>(
        "--vary", vary_, {{"rate", CapacityOf::kRate}, {"memory", CapacityOf::kMemory}});
    command.question.tolerance = value_of(parse_tolerance(tolerance_));
    command.json = one_of<bool>("--format", format_, {{"text", false}, {"json", true}});
    return capacity_command(command, std::cout, std::cerr);
  }

 private:
  std::string trace_;
  ConfigurationFlags configuration_;
  std::string slo_;
  std::string vary_ = "rate";
  std::string tolerance_ = "1%";
  std::string format_ = "text";
};

class CheckCli final : public Command {
 public:
  explicit CheckCli(CLI::App& program)
      : Command(program, "check", "Hold a run against requirements and a baseline.") {
    text("TRACE|SUITE", command_.target, "FILE",
         "Request trace; or a suite (.json) of many checks, as configs/checks holds.");
    configuration_.declare(app(), "the one in configs/runs/default.json, which is built in.");
    text("--require", require_, "REQUIREMENTS",
         "What has to hold, as 'preemptions<=0,p99_ttft_ms<=500': figures of `run --format json`.");
    text("--baseline", baseline_, "FILE",
         "The run to be held against, as --accept wrote it: no judged figure may be worse.");
    texts("--tolerance", tolerances_, "FIGURE=P%|N",
          "How far a figure may be worse than the baseline, as 'p99_*=1%' or preemptions=3; may be "
          "repeated, later ones beat earlier ones. Default: not at all.");
    trace_flags_.declare(app());
    flag("--accept", command_.accept,
         "Make this run the baseline, if the requirements hold. With a suite: all of them.");
    flag("--events", command_.events,
         "With --accept: keep the run's events beside the baseline (NAME.events.jsonl), so that a "
         "later failure can say at which event another program parts from it.");
    text("--format", format_, "FORMAT",
         "text, json, md, junit or github. junit is XML; github prints annotations and appends the "
         "report to the file that GITHUB_STEP_SUMMARY names. Default: text.");
    flag("-q,--quiet", quiet_, "No progress. Default: progress where stderr is a terminal.");
  }

  ExitCode run() override {
    needed("TRACE or SUITE", command_.target, "the path of a request trace or of a suite (.json)");
    command_.config = configuration_.take();
    if (is_suite(command_.target)) {
      for (const CLI::Option* option : app().get_options()) {
        const std::string name = option->get_name();
        const bool said_there = name == "--config" || name == "--vllm-args" ||
                                name == "--require" || name == "--baseline" ||
                                name == "--tolerance" || option->get_group() == "Trace";
        if (option->count() == 0 || !said_there) continue;
        throw UsageError{"found " + name + " beside a suite, expected it in the suite"};
      }
    } else if (app().count("--require") + app().count("--baseline") == 0) {
      throw UsageError{"found neither --require nor --baseline, expected what to check"};
    }
    if (app().count("--require") > 0) {
      command_.requirements = value_of(parse_requirements(require_, "--require"));
    }
    if (app().count("--baseline") > 0) {
      command_.baseline = needed("FILE of --baseline", baseline_, "a path");
    } else if (!is_suite(command_.target)) {
      for (const char* flag : {"--tolerance", "--accept"}) {
        if (app().count(flag) == 0) continue;
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
    command_.progress = !quiet_ && ::isatty(STDERR_FILENO) == 1;
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
  bool quiet_ = false;
};

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
    trace_flags_.declare(app());
    flag("--exit-code", command_.exit_code, "Exit with 3 where they differ. Default: with 0.");
    text("--format", format_, "FORMAT", "text, json or md. Default: text.");
  }

  ExitCode run() override {
    needed("A", command_.a, "two runs to compare");
    needed("B", command_.b, "two runs to compare");
    if (app().count("--trace") > 0) command_.trace = trace_;
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

constexpr const char* kExitCodes =
    "Exit codes: 0 ok, 1 run-time or data error, 2 usage or configuration error, or not "
    "comparable,\n"
    "            3 a check failed, stall or violation, or no capacity, 130 interrupted.";

std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// What the program's table of flags says of `app` and the commands below it.
void add_to_manual(CLI::App& app, std::vector<std::string> words, Manual& manual) {
  ManualCommand command;
  command.words = words;
  command.description = on_one_line(app.get_description());
  for (const CLI::Option* option : app.get_options()) {
    ManualFlag flag;
    for (const std::string& name : option->get_snames()) flag.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) flag.names.push_back("--" + name);
    flag.positional = flag.names.empty();
    if (flag.positional) flag.names.push_back(option->get_name(true));
    if (option->get_items_expected_max() > 0) flag.type = option->get_type_name();
    flag.description = on_one_line(option->get_description());
    command.flags.push_back(std::move(flag));
  }
  const std::size_t place = manual.commands.size();
  manual.commands.push_back(std::move(command));
  for (CLI::App* below : app.get_subcommands([](CLI::App*) { return true; })) {
    manual.commands[place].commands.push_back(below->get_name());
    std::vector<std::string> longer = words;
    longer.push_back(below->get_name());
    add_to_manual(*below, std::move(longer), manual);
  }
}

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
    Manual manual;
    manual.version = kVersion;
    manual.exit_codes = kExitCodes;
    add_to_manual(program_, {}, manual);
    switch (format) {
      case Format::kJson: std::cout << config_schema(); break;
      case Format::kMan: std::cout << manual_page(manual); break;
      case Format::kBash: std::cout << bash_completion(manual); break;
    }
    return ExitCode::kOk;
  }

 private:
  CLI::App& program_;
  std::string format_ = "json";
};

/// The program with the planted bugs lies beside this one; returns only if it cannot be started.
[[maybe_unused]] ExitCode start_mutants_program(const MutantsCommand& command) {
  std::array<char, 4096> self{};
  const ssize_t length = ::readlink("/proc/self/exe", self.data(), self.size());
  std::string path(self.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  path = path.substr(0, path.rfind('/') + 1) + "pinfold-mutants";
  std::vector<std::string> words{path, "mutants", "--format",
                                 command.format == MutantsFormat::kJson ? "json" : "text"};
  if (command.only) words.insert(words.end(), {"--mutant", *command.only});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(path.c_str(), arguments.data());
  return fail(std::cerr, ExitCode::kDataError,
              path + ": cannot be started; the build makes it beside this program");
}

class Mutants final : public Command {
 public:
  explicit Mutants(CLI::App& program)
      : Command(program, "mutants", "Plant known bugs; say which check finds each.") {
    text("--mutant", only_, "NAME", "This bug alone, with every finding. Default: all.");
    text("--format", format_, "FORMAT", "text or json. Default: text.");
  }
  ExitCode run() override {
    MutantsCommand command;
    command.format = one_of<MutantsFormat>(
        "--format", format_, {{"text", MutantsFormat::kText}, {"json", MutantsFormat::kJson}});
    if (!only_.empty()) command.only = only_;
#if defined(PINFOLD_MUTANTS)
    return mutants_command(command, std::cout, std::cerr);
#else
    return start_mutants_program(command);
#endif
  }

 private:
  std::string only_;
  std::string format_ = "text";
};

// --- Mistakes --------------------------------------------------------------------------------------

std::vector<std::string> subcommands_of(CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

/// The innermost command that was named.
CLI::App& innermost(CLI::App& program) {
  CLI::App* app = &program;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return *app;
}

/// "pinfold trace info".
std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? "pinfold"
                                     : full_name(*app.get_parent()) + " " + app.get_name();
}

[[noreturn]] void refuse_word(CLI::App& app, const std::string& word) {
  if (word.starts_with("-")) {
    std::vector<std::string> flags;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    }
    std::string name = word.substr(0, word.find('='));
    if (name.find_first_not_of('-') == std::string::npos) name = word;
    throw UsageError{"found the unknown flag " + name + ", expected one of " + join(flags) +
                     did_you_mean(name, flags)};
  }
  const std::vector<std::string> commands = subcommands_of(app);
  if (!commands.empty()) {
    throw UsageError{"found the unknown command " + in_quotes(word) + ", expected one of " +
                     join(commands) + did_you_mean(word, commands)};
  }
  throw UsageError{"found one argument too many, " + in_quotes(word)};
}

/// What CLI11 found wrong, in our words. It is left with few things to find: all values are texts to it.
std::string translated(const CLI::ParseError& error) {
  const std::string text = error.what();  // "--config: 1 required FILE missing"
  const std::string flag = text.substr(0, text.find(':'));
  if (text.find("missing") != std::string::npos) return flag + ": found no value, expected one";
  if (text.find("override") != std::string::npos) {
    return text.substr(0, text.find(' ')) + ": found a value, expected none";
  }
  if (text.find("At Most") != std::string::npos)
    return flag + ": found several values, expected one";
  return text;
}

ExitCode fail_usage(CLI::App& program, const std::string& message) {
  const std::string name = full_name(innermost(program));
  return fail(std::cerr, ExitCode::kUsageError, message + "\nSee `" + name + " --help`.");
}

/// SIGINT ends the program with 130 whatever started it; files are never left half-written
/// (sim/cli/output_directory.h).
void on_interrupt(int) { ::_exit(static_cast<int>(ExitCode::kInterrupted)); }

ExitCode run_program(int argc, char** argv) {
  CLI::App program{
      "Pinfold: a deterministic, trace-driven simulator of an LLM engine's memory allocator and "
      "scheduler.",
      "pinfold"};
  program.get_formatter()->column_width(34);
  program.allow_extras();
  program.require_subcommand(0, 1);
  program.set_version_flag("--version", std::string("pinfold ") + kVersion);
  program.footer(kExitCodes);

  Run run(program);
  Replay replay(program);
  Explore explore(program);
  Size size(program);
  CLI::App* trace = program.add_subcommand("trace", "Look into a request trace.");
  trace->allow_extras();
  trace->require_subcommand(0, 1);
  TraceInfo trace_info(*trace);
  TraceHead trace_head(*trace);
  TraceConvert trace_convert(*trace);
  TraceSynth trace_synth(*trace);
  CheckCli check(program);
  Compare compare(program);
  Report report(program);
  Sweep sweep(program);
  Capacity capacity(program);
  Schema schema(program);
  Mutants mutants(program);
  Command* const commands[] = {&run,        &replay,        &explore,     &size,   &trace_info,
                               &trace_head, &trace_convert, &trace_synth, &sweep,  &check,
                               &compare,    &report,        &capacity,    &schema, &mutants};

  try {
    program.parse(argc, argv);
    for (CLI::App* app = &program;; app = app->get_subcommands().front()) {
      for (const std::string& word : app->remaining()) {
        if (word != "--") refuse_word(*app, word);  // "--" only ends the flags
      }
      if (app->get_subcommands().empty()) break;
    }
    for (Command* command : commands) {
      if (command->chosen()) return command->run();
    }
    CLI::App& last = innermost(program);
    throw UsageError{"found no command, expected one of " + join(subcommands_of(last))};
  } catch (const CLI::CallForHelp&) {
    std::cout << program.help();
    return ExitCode::kOk;
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << '\n';
    return ExitCode::kOk;
  } catch (const CLI::ParseError& error) {
    return fail_usage(program, translated(error));
  } catch (const UsageError& error) {
    return fail_usage(program, error.message);
  }
}

#if defined(PINFOLD_MUTANTS)
/// Every command of this program takes `--mutant NAME`; `mutants` reads it itself. Returns what is left.
int take_mutant(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "mutants") return argc;
  for (int n = 1; n + 1 < argc; ++n) {
    if (std::string_view(argv[n]) != "--mutant") continue;
    if (!choose_mutant(argv[n + 1])) {
      std::exit(static_cast<int>(fail(std::cerr, ExitCode::kUsageError,
                                      std::string("--mutant: found '") + argv[n + 1] +
                                          "'; `pinfold-mutants mutants` lists the names")));
    }
    std::move(argv + n + 2, argv + argc, argv + n);
    return argc - 2;
  }
  return argc;
}
#endif

}  // namespace
}  // namespace pinfold::sim

int main(int argc, char** argv) {
  using pinfold::sim::ExitCode;
  std::ios::sync_with_stdio(false);
  std::signal(SIGINT, pinfold::sim::on_interrupt);
  ExitCode code = ExitCode::kOk;
  try {
#if defined(PINFOLD_MUTANTS)
    argc = pinfold::sim::take_mutant(argc, argv);
#endif
    code = pinfold::sim::run_program(argc, argv);
  } catch (const pinfold::InvariantViolation& violation) {
    code = pinfold::sim::fail(std::cerr, ExitCode::kCheckFailed, violation.what());
  } catch (const std::bad_alloc&) {
    code = pinfold::sim::fail(std::cerr, ExitCode::kDataError, "out of memory");
  } catch (const std::exception& error) {
    code = pinfold::sim::fail(std::cerr, ExitCode::kDataError, error.what());
  }
  if (!std::cout.flush() && code == ExitCode::kOk) {
    code = pinfold::sim::fail(std::cerr, ExitCode::kDataError, "stdout: cannot write the result");
  }
  return static_cast<int>(code);
}
