#pragma once
// Keyed draws: our own generator with an integer interface. A draw is a pure function of its key, so
// block size, drafts or preemption never shift another draw and sweeps are paired (decision 10).

#include <cstdint>

namespace pinfold::sim {

/// Consumers of randomness. Each has its own stream; adding one moves no other.
enum class Stream : std::uint64_t {
  kDraftAcceptance = 1,
  kPromptLength = 2,
  kOutputLength = 3,
  kSamples = 4,
  kArrival = 5,
  kPrefix = 6,
  kSession = 7,
  kAbort = 8,
  kFault = 9,
  kScenario = 10,
};

/// splitmix64's finaliser: a bijection of 64 bits with full avalanche.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

__extension__ typedef unsigned __int128 Product128;

/// A uniform number in [0, bound) for (seed, stream, request, position); its bias is below bound / 2^64.
constexpr std::uint64_t draw_below(std::uint64_t seed, Stream stream, std::uint64_t request,
                                   std::uint64_t position, std::uint64_t bound) {
  const std::uint64_t key =
      mix64(mix64(mix64(seed ^ mix64(static_cast<std::uint64_t>(stream))) + request) + position);
  return static_cast<std::uint64_t>(Product128{key} * bound >> 64);
}

/// A uniform number in [0, 1000) for (seed, stream, request, position).
constexpr std::uint32_t draw_permille(std::uint64_t seed, Stream stream, std::uint64_t request,
                                      std::uint64_t position) {
  const std::uint64_t key =
      mix64(mix64(mix64(seed ^ mix64(static_cast<std::uint64_t>(stream))) + request) + position);
  // The high 32 bits scaled to the range: the bias is below 1000 / 2^32.
  return static_cast<std::uint32_t>(((key >> 32) * 1000) >> 32);
}

}  // namespace pinfold::sim
