#include "sim/trace/trace_transforms.h"

#include <fmt/format.h>

#include <bit>

#include "sim/core/draw.h"
#include "sim/trace/time_sum.h"

namespace pinfold::sim {
namespace {

void stand_alone(TraceRequest& request) {
  request.fork_of = kNoRequest;
  request.fork_at = 0;
}

/// Another name in the time `time` of a repetition.
std::uint64_t renamed(std::uint64_t name, std::uint64_t time) {
  const std::uint64_t other = mix64(name ^ mix64(time));
  return other == kNoSession ? 0 : other;
}

}  // namespace

bool TimeWindow::next(TraceRequest& request) {
  while (inner_->next(request)) {
    if (request.arrival_ns < from_ns_) {
      ++before_;
      continue;
    }
    if (request.arrival_ns >= to_ns_) return false;
    if (!first_ns_) first_ns_ = request.arrival_ns;
    request.arrival_ns -= *first_ns_;
    if (request.abort_ns != kNeverNs) request.abort_ns -= *first_ns_;
    if (request.fork_of != kNoRequest) {
      if (request.fork_of < before_) {
        stand_alone(request);
      } else {
        request.fork_of -= before_;
      }
    }
    return true;
  }
  return false;
}

void Shard::remember(bool keep) {
  if (number_ % 64 == 0) {
    kept_.push_back(0);
    kept_sum_.push_back(total_);
  }
  if (keep) {
    kept_.back() |= std::uint64_t{1} << number_ % 64;
    ++total_;
  }
  ++number_;
}

std::uint64_t Shard::kept_before(std::uint64_t number) const {
  const std::uint64_t word = kept_[number / 64] & ((std::uint64_t{1} << number % 64) - 1);
  return kept_sum_[number / 64] + static_cast<std::uint64_t>(std::popcount(word));
}

bool Shard::next(TraceRequest& request) {
  while (inner_->next(request)) {
    const std::uint64_t key = request.session == kNoSession ? number_ : mix64(request.session);
    const bool keep = key % count_ + 1 == index_;
    const std::uint64_t parent = request.fork_of;
    if (keep && parent != kNoRequest) {
      if (was_kept(parent)) {
        request.fork_of = kept_before(parent);
      } else {
        stand_alone(request);
      }
    }
    remember(keep);
    if (keep) return true;
  }
  return false;
}

bool Repeated::next(TraceRequest& request) {
  while (!inner_->next(request)) {
    if (inner_->error() || time_ + 1 == times_ || (time_ == 0 && requests_ == 0)) return false;
    if (time_ == 0) {
      const std::uint64_t gaps = requests_ - 1;
      period_ns_ = last_ns_ + (gaps == 0 ? 0 : last_ns_ / static_cast<std::int64_t>(gaps));
    }
    ++time_;
    inner_ = open_();
  }
  if (time_ == 0) {
    ++requests_;
    last_ns_ = request.arrival_ns;
    return true;
  }
  const std::int64_t room_ns = kLatestNs - request.arrival_ns;
  if (period_ns_ > room_ns / static_cast<std::int64_t>(time_)) {
    InputError error;
    error.path = "--repeat";
    error.found = fmt::format("times that end in time {} of {}", time_ + 1, times_);
    error.expected = "at most 146 years";
    error_ = error;
    return false;
  }
  const std::int64_t offset_ns = period_ns_ * static_cast<std::int64_t>(time_);
  request.arrival_ns += offset_ns;
  if (request.abort_ns != kNeverNs) {
    request.abort_ns = time_sum(request.abort_ns, offset_ns).value_or(kNeverNs);
  }
  if (request.fork_of != kNoRequest) request.fork_of += requests_ * time_;
  if (request.session != kNoSession) request.session = renamed(request.session, time_);
  for (std::uint64_t& id : request.prefix_ids) id = renamed(id, time_);
  return true;
}

}  // namespace pinfold::sim
