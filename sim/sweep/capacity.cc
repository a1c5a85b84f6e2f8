#include "sim/sweep/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "sim/config/decimal.h"
#include "sim/config/decimal_text.h"
#include "sim/config/option.h"
#include "sim/config/resolved_config.h"
#include "sim/trace/trace_digest.h"

namespace pinfold::sim {
namespace {

constexpr std::uint64_t kScaleUnit = 1'000'000'000;
constexpr std::uint64_t kMostScale = 1'000 * kScaleUnit;  // of workload.time_scale
constexpr std::uint64_t kSpeedUp = std::uint64_t{1} << 20;
constexpr const char* kWaitPrefix = "wait_ns_by_reason.";

std::uint64_t integer_figure(const RunRecord& record, std::string_view name) {
  for (const ReportField& field : record.figures) {
    if (field.name != name) continue;
    std::uint64_t value = 0;
    std::from_chars(field.text.data(), field.text.data() + field.text.size(), value);
    return value;
  }
  return 0;
}

/// What an answer needs besides the objectives, unless these say otherwise.
std::vector<Requirement> implied_by(const std::vector<Requirement>& asked) {
  const Requirement needed[] = {{"verdict", Comparison::kEqual, "ok", false},
                                {"unfinished", Comparison::kEqual, "0"},
                                {"rejected_never", Comparison::kEqual, "0"}};
  std::vector<Requirement> implied;
  for (const Requirement& one : needed) {
    const bool named = std::any_of(asked.begin(), asked.end(), [&](const Requirement& other) {
      return other.figure == one.figure;
    });
    if (!named) implied.push_back(one);
  }
  return implied;
}

InputError wrong(const char* path, std::string found, std::string expected, std::string hint = {}) {
  InputError error;
  error.path = "capacity";
  error.key = path;
  error.found = std::move(found);
  error.expected = std::move(expected);
  error.hint = std::move(hint);
  return error;
}

class CapacitySearch {
 public:
  CapacitySearch(const Trace& trace, const ConfigSources& base, const CapacityQuestion& question,
                 const std::function<void(std::size_t)>& tell)
      : trace_(trace), base_(base), tell_(tell), trace_digest_(trace_digest(trace)) {
    result_.question = question;
    result_.implied = implied_by(question.requirements);
  }

  std::optional<InputError> search(const RunConfig& start) {
    const bool rate = result_.question.vary == CapacityOf::kRate;
    if (rate) {
      if (auto error = check_rate(start)) return error;
      const Rational scale = start.workload.time_scale;
      const std::uint64_t from = scale.numerator * (kScaleUnit / scale.denominator);
      look(from, std::max(from / kSpeedUp, std::uint64_t{1}), most_scale(from));
    } else {
      const auto& option = std::get<IntegerOption>(find_option("engine.num_blocks")->kind);
      look(start.engine.num_blocks, option.least, option.most);
    }
    return trouble_;
  }

  CapacityResult take() { return std::move(result_); }

 private:
  std::optional<InputError> check_rate(const RunConfig& start) const {
    if (start.workload.concurrency > 0) {
      return wrong("workload.concurrency", "a closed loop, which has no request rate",
                   "0, or --vary memory");
    }
    if (start.workload.time_scale.numerator == 0) {
      return wrong("workload.time_scale", "0: all requests at once", "more than 0");
    }
    if (trace_.requests.back().arrival_ns > 0) return std::nullopt;
    return wrong("workload.time_scale", "a trace whose requests all arrive at once",
                 "one with a request rate", "--vary memory needs none");
  }

  /// As slow as simulated time and the option allow.
  std::uint64_t most_scale(std::uint64_t from) const {
    const auto last_ns = static_cast<std::uint64_t>(trace_.requests.back().arrival_ns);
    const Unsigned128 longest = Unsigned128{INT64_MAX / 2} * kScaleUnit / last_ns;
    const auto bound = static_cast<std::uint64_t>(std::min<Unsigned128>(longest, kMostScale));
    return std::max(from, bound);
  }

  void look(std::uint64_t from, std::uint64_t least, std::uint64_t most) {
    const Bracket bracket = bisect(from, least, most, result_.question.tolerance,
                                   [&](std::uint64_t value) { return meets(value); });
    result_.best = run_of(bracket.meets);
    result_.failing = run_of(bracket.fails);
    // A pool that cannot fill is as good as any larger one, so `meets` stood in for those.
    if (!result_.why_none.empty()) result_.best.reset();
    result_.verdict = !result_.best      ? CapacityVerdict::kNone
                      : !result_.failing ? CapacityVerdict::kUnbounded
                                         : CapacityVerdict::kFound;
  }

  std::optional<std::size_t> run_of(std::optional<std::uint64_t> value) const {
    for (std::size_t i = 0; value && i < result_.runs.size(); ++i) {
      if (result_.runs[i].value == *value) return i;
    }
    return std::nullopt;
  }

  bool meets(std::uint64_t value) {
    // The search ends as soon as its answer is known.
    if (trouble_ || !result_.why_none.empty()) return true;
    CapacityRun run;
    run.value = value;
    if (result_.question.vary == CapacityOf::kRate) {
      run.setting = {"workload.time_scale", decimal_text({value, kScaleUnit})};
    } else {
      run.setting = {"engine.num_blocks", fmt::format("{}", value)};
    }
    const Outcome<RunConfig> config = load_with(base_, {&run.setting, 1});
    if (!config) {
      trouble_ = config.error();
      return true;
    }
    run.record = run_task(
        {&trace_, trace_digest_, resolved_json(config.value()), config_digest(config.value())});
    for (const auto* list : {&result_.question.requirements, &result_.implied}) {
      for (const Requirement& requirement : *list) {
        if (auto found = unmet(requirement, run.record.figures)) {
          run.misses.push_back({requirement.text(), *found});
        }
      }
    }
    const bool met = run.misses.empty();
    if (!met && result_.question.vary == CapacityOf::kMemory) look_for_ceiling(run.record);
    result_.runs.push_back(std::move(run));
    tell_(result_.runs.size());
    return met;
  }

  /// Where the pool is never short of a block, more of them change nothing. A pool that was full may have
  /// cut drafts short, which is counted nowhere else.
  void look_for_ceiling(const RunRecord& record) {
    const std::uint64_t peak = integer_figure(record, "blocks.peak_owned");
    const std::uint64_t usable = integer_figure(record, "blocks.usable");
    if (record.status != RunStatus::kOk || peak >= usable ||
        integer_figure(record, "rejected_never") > 0 || integer_figure(record, "preemptions") > 0 ||
        integer_figure(record, "sat_out") > 0 ||
        integer_figure(record, "later_by_reason.blocks") > 0 ||
        integer_figure(record, "wait_ns_by_reason.blocks") > 0) {
      return;
    }
    result_.why_none = fmt::format(
        "with {} blocks nobody waits for memory (at most {} are owned): more change nothing",
        usable, peak);
  }

  const Trace& trace_;
  const ConfigSources& base_;
  const std::function<void(std::size_t)>& tell_;
  std::string trace_digest_;
  CapacityResult result_;
  std::optional<InputError> trouble_;
};

}  // namespace

BindingLimit binding_limit(const RunRecord& record) {
  BindingLimit limit;
  std::uint64_t step_ns = 0;
  for (const ReportField& field : record.figures) {
    if (!field.name.starts_with(kWaitPrefix)) continue;
    const std::string reason = field.name.substr(std::string_view(kWaitPrefix).size());
    const std::uint64_t wait_ns = integer_figure(record, field.name);
    limit.total_ns += wait_ns;
    if (reason == "step") {
      step_ns = wait_ns;
    } else if (wait_ns > limit.wait_ns) {
      limit.reason = reason;
      limit.wait_ns = wait_ns;
    }
  }
  if (limit.reason.empty() && step_ns > 0) {
    limit.reason = "step";
    limit.wait_ns = step_ns;
  }
  return limit;
}

std::string offered_rate(const Trace& trace, std::uint64_t time_scale) {
  const auto last_ns = static_cast<std::uint64_t>(trace.requests.back().arrival_ns);
  const Unsigned128 arrivals = trace.requests.size() - 1;
  return decimal(arrivals * kScaleUnit * kScaleUnit, Unsigned128{last_ns} * time_scale, 6);
}

Outcome<CapacityResult> find_capacity(const Trace& trace, const ConfigSources& base,
                                      const CapacityQuestion& question,
                                      const std::function<void(std::size_t)>& tell) {
  const Outcome<RunConfig> start = load_with(base, {});
  if (!start) return start.error();
  CapacitySearch search(trace, base, question, tell);
  if (auto error = search.search(start.value())) return *error;
  return search.take();
}

}  // namespace pinfold::sim
