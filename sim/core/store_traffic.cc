#include "sim/core/store_traffic.h"

#include <algorithm>

#include "sim/config/pool_size.h"
#include "sim/core/stall_report.h"

namespace pinfold::sim {
namespace {

__extension__ using Wide = unsigned __int128;

std::uint64_t link_ps(const StoreConfig& store, std::uint64_t bytes) {
  const Rational& gb_s = store.bandwidth_gb_s;
  if (gb_s.numerator == 0) return 0;
  return static_cast<std::uint64_t>(static_cast<Wide>(bytes) * 1000 * gb_s.denominator /
                                    gb_s.numerator);
}

/// As the model says, or else as the device file's geometry does.
std::uint64_t moved_block_bytes(const RunConfig& config) {
  const std::uint64_t bytes = block_bytes_of(config).value;
  if (bytes > 0 || !config.cost.device) return bytes;
  return config.cost.device->copy.bytes_per_position * config.engine.block_size;
}

}  // namespace

StoreTraffic::StoreTraffic(const RunConfig& config)
    : config_(config),
      on_(config.prefix.reuse && config.store.host_blocks > 0),
      block_bytes_(moved_block_bytes(config)),
      state_bytes_(stored_state_bytes_of(config).value),
      link_(config.store.duplex == Duplex::kHalf) {}

void StoreTraffic::queue(Scheduler& scheduler, std::int64_t now_ns, std::int64_t staged_ns) {
  const std::span<const Transfer> queued = scheduler.transfers();
  for (std::size_t n = 0; n < queued.size();) {
    const Transfer& first = queued[n];
    std::uint64_t bytes = 0;
    for (; n < queued.size() && queued[n].lane == first.lane && queued[n].ticket == first.ticket;
         ++n) {
      bytes += bytes_of(queued[n].pool);
    }
    (first.lane == Lane::kHostToDevice ? bytes_in_ : bytes_out_) += bytes;
    const std::uint64_t staged_by = value_of(first.after);
    LinkTransfer transfer{first.lane, first.ticket, now_ns,
                          config_.store.latency_ps + link_ps(config_.store, bytes)};
    if (staged_by > 0) {
      transfer.ready_ns = staged_ns;
      staged_.push_back({first.ticket, staged_by});
    }
    link_.queue(transfer, now_ns);
    if (config_.store.lease_ps > 0) {
      const std::uint64_t lease_ns = (config_.store.lease_ps + 999) / 1000;
      leases_.push_back({now_ns + static_cast<std::int64_t>(lease_ns), first.lane, first.ticket});
    }
  }
  scheduler.clear_transfers();
}

// The event of the n-th load or save may be lost; a later one on its lane proves it.
bool StoreTraffic::is_lost(Lane lane, Ticket ticket) {
  StoreLane& of = lanes_[index_of(lane)];
  const bool load = lane == Lane::kHostToDevice;
  if (++of.seen != (load ? config_.fault.load_lost : config_.fault.save_lost)) return false;
  of.lost = ticket;
  return true;
}

bool StoreTraffic::take_news(std::int64_t now_ns, StepNumber done, TransferNews& news) {
  link_.advance_to(now_ns);
  while (const HostLink::End* const end = link_.ended()) {
    news = {end->lane, end->ticket, false};
    if (news.lane == Lane::kDeviceToHost && !staged_.empty() &&
        staged_.front().ticket == news.ticket) {
      if (staged_.front().step > value_of(done) + 1) break;  // behind that result
      staged_.pop_front();
    }
    link_.take_ended();
    Ticket& passed = lanes_[index_of(news.lane)].passed;
    const bool stale = news.ticket <= passed;
    if (is_lost(news.lane, news.ticket) || stale) continue;
    passed = news.ticket;
    return true;
  }
  while (!leases_.empty() && leases_.front().at_ns <= now_ns) {
    news = {leases_.front().lane, leases_.front().ticket, true};
    leases_.pop_front();
    Ticket& passed = lanes_[index_of(news.lane)].passed;
    if (news.ticket <= passed) continue;
    passed = news.ticket;
    return true;
  }
  return false;
}

std::int64_t StoreTraffic::next_ns() const {
  std::int64_t next = link_.next_ns().value_or(kNeverNs);
  for (const Lease& lease : leases_) {
    if (lease.ticket <= lanes_[index_of(lease.lane)].passed) continue;
    next = std::min(next, lease.at_ns);
    break;
  }
  return next;
}

std::string StoreTraffic::lost_text() const {
  for (const Lane lane : {Lane::kHostToDevice, Lane::kDeviceToHost}) {
    const StoreLane& of = lanes_[index_of(lane)];
    if (of.lost <= of.passed) continue;
    return "a lost " + std::string(lane == Lane::kHostToDevice ? "load" : "save") + ": ticket " +
           std::to_string(value_of(of.lost)) + " of the " + name_of(lane) + " lane";
  }
  return {};
}

}  // namespace pinfold::sim
