#include "base/check.h"

namespace pinfold {

void throw_violation(const char* rule, const char* condition, const std::string& what) {
  throw InvariantViolation(rule, what + " (expected " + condition + ")");
}

}  // namespace pinfold
