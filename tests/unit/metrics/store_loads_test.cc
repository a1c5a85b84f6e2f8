// Loads and copies under way, told record by record.
#include "sim/metrics/store_loads.h"

#include <doctest/doctest.h>

#include <vector>

#include "sim/metrics/bytes_in_flight.h"

namespace pinfold::sim {
namespace {

using State = StoreLoad::State;

Record record_of(Verb verb, std::uint32_t sequence, std::uint32_t count = 0, std::uint32_t aux = 0,
                 PoolKind pool = PoolKind::kBlocks) {
  return {verb, pool, 0, sequence, count, aux};
}

TEST_CASE("loads: what the device had is not spared, blocks and state are one load") {
  StoreLoads loads;
  CHECK(loads.take(record_of(Verb::kAnswer, 7, 9), 100) == nullptr);
  CHECK(loads.take(record_of(Verb::kHit, 7, 2, 8), 100) == nullptr);
  const StoreLoad* load = loads.take(record_of(Verb::kLoad, 7, 6, 1), 100);  // 3 pairs
  REQUIRE(load != nullptr);
  CHECK(load->state == State::kQueued);
  CHECK(load->blocks == 3);
  load = loads.take(record_of(Verb::kLoad, 7, 2, 1, PoolKind::kStateSlots), 100);
  REQUIRE(load != nullptr);
  CHECK(load->states == 1);
  CHECK(loads.pending().size() == 1);
  CHECK(loads.take(record_of(Verb::kLoaded, 8, 20), 120) == nullptr);  // somebody else
  load = loads.take(record_of(Verb::kLoaded, 7, 20), 130);
  REQUIRE(load != nullptr);
  CHECK(load->state == State::kPassed);
  CHECK(load->time_ns() == 30);
  CHECK(load->blocks == 3);
  CHECK(load->states == 1);
  CHECK(load->tokens == 20 - 8);
  CHECK(loads.pending().empty());
}

TEST_CASE("loads: a hit of an earlier admission is not this one's") {
  StoreLoads loads;
  loads.take(record_of(Verb::kAnswer, 7, 9), 0);
  loads.take(record_of(Verb::kHit, 7, 2, 8), 0);
  loads.take(record_of(Verb::kAnswer, 7, 9), 50);  // again, after a preemption: nothing is found
  loads.take(record_of(Verb::kLoad, 7, 4, 1), 50);
  const StoreLoad* const load = loads.take(record_of(Verb::kLoaded, 7, 8), 60);
  REQUIRE(load != nullptr);
  CHECK(load->tokens == 8);
}

TEST_CASE("loads: given up, aborted, and what is no load's end") {
  StoreLoads loads;
  for (const std::uint32_t sequence : {1U, 2U}) {
    loads.take(record_of(Verb::kAnswer, sequence, 3), 10);
    loads.take(record_of(Verb::kLoad, sequence, 4, sequence), 10);
  }
  CHECK(loads.take(record_of(Verb::kDemote, 3, 9), 12) == nullptr);  // a fork
  CHECK(loads.take(record_of(Verb::kEnd, 3), 12) == nullptr);
  const StoreLoad* load = loads.take(record_of(Verb::kDemote, 1, 9), 15);
  REQUIRE(load != nullptr);
  CHECK(load->state == State::kLost);
  CHECK(load->time_ns() == 5);
  load = loads.take(record_of(Verb::kEnd, 2), 17);
  REQUIRE(load != nullptr);
  CHECK(load->state == State::kAborted);
  CHECK(load->time_ns() == 7);
}

/// Blocks of 100 bytes, slots of 10; in the store 1000 and 7.
struct Copies {
  explicit Copies(Lane copy_lane) : bytes({100, 10, 1000, 7}, copy_lane) {}
  void note(Verb verb, std::uint32_t sequence, std::uint32_t count = 0, std::uint32_t aux = 0) {
    bytes.take(record_of(verb, sequence, count, aux), {});
  }
  void ids(Verb verb, PoolKind pool, std::vector<BlockId> ids, std::uint32_t aux = 0) {
    bytes.take(record_of(verb, 0, static_cast<std::uint32_t>(ids.size()), aux, pool), ids);
  }
  void copy(PoolKind pool, BlockId to) { ids(Verb::kCopyQueued, pool, {BlockId{1}, to}); }

  BytesInFlight bytes;
};

TEST_CASE("bytes in flight: copies of the compute lane end with their step's result") {
  Copies run(Lane::kCompute);
  run.copy(PoolKind::kBlocks, BlockId{2});
  run.copy(PoolKind::kStateSlots, BlockId{3});
  run.copy(PoolKind::kBlocks, kNoBlock);  // gives its source back and moves nothing
  run.note(Verb::kStep, 1);
  run.copy(PoolKind::kBlocks, BlockId{4});
  run.note(Verb::kStep, 2);
  CHECK(run.bytes.on(Lane::kCompute) == 100 + 10 + 100);
  run.note(Verb::kResult, 1);
  CHECK(run.bytes.on(Lane::kCompute) == 100);
  run.note(Verb::kPassed, 0, index_of(Lane::kCompute), 3);  // the host was told before the result
  CHECK(run.bytes.on(Lane::kCompute) == 0);
  run.note(Verb::kResult, 2);
  CHECK(run.bytes.on(Lane::kCompute) == 0);
}

TEST_CASE("bytes in flight: a lane of its own passes by tickets, a result says nothing of it") {
  Copies run(Lane::kCopy);
  run.copy(PoolKind::kBlocks, BlockId{2});
  run.note(Verb::kStep, 1);
  run.copy(PoolKind::kBlocks, BlockId{3});
  run.note(Verb::kStep, 2);
  run.note(Verb::kResult, 1);
  CHECK(run.bytes.on(Lane::kCopy) == 200);
  run.note(Verb::kPassed, 0, index_of(Lane::kCopy), 1);  // step 1's copies: ticket 2 * 1 - 1
  CHECK(run.bytes.on(Lane::kCopy) == 100);
  run.note(Verb::kPassed, 0, index_of(Lane::kCopy), 3);
  CHECK(run.bytes.on(Lane::kCopy) == 0);
}

TEST_CASE("bytes in flight: loads and saves have a lane each") {
  Copies run(Lane::kCompute);
  run.ids(Verb::kSave, PoolKind::kBlocks, {BlockId{1}, BlockId{1}, BlockId{2}, BlockId{2}}, 1);
  run.ids(Verb::kSave, PoolKind::kStateSlots, {BlockId{1}, BlockId{1}}, 2);
  run.ids(Verb::kLoad, PoolKind::kBlocks, {BlockId{3}, BlockId{5}}, 1);
  CHECK(run.bytes.on(Lane::kDeviceToHost) == 2 * 1000 + 7);
  CHECK(run.bytes.on(Lane::kHostToDevice) == 1000);
  CHECK(run.bytes.on(Lane::kCompute) == 0);
  run.note(Verb::kPassed, 0, index_of(Lane::kDeviceToHost), 1);
  CHECK(run.bytes.on(Lane::kDeviceToHost) == 7);
  CHECK(run.bytes.on(Lane::kHostToDevice) == 1000);
  run.note(Verb::kPassed, 0, index_of(Lane::kHostToDevice), 1);
  CHECK(run.bytes.on(Lane::kHostToDevice) == 0);
}

}  // namespace
}  // namespace pinfold::sim
