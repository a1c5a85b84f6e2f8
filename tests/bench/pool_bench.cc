// What taking and releasing an id costs, beside the linked list of the twin: why the pool keeps its
// free ids in a ring. The gap opens when the ids are shuffled and the records outgrow the caches.
// Items are ids taken and released again; 86 is a prompt of 1,376 tokens at 16 positions a block.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "pool/pool.h"
#include "tests/model/pool_twin.h"
#include "tests/model/random_draws.h"

namespace pinfold {
namespace {

enum class Order : std::uint8_t { kInOrder, kShuffled };

/// A pool of `blocks` usable ids whose free list is in order, or shuffled as after a long run.
template <class PoolType, class Options>
PoolType pool_of(std::uint32_t blocks, Order order) {
  Options options;
  options.ids = blocks + 1;
  PoolType pool(options);
  if (order == Order::kShuffled) {
    std::vector<BlockId> all(blocks);
    pool.take(all);
    model::RandomDraws draws(1);
    draws.shuffle(all);
    pool.release(all);
  }
  return pool;
}

template <class PoolType, class Options>
void take_and_release(benchmark::State& state) {
  const auto blocks = static_cast<std::uint32_t>(state.range(0));
  const auto batch = static_cast<std::size_t>(state.range(1));
  const Order order = state.range(2) == 0 ? Order::kInOrder : Order::kShuffled;
  PoolType pool = pool_of<PoolType, Options>(blocks, order);
  std::vector<BlockId> table(batch);
  for (auto _ : state) {
    pool.take(table);
    benchmark::DoNotOptimize(table.data());
    pool.release(table);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(1));
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"blocks", "batch", "shuffled"})
      ->ArgsProduct({{100'000, 4'000'000}, {1, 86}, {0, 1}})
      ->MinTime(0.2);
}

BENCHMARK_TEMPLATE(take_and_release, Pool, PoolOptions)->Name("pool")->Apply(sizes);
BENCHMARK_TEMPLATE(take_and_release, model::PoolTwin, model::TwinOptions)
    ->Name("linked_list")
    ->Apply(sizes);

}  // namespace
}  // namespace pinfold

BENCHMARK_MAIN();
