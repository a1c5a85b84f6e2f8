#pragma once
// Request traces made up from a few figures, for load tests: lengths drawn from a range, arrivals all
// at once or evenly spaced.

#include <cstdint>
#include <string>

namespace pinfold::sim {

/// Token counts from `least` to `most`, both possible, all equally likely.
struct LengthRange {
  std::uint32_t least = 1;
  std::uint32_t most = 1;
};

struct SyntheticTrace {
  std::uint64_t requests = 1;
  LengthRange prompt;
  LengthRange output;
  // Requests a second as a fraction: request i arrives at i / rate, rounded down to a nanosecond; 0: all
  // at once.
  std::uint64_t rate_numerator = 0;
  std::uint64_t rate_denominator = 1;
  std::uint64_t seed = 0;
};

/// The trace as an Azure LLM inference CSV (sim/trace/azure_csv.h) that begins on 2024-01-01. A length
/// depends on the seed and the request's number only, so that a longer trace begins with the shorter
/// one. The last arrival must lie within 200 years.
std::string synthetic_csv(const SyntheticTrace& trace);

}  // namespace pinfold::sim
