#pragma once
// One run: a trace replayed on one engine in simulated time.

#include <functional>

#include "sim/config/run_config.h"
#include "sim/core/run_observer.h"
#include "sim/core/run_result.h"
#include "sim/metrics/measurement.h"
#include "sim/trace/request.h"

namespace pinfold::sim {

/// How to run, apart from what is simulated: none of this but `measure` changes a result's bytes.
struct RunOptions {
  bool fast_path = true;
  /// Audit the scheduler after every so many events; 0: only at the end.
  std::uint64_t audit_every = 0;
  /// Follow every row in shadow memory (sim/check/shadow.h); a finding makes the verdict kViolation.
  bool shadow = false;
  /// Count what every position is at every instant (sim/metrics/ledger.h).
  bool ledger = true;
  /// Called now and then with the number of requests that have ended; may be empty.
  std::function<void(std::uint64_t ended)> progress;
  /// Which requests the benchmark's figures count, and what is good enough.
  Measurement measure{};
  /// Watches the run; may be null.
  RunObserver* observer = nullptr;
};

/// Replays the requests of `source` on the engine that `config` describes. Same requests, config and
/// seed: same result, on any compiler, optimisation level, processor and path. A broken invariant ends the
/// run with verdict kViolation, a run that cannot go on with kStall. Reads the source to its end; whether it
/// ended with a mistake in the input is the caller's to ask it. Memory follows the live requests.
RunResult simulate(RequestSource& source, const RunConfig& config, const RunOptions& options);

/// The same for a trace in memory.
RunResult simulate(const Trace& trace, const RunConfig& config, const RunOptions& options);

}  // namespace pinfold::sim
