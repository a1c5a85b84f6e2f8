#pragma once
// How much an engine can take: the largest request rate, or the smallest pool, with which a trace still
// meets its objectives.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/sweep/bisect.h"
#include "sim/sweep/requirement.h"
#include "sim/sweep/run_tasks.h"
#include "sim/sweep/setting.h"

namespace pinfold::sim {

enum class CapacityOf : std::uint8_t {
  kRate,    // workload.time_scale: arrival times are stretched or squeezed, nothing else changes
  kMemory,  // engine.num_blocks
};

struct CapacityQuestion {
  CapacityOf vary = CapacityOf::kRate;
  std::vector<Requirement> requirements;  // as asked
  Tolerance tolerance{};
};

/// A requirement that a run does not meet.
struct Miss {
  std::string requirement;  // "p99_ttft_ms<=500"
  std::string found;        // "612.5"
};

struct CapacityRun {
  std::uint64_t value = 0;  // time scale in units of 10^-9, or block ids
  Setting setting;          // the same for `pinfold run --set`
  RunRecord record;
  std::vector<Miss> misses;  // none: all objectives are met
};

/// What makes requests wait, most of all: the reason of wait_ns_by_reason with the largest part; of the
/// waiting for a step only where nothing refuses anybody.
struct BindingLimit {
  std::string reason;          // "blocks"; empty: nobody waits
  std::uint64_t wait_ns = 0;   // on it, over all requests
  std::uint64_t total_ns = 0;  // all waiting
};
BindingLimit binding_limit(const RunRecord& record);

enum class CapacityVerdict : std::uint8_t {
  kFound,
  kNone,       // nothing that can be tried meets the objectives
  kUnbounded,  // everything that can be tried meets them
};

struct CapacityResult {
  CapacityQuestion question;
  std::vector<Requirement>
      implied;  // beyond what was asked: an answer must not come of lost requests
  CapacityVerdict verdict = CapacityVerdict::kNone;
  std::vector<CapacityRun> runs;  // as they were made
  std::optional<std::size_t>
      best;  // the run with the largest rate or the smallest pool that meets all
  std::optional<std::size_t> failing;  // the nearest one beyond it, which does not
  /// With kNone: why more would not help; empty where the range ended.
  std::string why_none;
};

/// Requests a second that a trace offers at a time scale in units of 10^-9, with six digits: arrivals
/// after the first one, over the time to the last.
std::string offered_rate(const Trace& trace, std::uint64_t time_scale);

/// Runs `trace` as often as it takes, and tells after each run how many there were. An error is one of the configuration: a closed loop has no rate, a
/// trace whose requests all come at once has none either.
Outcome<CapacityResult> find_capacity(const Trace& trace, const ConfigSources& base,
                                      const CapacityQuestion& question,
                                      const std::function<void(std::size_t)>& tell);

}  // namespace pinfold::sim
