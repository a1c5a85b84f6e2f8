#pragma once
// Tiny scenarios drawn at random: every feature is on in some and off in others, because a bug may need
// one of them to be missing.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/explore/explorer.h"

namespace pinfold::sim {

/// The n-th scenario of this seed. Policies that are known to stall (fork.demote off, growth_check
/// one_free), copies in a lane of their own without step fences (the zoo's 43) and results that are lost
/// are never drawn.
Scenario random_scenario(std::uint64_t seed, std::uint64_t n);

struct RandomFinding {
  std::uint64_t number = 0;  // of the scenario
  Scenario scenario;         // shrunk
  ExploreResult result;      // of the shrunk scenario
};

struct RandomSearch {
  std::uint64_t explored = 0;  // scenarios of which every order was tried
  std::uint64_t bounded = 0;   // and those of which many were, besides random walks
  std::uint64_t states = 0;
  std::uint64_t transitions = 0;
  std::uint64_t walked = 0;  // events of random walks
  std::vector<RandomFinding> findings;
};

/// Explores scenarios 0 .. count - 1 within `limits` each, and walks at random where a bound was met.
/// Stops after `findings_most` findings. `watch`: judged by the named invariants and shadow memory too.
RandomSearch search_random(std::uint64_t seed, std::uint64_t count, const ExploreLimits& limits,
                           std::size_t findings_most, bool watch = false);

/// A smaller scenario (fewer requests, tokens, blocks) with the same verdict and check.
Scenario shrink(const Scenario& scenario, const ExploreResult& result, const ExploreLimits& limits,
                bool watch = false);

}  // namespace pinfold::sim
