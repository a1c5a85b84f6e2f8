#include "sim/cli/measure_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "sim/config/decimal_text.h"
#include "sim/trace/closest_word.h"

namespace pinfold::sim {
namespace {

constexpr std::array<std::string_view, 3> kMetrics{"ttft", "tpot", "e2el"};
constexpr std::uint64_t kNanosecondsPerMillisecond = 1'000'000;
constexpr std::uint64_t kNanosecondsPerSecond = 1'000'000'000;

InputError mistake(std::string flag, std::string found, std::string expected,
                   std::string hint = {}) {
  InputError error;
  error.path = std::move(flag);
  error.found = std::move(found);
  error.expected = std::move(expected);
  error.hint = std::move(hint);
  return error;
}

/// A decimal in nanoseconds: whole ones, and at most 10^9 s.
std::optional<std::int64_t> whole_ns(std::string_view text, std::uint64_t ns_per_unit) {
  const std::optional<Rational> number = parse_decimal(text);
  if (!number || ns_per_unit % number->denominator != 0) return std::nullopt;
  const std::uint64_t factor = ns_per_unit / number->denominator;
  if (number->numerator > kNanosecondsPerSecond * kNanosecondsPerSecond / factor) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(number->numerator * factor);
}

std::optional<std::int64_t>& objective_of(Goodput& goodput, std::string_view metric) {
  if (metric == kMetrics[0]) return goodput.ttft_ns;
  return metric == kMetrics[1] ? goodput.tpot_ns : goodput.e2el_ns;
}

std::optional<InputError> take(const std::string& objective, Goodput& goodput) {
  const std::string flag = "--goodput";
  const std::size_t colon = objective.find(':');
  if (colon == std::string::npos) {
    return mistake(flag, in_quotes(objective), "an objective in milliseconds, as ttft:500",
                   "put other arguments before --goodput");
  }
  const std::string metric = objective.substr(0, colon);
  bool known = false;
  for (const std::string_view name : kMetrics) known |= name == metric;
  if (!known) {
    const std::optional<std::string_view> close = closest_word(metric, kMetrics);
    return mistake(flag, "the unknown metric " + in_quotes(metric), "ttft, tpot or e2el",
                   close ? fmt::format("did you mean {}?", *close) : std::string());
  }
  const std::optional<std::int64_t> most_ns =
      whole_ns(objective.substr(colon + 1), kNanosecondsPerMillisecond);
  if (!most_ns) {
    return mistake(flag, in_quotes(objective),
                   "milliseconds with at most 6 digits behind the point");
  }
  std::optional<std::int64_t>& place = objective_of(goodput, metric);
  if (place) return mistake(flag, fmt::format("two objectives for {}", metric), "one");
  place = most_ns;
  return std::nullopt;
}

}  // namespace

Outcome<Goodput> parse_goodput(std::span<const std::string> objectives) {
  Goodput goodput;
  for (const std::string& text : objectives) {
    // One quoted argument may hold several.
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find_first_of(" ,", at), text.size());
      if (end > at) {
        if (auto error = take(text.substr(at, end - at), goodput)) return *error;
      }
      at = end + 1;
    }
  }
  if (!goodput.any()) return mistake("--goodput", "no objective", "one, as ttft:500");
  return goodput;
}

Outcome<std::int64_t> parse_seconds(const std::string& flag, const std::string& text) {
  if (const auto ns = whole_ns(text, kNanosecondsPerSecond)) return *ns;
  return mistake(flag, in_quotes(text), "seconds with at most 9 digits behind the point");
}

}  // namespace pinfold::sim
