#include "sim/device/step_cost.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/config/device_file.h"
#include "sim/device/curve_time.h"
#include "sim/device/fitted_range.h"
#include "sim/device/forward_time.h"

namespace pinfold::sim {
namespace {

constexpr std::uint64_t kPsPerNs = 1'000;
constexpr std::uint64_t kPsPerUs = 1'000'000;

Chunk chunk(std::uint32_t past, std::uint32_t rows, bool last = false) {
  Chunk chunk;
  chunk.first = TokenCount(past);
  chunk.count = TokenCount(rows);
  chunk.last = last;
  return chunk;
}

StepPlan decode_step(std::uint32_t rows, std::uint64_t context) {
  StepPlan plan;
  plan.decode_rows = rows;
  plan.context_rows = context;
  return plan;
}

StepPlan with_chunks(StepPlan plan, const std::vector<Chunk>& chunks) {
  for (const Chunk& one : chunks) {
    plan.chunks.push_back(one);
    plan.prompt_rows += one.count.value;
  }
  return plan;
}

Copy block_copy() { return {PoolKind::kBlocks, BlockId{1}, BlockId{2}, TokenCount(16)}; }

std::string_view built_in(std::string_view name) {
  for (const BuiltInDevice& device : built_in_devices()) {
    if (device.name == name) return device.text;
  }
  return {};
}

Device h100_70b(Fit fit) {
  const std::string name = "llama_3_1_70b_h100_sxm_vllm";
  return std::get<Device>(read_device(
      built_in(name), name, {.tensor_parallel_size = 4, .variant = "fp8s_kv8", .fit = fit}));
}

TEST_CASE("step load: counts what a plan holds") {
  StepPlan plan = with_chunks(decode_step(3, 900), {chunk(0, 10, true), chunk(100, 20)});
  plan.draft_rows = 6;  // two drafts a row
  const StepLoad load = load_of(plan);
  CHECK(load.prompt_rows == 30);
  CHECK(load.decode_rows == 9);
  CHECK(load.context == 900);
  CHECK(load.chunks == 2);
  CHECK(load.prompt_positions == 10 + 120);
  CHECK(load.pairs == 10 * 11 / 2 + 20 * 100 + 20 * 21 / 2);
  CHECK(load.head_rows == 9 + 1);
}

TEST_CASE("curve: flat below, linear between, proportional beyond, nothing at nothing") {
  const Curve curve{{10, 20, 40}, {100, 300, 200}};
  CHECK(curve_ps(curve, 0) == 0);
  CHECK(curve_ps(curve, 1) == 100 * kPsPerNs);
  CHECK(curve_ps(curve, 10) == 100 * kPsPerNs);
  CHECK(curve_ps(curve, 11) == 120 * kPsPerNs);
  CHECK(curve_ps(curve, 20) == 300 * kPsPerNs);
  CHECK(curve_ps(curve, 30) == 250 * kPsPerNs);
  CHECK(curve_ps(curve, 40) == 200 * kPsPerNs);
  CHECK(curve_ps(curve, 50) == 250 * kPsPerNs);
  // 31/3 rows: 100 + 200 / 30 ns, rounded down.
  CHECK(curve_ps(curve, 31, 3) == 106'666);
}

// The coefficients below stand in configs/devices/llama_3_1_70b_h100_sxm_vllm.json, 4 GPUs, fp8s_kv8.

TEST_CASE("linear: a step by hand") {
  const Device device = h100_70b(Fit::kLinear);
  const StepPlan plan = with_chunks(decode_step(8, 8'000), {chunk(512, 256)});
  // 9,850,666 ns + 50,607,507 ps * 256 + 47,288,355 ps * 8 + 15,583 ps * 8,000
  // + 707,173 fs * (256 * 512 + 256 * 257 / 2 = 163,968)
  const std::uint64_t ps = 9'850'666'000 + 50'607'507ULL * 256 + 47'288'355ULL * 8 +
                           15'583ULL * 8'000 + 707'173ULL * 163'968 / 1'000;
  CHECK(ps == 23'425'112'374);
  CHECK(forward_ps(device.forward, load_of(plan), plan) == ps);
}

TEST_CASE("roofline: below the knee rows cost only what they cost everywhere") {
  const Device device = h100_70b(Fit::kRoofline);
  const auto rows_ps = [&](std::uint32_t rows) {
    const StepPlan plan = decode_step(rows, 0);
    return forward_ps(device.forward, load_of(plan), plan);
  };
  // 8,988,343 ns + 11,378,957 ps * 96 + 40,116,109 ps a row
  CHECK(rows_ps(1) == 8'988'343'000 + 11'378'957ULL * 96 + 40'116'109);
  CHECK(rows_ps(96) - rows_ps(95) == 40'116'109);
  CHECK(rows_ps(97) - rows_ps(96) == 40'116'109 + 11'378'957);
}

TEST_CASE("knots: exact at the knots, the head by rows that sample") {
  const Device device = h100_70b(Fit::kKnots);
  const StepPlan decode = decode_step(8, 1'000);
  // dense 9,021,035 + head 174,801 + any decode 1,132,535 ns; 8,010,448 ps a row; 15,113 ps a position
  const std::uint64_t decode_ps =
      (9'021'035ULL + 174'801 + 1'132'535) * kPsPerNs + 8'010'448ULL * 8 + 15'113ULL * 1'000;
  CHECK(forward_ps(device.forward, load_of(decode), decode) == decode_ps);

  // A chunk that does not end its prompt samples nothing: no head.
  const StepPlan prompt = with_chunks(StepPlan{}, {chunk(0, 512)});
  const std::uint64_t prompt_ps =
      (27'214'050ULL + 1'636'251) * kPsPerNs + 1'502'911ULL * (512 * 513 / 2) / 1'000;
  CHECK(forward_ps(device.forward, load_of(prompt), prompt) == prompt_ps);
  const StepPlan ending = with_chunks(StepPlan{}, {chunk(0, 512, true)});
  CHECK(forward_ps(device.forward, load_of(ending), ending) == prompt_ps + 174'377 * kPsPerNs);
}

TEST_CASE("table: a chunk behind a past costs its share of the whole prompt's attention") {
  TableModel table;
  table.layers = 10;
  table.dense = {{1}, {0}};
  table.head = {{1}, {0}};
  table.decode_rows = {1, 4};
  table.decode_layer = {{{100, 200}, {10, 30}}, {{100}, {40}}};
  table.prompt_layer = {{100, 400}, {1'000, 16'000}};
  const auto ps = [&](const StepPlan& plan) { return table_ps(table, load_of(plan), plan); };

  // (400^2 - 200^2) / 400^2 = 3/4 of 16,000 ns, in 10 layers.
  CHECK(ps(with_chunks(StepPlan{}, {chunk(200, 200)})) == 120'000 * kPsPerNs);
  // Twice as long as measured: four times as much.
  CHECK(ps(with_chunks(StepPlan{}, {chunk(0, 800)})) == 640'000 * kPsPerNs);
  // 1 row of 150 positions: 20 ns. 2 rows of 100: 10 + (40 - 10) / 3 = 20 ns. 8 rows of 100: 80 ns.
  CHECK(ps(decode_step(1, 150)) == 200 * kPsPerNs);
  CHECK(ps(decode_step(2, 200)) == 200 * kPsPerNs);
  CHECK(ps(decode_step(8, 800)) == 800 * kPsPerNs);
}

TEST_CASE(
    "every model of every built-in entry: more of anything never takes less, where it is "
    "monotone") {
  for (const Fit fit : {Fit::kLinear, Fit::kRoofline}) {
    const Device device = h100_70b(fit);
    std::uint64_t before = 0;
    for (std::uint32_t n = 1; n < 3'000; n += 7) {
      const StepPlan plan = with_chunks(decode_step(n, 100ULL * n), {chunk(n, n)});
      const std::uint64_t ps = forward_ps(device.forward, load_of(plan), plan);
      CHECK(ps > before);
      before = ps;
    }
  }
}

TEST_CASE("step cost: the scale and the host's time come on top of the model's") {
  CostConfig cost;
  cost.device = h100_70b(Fit::kLinear);
  const StepPlan plan = decode_step(8, 8'000);
  const std::uint64_t model_ps = step_cost(cost, 16, plan).forward_ps;
  cost.scale = Rational{115, 100};
  cost.host_ps = 100 * kPsPerUs;
  CHECK(step_cost(cost, 16, plan).forward_ps == model_ps * 115 / 100 + 100 * kPsPerUs);
}

TEST_CASE("step cost: block-table entries by block size") {
  CostConfig cost;
  cost.step_base_ps = cost.row_ps = cost.prompt_token_ps = cost.context_token_ps = 0;
  const StepPlan plan = with_chunks(decode_step(2, 100), {chunk(0, 33)});
  CHECK(step_cost(cost, 16, plan).forward_ps == 0);
  cost.table_entry_ps = 1'000;
  CHECK(step_cost(cost, 16, plan).forward_ps == (7 + 3) * 1'000);
  CHECK(step_cost(cost, 64, plan).forward_ps == (2 + 1) * 1'000);
}

TEST_CASE("step cost: copies by bytes, pieces and one latency; releases move nothing") {
  CostConfig cost;
  cost.device = h100_70b(Fit::kLinear);
  // 4 GPUs, fp8 cache: 2 * 80 layers * 2 heads * 128 bytes a position.
  CHECK(cost.device->copy.bytes_per_position == 40'960);
  StepPlan plan = decode_step(1, 1);
  plan.copies.push_back(Copy{PoolKind::kBlocks, BlockId{1}, kNoBlock, TokenCount(0)});
  CHECK(step_cost(cost, 16, plan).copies_ps == 0);
  plan.copies.push_back(block_copy());
  // 655,360 bytes at 1.675 * 10^12 bytes/s: 391,259.7 ps, rounded down, and 3 us.
  CHECK(step_cost(cost, 16, plan).copies_ps == 391'259 + 3 * kPsPerUs);
  plan.copies.push_back(block_copy());
  CHECK(step_cost(cost, 16, plan).copies_ps == 2 * 391'259 + 3 * kPsPerUs);
  CHECK(step_cost(cost, 32, plan).copies_ps == 2 * 782'519 + 3 * kPsPerUs);
  cost.device->copy.piece_ps = 10;
  CHECK(step_cost(cost, 16, plan).copies_ps == 2 * (391'259 + 160 * 10) + 3 * kPsPerUs);
}

TEST_CASE("step cost: without a device the four coefficients, exactly as given") {
  CostConfig cost;
  cost.step_base_ps = 1;
  cost.row_ps = 10;
  cost.prompt_token_ps = 100;
  cost.context_token_ps = 1'000;
  StepPlan plan = with_chunks(decode_step(2, 3), {chunk(5, 4)});
  plan.draft_rows = 1;
  CHECK(step_cost(cost, 16, plan).forward_ps == 1 + 10 * 3 + 100 * 4 + 1'000 * 3);
  CHECK(step_cost(cost, 16, plan).limits_passed == 0);
}

TEST_CASE("step cost: an absurd step is clipped, not wrapped") {
  CostConfig cost;
  cost.context_token_ps = 1'000'000'000'000'000;
  CHECK(step_cost(cost, 16, decode_step(1, 1ULL << 42)).forward_ps == kLongestPartPs);
}

TEST_CASE("picosecond clock: carries what is less than a nanosecond") {
  PicosecondClock clock;
  CHECK(clock.take_ns(1'999) == 1);
  CHECK(clock.take_ns(0) == 0);
  CHECK(clock.take_ns(1) == 1);
  std::int64_t sum = 0;
  for (int i = 0; i < 1'000; ++i) sum += clock.take_ns(333);
  CHECK(sum == 333);
}

std::uint32_t bit(Limit limit) { return 1U << static_cast<std::uint32_t>(limit); }

TEST_CASE("fitted range: a step at a limit is inside, one beyond is outside, by that limit") {
  FittedRange range;
  const auto set = [&](Limit limit, std::uint64_t value) {
    range[static_cast<std::size_t>(limit)] = value;
  };
  set(Limit::kPromptRowsMax, 100);
  set(Limit::kChunksMax, 2);
  set(Limit::kChunkRowsMin, 10);
  set(Limit::kPastRowsMax, 500);
  set(Limit::kDecodeRowsMax, 8);
  set(Limit::kContextPerRowMin, 64);
  set(Limit::kContextPerRowMax, 1'000);
  set(Limit::kPositionsMax, 7'000);
  const auto passed = [&](const StepPlan& plan) {
    return limits_passed(range, load_of(plan), plan);
  };

  CHECK(passed(with_chunks(decode_step(2, 128), {chunk(500, 90), chunk(0, 10)})) == 0);
  CHECK(passed(with_chunks(StepPlan{}, {chunk(0, 101)})) == bit(Limit::kPromptRowsMax));
  CHECK(passed(with_chunks(StepPlan{}, {chunk(0, 9)})) == bit(Limit::kChunkRowsMin));
  CHECK(passed(with_chunks(StepPlan{}, {chunk(501, 10)})) == bit(Limit::kPastRowsMax));
  CHECK(passed(with_chunks(StepPlan{}, {chunk(0, 10), chunk(0, 10), chunk(0, 10)})) ==
        bit(Limit::kChunksMax));
  CHECK(passed(decode_step(2, 127)) == bit(Limit::kContextPerRowMin));
  CHECK(passed(decode_step(2, 2'000)) == 0);
  CHECK(passed(decode_step(2, 2'001)) == bit(Limit::kContextPerRowMax));
  CHECK(passed(decode_step(9, 900)) == bit(Limit::kDecodeRowsMax));
  CHECK(passed(decode_step(8, 7'001)) == bit(Limit::kPositionsMax));

  RangeCounts counts;
  counts.note(0);
  counts.note(bit(Limit::kDecodeRowsMax) | bit(Limit::kPositionsMax));
  counts.note(bit(Limit::kPositionsMax));
  CHECK(counts.steps == 2);
  CHECK(counts.by_limit[static_cast<std::size_t>(Limit::kPositionsMax)] == 2);
  CHECK(counts.by_limit[static_cast<std::size_t>(Limit::kDecodeRowsMax)] == 1);
}

TEST_CASE("fitted range: the table's own end at so many rows counts as a limit of context") {
  TableModel table;
  table.decode_rows = {1, 4};
  table.decode_layer = {{{100, 200}, {10, 30}}, {{100}, {40}}};
  const auto beyond = [&](std::uint32_t rows, std::uint64_t context) {
    return beyond_decode_table(table, load_of(decode_step(rows, context)));
  };
  CHECK_FALSE(beyond(1, 200));
  CHECK(beyond(1, 201));
  CHECK_FALSE(beyond(2, 200));  // the node above, 4 rows, ends at 100 positions each
  CHECK(beyond(2, 201));
  CHECK(beyond(5, 5));
  CHECK_FALSE(beyond(0, 0));
}

}  // namespace
}  // namespace pinfold::sim
