#pragma once
// Broken invariants. Bad input and "no room" are ordinary answers and never come here; a violation
// means that the library or its caller broke an ownership rule, and it is thrown so that an engine, a
// fuzzer and the explorer can each catch it.

#include <cstdint>
#include <stdexcept>
#include <string>

#include "base/mutant.h"

namespace pinfold {

/// Thrown when an ownership rule does not hold. The message names the rule, what was expected and
/// found, and the owners where the thrower knows them.
class InvariantViolation : public std::logic_error {
 public:
  InvariantViolation(std::string rule, const std::string& message)
      : std::logic_error(rule + ": " + message), rule_(std::move(rule)) {}

  /// The rule that broke: "O2", "O9", ... or the name of an internal law.
  const std::string& rule() const { return rule_; }

 private:
  std::string rule_;
};

/// Out of line so that a check costs its caller one compare and one branch.
[[noreturn]] void throw_violation(const char* rule, const char* condition, const std::string& what);

}  // namespace pinfold

/// Always on, release builds too. `what` is evaluated only on failure.
#if defined(PINFOLD_WITHOUT_CHECKS)
#define PINFOLD_CHECK(condition, rule, what) \
  do {                                       \
  } while (false)
#else
#define PINFOLD_CHECK(condition, rule, what)                  \
  do {                                                        \
    if (!(condition)) [[unlikely]]                            \
      ::pinfold::throw_violation((rule), #condition, (what)); \
  } while (false)
#endif
