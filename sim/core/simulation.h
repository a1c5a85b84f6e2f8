#pragma once
// One run while it happens: simulated time, the requests that live, and the steps in flight.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/arrivals.h"
#include "sim/core/copy_fences.h"
#include "sim/core/device_lanes.h"
#include "sim/core/frames.h"
#include "sim/core/journal_readers.h"
#include "sim/core/live_request.h"
#include "sim/core/live_window.h"
#include "sim/core/prefix_keys.h"
#include "sim/core/progress_watch.h"
#include "sim/core/request_figures.h"
#include "sim/core/simulate.h"
#include "sim/core/stops.h"
#include "sim/core/store_traffic.h"
#include "sim/core/wait_book.h"
#include "sim/metrics/saturation.h"

namespace pinfold::sim {

/// The loop is the engine's: observe what is due, plan while the overlap allows it, launch, else wait for
/// the next completion or arrival (rule O15, decision 2). The loop and what it plans are in
/// simulation.cc, requests from arrival to end in simulation_requests.cc, results of steps in
/// simulation_results.cc.
class Simulation {
 public:
  /// All must outlive it.
  Simulation(RequestSource& source, const RunConfig& config, const RunOptions& options);

  /// To the end, once.
  RunResult run();

 private:
  /// A fork that has arrived and waits until its parent has processed enough.
  struct PendingFork {
    std::uint64_t request;
    std::uint64_t parent;  // request
  };

  bool hidden() const { return config_.workload.stop == StopMode::kHidden; }
  bool drafting() const { return config_.workload.drafts > 0; }
  bool counts(const Member& member) {
    return !figures_.windowed() || figures_.counts(requests_[member.request].arrival_ns);
  }

  // The loop, and what it plans.
  void loop();
  std::string blockade() const;
  void advance_to(std::int64_t ns);
  void plan();
  void note_admitted();
  void stop_waiting(Member& member);
  /// Events that put a sequence into the queue again.
  std::uint64_t requeues() const {
    const SchedulerStats& stats = scheduler_.stats();
    return stats.preemptions + stats.sharing_lost + stats.forks_missed + stats.loads_lost;
  }
  void note_requeued(std::size_t from, bool by_plan);
  void note_left();
  void launch();
  void note_joined(Frame& frame);
  void note_last_chunks(Frame& frame);
  void expect_stop(SequenceId id, Member& member, std::uint32_t epoch, std::uint32_t before,
                   std::uint64_t step);
  void pass_transfers();

  // Requests, from arrival to end.
  void take_arrivals();
  Member& new_member(std::uint64_t number, std::uint32_t sample, std::uint32_t output,
                     SequenceId& id);
  RequestSpec spec_of(const LiveRequest& request, std::uint32_t output) const;
  void begin(std::uint64_t number, LiveRequest& request);
  void begun(SequenceId id, Member& member, std::int64_t since_ns, Answer answer);
  void release_forks();
  void fork_samples(std::uint64_t number, LiveRequest& request);
  void take_aborts() {
    std::uint64_t number = 0;
    while (arrivals_.take_abort(now_, number)) abort_request(number);
  }
  void abort_request(std::uint64_t number);
  void abort_storm(std::uint64_t step);
  void take_ends();
  void end_member(SequenceId id, Member& member, EndReason reason, std::uint32_t emitted);
  void overrun(const Member& member);
  void leave_batch(const Member& member);
  void finish_request(std::uint64_t number, LiveRequest& request);

  // Results of steps.
  void complete();
  void void_steps(Frame& failed);
  void plain_results(const Frame& frame);
  void draft_results(const Frame& frame);
  void deliver(Member& member);
  void deliver_from_prompt(const Chunk& chunk);
  void yield(SequenceId id, Member& member, std::uint32_t epoch, std::uint32_t tokens);
  void fork_after(const Frame& frame);

  // The end.
  void stall(const std::string& what);
  void check_drained();
  void report_lost();
  RunResult summarise();
  void put_waits();
  std::int64_t waited_in_all();

  __extension__ typedef unsigned __int128 Wide;
  static constexpr std::uint64_t kProgressEvery = 1000;

  const RunConfig& config_;
  const RunOptions& options_;
  RunObserver* const observer_;
  Scheduler scheduler_;
  JournalReaders readers_;
  StepPlan plan_;
  RunResult result_;
  RequestFigures figures_;
  WaitBook waits_;
  QueueWatch queue_watch_;

  Arrivals arrivals_;
  Arrival arrival_;  // the one being taken
  PrefixKeys prefix_keys_;
  LiveWindow<LiveRequest> requests_;  // by number in the trace
  LiveWindow<Member> members_;        // by sequence id
  std::uint32_t next_sequence_ = 0;
  std::vector<PendingFork> pending_forks_;  // in order of arrival
  Stops stops_;
  std::vector<Drafted> batch_;  // with drafts: the rows of the next step
  std::vector<RowResult> exceptions_;
  bool any_arrival_ = false;
  std::int64_t waited_ended_ns_ = 0;  // by sequences that have ended
  std::uint64_t rows_counted_ = 0;    // rows of the batch whose requests count, where not all do
  std::uint64_t ended_ = 0;
  std::uint64_t next_progress_ = kProgressEvery;

  std::int64_t now_ = 0;
  Frames frames_;
  DeviceLanes lanes_;
  CopyFences fences_;
  StoreTraffic store_;
  std::int64_t staged_ns_ = 0;  // of the step launched last
  std::int64_t first_ns_ = 0;   // first arrival
  std::int64_t last_result_ns_ = 0;
  std::int64_t last_end_ns_ = 0;
  ProgressWatch progress_;
  Wide owned_ns_ = 0;  // blocks owned, over time
  std::uint64_t loading_ns_ = 0;
};

}  // namespace pinfold::sim
