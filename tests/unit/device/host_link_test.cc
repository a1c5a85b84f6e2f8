// The link between device and host. Times are worked out by hand.
#include "sim/device/host_link.h"

#include <doctest/doctest.h>

#include <string>

namespace pinfold::sim {
namespace {

constexpr std::uint64_t kUs = 1'000'000;  // picoseconds

LinkTransfer load(std::uint64_t ticket, std::uint64_t work_us) {
  return {Lane::kHostToDevice, Ticket{ticket}, 0, work_us * kUs};
}
LinkTransfer save(std::uint64_t ticket, std::uint64_t work_us, std::int64_t ready_ns = 0) {
  return {Lane::kDeviceToHost, Ticket{ticket}, ready_ns, work_us * kUs};
}

/// "L1@10 S1@20": what ended so far, times in microseconds.
std::string ends_of(HostLink& link) {
  std::string text;
  for (; link.ended() != nullptr; link.take_ended()) {
    const HostLink::End& end = *link.ended();
    if (!text.empty()) text += " ";
    text += end.lane == Lane::kHostToDevice ? "L" : "S";
    text += std::to_string(value_of(end.ticket)) + "@" + std::to_string(end.at_ns / 1000);
  }
  return text;
}

TEST_CASE("host link: a lane carries one transfer after the other, each direction for itself") {
  HostLink link(false);
  link.queue(load(1, 10), 0);
  link.queue(load(2, 5), 0);
  link.queue(save(1, 12), 0);
  CHECK(link.next_ns() == 10'000);
  link.advance_to(100'000);
  CHECK(ends_of(link) == "L1@10 S1@12 L2@15");
  CHECK_FALSE(link.next_ns());
}

TEST_CASE("host link: two directions that share the bandwidth have half of it each") {
  HostLink link(true);
  link.queue(load(1, 10), 0);
  link.queue(save(1, 4), 2'000);
  // Alone for 2 us; then the save needs 8 us at half speed, in which the load does 4 of its 8: the rest of
  // it takes 4 us alone.
  link.advance_to(50'000);
  CHECK(ends_of(link) == "S1@10 L1@14");
}

TEST_CASE("host link: what is not ready keeps its lane, and slows nobody") {
  HostLink link(true);
  link.queue(save(1, 4, 6'000), 0);
  link.queue(save(2, 1), 0);
  link.queue(load(1, 10), 0);
  CHECK(link.next_ns() == 6'000);
  // The load is alone up to 6 us; then 4 of it are left, and 4 of the save: both end at 14.
  link.advance_to(50'000);
  CHECK(ends_of(link) == "L1@14 S1@14 S2@15");
}

TEST_CASE("host link: however time is cut, ends are the same") {
  for (const std::int64_t step_ns : {1'000, 777, 50'000}) {
    HostLink link(true);
    link.queue(load(1, 9), 0);
    link.queue(save(1, 3), 0);
    for (std::int64_t now_ns = 0; now_ns < 50'000; now_ns += step_ns) link.advance_to(now_ns);
    link.advance_to(50'000);
    CHECK(ends_of(link) == "S1@6 L1@12");
  }
}

TEST_CASE("host link: an end is on the first whole nanosecond behind the work") {
  HostLink link(false);
  link.queue({Lane::kHostToDevice, Ticket{1}, 0, 1'001}, 0);
  CHECK(link.next_ns() == 2);
  link.queue({Lane::kDeviceToHost, Ticket{1}, 0, 0}, 0);
  CHECK(link.next_ns() == 0);  // no work at all: at once
  link.advance_to(0);
  CHECK(ends_of(link) == "S1@0");
}

}  // namespace
}  // namespace pinfold::sim
