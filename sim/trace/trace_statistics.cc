#include "sim/trace/trace_statistics.h"

#include <algorithm>

#include "base/check.h"
#include "base/counts.h"

namespace pinfold::sim {
namespace {

TokenStatistics token_statistics(std::vector<std::uint32_t> counts) {
  std::sort(counts.begin(), counts.end());
  const auto at_percent = [&](std::size_t percent) {
    return counts[div_ceil<std::size_t>(percent * counts.size(), 100) - 1];
  };
  TokenStatistics statistics;
  for (const std::uint32_t count : counts) statistics.total += count;
  statistics.p50 = at_percent(50);
  statistics.p99 = at_percent(99);
  statistics.max = counts.back();
  return statistics;
}

}  // namespace

TraceStatistics trace_statistics(const Trace& trace) {
  PINFOLD_CHECK(!trace.requests.empty(), "trace", "statistics of no request");
  std::vector<std::uint32_t> prompts;
  std::vector<std::uint32_t> outputs;
  prompts.reserve(trace.requests.size());
  outputs.reserve(trace.requests.size());
  for (const TraceRequest& request : trace.requests) {
    prompts.push_back(request.prompt);
    outputs.push_back(request.output);
  }
  TraceStatistics statistics;
  statistics.requests = trace.requests.size();
  statistics.span_ns = trace.requests.back().arrival_ns - trace.requests.front().arrival_ns;
  statistics.prompt = token_statistics(std::move(prompts));
  statistics.output = token_statistics(std::move(outputs));
  return statistics;
}

}  // namespace pinfold::sim
