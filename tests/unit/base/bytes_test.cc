#include "base/bytes.h"

#include <doctest/doctest.h>

#include "tests/unit/broken_rule.h"

namespace pinfold {
namespace {

using test::broken_rule;

constexpr ByteCount kMost{UINT64_MAX};

TEST_CASE("bytes: sums, differences and products are exact in 64 bits") {
  CHECK(ByteCount(3) + ByteCount(4) == ByteCount(7));
  CHECK(ByteCount(7) - ByteCount(4) == ByteCount(3));
  // 2^32 x 2^31 = 2^63
  CHECK(ByteCount(std::uint64_t{1} << 32) * (std::uint64_t{1} << 31) ==
        ByteCount(std::uint64_t{1} << 63));
  CHECK(kMost * 0 == ByteCount(0));
  CHECK(kMost * 1 == kMost);
}

TEST_CASE("bytes: passing the range or falling below zero is a violation, never a wrap") {
  CHECK(broken_rule([] { kMost + ByteCount(0); }) == "none");
  CHECK(broken_rule([] { kMost + ByteCount(1); }) == "counts");
  CHECK(broken_rule([] { ByteCount(3) - ByteCount(4); }) == "counts");
  CHECK(broken_rule([] { kMost * 2; }) == "counts");
}

TEST_CASE("bytes: padding goes up to the next multiple and leaves a multiple alone") {
  CHECK(padded(ByteCount(0), 32) == ByteCount(0));
  CHECK(padded(ByteCount(1), 32) == ByteCount(32));
  CHECK(padded(ByteCount(31), 32) == ByteCount(32));
  CHECK(padded(ByteCount(32), 32) == ByteCount(32));
  CHECK(padded(ByteCount(33), 32) == ByteCount(64));
  CHECK(broken_rule([] { padded(kMost, 32); }) == "counts");  // 2^64 is out of range
}

}  // namespace
}  // namespace pinfold
