#pragma once
// A world in miniature: the scheduler, a device that is only an order, and a naive account of what each
// request has yielded. It copies (the scheduler is a value), so that an explorer can fork it, and it
// mirrors the batch from the plans' deltas as an engine's worker would, so that the deltas are tested.

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "engine/scheduler.h"

namespace pinfold::model {

/// What a request will do, whatever the scheduler thinks of it.
struct Wish {
  std::uint32_t prompt = 1;
  std::uint32_t output = 1;  // tokens at which its output stops, 0: prefill only
  std::uint32_t limit = 1;   // what the scheduler is told
  StopMode stop = StopMode::kHidden;
  std::uint32_t drafts = 0;
  std::uint32_t priority = 0;
  // PromptKeys; none unless a test gives them.
  std::vector<std::uint64_t> keys{};
  std::uint32_t tail_end = 0;
  std::uint64_t tail = 0;
};

/// A row of a dispatched step.
struct MirrorRow {
  SequenceId sequence{};
  std::uint32_t epoch = 0;
  std::uint32_t drafts = 0;
  bool prompt_end = false;  // the last chunk of a prompt: one token at most
};

/// A dispatched step.
struct MirrorStep {
  std::uint64_t step = 0;
  Ticket copy_ticket{};
  bool copies_passed = true;
  std::vector<Copy> copies;
  std::vector<MirrorRow> rows;
};

/// The worker's mirror of the batch: sequence -> epoch.
using MirrorBatch = std::map<SequenceId, std::uint32_t>;

/// The step that a plan dispatches, once those who left are out of the batch; joins it to the batch.
MirrorStep mirror_step(const StepPlan& plan, MirrorBatch& batch);

/// What is true of a request from outside.
struct Account {
  Wish wish;
  std::uint32_t emitted = 0;
  bool ended = false;
  EndReason reason = EndReason::kStop;
};

/// How many drafts of a row are accepted; a pure function of request and token, so that both paths and
/// every order of completion see the same tokens.
using Acceptance = std::uint32_t (*)(std::uint64_t seed, SequenceId sequence, std::uint32_t token);

struct World {
  World(const SchedulerOptions& options, std::uint64_t draw_seed, Acceptance acceptance)
      : scheduler(options), seed(draw_seed), accepts(acceptance) {
    scheduler.journal().set_enabled(true);
  }

  Scheduler scheduler;
  std::uint64_t seed;
  Acceptance accepts;
  std::deque<MirrorStep> flying;
  std::map<SequenceId, Account> accounts;
  MirrorBatch batch;
  StepPlan plan;
  std::uint64_t rejections_over_a_block_end = 0;
  std::uint64_t aborts_in_flight = 0;
  std::uint64_t live_forks = 0;

  void add(SequenceId id, const Wish& wish);
  void fork(SequenceId parent, SequenceId child, const Wish& wish);
  void abort(SequenceId id);
  /// Plans one step if the overlap allows it; false if nothing was dispatched.
  bool turn();
  bool may_plan() const { return flying.size() <= scheduler.options().overlap; }
  /// The copies of the oldest step whose copies are queued are done.
  void pass_copies();
  Lane copy_lane() const {
    return scheduler.options().copy_lane == CopyLane::kSeparate ? Lane::kCopy : Lane::kCompute;
  }
  bool copies_pending() const;
  /// The oldest step completes; `failed`: the device lost it.
  void complete(bool failed = false);
  bool drained() const { return scheduler.unfinished() == 0 && flying.empty(); }
  /// Everything that must hold between two events, beyond Scheduler::audit().
  void check() const;

 private:
  static RequestSpec spec_of(const Wish& wish);
  static PromptKeys keys_of(const Wish& wish) {
    return {wish.keys, TokenCount(wish.tail_end), wish.tail};
  }
  void take_ends();
};

}  // namespace pinfold::model
