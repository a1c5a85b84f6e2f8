#pragma once
// Every order in which a scenario's events can happen, breadth first, so that the first broken rule is
// reached by as few events as possible. docs/explore.md says what is covered and why that is all.

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sim/explore/world.h"

namespace pinfold::sim {

struct ExploreLimits {
  std::uint64_t states = 20'000'000;
  std::uint64_t depth = UINT64_MAX;  // events
};

enum class ExploreVerdict : std::uint8_t {
  kProved,     // every order was tried, no rule broke, everybody always ends
  kViolation,  // a rule broke
  kStall,      // nothing the engine can do changes anything, and somebody waits
  kCycle,      // the engine may go round for ever without progress
  kBounded,    // no finding, and not everything was tried
};

/// "proved", ...
const char* name_of(ExploreVerdict verdict);

struct ExploreResult {
  ExploreVerdict verdict = ExploreVerdict::kProved;
  std::string check;  // of a violation: "I3"; otherwise "I9"
  std::string text;
  std::vector<WorldEvent> path;  // the counter-example; of a cycle, once around behind its start
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  std::uint64_t depth = 0;                          // events of the longest of the shortest paths
  std::uint64_t over = 0;                           // states in which everything has ended
  std::uint64_t not_expanded = 0;                   // states that a bound kept from being looked at
  std::array<std::uint64_t, kEventKinds> events{};  // transitions by kind
  std::array<std::uint64_t, World::kVerbs> verbs{};  // journal records by verb
  /// How requests ended: actor, reason, tokens.
  std::set<std::tuple<std::uint32_t, EndReason, std::uint32_t>> outcomes;
};

/// Explores. `reduce` of the stage also decides whether ids are renamed. Deterministic.
ExploreResult explore(const Stage& stage, const ExploreLimits& limits);

/// Drives one world along `path`; stops at the first finding.
struct Walked {
  std::vector<std::string> told;   // a sentence an event
  std::vector<std::string> shown;  // tables after each event
  std::optional<ExploreFinding> finding;
  bool possible = true;  // false: an event could not happen; told ends before it
  bool stalled = false;  // nothing the engine can do changes the last state, and somebody waits
  std::vector<std::string> waits;  // of the last state: who waits for what
};
Walked walk(const Stage& stage, const std::vector<WorldEvent>& path);

/// True if no event of the system changes this world although somebody waits.
bool is_stalled(const Stage& stage, const World& world);

}  // namespace pinfold::sim
