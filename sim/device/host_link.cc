#include "sim/device/host_link.h"

#include <algorithm>

#include "base/check.h"

namespace pinfold::sim {
namespace {

constexpr std::uint64_t kPsPerNs = 1000;
constexpr std::array<Lane, 2> kLinkLanes{Lane::kHostToDevice, Lane::kDeviceToHost};

}  // namespace

std::uint64_t HostLink::speed() const {
  return shared_ && is_active(queues_[0]) && is_active(queues_[1]) ? 1 : 2;
}

// On the first whole nanosecond behind its work.
std::int64_t HostLink::end_of(const Queue& queue) const {
  const std::uint64_t a_ns = kPsPerNs * speed();
  return now_ns_ + static_cast<std::int64_t>((queue.front().left + a_ns - 1) / a_ns);
}

void HostLink::queue(const LinkTransfer& transfer, std::int64_t now_ns) {
  advance_to(now_ns);
  const std::size_t lane = transfer.lane == Lane::kHostToDevice ? 0 : 1;
  queues_[lane].push_back(
      {transfer.ticket, std::max(transfer.ready_ns, now_ns), 2 * transfer.work_ps});
}

std::optional<std::int64_t> HostLink::next_ns() const {
  std::optional<std::int64_t> next;
  for (const Queue& queue : queues_) {
    if (queue.empty()) continue;
    const std::int64_t at = is_active(queue) ? end_of(queue) : queue.front().ready_ns;
    next = next ? std::min(*next, at) : at;
  }
  return next;
}

void HostLink::advance_to(std::int64_t now_ns) {
  PINFOLD_CHECK(now_ns >= now_ns_, "time", "the link's time went back");
  while (const std::optional<std::int64_t> next = next_ns()) {
    if (*next > now_ns) break;
    const std::uint64_t done = static_cast<std::uint64_t>(*next - now_ns_) * kPsPerNs * speed();
    const std::array<bool, 2> active{is_active(queues_[0]), is_active(queues_[1])};
    now_ns_ = *next;
    for (std::size_t lane = 0; lane < queues_.size(); ++lane) {
      if (!active[lane]) continue;
      Queued& front = queues_[lane].front();
      front.left -= std::min(front.left, done);
      if (front.left > 0) continue;
      ended_.push_back({kLinkLanes[lane], front.ticket, now_ns_});
      queues_[lane].pop_front();
    }
  }
  const std::uint64_t done = static_cast<std::uint64_t>(now_ns - now_ns_) * kPsPerNs * speed();
  const std::array<bool, 2> active{is_active(queues_[0]), is_active(queues_[1])};
  now_ns_ = now_ns;
  for (std::size_t lane = 0; lane < queues_.size(); ++lane) {
    if (active[lane]) queues_[lane].front().left -= std::min(queues_[lane].front().left, done);
  }
}

}  // namespace pinfold::sim
