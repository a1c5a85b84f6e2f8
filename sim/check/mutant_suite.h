#pragma once
// The mutant suite: every planted bug against every outside check.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutant.h"
#include "sim/check/suite_world.h"

namespace pinfold::sim {

struct MutantName {
  Mutant mutant;
  std::string_view name;
  std::string_view what;
};

/// All of them, in the order of base/mutant.h.
std::vector<MutantName> mutant_names();

/// A check that fired: in which world first, and there at which event.
struct Catch {
  Check check = Check::kI1;
  std::string world;
  std::uint64_t event = 0;
  std::string text;
  std::uint32_t worlds = 0;  // in how many worlds
};

/// What the suite made of one bug; of the sound engine, if `name` is empty.
struct MutantResult {
  std::string name;
  std::string what;
  std::vector<Catch> catches;  // one a check, in the order in which the worlds found them;
                               // second opinions last
  std::string broke;           // an exception instead of a finding: not a catch

  /// By a check that is no second opinion.
  bool caught() const { return !catches.empty() && !is_second_opinion(catches.front().check); }
};

/// Runs the worlds with one bug switched on (kNone: the sound engine), each twice for I19. Checks only
/// watch, so a bug is found by the same checks whether they run together or alone. In a program without
/// mutants every bug is the sound engine.
MutantResult run_mutant(const MutantName& mutant, const std::vector<SuiteWorld>& worlds);

}  // namespace pinfold::sim
