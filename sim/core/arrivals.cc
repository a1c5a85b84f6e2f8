#include "sim/core/arrivals.h"

#include <algorithm>
#include <utility>

#include "sim/core/draw.h"

namespace pinfold::sim {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.at_ns != b.at_ns ? a.at_ns > b.at_ns : a.number > b.number;
};

}  // namespace

Arrivals::Arrivals(RequestSource& source, const RunConfig& config)
    : source_(source), config_(config) {
  read_ahead();
}

std::int64_t Arrivals::scaled(std::int64_t trace_ns) const {
  const Rational& scale = config_.workload.time_scale;
  const Wide product = static_cast<Wide>(trace_ns) * scale.numerator / scale.denominator;
  PINFOLD_CHECK(product <= INT64_MAX / 2, "trace", "arrivals and aborts fit simulated time");
  return static_cast<std::int64_t>(product);
}

void Arrivals::read_ahead() {
  ahead_valid_ = source_.next(ahead_);
  ahead_ns_ = ahead_valid_ && !closed_loop() ? scaled(ahead_.arrival_ns) : kNeverNs;
}

bool Arrivals::take_due(std::int64_t now_ns, Arrival& arrival) {
  if (closed_loop()) {
    std::swap(arrival.asked, ahead_);
    arrival.number = next_number_++;
    arrival.at_ns = now_ns;
    read_ahead();
    complete(arrival);
    return true;
  }
  while (next_ns() <= now_ns) {
    if (!delayed_.empty() && delayed_.front().at_ns <= ahead_ns_) {
      std::pop_heap(delayed_.begin(), delayed_.end(), kLater);
      Delayed& due = delayed_.back();
      arrival.number = due.number;
      arrival.at_ns = due.at_ns;
      arrival.asked = std::move(due.asked);
      delayed_.pop_back();
      complete(arrival);
      return true;
    }
    std::swap(arrival.asked, ahead_);
    arrival.number = next_number_++;
    arrival.at_ns = ahead_ns_;
    read_ahead();
    if (closed_sessions() && arrival.asked.session != kNoSession) {
      Session& session = sessions_[arrival.asked.session];
      if (session.busy) {
        session.held.push_back({0, arrival.number, arrival.asked});
        ++held_;
        continue;
      }
      session.busy = true;
    }
    complete(arrival);
    return true;
  }
  return false;
}

// What the configuration adds to a request that says nothing of it.
void Arrivals::complete(Arrival& arrival) {
  const WorkloadConfig& workload = config_.workload;
  TraceRequest& asked = arrival.asked;
  const auto drawn = [&](Stream stream, std::uint32_t permille) {
    return permille > 0 && draw_permille(config_.seed, stream, arrival.number, 0) < permille;
  };
  if (asked.samples == 1 && workload.samples > 1 && asked.fork_of == kNoRequest &&
      drawn(Stream::kSamples, workload.samples_permille)) {
    asked.samples = workload.samples;
  }
  std::int64_t abort_ns = kNeverNs;
  if (asked.abort_ns != kNeverNs) {
    // As long after the arrival as in the trace, whenever the request arrives here.
    PINFOLD_CHECK(asked.abort_ns >= asked.arrival_ns, "trace", "nobody gives up before arriving");
    abort_ns = arrival.at_ns + scaled(asked.abort_ns - asked.arrival_ns);
  } else if (drawn(Stream::kAbort, workload.abort_permille)) {
    abort_ns = arrival.at_ns +
               static_cast<std::int64_t>(draw_below(config_.seed, Stream::kAbort, arrival.number, 1,
                                                    workload.abort_within_ps / 1000 + 1));
  }
  if (abort_ns != kNeverNs) {
    aborts_.push_back({abort_ns, arrival.number});
    std::push_heap(aborts_.begin(), aborts_.end(), kLater);
  }
}

void Arrivals::note_end(std::uint64_t number_of_session, std::int64_t now_ns) {
  if (!closed_sessions() || number_of_session == kNoSession) return;
  const auto found = sessions_.find(number_of_session);
  PINFOLD_CHECK(found != sessions_.end(), "sessions", "a turn ended that never began");
  Session& session = found->second;
  if (session.held.empty()) {
    sessions_.erase(found);
    return;
  }
  Delayed next = std::move(session.held.front());
  session.held.pop_front();
  --held_;
  PINFOLD_CHECK(next.asked.delay_ns <= INT64_MAX - now_ns, "sessions", "delays fit simulated time");
  next.at_ns = now_ns + next.asked.delay_ns;
  delayed_.push_back(std::move(next));
  std::push_heap(delayed_.begin(), delayed_.end(), kLater);
}

bool Arrivals::take_due_abort(std::uint64_t& number) {
  std::pop_heap(aborts_.begin(), aborts_.end(), kLater);
  number = aborts_.back().number;
  aborts_.pop_back();
  return true;
}

bool Arrivals::take_unarrived(std::int64_t& at_ns) {
  if (!delayed_.empty()) {
    at_ns = delayed_.back().at_ns;
    delayed_.pop_back();
    return true;
  }
  if (held_ > 0) {
    --held_;
    at_ns = kNeverNs;
    return true;
  }
  if (!ahead_valid_) return false;
  at_ns = ahead_ns_;
  ++next_number_;
  read_ahead();
  return true;
}

}  // namespace pinfold::sim
