#pragma once
// What `pinfold size` found, as text or JSON.

#include <cstdint>
#include <optional>
#include <string>

#include "sim/config/pool_size.h"

namespace pinfold::sim {

/// Everything that is printed.
struct SizeResult {
  RunConfig config;
  MemorySplit split;
  Concurrency longest;                    // of requests as long as the model allows
  std::optional<RequestShape> shape{};    // the lengths that were asked about ...
  std::optional<Concurrency> of_shape{};  // ... and how many such requests run at once
  OnePercent more;                        // the same with one more percent of memory
  std::string config_digest;              // hexadecimal
};

/// Fills in what follows from the configuration, whose pool has no fault.
SizeResult size_result(const RunConfig& config, const std::optional<RequestShape>& shape);

std::string size_text(const SizeResult& result);

/// One object. What is not known is null: bytes where only the block count was given.
std::string size_json(const SizeResult& result);

}  // namespace pinfold::sim
