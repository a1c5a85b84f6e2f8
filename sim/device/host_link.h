#pragma once
// The link between device and host: two lanes, in each of which transfers run one after the other. Where
// the two share the link's bandwidth, each has half of it while both have work. Integer time throughout.

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/fence.h"

namespace pinfold::sim {

/// One or more copies of a ticket, moved together.
struct LinkTransfer {
  Lane lane = Lane::kHostToDevice;  // or kDeviceToHost
  Ticket ticket{};
  std::int64_t ready_ns = 0;  // what it reads is there from then on
  std::uint64_t work_ps = 0;  // its time with the whole bandwidth
};

class HostLink {
 public:
  /// `shared`: both directions share the bandwidth (half duplex).
  explicit HostLink(bool shared) : shared_(shared) {}

  /// Behind whatever its lane has queued. Time must not go back between calls.
  void queue(const LinkTransfer& transfer, std::int64_t now_ns);

  /// When something happens next on the link, if nothing is queued until then; none: it is empty. That
  /// may be the beginning of a transfer, which changes the other one's speed.
  std::optional<std::int64_t> next_ns() const;

  /// Carries on up to `now_ns`, which may be far away. Ends are in take_ended(), in order of time, those
  /// of one instant host-to-device first.
  void advance_to(std::int64_t now_ns);

  /// The oldest end not taken yet.
  struct End {
    Lane lane = Lane::kHostToDevice;
    Ticket ticket{};
    std::int64_t at_ns = 0;
  };
  const End* ended() const { return ended_.empty() ? nullptr : &ended_.front(); }
  void take_ended() { ended_.pop_front(); }

 private:
  // Work in half picoseconds of the whole bandwidth, so that half of it is a whole number.
  struct Queued {
    Ticket ticket{};
    std::int64_t ready_ns = 0;
    std::uint64_t left = 0;
  };
  using Queue = std::deque<Queued>;

  bool is_active(const Queue& queue) const {
    return !queue.empty() && queue.front().ready_ns <= now_ns_;
  }
  std::uint64_t speed() const;  // half picoseconds of work in a picosecond
  std::int64_t end_of(const Queue& queue) const;

  bool shared_;
  std::int64_t now_ns_ = 0;
  std::array<Queue, 2> queues_;  // host-to-device, device-to-host
  std::deque<End> ended_;
};

}  // namespace pinfold::sim
