#pragma once
// Sources that change what another source gives: a stretch of time, a share of the sessions, the first few,
// several times over. A fork of a request that they leave out becomes a request like any other.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/trace/request.h"

namespace pinfold::sim {

/// Stands on another source and shares its errors.
class WrappedSource : public RequestSource {
 public:
  explicit WrappedSource(std::unique_ptr<RequestSource> inner) : inner_(std::move(inner)) {}
  const std::optional<InputError>& error() const override { return inner_->error(); }
  std::uint32_t id_block() const override { return inner_->id_block(); }

 protected:
  std::unique_ptr<RequestSource> inner_;
};

/// Requests that arrive in [from, to); the first of them then arrives at 0.
class TimeWindow final : public WrappedSource {
 public:
  TimeWindow(std::unique_ptr<RequestSource> inner, std::int64_t from_ns, std::int64_t to_ns)
      : WrappedSource(std::move(inner)), from_ns_(from_ns), to_ns_(to_ns) {}
  bool next(TraceRequest& request) override;

 private:
  std::int64_t from_ns_;
  std::int64_t to_ns_;
  std::uint64_t before_ = 0;  // requests left out ahead of the window
  std::optional<std::int64_t> first_ns_;
};

/// The `index`th of `count` shares, from 1. A session goes to one share whole; a request without one goes
/// by its number. Arrivals stay, so that the shares together are the trace. Keeps two bits a request, for
/// fork_of.
class Shard final : public WrappedSource {
 public:
  Shard(std::unique_ptr<RequestSource> inner, std::uint64_t index, std::uint64_t count)
      : WrappedSource(std::move(inner)), index_(index), count_(count) {}
  bool next(TraceRequest& request) override;

 private:
  bool was_kept(std::uint64_t number) const { return (kept_[number / 64] >> number % 64 & 1) != 0; }
  void remember(bool keep);
  std::uint64_t kept_before(std::uint64_t number) const;

  std::uint64_t index_;
  std::uint64_t count_;
  std::uint64_t number_ = 0;
  std::uint64_t total_ = 0;
  std::vector<std::uint64_t> kept_;      // a bit a request
  std::vector<std::uint64_t> kept_sum_;  // of all words before
};

/// The first `limit` requests.
class FirstRequests final : public WrappedSource {
 public:
  FirstRequests(std::unique_ptr<RequestSource> inner, std::uint64_t limit)
      : WrappedSource(std::move(inner)), left_(limit) {}
  bool next(TraceRequest& request) override {
    return left_ > 0 && inner_->next(request) && left_-- > 0;
  }

 private:
  std::uint64_t left_;
};

/// A trace `times` times, one after the other with its mean gap between. Each time but the first has
/// sessions and prefix ids of its own: mixed with the number of the time, so that two are equal with
/// a chance of 2^-64 only.
class Repeated final : public RequestSource {
 public:
  using Open = std::function<std::unique_ptr<RequestSource>()>;
  /// `open` gives the trace from its beginning each time.
  Repeated(Open open, std::uint64_t times)
      : open_(std::move(open)), times_(times), inner_(open_()) {}
  bool next(TraceRequest& request) override;
  const std::optional<InputError>& error() const override {
    return error_ ? error_ : inner_->error();
  }
  std::uint32_t id_block() const override { return inner_->id_block(); }

 private:
  Open open_;
  std::optional<InputError> error_;
  std::uint64_t times_;
  std::unique_ptr<RequestSource> inner_;
  std::uint64_t time_ = 0;      // the number of this time
  std::uint64_t requests_ = 0;  // of one time
  std::int64_t last_ns_ = 0;    // its last arrival
  std::int64_t period_ns_ = 0;
};

}  // namespace pinfold::sim
