#include "sim/core/request_figures.h"

#include <algorithm>
#include <optional>

namespace pinfold::sim {

RequestFigures::RequestFigures(const Measurement& measure, std::uint64_t expected)
    : measure_(measure), windowed_(!measure.whole()) {
  if (expected > 0) return;
  for (LatencySamples* const samples : {&ttft_, &tpot_, &itl_, &e2el_, &queue_}) {
    samples->take_memory();
  }
}

void RequestFigures::arrive(std::int64_t arrival_ns) {
  if (!counts(arrival_ns)) return;
  ++requests_;
  first_ns_ = std::min(first_ns_, arrival_ns);
}

void RequestFigures::end(const LiveRequest& request, std::int64_t now_ns) {
  if (!counts(request.arrival_ns)) return;
  last_end_ns_ = now_ns;
  if (request.never) {
    ++never_;
  } else if (request.aborted) {
    ++aborted_;
  } else {
    complete(request, now_ns);
  }
}

void RequestFigures::complete(const LiveRequest& request, std::int64_t now_ns) {
  ++completed_;
  input_tokens_ += request.asked.prompt;
  output_tokens_ += request.emitted;
  // Samples of one token are the prompt's step's alone.
  if (request.asked.output == 1) output_tokens_ += request.asked.samples - 1;
  const std::int64_t latency = now_ns - request.arrival_ns;
  e2el_.add(latency);
  queue_.add(request.waited_ns);
  std::optional<std::int64_t> ttft;
  if (request.first_token_ns != kNotYet) {
    ttft = request.first_token_ns - request.arrival_ns;
    ttft_.add(*ttft);
  }
  if (measure_.goodput.met(ttft, request.tpot_ns, latency)) ++good_;
}

void RequestFigures::put_into(RunResult& result) {
  result.requests = requests_;
  result.completed = completed_;
  result.rejected_never = never_;
  result.aborted = aborted_;
  result.unfinished = requests_ - completed_ - never_ - aborted_;
  if (first_ns_ != kNeverNs) {
    result.duration_ns = std::max<std::int64_t>(last_end_ns_ - first_ns_, 0);
  }
  result.total_input_tokens = input_tokens_;
  result.total_output_tokens = output_tokens_;
  result.ttft = ttft_.stats();
  result.tpot = tpot_.stats();
  result.itl = itl_.stats();
  result.e2el = e2el_.stats();
  result.queue = queue_.stats();
  result.goodput = measure_.goodput;
  result.good = good_;
  result.measured_from_ns = measure_.from_ns;
  if (windowed_) result.measured_to_ns = measure_.to_ns;
}

}  // namespace pinfold::sim
