#pragma once
// A world in miniature for the mutant suite: the scheduler, a device that is only an order, and what
// each request must yield. Every outside check watches; nothing here throws or trusts the scheduler.

#include <cstdint>
#include <string>
#include <vector>

#include "engine/scheduler.h"
#include "sim/check/finding.h"

namespace pinfold::sim {

/// What a request will do, whatever the scheduler thinks of it.
struct SuiteRequest {
  std::uint32_t prompt = 1;
  std::uint32_t output = 1;  // tokens at which its output stops, 0: prefill only
  std::uint32_t limit = 1;   // what the scheduler is told
  StopMode stop = StopMode::kHidden;
  std::uint32_t drafts = 0;
  std::uint32_t priority = 0;
  // PromptKeys; none unless a world reuses prefixes.
  std::vector<std::uint64_t> keys{};
  std::uint32_t tail_end = 0;
  std::uint64_t tail = 0;
};

enum class SuiteAct : std::uint8_t { kAdd, kFork, kAbort, kFail };

/// Something from outside, before the turn's plan. Ids are the caller's: strictly increasing for
/// kAdd and kFork.
struct SuiteAction {
  std::uint32_t turn = 0;
  SuiteAct act = SuiteAct::kAdd;
  std::uint32_t id = 0;
  std::uint32_t parent = 0;  // of a fork
  SuiteRequest request{};
};

struct SuiteWorld {
  std::string name;
  SchedulerOptions options;
  std::vector<SuiteAction> actions;       // by turn
  std::uint64_t seed = 1;                 // of the order of events and of accepted drafts
  std::uint32_t plan_percent = 70;        // chance that a turn plans while steps are in flight
  std::uint32_t complete_percent = 40;    // chance that the oldest step completes in a turn
  std::uint32_t late_copies_percent = 0;  // chance that a turn leaves a copy's fence unreported
  std::uint32_t accept_percent = 60;      // of drafts
  std::uint32_t transfer_percent = 50;    // chance that a turn passes a queued save or load
  std::uint32_t lost_percent = 0;         // of those that are given up instead
};

struct SuiteOutcome {
  Findings findings;
  std::uint64_t journal_hash = 0;
  std::uint64_t events = 0;
  SchedulerStats stats;
};

/// Runs the world to its end, to a stall (I9), or to a bound on turns that no sound run meets (I9).
SuiteOutcome run_suite_world(const SuiteWorld& world);

/// The suite: small worlds, hand-made and drawn, and a slice of a real trace.
std::vector<SuiteWorld> suite_worlds();

}  // namespace pinfold::sim
