#include "sim/cli/sweep_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "sim/cli/output_directory.h"
#include "sim/cli/progress.h"
#include "sim/report/sweep_report.h"
#include "sim/report/version.h"
#include "sim/sweep/axis_text.h"
#include "sim/sweep/sweep_file.h"
#include "sim/sweep/sweep_store.h"
#include "sim/sweep/sweep_summary.h"
#include "sim/trace/trace_digest.h"
#include "sim/trace/trace_source.h"

namespace pinfold::sim {
namespace {

InputError wrong(std::string path, std::string found, std::string expected, std::string hint = {}) {
  InputError error;
  error.path = std::move(path);
  error.found = std::move(found);
  error.expected = std::move(expected);
  error.hint = std::move(hint);
  return error;
}

// --- What to sweep -------------------------------------------------------------------------------

/// Takes an outcome's value, or keeps its error.
template <class T, class Take>
void take_or_note(const Outcome<T>& outcome, std::vector<InputError>& errors, Take take) {
  if (outcome) {
    take(outcome.value());
  } else {
    errors.push_back(outcome.error());
  }
}

/// The sweep that flags say.
SweepFile spec_of_flags(const SweepCommand& command) {
  SweepFile result;
  SweepSpec& spec = result.spec;
  if (command.traces.empty()) {
    result.errors.push_back(wrong("sweep", "no trace", "a sweep file, or --trace"));
  }
  for (const std::string& path : command.traces) {
    for (const SweepTrace& other : spec.traces) {
      if (other.name != path) continue;
      result.errors.push_back(wrong("--trace " + path, "the trace twice", "each trace once"));
    }
    spec.traces.push_back({path, path});
  }
  spec.base.files = command.config.files;
  spec.base.overrides = command.config.overrides;
  const auto add_axis = [&](const SweepAxis& axis) { spec.axes.push_back(axis); };
  for (const std::string& text : command.lists) {
    take_or_note(parse_list_axis(text), result.errors, add_axis);
  }
  for (const std::string& text : command.ranges) {
    take_or_note(parse_range_axis(text), result.errors, add_axis);
  }
  const auto keep = [](std::vector<std::string>& place) {
    return [&place](const std::vector<std::string>& values) { place = values; };
  };
  if (command.seeds) take_or_note(parse_seeds(*command.seeds), result.errors, keep(spec.seeds));
  if (command.figures) {
    take_or_note(parse_figures("--figures", *command.figures), result.errors, keep(spec.figures));
  }
  if (command.front) {
    take_or_note(parse_figures("--front", *command.front), result.errors, keep(spec.front));
  }
  if (command.hold) {
    if (*command.hold == "memory") {
      spec.hold = Hold::kMemory;
    } else if (*command.hold == "blocks") {
      spec.hold = Hold::kBlocks;
    } else {
      result.errors.push_back(wrong("--hold", in_quotes(*command.hold), "memory or blocks"));
    }
  }
  for (InputError& error : check_spec(spec, "sweep")) {
    if (error.key.empty() && !result.errors.empty()) continue;
    result.errors.push_back(std::move(error));
  }
  return result;
}

SweepFile spec_of_file(const SweepCommand& command) {
  SweepFile result = read_sweep_file(*command.file);
  result.spec.base.overrides = command.config.overrides;
  if (!result.errors.empty()) return result;
  result.errors = check_spec(result.spec, *command.file);
  return result;
}

// --- Running it ----------------------------------------------------------------------------------

using RunKey = std::pair<std::string, std::string>;  // digests of trace and configuration

/// All runs that the cells need, each once, in order of their keys.
std::map<RunKey, RunTask> tasks_of(const SweepResult& result, const std::vector<Trace>& traces) {
  std::map<RunKey, RunTask> tasks;
  for (const SweepCell& cell : result.plan.cells) {
    const SweepConfig& config = result.plan.configs[cell.config];
    if (!config.invalid.empty()) continue;
    const std::string& digest = result.trace_digests[cell.trace];
    tasks.try_emplace({digest, config.digest},
                      RunTask{&traces[cell.trace], digest, config.json, config.digest});
  }
  return tasks;
}

/// Fisher and Yates, for tests: the result may not depend on the order.
void shuffle(std::vector<RunTask>& tasks, std::uint64_t seed) {
  for (std::size_t left = tasks.size(); left > 1; --left) {
    seed = seed * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    std::swap(tasks[left - 1], tasks[(seed >> 33) % left]);
  }
}

class SweepRunner {
 public:
  SweepRunner(const SweepCommand& command, SweepResult& result, std::ostream& err)
      : command_(command), result_(result), err_(err) {}

  std::optional<InputError> run(const std::vector<Trace>& traces) {
    std::map<RunKey, RunTask> tasks = tasks_of(result_, traces);
    if (command_.directory) {
      if (auto error = open_store(tasks)) return error;
    }
    std::vector<RunTask> pending;
    for (auto& [key, task] : tasks) {
      if (records_.count(key) == 0) pending.push_back(std::move(task));
    }
    const std::size_t resumed = tasks.size() - pending.size();
    if (command_.shuffle_seed != 0) shuffle(pending, command_.shuffle_seed);
    if (auto error = compute(pending)) return error;
    err_ << fmt::format("pinfold: note: {} trace{} parsed, once; {} runs computed, {} resumed\n",
                        traces.size(), traces.size() == 1 ? "" : "s", pending.size(), resumed);
    assign();
    return store_ ? store_->finish(result_) : std::nullopt;
  }

 private:
  std::optional<InputError> open_store(const std::map<RunKey, RunTask>& tasks) {
    std::error_code failure;
    std::filesystem::create_directories(*command_.directory, failure);
    Outcome<std::unique_ptr<SweepStore>> store =
        open_sweep_store(*command_.directory, kVersion, command_.resume);
    if (!store) return store.error();
    store_ = std::move(store.value());
    std::size_t foreign = 0;
    for (const RunRecord& record : store_->found()) {
      const RunKey key(record.trace_digest, record.config_digest);
      if (tasks.count(key) == 0) ++foreign;
      records_.emplace(key, record);
    }
    if (foreign == 0) return std::nullopt;
    return wrong(*command_.directory, fmt::format("{} runs that are not of this sweep", foreign),
                 "results of this sweep, or of a part of it", "another -o keeps both");
  }

  /// Each record is on disk before the next one is looked at.
  std::optional<InputError> compute(const std::vector<RunTask>& pending) {
    Progress progress(err_, pending.size(), "runs ended");
    std::size_t ended = 0;
    std::optional<InputError> trouble;
    command_.compute(pending, command_.jobs, [&](std::size_t, RunRecord record) {
      if (store_ && !trouble) trouble = store_->add(record);
      records_.emplace(RunKey(record.trace_digest, record.config_digest), std::move(record));
      ++ended;
      if (command_.progress) progress.show(ended);
      return !trouble;
    });
    return trouble;
  }

  void assign() {
    std::map<RunKey, std::size_t> places;
    for (auto& [key, record] : records_) {
      places.emplace(key, result_.records.size());
      result_.records.push_back(std::move(record));
    }
    for (std::size_t cell = 0; cell < result_.plan.cells.size(); ++cell) {
      const SweepConfig& config = result_.config(cell);
      if (!config.invalid.empty()) {
        result_.record_of.emplace_back();
        continue;
      }
      const std::string& digest = result_.trace_digests[result_.plan.cells[cell].trace];
      result_.record_of.emplace_back(places.at({digest, config.digest}));
    }
  }

  const SweepCommand& command_;
  SweepResult& result_;
  std::ostream& err_;
  std::unique_ptr<SweepStore> store_;
  std::map<RunKey, RunRecord> records_;
};

std::string rendered(SweepFormat format, const SweepResult& result, const SweepSummary& summary) {
  switch (format) {
    case SweepFormat::kText: return sweep_text(result, summary);
    case SweepFormat::kJson: return sweep_json(result, summary);
    case SweepFormat::kCsv: return sweep_csv(result);
  }
  return {};
}

}  // namespace

ExitCode sweep_command(const SweepCommand& command, std::ostream& out, std::ostream& err) {
  SweepFile read = command.file ? spec_of_file(command) : spec_of_flags(command);
  for (InputError& error : base_mistakes(read.spec)) read.errors.push_back(std::move(error));
  for (const InputError& error : read.errors) fail(err, ExitCode::kUsageError, error);
  if (!read.errors.empty()) return ExitCode::kUsageError;

  SweepResult result;
  result.version = kVersion;
  result.spec = std::move(read.spec);
  Outcome<SweepPlan> plan = plan_sweep(result.spec);
  if (!plan) return fail(err, ExitCode::kUsageError, plan.error());
  result.plan = std::move(plan.value());
  if (command.dry_run) {
    out << (command.format == SweepFormat::kJson ? plan_json(result.spec, result.plan)
                                                 : plan_text(result.spec, result.plan));
    return ExitCode::kOk;
  }
  if (command.directory) {
    if (auto error = check_output_directory(*command.directory)) {
      return fail(err, ExitCode::kDataError, *error);
    }
  }
  std::vector<Trace> traces;
  for (const SweepTrace& trace : result.spec.traces) {
    Outcome<Trace> requests = read_trace(trace.path, command.trace_options);
    if (!requests) return fail(err, ExitCode::kDataError, requests.error());
    traces.push_back(std::move(requests.value()));
    result.trace_digests.push_back(trace_digest(traces.back()));
  }

  if (auto error = SweepRunner(command, result, err).run(traces)) {
    return fail(err, ExitCode::kDataError, *error);
  }
  const SweepSummary summary = summarize(result);
  if (command.directory) {
    const OutputFile file{"summary.csv", sweep_csv(result)};
    if (auto error = write_output_files(*command.directory, {&file, 1})) {
      return fail(err, ExitCode::kDataError, *error);
    }
  }
  out << rendered(command.format, result, summary);
  if (summary.ok + summary.failed == 0) {
    return fail(
        err, ExitCode::kUsageError,
        fmt::format("none of {} cells can run; the table says why", result.plan.cells.size()));
  }
  if (summary.failed == 0) return ExitCode::kOk;
  return fail(err, ExitCode::kCheckFailed,
              fmt::format("{} of {} cells stalled or broke a rule", summary.failed,
                          result.plan.cells.size()));
}

}  // namespace pinfold::sim
