#include "sim/metrics/trace_survey.h"

#include <bit>

namespace pinfold::sim {
namespace {

std::uint64_t whole_root(TraceSurvey::Wide value) {
  TraceSurvey::Wide root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const TraceSurvey::Wide trial = root | TraceSurvey::Wide{1} << bit;
    if (trial * trial <= value) root = trial;
  }
  return static_cast<std::uint64_t>(root);
}

}  // namespace

void LengthSurvey::add(std::uint32_t count) {
  tokens.add(count);
  ++by_width[static_cast<std::size_t>(std::bit_width(count))];
}

void TraceSurvey::add(const TraceRequest& request) {
  if (requests == 0) {
    first_ns = request.arrival_ns;
  } else {
    const auto gap = static_cast<std::uint64_t>(request.arrival_ns - last_ns);
    gap_squares_ += Wide{gap} * gap;
  }
  last_ns = request.arrival_ns;
  ++requests;
  prompt.add(request.prompt);
  output.add(request.output);
  if (request.session != kNoSession) {
    ++in_sessions;
    sessions.add(request.session);
  }
  if (request.fork_of != kNoRequest) ++forks;
  if (request.abort_ns != kNeverNs) ++aborts;
  if (request.samples > 1) ++sampled;
  prefix_ids += request.prefix_ids.size();
  for (const std::uint64_t id : request.prefix_ids) distinct_ids.add(id);
}

TraceSurvey::Ratio TraceSurvey::gap_variation() const {
  if (requests < 2 || span_ns() == 0) return {};
  // n gaps g: the variance over the squared mean is n * sum(g^2) / sum(g)^2 - 1. Bits are dropped until
  // the product fits: a sum below 2^46 and fewer than 2^34 gaps.
  const std::uint64_t gaps = requests - 1;
  auto sum = static_cast<std::uint64_t>(span_ns());
  Wide squares = gap_squares_;
  while (sum >> 46 != 0) {
    sum >>= 1;
    squares >>= 2;
  }
  const Wide product = Wide{gaps} * squares;
  const Wide square = Wide{sum} * sum;
  return {product > square ? whole_root(product - square) : 0, sum};
}

}  // namespace pinfold::sim
