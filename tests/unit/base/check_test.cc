#include "base/check.h"

#include <doctest/doctest.h>

#include "tests/unit/broken_rule.h"

namespace pinfold {
namespace {

TEST_CASE("check: a violation carries its rule, what was found and what was expected") {
  const int owners = -1;
  const auto action = [&] { PINFOLD_CHECK(owners >= 0, "O2", "block 5 has -1 owners"); };
  CHECK(test::broken_rule(action) == "O2");
  CHECK(test::violation_text(action) == "O2: block 5 has -1 owners (expected owners >= 0)");
}

TEST_CASE("check: a condition that holds throws nothing and does not build its message") {
  int messages_built = 0;
  const auto message = [&] {
    ++messages_built;
    return std::string("unused");
  };
  PINFOLD_CHECK(1 + 1 == 2, "O2", message());
  CHECK(messages_built == 0);
  CHECK(test::broken_rule([&] { PINFOLD_CHECK(1 + 1 == 3, "O2", message()); }) == "O2");
  CHECK(messages_built == 1);
}

TEST_CASE("check: its condition is evaluated once") {
  int evaluated = 0;
  PINFOLD_CHECK(++evaluated == 1, "O2", "");
  CHECK(evaluated == 1);
}

TEST_CASE("check: a violation is a logic error, so an engine can catch it without this header") {
  bool caught = false;
  try {
    throw_violation("law 1", "false", "a block is nowhere");
  } catch (const std::logic_error& error) {
    caught = std::string(error.what()).starts_with("law 1: ");
  }
  CHECK(caught);
}

}  // namespace
}  // namespace pinfold
