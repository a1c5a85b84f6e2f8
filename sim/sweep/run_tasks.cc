#include "sim/sweep/run_tasks.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "base/check.h"
#include "sim/config/parse.h"
#include "sim/core/simulate.h"
#include "sim/core/trace_span.h"

namespace pinfold::sim {
namespace {

RunRecord not_run(const RunTask& task, RunStatus status, std::string reason) {
  return {task.trace_digest, task.config_digest, status, std::move(reason), {}};
}

/// Figures that say which run it was; a sweep keeps these apart, as keys.
bool says_which(std::string_view name) {
  constexpr std::array<std::string_view, 5> kKeys{"version", "trace", "trace_digest",
                                                  "config_digest", "seed"};
  return std::find(kKeys.begin(), kKeys.end(), name) != kKeys.end();
}

RunRecord simulated(const RunTask& task) {
  const Outcome<RunConfig> config = parse_config(task.config_json, "resolved configuration");
  if (!config) return not_run(task, RunStatus::kInvalid, describe(config.error()));
  if (auto error = check_span(*task.trace, config.value())) {
    return not_run(task, RunStatus::kInvalid, describe(*error));
  }
  const RunResult result = simulate(*task.trace, config.value(), RunOptions{});
  RunRecord record{task.trace_digest, task.config_digest, RunStatus::kOk, {}, {}};
  if (result.verdict != Verdict::kOk) {
    record.status = RunStatus::kFailed;
    record.reason = std::string(name_of(result.verdict)) + ": " + result.verdict_detail;
  }
  Provenance provenance;
  provenance.cost = cost_provenance(config.value());
  for (ReportField& field : run_fields(result, provenance)) {
    if (!says_which(field.name)) record.figures.push_back(std::move(field));
  }
  return record;
}

/// What the threads hand over.
class Mailbox {
 public:
  void put(std::size_t task, RunRecord record) {
    {
      const std::lock_guard lock(mutex_);
      letters_.emplace_back(task, std::move(record));
    }
    arrived_.notify_one();
  }
  std::pair<std::size_t, RunRecord> take() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return !letters_.empty(); });
    std::pair<std::size_t, RunRecord> letter = std::move(letters_.front());
    letters_.pop_front();
    return letter;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::pair<std::size_t, RunRecord>> letters_;
};

/// Hands out tasks in their order until it is told to stop.
class Dispenser {
 public:
  explicit Dispenser(std::size_t tasks) : tasks_(tasks) {}

  bool next(std::size_t& task) {
    const std::lock_guard lock(mutex_);
    if (next_ == tasks_) return false;
    task = next_++;
    return true;
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    next_ = tasks_;
  }

 private:
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::size_t tasks_;
};

/// Joins on every way out; no task is started any more.
class Crew {
 public:
  Crew(Dispenser& dispenser, std::size_t jobs, const std::function<void()>& work)
      : dispenser_(dispenser) {
    for (std::size_t i = 0; i < jobs; ++i) threads_.emplace_back(work);
  }
  ~Crew() {
    dispenser_.stop();
    for (std::thread& thread : threads_) thread.join();
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

 private:
  Dispenser& dispenser_;
  std::vector<std::thread> threads_;
};

}  // namespace

const char* name_of(RunStatus status) {
  switch (status) {
    case RunStatus::kOk: return "ok";
    case RunStatus::kFailed: return "failed";
    case RunStatus::kInvalid: return "invalid";
  }
  return "?";
}

RunRecord run_task(const RunTask& task) {
  try {
    return simulated(task);
  } catch (const InvariantViolation& violation) {
    return not_run(task, RunStatus::kFailed, std::string("violation: ") + violation.what());
  } catch (const std::exception& error) {
    return not_run(task, RunStatus::kFailed, std::string("error: ") + error.what());
  }
}

void run_tasks(std::span<const RunTask> tasks, std::size_t jobs,
               const std::function<bool(std::size_t task, RunRecord record)>& done) {
  Mailbox mailbox;
  Dispenser dispenser(tasks.size());
  const Crew crew(dispenser, std::min(jobs, tasks.size()), [&] {
    for (std::size_t task = 0; dispenser.next(task);) mailbox.put(task, run_task(tasks[task]));
  });
  for (std::size_t left = tasks.size(); left > 0; --left) {
    std::pair<std::size_t, RunRecord> letter = mailbox.take();
    if (!done(letter.first, std::move(letter.second))) return;
  }
}

}  // namespace pinfold::sim
