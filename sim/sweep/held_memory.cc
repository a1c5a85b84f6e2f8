#include "sim/sweep/held_memory.h"

#include <fmt/format.h>

#include "sim/config/pool_size.h"

namespace pinfold::sim {

HeldMemory held_memory(const RunConfig& config) {
  const std::uint64_t ids = config.engine.num_blocks;
  const ByteCount block = block_bytes_of(config);
  if (block.value == 0) return {false, ids * config.engine.block_size};
  const ByteCount state = split_memory(config).sizing.state_reserved;
  return {true, ids * block.value + state.value};
}

std::uint64_t block_ids_from(const HeldMemory& held, const RunConfig& config) {
  const ByteCount block = block_bytes_of(config);
  if (held.bytes_known != (block.value > 0)) return config.engine.num_blocks;
  if (!held.bytes_known) return held.amount / config.engine.block_size;
  const ByteCount state = split_memory(config).sizing.state_reserved;
  return held.amount < state.value ? 0 : (held.amount - state.value) / block.value;
}

std::vector<ReportField> pool_figures(const RunConfig& config) {
  using Kind = ReportField::Kind;
  const std::uint64_t ids = config.engine.num_blocks;
  const HeldMemory held = held_memory(config);
  std::vector<ReportField> figures;
  figures.push_back({std::string(kPoolFigures[0]), Kind::kNumber, fmt::format("{}", ids)});
  figures.push_back({std::string(kPoolFigures[1]), Kind::kNumber,
                     fmt::format("{}", (ids - 1) * config.engine.block_size)});
  figures.push_back({std::string(kPoolFigures[2]), Kind::kNumber,
                     fmt::format("{}", split_memory(config).sizing.state_ids)});
  if (held.bytes_known) {
    figures.push_back(
        {std::string(kPoolFigures[3]), Kind::kNumber, fmt::format("{}", held.amount)});
  } else {
    figures.push_back({std::string(kPoolFigures[3]), Kind::kNone, ""});
  }
  return figures;
}

}  // namespace pinfold::sim
