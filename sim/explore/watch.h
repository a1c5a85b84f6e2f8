#pragma once
// The named invariants and shadow memory beside an explored world: what a run is judged by, along every
// event that an exploration tries. Plain data, copied with its world.
//
// A state that is met again keeps the watch of the path that met it first. That loses nothing: the watch is
// made from the journal, worlds with equal keys have journals that say the same but for names, and each
// event from each state is judged once.

#include <optional>
#include <span>
#include <string>

#include "sim/check/invariants.h"
#include "sim/check/shadow.h"

namespace pinfold::sim {

class Watch {
 public:
  explicit Watch(const SchedulerOptions& options);

  /// `known`: tokens known from the start, for a fork those it inherits and one more.
  void before_arrival(SequenceId id, TokenCount known, const RequestSpec& spec) {
    invariants_.expect(id, known, spec.limit, spec.stop);
  }
  void after_arrival(SequenceId id, Answer answer) { invariants_.answered(id, answer); }
  void before_plan(const Scheduler& scheduler) { invariants_.before_plan(scheduler); }
  void after_plan(const Scheduler& scheduler, const StepPlan& plan) {
    invariants_.after_plan(scheduler, plan);
  }
  /// What the journal got from one verb of the scheduler.
  void consume(std::span<const std::byte> journal);
  /// Between two verbs. `drained`: everything has ended and nothing is in flight.
  void audit(const Scheduler& scheduler, bool drained);

  struct Found {
    std::string check, text;
  };
  /// The first finding.
  std::optional<Found> found() const;

 private:
  Invariants invariants_;
  Shadow shadow_;
};

}  // namespace pinfold::sim
