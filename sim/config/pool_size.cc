#include "sim/config/pool_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/counts.h"
#include "engine/state_layout.h"

namespace pinfold::sim {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

/// floor(numerator * scale / denominator); at most 2^50 GiB, so the quotient fits.
std::uint64_t scaled_down(Rational number, std::uint64_t scale) {
  return static_cast<std::uint64_t>(static_cast<Wide>(number.numerator) * scale /
                                    number.denominator);
}

/// Bytes as GiB with two digits, rounded half up.
std::string gib_text(ByteCount bytes) {
  const auto hundredths =
      static_cast<std::uint64_t>((static_cast<Wide>(bytes.value) * 100 + kGib / 2) / kGib);
  return fmt::format("{}.{:02} GiB", hundredths / 100, hundredths % 100);
}

std::uint32_t heads_on_one_gpu(const RunConfig& config) {
  return std::max(config.model.kv_heads / config.engine.tensor_parallel_size, std::uint32_t{1});
}

std::vector<CompressedCache> caches_of(const RunConfig& config) {
  const ModelConfig& model = config.model;
  std::vector<CompressedCache> caches;
  if (model.layers > 0) {
    // A key and a value of each head.
    const std::uint64_t row =
        std::uint64_t{2} * heads_on_one_gpu(config) * model.head_dim * model.kv_bytes_per_element;
    caches.push_back({.ratio = 1, .layers = model.layers, .row_bytes = ByteCount(row)});
  }
  for (std::size_t i = 0; i < model.compression_layers.size(); ++i) {
    caches.push_back({.ratio = model.compression_ratios[i],
                      .layers = model.compression_layers[i],
                      .row_bytes = ByteCount(model.compression_row_bytes[i])});
  }
  return caches;
}

std::optional<StateSizing> state_of(const RunConfig& config, ByteCount slot) {
  if (!config.model.state_slots) return std::nullopt;
  const Rational& factor = config.engine.slot_factor;  // at most 16 with 6 digits
  return StateSizing{.slot_bytes = slot,
                     .max_num_seqs = config.engine.max_num_seqs,
                     .factor = {static_cast<std::uint32_t>(factor.numerator),
                                static_cast<std::uint32_t>(factor.denominator)}};
}

/// Splits `budget`, of which weights and the rest are taken where the device is the source.
MemorySplit split_budget(const RunConfig& config, ByteCount budget) {
  const MemoryConfig& memory = config.memory;
  MemorySplit split;
  split.source = memory.source;
  split.block = block_bytes_of(config);
  split.slot = slot_bytes_of(config);
  split.budget = budget;
  if (memory.source == PoolSource::kDevice) {
    const std::uint32_t gpus = config.engine.tensor_parallel_size;
    split.device = bytes_of_gib(memory.device_gib);
    // Rounded up: the last GPU holds no less than its share.
    const ByteCount weights = bytes_of_gib(config.model.weights_gib);
    split.weights = ByteCount((weights.value + gpus - 1) / gpus);
    split.activation_peak = bytes_of_gib(memory.activation_peak_gib);
    split.non_torch = bytes_of_gib(memory.non_torch_gib);
    if (gpus > 1) split.non_torch += bytes_of_gib(memory.collectives_gib);
  }
  const std::optional<StateSizing> state = state_of(config, split.slot);
  if (memory.source == PoolSource::kNumBlocks) {
    split.sizing = size_from_logged_blocks(config.engine.num_blocks, split.block, state);
    // A count needs no bytes: without the model's shape they are only not known.
    if (split.sizing.fault == SizingFault::kEmptyBlock) split.sizing.fault = SizingFault::kNone;
  } else {
    split.sizing = size_from_memory({.device = budget,
                                     .weights = split.weights,
                                     .activations = split.activation_peak + split.non_torch},
                                    split.block, state);
  }
  return split;
}

ByteCount budget_of(const MemoryConfig& memory) {
  switch (memory.source) {
    case PoolSource::kNumBlocks: return ByteCount(0);
    case PoolSource::kAvailable: return bytes_of_gib(memory.available_gib);
    case PoolSource::kDevice:
      return ByteCount(scaled_down(memory.utilization, bytes_of_gib(memory.device_gib).value));
  }
  return ByteCount(0);
}

/// Positions that a request's rows may be planned for (rule O4).
std::uint64_t positions_planned(const RunConfig& config, const RequestShape& shape) {
  const std::uint64_t written =
      std::uint64_t{shape.prompt} + std::max(shape.output, std::uint32_t{1}) - 1;
  if (config.workload.stop == StopMode::kKnown) return written;
  // The row that yields the last token is followed by those of `overlap` steps planned before its
  // result came, and every row of them carries its drafts.
  const std::uint64_t drafts = config.workload.drafts;
  const std::uint64_t overrun = config.engine.overlap * (1 + drafts) + drafts;
  return std::max(written, std::min(written + overrun, std::uint64_t{config.engine.max_model_len}));
}

}  // namespace

ByteCount bytes_of_gib(Rational gib) { return ByteCount(scaled_down(gib, kGib)); }

ByteCount block_bytes_of(const RunConfig& config) {
  return block_bytes(TokenCount(config.engine.block_size), caches_of(config));
}

namespace {

StateLayout layout_of_slot(const ModelConfig& model) {
  StateModel state;
  state.stored_layers = model.ring_stored_layers;
  state.dropped_layers = model.ring_dropped_layers;
  state.row_bytes = ByteCount(model.ring_row_bytes);
  state.window = TokenCount(model.window_tokens);
  state.ring_len = TokenCount(model.ring_tokens);
  state.compression_state = ByteCount(model.compression_state_bytes);
  return layout_of(state);
}

}  // namespace

ByteCount slot_bytes_of(const RunConfig& config) {
  return config.model.state_slots ? layout_of_slot(config.model).slot : ByteCount(0);
}

ByteCount stored_state_bytes_of(const RunConfig& config) {
  return config.model.state_slots ? layout_of_slot(config.model).to_store : ByteCount(0);
}

MemorySplit split_memory(const RunConfig& config) {
  return split_budget(config, budget_of(config.memory));
}

std::optional<PoolFault> find_pool_fault(const MemorySplit& split) {
  const Sizing& sizing = split.sizing;
  const std::string state = sizing.state_ids < 2
                                ? std::string()
                                : fmt::format(" and twice {} state slots ({})", sizing.state_ids,
                                              gib_text(sizing.state_reserved));
  switch (sizing.fault) {
    case SizingFault::kMemory:
      return PoolFault{
          fmt::format("weights ({}), activations ({}), other memory ({}){} that take {} more than "
                      "the {} that the engine may use",
                      gib_text(split.weights), gib_text(split.activation_peak),
                      gib_text(split.non_torch), state, gib_text(sizing.lacking),
                      gib_text(split.budget)),
          "room for at least 2 blocks", "more GPUs, a smaller model, or fewer state slots"};
    case SizingFault::kTooFewBlocks:
      return PoolFault{fmt::format("{} left for blocks of {} bytes: {} block id{}",
                                   gib_text(sizing.remainder + sizing.blocks), split.block.value,
                                   sizing.block_ids, sizing.block_ids == 1 ? "" : "s"),
                       "room for at least 2: block 0 is never issued",
                       {}};
    case SizingFault::kEmptyBlock:
      return PoolFault{"a model whose caches have no size",
                       "model.layers with model.kv_heads and model.head_dim, or "
                       "model.compression_layers with their rows",
                       "include a file of configs/models"};
    case SizingFault::kTooManyIds:
    case SizingFault::kNone: break;
  }
  if (sizing.fault == SizingFault::kNone && sizing.block_ids <= kBlockIdsMax) return std::nullopt;
  return PoolFault{
      fmt::format("room for {} block ids and {} state ids", sizing.block_ids, sizing.state_ids),
      fmt::format("at most {} of either", kBlockIdsMax),
      "are GiB and bytes mixed up, or is the model's shape too small?"};
}

std::uint64_t blocks_needed(const RunConfig& config, const RequestShape& shape) {
  const std::uint64_t block = config.engine.block_size;
  return (positions_planned(config, shape) + block - 1) / block;
}

Concurrency concurrency_of(const RunConfig& config, const MemorySplit& split,
                           const RequestShape& shape) {
  Concurrency result;
  result.need = blocks_needed(config, shape);
  result.by_blocks = (split.sizing.block_ids - 1) / result.need;
  result.run_limit = config.engine.max_num_seqs;
  result.largest = result.by_blocks;
  if (config.model.state_slots) {
    result.by_slots = split.sizing.state_ids - 1;
    if (*result.by_slots < result.largest) {
      result.largest = *result.by_slots;
      result.binds = Binding::kStateSlots;
    }
  }
  if (result.run_limit < result.largest) {
    result.largest = result.run_limit;
    result.binds = Binding::kRunLimit;
  }
  return result;
}

OnePercent one_percent_more(const RunConfig& config) {
  RunConfig more = config;
  OnePercent result;
  const ByteCount budget = budget_of(config.memory);
  switch (config.memory.source) {
    case PoolSource::kNumBlocks:
      more.engine.num_blocks += (config.engine.num_blocks + 99) / 100;
      break;
    case PoolSource::kAvailable: result.bytes = ByteCount(budget.value / 100); break;
    case PoolSource::kDevice:
      result.bytes = ByteCount(bytes_of_gib(config.memory.device_gib).value / 100);
      break;
  }
  result.split = split_budget(more, budget + result.bytes);
  return result;
}

}  // namespace pinfold::sim
