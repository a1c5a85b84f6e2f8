#pragma once
// Random worlds: what a scenario is, how one is drawn from a seed, and how it is run to its end.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/check/shadow.h"
#include "tests/model/world.h"

namespace pinfold::model {

enum class Act : std::uint8_t { kAdd, kFork, kAbort, kFail };

struct Action {
  std::uint32_t turn;
  Act act;
  SequenceId id;
  SequenceId parent;
  Wish wish;
};

struct Scenario {
  SchedulerOptions options;
  std::vector<Action> actions;
  std::uint32_t poll_percent = 0;  // chance that a copy fence passes late
};

/// A scenario with every kind of trouble in a tiny pool.
Scenario draw_scenario(std::uint64_t seed);

/// The same with reuse of prefixes: no state slots, and requests with keys whose texts share beginnings.
Scenario draw_reuse_scenario(std::uint64_t seed);

/// What one run left behind.
struct Outcome {
  std::vector<std::byte> journal;
  std::vector<std::uint64_t> hashes;
  SchedulerStats stats;
  bool stalled = false;
  std::uint64_t rejections = 0;
  std::uint64_t aborts_in_flight = 0;
  std::uint64_t live_forks = 0;
  std::string violation;
  std::string wait_report;  // of a stall
  std::string invariants = "clean";
};

/// Runs the scenario until it drains or stalls; the order of events is drawn from `seed` too. `after_event`
/// sees the world after each event and may throw InvariantViolation.
Outcome run(const Scenario& scenario, std::uint64_t seed, Switch fast_path,
            const std::function<void(World&)>& after_event = {});

/// What a shadow must know of such a world.
sim::ShadowOptions shadow_options(const SchedulerOptions& options);

}  // namespace pinfold::model
