#pragma once
// Violations as values, so that a test reads `CHECK(broken_rule([&] { ... }) == "O2")`.

#include <string>

#include "base/check.h"

namespace pinfold::test {

/// The rule that `action` broke, or "none" if it threw no violation.
template <class Action>
std::string broken_rule(Action action) {
  try {
    action();
  } catch (const InvariantViolation& violation) {
    return violation.rule();
  }
  return "none";
}

/// The message of the violation that `action` threw, or "none".
template <class Action>
std::string violation_text(Action action) {
  try {
    action();
  } catch (const InvariantViolation& violation) {
    return violation.what();
  }
  return "none";
}

}  // namespace pinfold::test
