#include "sim/report/block_map.h"

#include <doctest/doctest.h>

#include "sim/report/base64.h"

namespace pinfold::sim {
namespace {

bool holds(const std::string& json, const std::string& member) {
  return json.find(member) != std::string::npos;
}

TEST_CASE("base64: the examples of RFC 4648") {
  const auto encoded = [](const std::string& text) { return base64({text.begin(), text.end()}); };
  CHECK(encoded("").empty());
  CHECK(encoded("f") == "Zg==");
  CHECK(encoded("fo") == "Zm8=");
  CHECK(encoded("foo") == "Zm9v");
  CHECK(encoded("foobar") == "Zm9vYmFy");
}

TEST_CASE("block map: a column shows the state at its end, and what was taken within it") {
  // Three blocks; columns of 1 ns while they are few.
  BlockMap map(4);
  map.advance(100);
  map.change(BlockId{1}, BlockState::kCommitted, 0);
  map.change(BlockId{2}, BlockState::kReserved, 5);
  map.advance(101);  // column 1: committed, reserved, free
  map.preempted(2);
  map.change(BlockId{2}, BlockState::kTaken, 5);
  map.change(BlockId{2}, BlockState::kFree, kNoOwner);
  map.advance(102);  // column 2: committed, taken, free
  map.change(BlockId{1}, BlockState::kFree, kNoOwner);
  map.advance(103);  // column 3: nothing
  map.finish();
  const std::string json = map.json(16);
  CHECK(holds(json, "\"blocks\": 3,"));
  CHECK(holds(json, "\"from_s\": 0.000000100,"));
  CHECK(holds(json, "\"columns\": 4,"));
  CHECK(holds(json, "\"states\": \"" + base64({2, 1, 0, 2, 5, 0, 0, 0, 0, 0, 0, 0}) + "\""));
  // Owners count from 1.
  CHECK(holds(json, "\"owners\": \"" + base64({1, 6, 0, 1, 6, 0, 0, 0, 0, 0, 0, 0}) + "\""));
  // The focus has all five changes: time passed, lane, state, owner.
  CHECK(holds(json, "\"preemptions\": 1,"));
  CHECK(holds(json, "\"peak_s\": 0.000000101,"));
  CHECK(holds(json, "\"initial_states\": \"" + base64({0, 0, 0}) + "\""));
  CHECK(holds(json, "\"stream\": \"" +
                        base64({0, 0, 2, 1, 0, 1, 1, 6, 1, 1, 5, 6, 0, 1, 0, 0, 1, 0, 0, 0}) +
                        "\""));
}

TEST_CASE("block map: a long run has few columns, and none that lost what was taken") {
  BlockMap map(2);
  map.advance(0);
  for (std::int64_t i = 0; i < 100'000; ++i) {
    map.advance(i * 1000);
    // Once in the run, for a moment.
    if (i == 31'337) {
      map.change(BlockId{1}, BlockState::kTaken, 7);
      map.change(BlockId{1}, BlockState::kFree, kNoOwner);
    }
  }
  map.finish();
  const std::string json = map.json(16);
  // 10^8 ns are 763 columns of 2^17 ns; the moment is in number 239.
  CHECK(holds(json, "\"column_s\": 0.000131072,"));
  CHECK(holds(json, "\"columns\": 763,"));
  std::vector<std::uint8_t> states(763);
  states[239] = 5;
  CHECK(holds(json, "\"states\": \"" + base64(states) + "\""));
}

TEST_CASE("block map: of a large pool every n-th block is shown") {
  // 5,000 blocks: every 5th in the focus, 1,000 lanes; every 30th in the overview, 167 lanes.
  BlockMap map(5001);
  map.advance(0);
  map.change(BlockId{6}, BlockState::kCommitted, 1);  // lane 1 of the focus
  map.change(BlockId{7}, BlockState::kCommitted, 1);  // no lane
  map.preempted(2);
  map.finish();
  const std::string json = map.json(16);
  CHECK(holds(json, "\"lanes\": 167,\n    \"blocks_per_lane\": 30,"));
  CHECK(holds(json, "\"lanes\": 1000,\n    \"blocks_per_lane\": 5,\n    \"changes\": 1,"));
  CHECK(holds(json, "\"stream\": \"" + base64({0, 1, 2, 2}) + "\""));
}

TEST_CASE("block map: the focus is where most preemptions are") {
  BlockMap map(2);
  map.advance(0);
  const auto turn = [&map](std::uint32_t request) {
    map.change(BlockId{1}, BlockState::kCommitted, request);
    map.change(BlockId{1}, BlockState::kFree, kNoOwner);
  };
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    map.advance(std::int64_t{i} * 1000);
    turn(i);
    if (i == 10'000 || i == 70'000 || i == 70'100) map.preempted(1);
  }
  map.finish();
  const std::string json = map.json(16);
  CHECK(holds(json, "\"preemptions\": 2,"));
  CHECK(holds(json, "\"peak_s\": 0.070100000,"));
  // Two changes a microsecond, 24,576 of them, the peak in the middle.
  CHECK(holds(json, "\"from_s\": 0.063957000,\n    \"to_s\": 0.076244000,"));
}

}  // namespace
}  // namespace pinfold::sim
