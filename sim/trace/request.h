#pragma once
// What a request trace says: plain data, whatever the file's format was.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/trace/input_error.h"

namespace pinfold::sim {

inline constexpr std::uint64_t kNoRequest = std::numeric_limits<std::uint64_t>::max();
/// As many drafts as the configuration says.
inline constexpr std::uint32_t kConfiguredDrafts = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::uint64_t kNoSession = std::numeric_limits<std::uint64_t>::max();
/// A time that never comes.
inline constexpr std::int64_t kNeverNs = std::numeric_limits<std::int64_t>::max();

/// One request of a trace. The first three fields are what every trace has; the others keep their
/// defaults where the trace says nothing of them.
struct TraceRequest {
  std::int64_t arrival_ns = 0;  // since the trace's first arrival
  std::uint32_t prompt = 0;     // tokens, at least 1
  std::uint32_t output = 0;     // tokens generated, 0 for prefill only

  std::uint32_t limit = 0;     // max_tokens asked for; 0: the trace does not say
  std::uint32_t samples = 1;   // completions of one prompt (n): the others are forks of the first
  std::uint32_t priority = 0;  // lower goes first
  std::int64_t abort_ns = kNeverNs;  // the client gives up, since the trace's first arrival

  // A fork of a request that lives (rule O8): it shares what that one has processed once this is at least
  // `fork_at` positions. `prompt` beyond that is its own.
  std::uint64_t fork_of = kNoRequest;  // number of a request before it, from 0
  std::uint32_t fork_at = 0;

  // Conversations: a turn arrives `delay_ns` after the end of the one before it in its session where the
  // replay is closed-loop, and at `arrival_ns` otherwise.
  std::uint64_t session = kNoSession;
  std::int64_t delay_ns = 0;

  // Identities of the prompt's blocks, one for each `Trace::id_block` tokens of it, the last possibly for
  // fewer: equal ids are equal tokens with equal tokens before them.
  std::vector<std::uint64_t> prefix_ids{};
  std::uint32_t drafts = kConfiguredDrafts;  // wanted a verify row, at most workload.drafts
  // Drafts accepted by each verify row in turn; empty: they are drawn.
  std::vector<std::uint8_t> accepted{};
};

/// A whole trace, arrivals in order (ties keep the file's order).
struct Trace {
  std::string name;  // the path as the user gave it
  std::vector<TraceRequest> requests;
  std::uint32_t id_block = 0;  // tokens that one prefix id stands for; 0: it has no ids
};

/// Requests one after the other in order of arrival, so that a run needs no memory for those still to
/// come.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  RequestSource() = default;
  RequestSource(const RequestSource&) = delete;
  RequestSource& operator=(const RequestSource&) = delete;

  /// Fills `request` (keeping its buffers' capacity) and returns true; false at the end, or after a mistake
  /// in the input, which error() then holds.
  virtual bool next(TraceRequest& request) = 0;
  virtual const std::optional<InputError>& error() const = 0;
  /// Tokens that one prefix id stands for; 0: the trace has no ids.
  virtual std::uint32_t id_block() const = 0;
  /// How many requests there are, where that is known before they are read; 0: it is not.
  virtual std::uint64_t expected() const { return 0; }
};

/// A trace in memory as a source. The trace must outlive it.
class TraceSource final : public RequestSource {
 public:
  explicit TraceSource(const Trace& trace) : trace_(trace) {}
  bool next(TraceRequest& request) override {
    if (next_ == trace_.requests.size()) return false;
    request = trace_.requests[next_++];
    return true;
  }
  const std::optional<InputError>& error() const override { return no_error_; }
  std::uint32_t id_block() const override { return trace_.id_block; }
  std::uint64_t expected() const override { return trace_.requests.size(); }

 private:
  const Trace& trace_;
  std::size_t next_ = 0;
  std::optional<InputError> no_error_;
};

}  // namespace pinfold::sim
