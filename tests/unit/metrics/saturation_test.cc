#include "sim/metrics/saturation.h"

#include <doctest/doctest.h>

#include <cstdint>

namespace pinfold::sim {
namespace {

ArrivalQueue watched(std::uint64_t requests, std::uint64_t last, bool open_loop = true) {
  QueueWatch watch(requests, open_loop);
  for (std::uint64_t n = 1; n < requests; ++n) watch.arrive(2);
  watch.arrive(last);
  return watch.queue();
}

TEST_CASE("saturation: the last arrival finds at least 8 waiting, and 1 % of the trace") {
  CHECK_FALSE(watched(100, 7).saturated());
  CHECK(watched(100, 8).saturated());
  CHECK_FALSE(watched(10'000, 99).saturated());
  CHECK(watched(10'000, 100).saturated());
  CHECK_FALSE(watched(10'001, 100).saturated());  // 1 % rounded up
  CHECK(watched(10'001, 101).saturated());
}

TEST_CASE("saturation: a closed loop chooses its own queue") {
  CHECK_FALSE(watched(100, 50, false).saturated());
}

TEST_CASE("saturation: the first three quarters and the last one are told apart") {
  QueueWatch watch(8, true);
  for (std::uint64_t n = 0; n < 8; ++n) watch.arrive(n);
  const ArrivalQueue& queue = watch.queue();
  CHECK(queue.early_arrivals == 6);
  CHECK(queue.early_waiting == 0 + 1 + 2 + 3 + 4 + 5);
  CHECK(queue.late_arrivals == 2);
  CHECK(queue.late_waiting == 6 + 7);
  CHECK(queue.at_last_arrival == 7);
  CHECK(queue.arrivals() == 8);
}

TEST_CASE("saturation: nothing arrived, nothing is saturated") {
  CHECK_FALSE(ArrivalQueue{}.saturated());
}

}  // namespace
}  // namespace pinfold::sim
