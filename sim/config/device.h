#pragma once
// What a device file says about one model on one GPU, engine, tensor-parallel size and variant: plain
// data. sim/device turns it into the time of a step.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pinfold::sim {

/// A time measured at a few counts of rows, these strictly increasing.
struct Curve {
  std::vector<std::uint32_t> rows;
  std::vector<std::uint64_t> ns;
};

/// step + prompt_row * P + decode_row * D + context_position * KV + pair * Q
struct LinearModel {
  std::uint64_t step_ps = 0;
  std::uint64_t prompt_row_ps = 0;
  std::uint64_t decode_row_ps = 0;
  std::uint64_t context_position_ps = 0;
  std::uint64_t pair_fs = 0;
};

/// step + row_from_knee * max(P + D, knee) + row * (P + D) + decode_row * D + ...: below the knee a step
/// takes as long as reading the weights.
struct RooflineModel {
  std::uint64_t step_ps = 0;
  std::uint64_t knee_rows = 0;
  std::uint64_t row_from_knee_ps = 0;
  std::uint64_t row_ps = 0;
  std::uint64_t decode_row_ps = 0;
  std::uint64_t context_position_ps = 0;
  std::uint64_t pair_fs = 0;
};

/// dense(P + D) + head(rows that sample) + any_decode where D > 0 + decode_row * D + ... + chunk * chunks
/// + prompt_position * sum(past + chunk) + pair * Q
struct KnotsModel {
  Curve dense;
  Curve head;
  std::uint64_t any_decode_ps = 0;
  std::uint64_t decode_row_ps = 0;
  std::uint64_t context_position_ps = 0;
  std::uint64_t chunk_ps = 0;
  std::uint64_t prompt_position_ps = 0;
  std::uint64_t pair_fs = 0;
};

/// Measured kernel times: dense(P + D) + head(rows that sample) + layers * (decode attention at D rows of
/// KV / D positions + prompt attention of each chunk).
struct TableModel {
  std::uint64_t layers = 1;
  Curve dense;
  Curve head;
  std::vector<std::uint32_t> decode_rows;  // strictly increasing
  std::vector<Curve> decode_layer;         // beside each: over key positions a row
  Curve prompt_layer;                      // over positions of a prompt without a past
};

/// Which of them gives the time of a step.
enum class Fit : std::uint8_t { kLinear, kRoofline, kKnots, kTable };
inline constexpr std::array<std::string_view, 4> kFitNames{"linear", "roofline", "knots", "table"};

using ForwardModel = std::variant<LinearModel, RooflineModel, KnotsModel, TableModel>;

/// Copying blocks in the compute lane.
struct CopyModel {
  std::uint64_t bytes_per_s = 1;
  std::uint64_t latency_ps = 0;  // once a step with copies
  std::uint64_t piece_ps = 0;
  std::uint64_t pieces_per_block = 0;
  std::uint64_t bytes_per_position = 0;  // of all layers, on one GPU
};

/// What a model was fitted or measured for. A step beyond a limit is priced all the same, and counted.
enum class Limit : std::uint8_t {
  kPromptRowsMax,
  kChunksMax,
  kChunkRowsMin,
  kChunkRowsMax,
  kPastRowsMax,
  kDecodeRowsMax,
  kContextPerRowMin,
  kContextPerRowMax,
  kPositionsMax,
};
inline constexpr std::size_t kLimits = 9;
/// Their names in device files and in results, in the enumerators' order.
inline constexpr std::array<std::string_view, kLimits> kLimitNames{
    "prompt_rows_max",     "chunks_max",          "chunk_rows_min",
    "chunk_rows_max",      "past_rows_max",       "decode_rows_max",
    "context_per_row_min", "context_per_row_max", "positions_max"};
using FittedRange = std::array<std::optional<std::uint64_t>, kLimits>;

/// How far the model was from what it stands for, in percent, as its device file says.
struct HeldOutError {
  std::string median_percent;
  std::string p90_percent;
};

struct Device {
  std::string name;
  std::string model;
  std::string gpu;
  std::string engine;
  std::string engine_version;
  std::string source;
  std::string digest;  // XXH3 (64 bits) of the file: 16 hexadecimal digits
  ForwardModel forward;
  FittedRange range;
  std::optional<HeldOutError> error;
  CopyModel copy;
};

}  // namespace pinfold::sim
