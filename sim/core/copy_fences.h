#pragma once
// The ends of copies, as the host hears of them.

#include <cstdint>
#include <deque>
#include <string>

#include "sim/config/run_config.h"
#include "sim/core/stall_report.h"
#include "sim/trace/request.h"

namespace pinfold::sim {

/// Decision 6: the host waits for the copies' fence in the same step, or looks when it next plans. A
/// fence's event may be lost; a later one of its lane proves it.
class CopyFences {
 public:
  /// `config` must outlive it.
  explicit CopyFences(const RunConfig& config) : config_(config) {}

  Lane lane() const { return separate() ? Lane::kCopy : Lane::kCompute; }

  /// The copies of a step were launched and end at `done_ns`. True: the host stands until then, and tells
  /// the scheduler itself.
  bool launch(std::uint64_t step, Ticket ticket, std::int64_t done_ns);

  /// Tells the scheduler of every end until now that no result has told it of.
  void pass(std::int64_t now_ns, Scheduler& scheduler) {
    while (!fences_.empty() && fences_.front().at_ns <= now_ns) {
      const Ticket ticket = fences_.front().ticket;
      fences_.pop_front();
      if (!separate() && ticket <= compute_passed_) continue;
      scheduler.on_passed(lane(), ticket);
      if (ticket > lost_ticket_) lost_ = 0;
    }
  }

  /// A step's result tells of everything before it in the compute lane.
  void result_upto(Ticket ticket) {
    compute_passed_ = ticket;
    if (!separate() && compute_passed_ > lost_ticket_) lost_ = 0;
  }

  /// When the next end is heard of; kNeverNs: none is on its way.
  std::int64_t next_ns() const { return fences_.empty() ? kNeverNs : fences_.front().at_ns; }

  /// Whether an event was lost and no later one has proved it.
  bool any_lost() const { return lost_ > 0; }
  /// Whether the host stands for one.
  bool host_waits() const { return host_waits_; }
  Ticket lost_ticket() const { return lost_ticket_; }
  std::uint64_t lost_step() const { return lost_step_; }
  /// Why the host stands.
  std::string lost_wait() const;

 private:
  struct CopyFence {
    std::int64_t at_ns;
    Ticket ticket;
  };

  bool separate() const { return config_.fork.copy_lane == CopyLane::kSeparate; }

  const RunConfig& config_;
  std::deque<CopyFence> fences_;  // polled: copies whose end the host has not been told of
  Ticket compute_passed_{};       // by results
  std::uint32_t copy_steps_ = 0;  // steps with copies so far
  std::uint32_t lost_ = 0;        // lost events that no later one has proved
  Ticket lost_ticket_{};
  std::uint64_t lost_step_ = 0;
  bool host_waits_ = false;
};

}  // namespace pinfold::sim
