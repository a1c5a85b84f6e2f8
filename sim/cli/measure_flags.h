#pragma once
// `--goodput`, `--measure-from` and `--measure-to`, from their texts.

#include <cstdint>
#include <span>
#include <string>

#include "sim/metrics/measurement.h"
#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// Objectives as vLLM's benchmark takes them: `ttft:500 tpot:50`, in milliseconds, one or more of ttft,
/// tpot and e2el, each once.
Outcome<Goodput> parse_goodput(std::span<const std::string> objectives);

/// Seconds of simulated time in nanoseconds; `flag` stands in errors.
Outcome<std::int64_t> parse_seconds(const std::string& flag, const std::string& text);

}  // namespace pinfold::sim
