#include "sim/config/pool_size.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/parse.h"

namespace pinfold::sim {
namespace {

std::string path_of(const std::string& name) {
  const char* root = std::getenv("PINFOLD_SOURCE_ROOT");
  REQUIRE(root != nullptr);
  return (std::filesystem::path(root) / "configs" / name).string();
}

RunConfig loaded(const std::vector<std::string>& files, const std::vector<std::string>& overrides) {
  std::vector<std::string> paths;
  for (const std::string& file : files) paths.push_back(path_of(file));
  const Outcome<LoadedConfig> config = load_config({.files = paths, .overrides = overrides});
  REQUIRE_MESSAGE(config, (config ? std::string() : describe(config.error())));
  return config.value().config;
}

std::string refusal(const std::vector<std::string>& files,
                    const std::vector<std::string>& overrides) {
  std::vector<std::string> paths;
  for (const std::string& file : files) paths.push_back(path_of(file));
  const Outcome<LoadedConfig> config = load_config({.files = paths, .overrides = overrides});
  return config ? "none" : describe(config.error());
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("pool size: GiB are exact and rounded down") {
  CHECK(bytes_of_gib({0, 1}).value == 0);
  CHECK(bytes_of_gib({3, 2}).value == 1'610'612'736);
  CHECK(bytes_of_gib({5811, 100}).value == 62'395'137'392);  // 58.11 x 2^30 = 62,395,137,392.64
}

// The formula's terms by hand: 2 (key and value) x heads x 128 x bytes, x layers, x 16 positions.
TEST_CASE("pool size: a block's bytes follow from the model's shape and tensor parallelism") {
  const std::vector<std::string> llama{"models/llama_3_1_8b.json"};
  CHECK(block_bytes_of(loaded(llama, {})).value == 2 * 8 * 128 * 2 * 32 * 16);
  CHECK(block_bytes_of(loaded(llama, {"engine.tensor_parallel_size=4"})).value ==
        2 * 2 * 128 * 2 * 32 * 16);
  // Sixteen GPUs share eight heads: each holds one.
  CHECK(block_bytes_of(loaded(llama, {"engine.tensor_parallel_size=16"})).value ==
        2 * 1 * 128 * 2 * 32 * 16);
  CHECK(block_bytes_of(loaded(llama, {"model.kv_bytes_per_element=1"})).value ==
        2 * 8 * 128 * 1 * 32 * 16);
  CHECK(block_bytes_of(loaded({"models/qwen3_32b.json"}, {})).value == 2 * 8 * 128 * 2 * 64 * 16);
  CHECK(block_bytes_of(RunConfig{}).value == 0);
}

TEST_CASE("pool size: the V4-like model has compressed caches, and the book's slot") {
  const std::vector<std::string> v4{"models/v4_like.json", "engines/deepinfer_h200.json"};
  const RunConfig config = loaded(v4, {});
  // 32 rows of 528 and of 132 bytes in 21 layers, 1 row of 528 in 20.
  CHECK(block_bytes_of(config).value == 32 * 21 * (528 + 132) + 20 * 528);
  // 20 stored rings of 134 x 528 = 70,752 bytes are the 1,415,040 to store; 23 more are dropped.
  CHECK(slot_bytes_of(config).value == 1'415'040 + 23 * 70'752 + 12'206'080);
  const MemorySplit split = split_memory(config);
  CHECK(split.sizing.state_ids == 308);  // floor(1.2 x 256) + 1
  CHECK(split.sizing.state_reserved.value == 2 * 308 * slot_bytes_of(config).value);
}

TEST_CASE("pool size: the parts sum to what the engine may use, to the byte") {
  for (const std::string engine : {"engines/vllm_a100.json", "engines/vllm_h100.json",
                                   "engines/vllm_h200.json", "engines/vllm_b200.json"}) {
    for (const std::string model : {"models/llama_3_1_8b.json", "models/stateful_window.json"}) {
      CAPTURE(engine);
      CAPTURE(model);
      const RunConfig config = loaded({model, engine}, {});
      const MemorySplit split = split_memory(config);
      CHECK(split.sizing.ok());
      CHECK(split.budget.value == split.weights.value + split.activation_peak.value +
                                      split.non_torch.value + split.sizing.state_reserved.value +
                                      split.sizing.blocks.value + split.sizing.remainder.value);
      CHECK(split.sizing.remainder.value < split.block.value);
      CHECK(config.engine.num_blocks == split.sizing.block_ids);
    }
  }
}

// 79.19 GiB x 0.9 - 14.99 - 2 - 0.25, over 2 MiB blocks, with each term rounded to bytes as above.
TEST_CASE("pool size: Llama-3.1-8B on one H100 at 90 %") {
  const RunConfig config = loaded({"models/llama_3_1_8b.json", "engines/vllm_h100.json"}, {});
  const std::uint64_t gib = std::uint64_t{1} << 30;
  const std::uint64_t left = (gib * 7919 / 100) * 9 / 10 - gib * 1499 / 100 - 2 * gib - gib / 4;
  CHECK(config.engine.num_blocks == left / 2'097'152);
}

TEST_CASE("pool size: collectives take memory only between GPUs") {
  const std::vector<std::string> files{"models/llama_3_1_8b.json", "engines/vllm_h100.json"};
  CHECK(split_memory(loaded(files, {})).non_torch == bytes_of_gib({1, 4}));
  const MemorySplit two = split_memory(loaded(files, {"engine.tensor_parallel_size=2"}));
  CHECK(two.non_torch == bytes_of_gib({1, 4}) + bytes_of_gib({185, 100}));
  CHECK(two.weights.value == (bytes_of_gib({1499, 100}).value + 1) / 2);
}

TEST_CASE("pool size: the same bytes whatever the block size, within one block") {
  struct Case {
    std::vector<std::string> files;
    std::vector<std::uint32_t> sizes;
  };
  const std::vector<Case> cases{
      {{"models/llama_3_1_8b.json", "engines/vllm_h100.json"}, {8, 16, 32, 64, 128, 256}},
      {{"models/stateful_window.json", "engines/vllm_h100.json"}, {8, 16, 32, 64, 128, 256}},
      {{"models/v4_like.json", "engines/deepinfer_h200.json"}, {128, 256}}};
  for (const Case& one : cases) {
    CAPTURE(one.files[0]);
    std::uint64_t room = 0;
    for (const std::uint32_t size : one.sizes) {
      CAPTURE(size);
      const MemorySplit split =
          split_memory(loaded(one.files, {"engine.block_size=" + std::to_string(size)}));
      const std::uint64_t all = split.sizing.blocks.value + split.sizing.remainder.value;
      CHECK((room == 0 || room == all));
      CHECK(all - split.sizing.blocks.value < split.block.value);
      room = all;
    }
  }
}

TEST_CASE("pool size: a block size that the compressed caches cannot have is refused") {
  for (const std::string size : {"16", "64", "192"}) {
    CHECK(contains(refusal({"models/v4_like.json", "engines/deepinfer_h200.json"},
                           {"engine.block_size=" + size}),
                   "engine.block_size: found a block size of " + size +
                       ", expected a multiple of the compression ratio 128 (a block holds "
                       "block_size/ratio rows of each compressed cache, a whole number)"));
  }
}

// Case B100: a pool of no, one or a negative number of blocks is refused with its numbers.
TEST_CASE("pool size: memory that leaves too few blocks is refused with its numbers") {
  const std::vector<std::string> llama{"models/llama_3_1_8b.json"};
  // 3 MiB are one block of 2 MiB; 4 MiB are two, of which one can be used.
  CHECK(refusal(llama, {"memory.available_gib=0.002929"}) ==
        "--set memory.available_gib=0.002929: memory.available_gib: found 0.00 GiB left for blocks "
        "of 2097152 bytes: 1 block id, expected room for at least 2: block 0 is never issued");
  CHECK(loaded(llama, {"memory.available_gib=0.003907"}).engine.num_blocks == 2);
  CHECK(contains(refusal(llama, {"memory.available_gib=0"}), ": 0 block ids, expected room"));
  CHECK(
      contains(refusal({"models/llama_3_1_70b.json", "engines/vllm_h100.json"}, {}),
               "memory.device_gib: found weights (131.42 GiB), activations (2.00 GiB), other "
               "memory (0.25 GiB) that take 62.40 GiB more than the 71.27 GiB that the engine may "
               "use, expected room for at least 2 blocks"));
  CHECK(contains(
      refusal({"models/v4_like.json", "engines/deepinfer_h200.json"}, {"engine.max_num_seqs=2000"}),
      "and twice 2401 state slots (68.19 GiB)"));
  CHECK(contains(refusal({"engines/vllm_h100.json"}, {}),
                 "found a model whose caches have no size, expected model.layers"));
  CHECK(contains(refusal(llama, {"engine.num_blocks=1"}), "found 1, expected an integer from 2"));
  CHECK(contains(refusal(llama, {"engine.num_blocks=-3"}), "found -3, expected an integer from 2"));
  CHECK(
      contains(refusal(llama, {"memory.available_gib=-1"}), "found -1, expected a decimal from 0"));
  CHECK(contains(refusal(llama, {"memory.available_gib=900000", "engine.block_size=1"}),
                 "found room for 7372800000 block ids and 1 state ids, expected at most 67108864"));
}

TEST_CASE("pool size: the figure that came last sizes the pool, two at once are an error") {
  const std::vector<std::string> files{"models/llama_3_1_8b.json", "engines/vllm_h100.json"};
  CHECK(loaded(files, {"engine.num_blocks=500"}).engine.num_blocks == 500);
  CHECK(loaded(files, {"engine.num_blocks=500"}).memory.source == PoolSource::kNumBlocks);
  CHECK(loaded(files, {"memory.available_gib=1"}).engine.num_blocks == 512);
  CHECK(contains(refusal(files, {"memory.available_gib=1", "engine.num_blocks=500"}),
                 "memory.available_gib: found a second figure that sizes the pool, expected "
                 "engine.num_blocks, memory.available_gib or memory.device_gib alone "
                 "(engine.num_blocks is given too)"));
  CHECK(contains(refusal(files, {"engine.num_blocks=500", "memory.utilization=0.8"}),
                 "memory.utilization: found an option without effect, expected it only where "
                 "memory.device_gib sizes the pool"));
}

TEST_CASE("pool size: a number of GPUs that cannot share the heads is refused") {
  CHECK(
      contains(refusal({"models/llama_3_1_8b.json"}, {"engine.tensor_parallel_size=3"}),
               "engine.tensor_parallel_size: found 3 GPUs, expected a divisor or a multiple of the "
               "8 key-value heads"));
}

TEST_CASE("pool size: the lists of compressed caches are as long as each other") {
  CHECK(contains(
      refusal({"models/v4_like.json"}, {"engine.block_size=128", "model.compression_layers=21,20"}),
      "model.compression_layers: found 2 values, expected one for each of the 3 "
      "compression_ratios"));
}

// Rule O4 for whole requests: p + max(o, 1) - 1 rows are written, and a hidden stop lets the steps
// planned meanwhile reserve theirs.
TEST_CASE("pool size: the blocks of a request, at its largest") {
  RunConfig config;
  config.engine.block_size = 16;
  config.engine.overlap = 1;
  config.workload.stop = StopMode::kKnown;
  CHECK(blocks_needed(config, {16, 1}) == 1);
  CHECK(blocks_needed(config, {17, 1}) == 2);
  CHECK(blocks_needed(config, {16, 0}) == 1);
  CHECK(blocks_needed(config, {10, 7}) == 1);
  CHECK(blocks_needed(config, {10, 8}) == 2);
  config.workload.stop = StopMode::kHidden;
  CHECK(blocks_needed(config, {10, 6}) == 1);
  CHECK(blocks_needed(config, {10, 7}) == 2);  // one overrun row
  config.engine.overlap = 0;
  CHECK(blocks_needed(config, {10, 7}) == 1);
  config.engine.overlap = 2;
  config.workload.drafts = 3;  // 15 + 2 x 4 + 3 = 26 positions, 33 from a prompt of 17
  CHECK(blocks_needed(config, {10, 6}) == 2);
  CHECK(blocks_needed(config, {17, 6}) == 3);
  config.engine.max_model_len = 32;
  CHECK(blocks_needed(config, {17, 6}) == 2);  // never planned past the model's length
}

// Case B103: the report says floor(U / need), and 0 where one does not fit.
TEST_CASE("pool size: concurrency is the worst case, and says what binds") {
  RunConfig config;
  config.workload.stop = StopMode::kKnown;
  config.engine.num_blocks = 101;
  config.engine.max_num_seqs = 12;
  const auto of = [&](RequestShape shape) {
    return concurrency_of(config, split_memory(config), shape);
  };
  CHECK(of({160, 1}).largest == 10);  // 10 blocks each, 100 usable
  CHECK(of({160, 1}).binds == Binding::kBlocks);
  CHECK(of({1601, 1}).need == 101);
  CHECK(of({1601, 1}).largest == 0);
  CHECK(of({16, 1}).by_blocks == 100);
  CHECK(of({16, 1}).largest == 12);
  CHECK(of({16, 1}).binds == Binding::kRunLimit);
  CHECK_FALSE(of({16, 1}).by_slots.has_value());
  config.model.state_slots = true;
  config.engine.slot_factor = {1, 2};
  CHECK(of({16, 1}).by_slots == 6);
  CHECK(of({16, 1}).binds == Binding::kStateSlots);
}

TEST_CASE("pool size: one more percent") {
  const std::vector<std::string> files{"models/llama_3_1_8b.json", "engines/vllm_h100.json"};
  const RunConfig device = loaded(files, {});
  const OnePercent more = one_percent_more(device);
  CHECK(more.bytes.value == bytes_of_gib({7919, 100}).value / 100);
  // What a utilisation of 0.91 gives, within a byte of rounding and so within one block.
  const RunConfig by_hand = loaded(files, {"memory.utilization=0.91"});
  CHECK(more.split.sizing.block_ids + 1 >= by_hand.engine.num_blocks);
  CHECK(more.split.sizing.block_ids <= by_hand.engine.num_blocks + 1u);
  CHECK(one_percent_more(loaded(files, {"engine.num_blocks=1000"})).split.sizing.block_ids == 1010);
  CHECK(one_percent_more(loaded(files, {"memory.available_gib=1"})).split.sizing.block_ids == 517);
}

TEST_CASE("pool size: every file of configs/engines goes with every dense model that fits it") {
  struct Case {
    std::string model;
    std::string gpus;
  };
  for (const std::string gpu : {"a100", "h100", "h200", "b200"}) {
    for (const Case& fit : std::vector<Case>{{"llama_3_1_8b", "1"},
                                             {"llama_3_1_8b", "2"},
                                             {"llama_3_1_70b", "4"},
                                             {"llama_3_1_70b", "8"},
                                             {"llama_3_1_70b_fp8", "2"},
                                             {"qwen3_32b", "1"},
                                             {"qwen3_32b", "2"}}) {
      CAPTURE(gpu);
      CAPTURE(fit.model);
      const RunConfig config =
          loaded({"models/" + fit.model + ".json", "engines/vllm_" + gpu + ".json"},
                 {"engine.tensor_parallel_size=" + fit.gpus});
      CHECK(config.engine.num_blocks > 1000);
    }
  }
}

}  // namespace
}  // namespace pinfold::sim
