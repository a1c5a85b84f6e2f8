#pragma once
// Which requests a run's figures count, and which of them are good enough.

#include <cstdint>
#include <limits>
#include <optional>

namespace pinfold::sim {

/// Service level objectives as vLLM's benchmark has them: a request is good if it meets all that are
/// set. A request with fewer than two tokens has a time per output token of 0; one without a token has
/// no first token and meets no objective for it.
struct Goodput {
  std::optional<std::int64_t> ttft_ns{};
  std::optional<std::int64_t> tpot_ns{};
  std::optional<std::int64_t> e2el_ns{};

  bool any() const { return ttft_ns || tpot_ns || e2el_ns; }
  bool met(std::optional<std::int64_t> ttft, std::int64_t tpot, std::int64_t e2el) const {
    if (ttft_ns && !(ttft && *ttft <= *ttft_ns)) return false;
    if (tpot_ns && tpot > *tpot_ns) return false;
    return !e2el_ns || e2el <= *e2el_ns;
  }
};

/// Requests that arrive in [from, to) count in the benchmark's figures; the run is the same.
struct Measurement {
  static constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();
  std::int64_t from_ns = 0;
  std::int64_t to_ns = kForever;
  Goodput goodput{};

  bool whole() const { return from_ns == 0 && to_ns == kForever; }
  bool counts(std::int64_t arrival_ns) const { return arrival_ns >= from_ns && arrival_ns < to_ns; }
};

}  // namespace pinfold::sim
