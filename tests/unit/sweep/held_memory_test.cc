#include "sim/sweep/held_memory.h"

#include <doctest/doctest.h>

namespace pinfold::sim {
namespace {

/// 2 layers x 2 (key and value) x 1 head x 64 elements x 2 bytes = 512 bytes a position.
RunConfig small_model(std::uint32_t block_size, std::uint32_t ids) {
  RunConfig config;
  config.model.layers = 2;
  config.model.head_dim = 64;
  config.engine.block_size = block_size;
  config.engine.num_blocks = ids;
  return config;
}

TEST_CASE("held memory: a block twice as large halves the count, rounded down") {
  const HeldMemory held = held_memory(small_model(16, 101));
  CHECK(held.bytes_known);
  CHECK(held.amount == 101 * 16 * 512);
  CHECK(block_ids_from(held, small_model(16, 7)) == 101);
  CHECK(block_ids_from(held, small_model(32, 7)) == 50);
  CHECK(block_ids_from(held, small_model(1, 7)) == 1616);
  CHECK(block_ids_from(held, small_model(2048, 7)) == 0);
}

TEST_CASE("held memory: state slots take twice their bytes from the same memory") {
  RunConfig base = small_model(16, 1000);
  base.model.state_slots = true;
  base.model.compression_state_bytes = 8192;  // a slot of one block
  base.engine.max_num_seqs = 10;
  base.engine.slot_factor = {12, 10};
  const HeldMemory held = held_memory(base);
  CHECK(held.amount == 1000 * 8192 + 2 * 13 * 8192);  // floor(1.2 x 10) + 1 = 13 ids
  RunConfig more = base;
  more.engine.slot_factor = {15, 10};  // 16 ids: 3 more, twice: 6 blocks fewer
  CHECK(block_ids_from(held, more) == 994);
  more.engine.max_num_seqs = 1000;  // 1501 ids pass what there is
  CHECK(block_ids_from(held, more) == 0);
}

TEST_CASE("held memory: without a model's shape positions are held") {
  RunConfig base;
  base.engine.block_size = 16;
  base.engine.num_blocks = 100;
  const HeldMemory held = held_memory(base);
  CHECK(!held.bytes_known);
  base.engine.block_size = 64;
  CHECK(block_ids_from(held, base) == 25);
  // With a shape on one side only nothing can be compared.
  CHECK(block_ids_from(held, small_model(64, 77)) == 77);
}

}  // namespace
}  // namespace pinfold::sim
