#pragma once
// Whole simulations side by side. Each is the same as alone: they share a trace, which none of them
// changes, and nothing else.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sim/core/run_fields.h"
#include "sim/trace/request.h"

namespace pinfold::sim {

/// A configuration on a trace.
struct RunTask {
  const Trace* trace = nullptr;
  std::string trace_digest;
  std::string config_json;  // resolved
  std::string config_digest;
};

enum class RunStatus : std::uint8_t {
  kOk,
  kFailed,   // a stall or a violation: `reason` says where, the figures are those up to there
  kInvalid,  // could not run
};

/// "ok", "failed" or "invalid".
const char* name_of(RunStatus status);

struct RunRecord {
  std::string trace_digest;
  std::string config_digest;
  RunStatus status = RunStatus::kOk;
  std::string reason;                // empty where the status is kOk
  std::vector<ReportField> figures;  // of sim/core/run_fields.h, without what says which run it was
};

/// Runs one task. Never throws for what a simulation can do wrong.
RunRecord run_task(const RunTask& task);

/// Runs all, `jobs` at a time, started in the order of `tasks`. `done(task, record)` is called in the
/// calling thread, as they end; once it returns false no further task is started and the others are
/// dropped.
void run_tasks(std::span<const RunTask> tasks, std::size_t jobs,
               const std::function<bool(std::size_t task, RunRecord record)>& done);

}  // namespace pinfold::sim
