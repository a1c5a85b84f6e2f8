#include "sim/trace/synthetic_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sim/core/draw.h"
#include "sim/trace/variates.h"

namespace pinfold::sim {
namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kLongestNs = 200LL * 365 * 86'400 * 1'000'000'000;
// Further draws of one request are told apart by their position in its stream.
constexpr std::uint64_t kThought = 1;

/// -1 to 1 and back once in a period, like a sine but in two parabolas.
Fixed swing(std::int64_t ns, std::int64_t period_ns) {
  const std::int64_t half = std::max<std::int64_t>(period_ns / 2, 1);
  std::int64_t at = ns % (2 * half);
  const bool first = at < half;
  if (!first) at -= half;
  const Fixed x = fixed_ratio(static_cast<std::uint64_t>(at), static_cast<std::uint64_t>(half));
  const Fixed bow = 4 * multiply(x, kFixedOne - x);
  return first ? bow : -bow;
}

std::int64_t whole(Fixed value) { return static_cast<std::int64_t>(value >> 64); }

}  // namespace

SyntheticSource::SyntheticSource(SyntheticTrace trace) : trace_(std::move(trace)) {
  PINFOLD_CHECK(trace_.prompt.least <= trace_.prompt.most, "trace", "an empty range of prompts");
  PINFOLD_CHECK(trace_.output.least <= trace_.output.most, "trace", "an empty range of outputs");
  if (trace_.rate_numerator == 0 || trace_.arrivals.kind == ArrivalLaw::Kind::kEven) return;
  const Wide mean = (Wide{kNsPerSecond} * trace_.rate_denominator) << 32;
  const Wide mean_ns = mean / trace_.rate_numerator;  // times 2^32
  if (mean_ns >> 32 > static_cast<Wide>(kLongestNs) / 1'000) {
    too_late(INT64_MAX);
    return;
  }
  gap_ns_ = static_cast<Fixed>(mean_ns << 32);
  const ArrivalLaw& law = trace_.arrivals;
  switch (law.kind) {
    case ArrivalLaw::Kind::kEven:
    case ArrivalLaw::Kind::kPoisson: break;
    case ArrivalLaw::Kind::kGamma:
      // The shape is 1 / cv^2 and the variates' mean.
      gap_ns_ = multiply(gap_ns_, multiply(law.parameter, law.parameter));
      break;
    case ArrivalLaw::Kind::kWeibull:
      gap_ns_ =
          divide(gap_ns_, exponential(log_gamma(kFixedOne + divide(kFixedOne, law.parameter))));
      break;
    case ArrivalLaw::Kind::kOnOff:
      gap_ns_ = multiply(gap_ns_, fixed_ratio(static_cast<std::uint64_t>(law.on_ns),
                                              static_cast<std::uint64_t>(law.on_ns + law.off_ns)));
      break;
    case ArrivalLaw::Kind::kDiurnal:
      // The mean rate is (1 + parameter) / 2 troughs, the peak `parameter` troughs.
      gap_ns_ = multiply(gap_ns_, divide(kFixedOne + law.parameter, 2 * law.parameter));
      break;
  }
}

bool SyntheticSource::too_late(std::int64_t ns) {
  if (ns <= kLongestNs) return false;
  InputError error;
  error.path = "--rate";
  error.found = "arrivals more than 200 years after the first";
  error.expected = "more requests a second, or fewer requests";
  error_ = error;
  return true;
}

/// The next arrival of a session or, without sessions, of a request.
void SyntheticSource::draw_arrival() {
  const std::uint64_t number = arrivals_++;
  const ArrivalLaw& law = trace_.arrivals;
  if (trace_.rate_numerator == 0) return;
  if (law.kind == ArrivalLaw::Kind::kEven) {
    const Wide ns = Wide{number} * kNsPerSecond * trace_.rate_denominator / trace_.rate_numerator;
    arrival_ns_ = ns > static_cast<Wide>(kLongestNs) ? INT64_MAX : static_cast<std::int64_t>(ns);
    return;
  }
  if (number == 0) return;  // a trace begins with its first arrival
  do {
    KeyedDraws draws(trace_.seed, Stream::kArrival, candidates_++);
    Fixed variate = 0;
    switch (law.kind) {
      case ArrivalLaw::Kind::kGamma:
        variate = gamma_variate(divide(kFixedOne, multiply(law.parameter, law.parameter)), draws);
        break;
      case ArrivalLaw::Kind::kWeibull:
        variate = weibull_variate(divide(kFixedOne, law.parameter), draws);
        break;
      default: variate = exponential_variate(draws); break;
    }
    // A variate of some 2^40 means would not fit, and be the end of the trace anyway.
    const std::int64_t most = kLongestNs / std::max<std::int64_t>(whole(gap_ns_) + 1, 1);
    variate = std::min(variate, fixed_of(std::max<std::int64_t>(most, 1)));
    const std::uint64_t moved = static_cast<std::uint64_t>(clock_ns_) +
                                static_cast<std::uint64_t>(whole(multiply(variate, gap_ns_)));
    clock_ns_ = static_cast<std::int64_t>(std::min<std::uint64_t>(moved, kLongestNs + 1));
  } while (law.kind == ArrivalLaw::Kind::kDiurnal && !kept_by_the_hour(candidates_) &&
           clock_ns_ <= kLongestNs);
  arrival_ns_ = clock_ns_;
  if (law.kind == ArrivalLaw::Kind::kOnOff) {
    const Wide ns =
        static_cast<Wide>(clock_ns_ / law.on_ns) * static_cast<Wide>(law.on_ns + law.off_ns) +
        static_cast<Wide>(clock_ns_ % law.on_ns);
    arrival_ns_ = static_cast<std::int64_t>(std::min(ns, static_cast<Wide>(kLongestNs) + 1));
  }
}

/// Candidates come at the peak's rate, and each is kept with the share that the rate now has of it.
bool SyntheticSource::kept_by_the_hour(std::uint64_t candidate) const {
  const Fixed level = (kFixedOne + swing(clock_ns_, trace_.arrivals.period_ns)) / 2;
  const Fixed ratio = trace_.arrivals.parameter;
  const Fixed share = divide(kFixedOne + multiply(ratio - kFixedOne, level), ratio);
  KeyedDraws draws(trace_.seed ^ mix64(kThought), Stream::kArrival, candidate);
  return Fixed{draws.next()} < share;
}

std::uint32_t SyntheticSource::length(const LengthRange& range, Stream stream,
                                      std::uint64_t item) const {
  if (range.law == LengthRange::Law::kUniform) {
    const std::uint64_t lengths = std::uint64_t{range.most} - range.least + 1;
    return range.least +
           static_cast<std::uint32_t>(draw_below(trace_.seed, stream, item, 0, lengths));
  }
  KeyedDraws draws(trace_.seed, stream, item);
  Fixed factor = 0;
  if (range.law == LengthRange::Law::kExponential) {
    factor = exponential_variate(draws);
  } else {
    const Fixed log = multiply(range.sigma, normal_variate(draws));
    factor = exponential(std::min(log, fixed_of(20)));
  }
  const std::int64_t tokens = whole(factor * range.middle + kFixedOne / 2);
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(tokens, range.least, range.most));
}

void SyntheticSource::lengths(std::uint64_t item, std::uint32_t& prompt,
                              std::uint32_t& output) const {
  if (!trace_.like.empty()) {
    const auto& one =
        trace_.like[draw_below(trace_.seed, Stream::kPromptLength, item, 0, trace_.like.size())];
    prompt = one.first;
    output = one.second;
    return;
  }
  prompt = length(trace_.prompt, Stream::kPromptLength, item);
  output = length(trace_.output, Stream::kOutputLength, item);
}

bool SyntheticSource::later(const Turn& a, const Turn& b) {
  if (a.arrival_ns != b.arrival_ns) return a.arrival_ns > b.arrival_ns;
  return a.session != b.session ? a.session > b.session : a.number > b.number;
}

bool SyntheticSource::next(TraceRequest& request) {
  if (error_ || given_ == trace_.requests) return false;
  // A session that begins before the earliest turn still to come is that turn.
  if (arrivals_ == 0) draw_arrival();
  Turn turn{};
  if (!turns_.empty() && turns_.front().arrival_ns <= arrival_ns_) {
    std::pop_heap(turns_.begin(), turns_.end(), later);
    turn = turns_.back();
    turns_.pop_back();
  } else {
    turn = {arrival_ns_, arrivals_ - 1, 0, 0, 0};
    draw_arrival();
  }
  if (too_late(turn.arrival_ns)) return false;

  request.arrival_ns = turn.arrival_ns;
  request.limit = 0;
  request.samples = 1;
  request.priority = 0;
  request.abort_ns = kNeverNs;
  request.fork_of = kNoRequest;
  request.fork_at = 0;
  request.session = kNoSession;
  request.delay_ns = turn.delay_ns;
  request.prefix_ids.clear();
  request.accepted.clear();
  const std::uint64_t item = turn.session * std::max(trace_.turns, 1u) + turn.number;
  std::uint32_t prompt = 0;
  lengths(item, prompt, request.output);
  const std::uint64_t before =
      turn.number > 0 ? turn.history
                      : std::uint64_t{trace_.depth} * trace_.level_blocks * trace_.id_block;
  const std::uint64_t total = before + prompt;
  if (total + request.output > UINT32_MAX) {
    InputError error;
    error.path = "--prompt";
    error.found = fmt::format("a request of {} tokens", total + request.output);
    error.expected = "at most 4294967295 tokens a request";
    error_ = error;
    return false;
  }
  request.prompt = static_cast<std::uint32_t>(total);
  if (trace_.turns > 0) {
    request.session = turn.session;
    if (turn.number + 1 < trace_.turns) {
      KeyedDraws draws(trace_.seed, Stream::kSession, item);
      const Fixed think = multiply(exponential_variate(draws), fixed_of(trace_.think_ns));
      const std::int64_t delay_ns = whole(think);
      turns_.push_back({turn.arrival_ns + delay_ns, turn.session, turn.number + 1,
                        request.prompt + request.output, delay_ns});
      std::push_heap(turns_.begin(), turns_.end(), later);
    }
  }
  if (trace_.id_block > 0) add_ids(turn, request);
  add_fork_and_abort(request);
  last_prompt_ = request.prompt;
  ++given_;
  return true;
}

/// The tree's blocks, then the session's own. A block that the next turn fills further is named after its
/// turn as well.
void SyntheticSource::add_ids(const Turn& turn, TraceRequest& request) const {
  std::uint64_t path = mix64(trace_.seed);
  for (std::uint32_t level = 0; level < trace_.depth; ++level) {
    path = mix64(
        path ^ mix64(draw_below(trace_.seed, Stream::kPrefix, turn.session, level, trace_.fanout)));
    for (std::uint32_t block = 0; block < trace_.level_blocks; ++block) {
      request.prefix_ids.push_back(mix64(path + block));
    }
  }
  const std::uint64_t own = mix64(mix64(trace_.seed ^ mix64(~turn.session)));
  const std::uint64_t full = request.prompt / trace_.id_block;
  for (std::uint64_t block = request.prefix_ids.size(); block < full; ++block) {
    request.prefix_ids.push_back(mix64(own + block));
  }
  if (request.prompt % trace_.id_block != 0) {
    request.prefix_ids.push_back(
        mix64(own ^ mix64(full) ^ mix64(std::uint64_t{turn.number} << 32)));
  }
}

void SyntheticSource::add_fork_and_abort(TraceRequest& request) {
  if (trace_.forks > 0 && given_ > 0 &&
      draw_permille(trace_.seed, Stream::kSamples, given_, 0) < trace_.forks) {
    request.fork_of = given_ - 1;
    request.fork_at = std::min(last_prompt_, request.prompt);
  }
  if (trace_.aborts > 0 && draw_permille(trace_.seed, Stream::kAbort, given_, 0) < trace_.aborts) {
    KeyedDraws draws(trace_.seed ^ mix64(kThought), Stream::kAbort, given_);
    request.abort_ns = request.arrival_ns +
                       whole(multiply(exponential_variate(draws), fixed_of(trace_.patience_ns)));
  }
}

}  // namespace pinfold::sim
