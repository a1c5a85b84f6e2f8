#include "sim/config/decimal.h"

#include <doctest/doctest.h>

#include "tests/unit/broken_rule.h"

namespace pinfold::sim {
namespace {

TEST_CASE("decimal: rounds half up in the last place") {
  CHECK(decimal(1, 8, 3) == "0.125");
  CHECK(decimal(1, 8, 2) == "0.13");
  CHECK(decimal(1, 3, 4) == "0.3333");
  CHECK(decimal(2, 3, 4) == "0.6667");
  CHECK(decimal(1, 2, 0) == "1");
  CHECK(decimal(3, 2, 0) == "2");
  CHECK(decimal(49, 100, 0) == "0");
  CHECK(decimal(9'995, 1'000, 2) == "10.00");
}

TEST_CASE("decimal: keeps its places, small and large") {
  CHECK(decimal(0, 1, 2) == "0.00");
  CHECK(decimal(0, 1, 0) == "0");
  CHECK(decimal(7, 1, 2) == "7.00");
  CHECK(decimal(1, 1'000, 3) == "0.001");
  CHECK(decimal(UINT64_MAX, 1, 6) == "18446744073709551615.000000");
  // 2^89 block-nanoseconds over 2^62 ns: 2^27 blocks.
  CHECK(decimal(Unsigned128{1} << 89, Unsigned128{1} << 62, 6) == "134217728.000000");
}

TEST_CASE("decimal: a fraction over zero or out of range is a violation") {
  CHECK(test::broken_rule([] { decimal(1, 0, 2); }) == "decimals");
  CHECK(test::broken_rule([] { decimal(Unsigned128{1} << 127, 1, 2); }) == "decimals");
}

TEST_CASE("decimal: times in seconds and milliseconds") {
  CHECK(seconds(3'501'721'937'000, 9) == "3501.721937000");
  CHECK(seconds(3'501'721'937'000, 2) == "3501.72");
  CHECK(milliseconds(1'234'567, 6) == "1.234567");
  CHECK(milliseconds(1'235'000, 2) == "1.24");
  CHECK(milliseconds(INT64_MAX, 6) == "9223372036854.775807");
  CHECK(test::broken_rule([] { seconds(-1, 2); }) == "decimals");
}

}  // namespace
}  // namespace pinfold::sim
