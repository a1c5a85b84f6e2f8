#include "sim/cli/shared_flags.h"

#include <unistd.h>

#include <algorithm>

#include "sim/cli/flag_value.h"

namespace pinfold::sim {

void ConfigurationFlags::declare(Command& command, const std::string& without) {
  command_ = &command;
  command.texts(
      "--config", files_, "FILE",
      "Configuration (JSON) or a part of one, as configs/models and configs/engines hold; "
      "may be repeated, later ones beat earlier ones. Default: " +
          without);
  command.texts("--set", overrides_, "KEY=VALUE",
                "Override one option of the configuration, as engine.block_size=64; may be "
                "repeated. `pinfold schema` lists all options with units and defaults.");
  command.text("--vllm-args", vllm_args_, "ARGS",
               "The flags of a vLLM server, as '--max-num-seqs 64 --gpu-memory-utilization 0.95'; "
               "they beat --config, --set beats them. What is not simulated is listed on stderr.");
}

ConfigFlags ConfigurationFlags::take() const {
  ConfigFlags flags;
  flags.files = files_;
  flags.overrides = overrides_;
  if (command_->given("--vllm-args")) flags.vllm_args = vllm_args_;
  return flags;
}

void TraceArgument::declare(Command& command, const std::string& more) {
  command.text("TRACE", path_, "FILE",
               "Request trace: a file of any format in docs/traces.md, also as .gz or .zst, or - "
               "for standard input." +
                   more);
}

std::string TraceArgument::take() const {
  return needed("TRACE", path_, "the path of a request trace");
}

void TraceFlags::declare(Command& command) {
  const auto flag = [&](const char* name, std::optional<std::string>& value, const char* type,
                        const char* description) {
    command.text(name, value, type, description, kGroup);
  };
  flag("--trace-format", texts_.trace_format, "NAME",
       "Format of the trace. Default: found out from its content.");
  flag("--columns", texts_.columns, "FIELD=COLUMN,...",
       "Which columns or keys of a table of your own are which fields, as "
       "arrival_ms=ts,prompt=in,output=out.");
  flag("--id-block", texts_.id_block, "TOKENS",
       "Tokens that a prefix id of the trace stands for. Default: what the format says.");
  flag("--on-unordered", texts_.on_unordered, "error|sort|segments",
       "Rows that go back in time: a mistake; sorted, in memory; or the beginning of another "
       "recording. Default: by format.");
  flag("--zero-output", texts_.zero_output, "drop|prefill_only",
       "Requests without output. Default: prefill_only.");
  flag("--on-error", texts_.on_error, "stop|skip",
       "At a broken row: end, or count it and go on. Default: stop.");
  flag("--start", texts_.start, "SECONDS", "Leave out arrivals before this time of the trace.");
  flag("--end", texts_.end, "SECONDS", "... and from this time on.");
  flag("--shard", texts_.shard, "K/N", "One of N shares of the sessions, the first being 1/N.");
  flag("--limit", texts_.limit, "N", "The first N requests.");
  flag("--repeat", texts_.repeat, "N",
       "N times, one after the other, each with sessions and prefixes of its own. Default: 1.");
}

TraceOptions TraceFlags::take() const { return trace_options_of(texts_); }

void JsonFlag::declare(Command& command) {
  command.text("--format", format_, "FORMAT", "text or json. Default: text.");
}

bool JsonFlag::take() const {
  return one_of<bool>("--format", format_, {{"text", false}, {"json", true}});
}

void QuietFlag::declare(Command& command) {
  command.flag("-q,--quiet", quiet_, "No progress. Default: progress where stderr is a terminal.");
}

bool QuietFlag::progress() const { return !quiet_ && ::isatty(STDERR_FILENO) == 1; }

void SeedFlag::declare(Command& command, const std::string& of) {
  command.text("--seed", seed_, "N", "Seed of " + of + ". Default: 0.");
}

std::uint64_t SeedFlag::take() const {
  return seed_ == "0" ? 0 : count_of("--seed", seed_, "a seed, an integer");
}

void JobsFlag::declare(Command& command) {
  command.text("--jobs", jobs_, "N", "Runs at a time; the result is the same for any. Default: 1.");
}

std::size_t JobsFlag::take() const {
  constexpr std::uint64_t kMost = 1024;
  return std::min(count_of("--jobs", jobs_, "a number of runs from 1"), kMost);
}

}  // namespace pinfold::sim
