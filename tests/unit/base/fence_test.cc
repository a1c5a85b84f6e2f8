#include "base/fence.h"

#include <doctest/doctest.h>

namespace pinfold {
namespace {

Passed passed_on(Lane lane, Ticket ticket) {
  Passed passed;
  passed.upto[index_of(lane)] = ticket;
  return passed;
}

TEST_CASE("fence (O9): has passed at its ticket, not one before") {
  const Fence fence = fence_on(Lane::kCopy, Ticket{5});
  CHECK_FALSE(has_passed(fence, passed_on(Lane::kCopy, Ticket{4})));
  CHECK(has_passed(fence, passed_on(Lane::kCopy, Ticket{5})));
  CHECK(has_passed(fence, passed_on(Lane::kCopy, Ticket{6})));
}

TEST_CASE("fence (O9): another lane's progress does not pass it") {
  const Fence fence = fence_on(Lane::kCopy, Ticket{5});
  CHECK_FALSE(has_passed(fence, passed_on(Lane::kCompute, Ticket{9})));
  CHECK_FALSE(has_passed(fence, passed_on(Lane::kHostToDevice, Ticket{9})));
  CHECK_FALSE(has_passed(fence, passed_on(Lane::kDeviceToHost, Ticket{9})));
}

TEST_CASE("fence (O9): on two lanes waits for both") {
  Fence fence = fence_on(Lane::kCompute, Ticket{2});
  fence.ticket[index_of(Lane::kCopy)] = Ticket{7};

  Passed passed = passed_on(Lane::kCompute, Ticket{2});
  CHECK_FALSE(has_passed(fence, passed));
  passed.upto[index_of(Lane::kCopy)] = Ticket{6};
  CHECK_FALSE(has_passed(fence, passed));
  passed.upto[index_of(Lane::kCopy)] = Ticket{7};
  CHECK(has_passed(fence, passed));
}

TEST_CASE("fence: without a ticket waits for nothing") {
  CHECK(has_passed(Fence{}, Passed{}));
  CHECK(fence_on(Lane::kCompute, Ticket{0}) == Fence{});
}

TEST_CASE("fence: compares tickets beyond 32 bits") {
  const Fence fence = fence_on(Lane::kCompute, Ticket{4294967297});
  CHECK_FALSE(has_passed(fence, passed_on(Lane::kCompute, Ticket{4294967296})));
  CHECK(has_passed(fence, passed_on(Lane::kCompute, Ticket{4294967297})));
}

}  // namespace
}  // namespace pinfold
