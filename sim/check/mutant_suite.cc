#include "sim/check/mutant_suite.h"

#include <algorithm>
#include <exception>

namespace pinfold::sim {
namespace {

void switch_on([[maybe_unused]] Mutant mutant) {
#if defined(PINFOLD_MUTANTS)
  chosen_mutant = mutant;
#endif
}

void note(MutantResult& result, const SuiteWorld& world, const Finding& finding) {
  const auto known = std::find_if(result.catches.begin(), result.catches.end(),
                                  [&](const Catch& one) { return one.check == finding.check; });
  if (known != result.catches.end()) {
    ++known->worlds;
  } else {
    result.catches.push_back({finding.check, world.name, finding.event, finding.text, 1});
  }
}

}  // namespace

std::vector<MutantName> mutant_names() {
  return {
#define PINFOLD_MUTANT(id, name, what) {Mutant::id, name, what},
      PINFOLD_MUTANT_LIST(PINFOLD_MUTANT)
#undef PINFOLD_MUTANT
  };
}

MutantResult run_mutant(const MutantName& mutant, const std::vector<SuiteWorld>& worlds) {
  MutantResult result;
  result.name = mutant.name;
  result.what = mutant.what;
  switch_on(mutant.mutant);
  // Bugs that have nothing to do with reuse are looked for without it, so that each check is seen alone.
  const bool reuses = mutant.mutant == Mutant::kNone || mutant.mutant >= Mutant::kHitOnUnwritten;
  for (const SuiteWorld& world : worlds) {
    if (world.options.reuse == Switch::kOn && !reuses) continue;
    try {
      const SuiteOutcome once = run_suite_world(world);
      const SuiteOutcome again = run_suite_world(world);
      for (const Finding& finding : once.findings.first()) note(result, world, finding);
      if (once.journal_hash != again.journal_hash) {
        note(result, world,
             {Check::kI19, once.events, "the same world wrote another journal the second time"});
      }
    } catch (const std::exception& error) {
      result.broke = world.name + ": " + error.what();
    }
  }
  switch_on(Mutant::kNone);
  std::stable_partition(result.catches.begin(), result.catches.end(),
                        [](const Catch& one) { return !is_second_opinion(one.check); });
  return result;
}

}  // namespace pinfold::sim
