#pragma once
// What an exploration found, for people and for programs.

#include <string>
#include <vector>

#include "sim/explore/explorer.h"

namespace pinfold::sim {

/// What `expect.explore` says and the exploration does not.
std::vector<std::string> differences(const ExpectedExploration& expected,
                                     const ExploreResult& result);

struct ExploreReport {
  std::string version;
  std::string scenario;       // as the user named it
  std::string config_digest;  // hexadecimal
  bool reduced = true;
  const Stage* stage = nullptr;
  const ExploreResult* result = nullptr;
  const Walked* walked = nullptr;  // the counter-example; without events where there is none
  std::vector<std::string> differences{};  // from the expectation, where one was compared
  bool compared = false;
};

std::string explore_text(const ExploreReport& report);
std::string explore_json(const ExploreReport& report);

/// A replayed counter-example.
std::string walked_json(const std::string& title, const Walked& walked);

}  // namespace pinfold::sim
