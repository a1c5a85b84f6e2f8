#include "sim/trace/synthetic_trace.h"

#include <fmt/format.h>

#include <iterator>

#include "base/check.h"
#include "sim/core/draw.h"
#include "sim/trace/timestamp.h"

namespace pinfold::sim {
namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr std::int64_t kFirstNs = 1'704'067'200'000'000'000;  // 2024-01-01 00:00:00
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::uint64_t kLongestNs = 200ULL * 365 * 86'400 * kNsPerSecond;

std::uint32_t draw(const LengthRange& range, std::uint64_t seed, Stream stream,
                   std::uint64_t request) {
  const std::uint64_t lengths = std::uint64_t{range.most} - range.least + 1;
  return range.least + static_cast<std::uint32_t>(draw_below(seed, stream, request, 0, lengths));
}

std::int64_t arrival_ns(const SyntheticTrace& trace, std::uint64_t request) {
  if (trace.rate_numerator == 0) return kFirstNs;
  const Wide ns = Wide{request} * kNsPerSecond * trace.rate_denominator / trace.rate_numerator;
  PINFOLD_CHECK(ns <= kLongestNs, "trace", "a trace of more than 200 years");
  return kFirstNs + static_cast<std::int64_t>(ns);
}

}  // namespace

std::string synthetic_csv(const SyntheticTrace& trace) {
  PINFOLD_CHECK(trace.prompt.least <= trace.prompt.most, "trace", "an empty range of prompts");
  PINFOLD_CHECK(trace.output.least <= trace.output.most, "trace", "an empty range of outputs");
  std::string text = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  for (std::uint64_t request = 0; request < trace.requests; ++request) {
    fmt::format_to(std::back_inserter(text), "{},{},{}\n",
                   timestamp_text(arrival_ns(trace, request)),
                   draw(trace.prompt, trace.seed, Stream::kPromptLength, request),
                   draw(trace.output, trace.seed, Stream::kOutputLength, request));
  }
  return text;
}

}  // namespace pinfold::sim
