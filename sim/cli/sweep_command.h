#pragma once
// `pinfold sweep`: many settings on one or more traces.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "sim/cli/config_flags.h"
#include "sim/cli/exit_code.h"
#include "sim/sweep/run_tasks.h"
#include "sim/trace/trace_source.h"

namespace pinfold::sim {

enum class SweepFormat : std::uint8_t { kText, kJson, kCsv };

struct SweepCommand {
  std::optional<std::string> file{};  // the sweep; or it is said by traces, lists and ranges
  std::vector<std::string> traces{};
  TraceOptions trace_options{};       // of all traces
  ConfigFlags config;                 // with a file: overrides only
  std::vector<std::string> lists{};   // -L
  std::vector<std::string> ranges{};  // -P
  std::optional<std::string> seeds{};
  std::optional<std::string> hold{};
  std::optional<std::string> figures{};
  std::optional<std::string> front{};
  std::optional<std::string> directory{};  // for sweep.sqlite and summary.csv
  std::size_t jobs = 1;
  bool resume = false;
  bool dry_run = false;
  std::uint64_t shuffle_seed = 0;  // 0: cells start in their order
  SweepFormat format = SweepFormat::kText;
  bool progress = false;  // show it on `err`, which must be a terminal
  /// Who runs the tasks; as run_tasks() in everything but where they run.
  std::function<decltype(run_tasks)> compute = run_tasks;
};

/// Finds every mistake in what was asked before the first cell runs. Invalid cells are part of the result;
/// a stall or a violation in one ends in kCheckFailed, after everything has been written.
ExitCode sweep_command(const SweepCommand& command, std::ostream& out, std::ostream& err);

}  // namespace pinfold::sim
