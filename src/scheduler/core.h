#pragma once
// The scheduler's state and verbs. A regular value: no pointers out, no hash containers; copying it
// forks the world. engine/scheduler.h is the documented surface; this header is its inside.
//
// The files of this folder, in the order in which a step uses them:
//   running.cc   growth, shrink, sit-outs and preemption of running sequences
//   forks.cc     waiting forks: pins, copies, demotion
//   prompts.cc   chunks of unfinished prompts, then admissions
//   prefixes.cc  hits at admission, blocks made findable, eviction
//   results.cc   commit, ends, failed steps, fences
//   store.cc     saves to the host and loads from it (rule O16)
//   steady.cc    the fast path: rows that need no visit
//   inspect.cc   views, wait reasons, hash, audit
//   core.cc      arrivals, ends and the order of a pass

#include <span>
#include <vector>

#include "base/journal.h"
#include "pool/fence_holds.h"
#include "pool/prefix_index.h"
#include "scheduler/options.h"
#include "scheduler/plan.h"
#include "scheduler/stats.h"
#include "scheduler/step_heap.h"
#include "scheduler/waiting_queue.h"

namespace pinfold {

/// One sequence as a reader sees it; spans live until the next mutating call.
struct SequenceView {
  SequenceId id{};
  std::uint32_t epoch = 0;
  Phase phase = Phase::kWaiting;
  RowCounts rows;  // H, C, F
  TokenCount emitted;
  TokenCount prompt_end;  // rows that prefill computes
  std::span<const BlockId> table;
  BlockId state = kNoBlock;
  BlockId draft = kNoBlock;
  StepNumber last_step{};
  bool frozen = false;  // sits out until a fork has cloned its state slot
};

/// What an unfinished sequence that does not run waits for.
struct WaitReason {
  SequenceId sequence{};
  Cause cause = Cause::kNone;
  PoolKind pool = PoolKind::kBlocks;  // for kBlocks and kSlot
  BlockCount lacking;                 // ids of that pool beyond what is available
  SequenceId holder{};                // who holds what it waits for, if has_holder
  bool has_holder = false;
  Fence fence;  // what has to pass first, if any ticket is set
};

class Core {
 public:
  explicit Core(const SchedulerOptions& options);

  Answer add(SequenceId id, const RequestSpec& spec, const PromptKeys& keys);
  Answer fork(SequenceId parent, SequenceId child, const RequestSpec& spec, const PromptKeys& keys);
  bool abort(SequenceId id);
  void plan_step(StepPlan& plan);
  void on_step_complete(const StepResult& result);
  void on_passed(Lane lane, Ticket ticket);
  void on_lost(Lane lane, Ticket ticket);

  const SchedulerOptions& options() const { return options_; }
  const SchedulerStats& stats() const { return stats_; }
  const Pools& pools() const { return pools_; }
  const FenceHolds& holds() const { return holds_; }
  Journal& journal() { return journal_; }
  std::span<const Ended> ended() const { return ended_; }
  void clear_ended() { ended_.clear(); }
  std::span<const Transfer> transfers() const { return transfers_; }
  void clear_transfers() { transfers_.clear(); }

  bool knows(SequenceId id) const { return store_.find(id) != kNoSlot; }
  SequenceView view(SequenceId id) const;
  std::vector<SequenceId> running() const;  // in join order
  std::vector<SequenceId> waiting() const;  // in queue order
  std::vector<SequenceId> forks() const;    // waiting forks in fork order
  std::vector<SequenceId> loading() const;  // in order of admission
  std::uint32_t unfinished() const { return store_.live(); }
  std::uint32_t waiting_count() const { return static_cast<std::uint32_t>(waiting_.size()); }
  std::uint32_t running_count() const { return static_cast<std::uint32_t>(running_.size()); }
  std::uint32_t loading_count() const { return static_cast<std::uint32_t>(loading_.size()); }
  StepNumber planned() const { return StepNumber{planned_}; }
  StepNumber done() const { return StepNumber{done_}; }

  std::vector<WaitReason> explain_wait() const;
  std::uint64_t state_hash() const;
  void audit() const;

 private:
  /// One attempt at a step.
  struct Pass {
    StepPlan& plan;
    std::uint64_t step;
    std::uint32_t budget;          // rows left of the token budget
    std::uint32_t draft_room = 0;  // drafts that leave every running row its own row
    bool preempted = false;
    bool sat_out = false;
    bool fork_refused = false;
    bool fork_ended = false;  // answered NEVER: its parent may run again
  };

  struct Visit {
    std::uint64_t join;
    SlotIndex slot;
  };
  struct WheelEntry {
    std::uint64_t join;
    std::uint64_t generation;
    SlotIndex slot;
  };
  // core.cc
  void note(Verb verb, const Sequence& sequence, std::uint32_t count = 0, std::uint32_t aux = 0,
            std::uint16_t detail = 0);
  void note_ids(Verb verb, PoolKind pool, const Sequence& sequence, std::span<const BlockId> ids,
                std::uint32_t aux = 0);
  bool fits_ever(const RequestSpec& spec, TokenCount prompt) const;
  Demand demand_of(const Sequence& sequence) const;  // without reuse
  void acquire_blocks(Sequence& sequence, BlockCount count);
  BlockId acquire_slot(PoolKind pool, const Sequence& sequence);
  void join_running(SlotIndex slot, Phase phase);
  void leave_running(SlotIndex slot);
  void let_go(Sequence& sequence);
  void finish(SlotIndex slot, EndReason reason);
  void preempt(SlotIndex slot);
  void leave_batch(Sequence& sequence, std::vector<Left>& left);
  std::size_t position_in(const std::vector<SlotIndex>& list, std::uint64_t join) const;
  bool nothing_pending() const { return planned_ == done_ && holds_.empty(); }
  bool at_run_limit() const { return running_.size() + loading_.size() >= options_.max_sequences; }
  Lane copy_lane() const {
    return options_.copy_lane == CopyLane::kCompute ? Lane::kCompute : Lane::kCopy;
  }
  void plan_pass(Pass& pass);
  void dispatch(Pass& pass);

  // running.cc
  void plan_running(Pass& pass);
  void plan_row(Pass& pass, SlotIndex slot);
  TokenCount drafts_wanted(const Pass& pass, const Sequence& sequence, TokenCount room) const;
  void give_back_surplus(Sequence& sequence, BlockCount need);
  enum class Room : std::uint8_t { kFits, kSitOut, kGone };
  Room make_room(Pass& pass, SlotIndex slot, TokenCount& drafts);
  void sit_out(Pass& pass, Sequence& sequence);
  void plan_decode_row(Pass& pass, Sequence& sequence, TokenCount drafts);

  // forks.cc
  struct ForkShape {
    bool decode = false;     // decode path
    BlockCount shared;       // leading blocks that stay shared
    BlockCount fresh;        // new blocks
    bool copy_tail = false;  // the first fresh block receives table[shared]
    bool clone_state = false;
  };
  ForkShape shape_of(const Sequence& child) const;
  bool can_share(const SequenceView& parent) const;
  void pin_parent(Sequence& child, const SequenceView& parent);
  void miss_settling_children(SequenceId parent);
  void miss_fork(SlotIndex slot);
  void unfreeze_parent(const Sequence& child);
  void pin_settled_forks();
  void plan_forks(Pass& pass);
  Cause try_fork(Pass& pass, SlotIndex slot);
  void grant_fork(Pass& pass, SlotIndex slot, const ForkShape& shape);
  void queue_block_copy(StepPlan& plan, const Sequence& sequence, BlockId from, BlockId to,
                        TokenCount valid);
  void demote_fork(SlotIndex slot);
  bool demote_youngest_fork();

  // prefixes.cc
  struct Prefix {
    BlockCount blocks;        // shared whole
    BlockId tail = kNoBlock;  // the block behind them whose first rows are copied, if any
    TokenCount rows;          // rows that need not be computed
    BlockCount revived;       // idle ids among the shared ones
    PrefixNode node = kRootNode;
    BlockCount loads;          // behind the shared ones: loaded from the host
    BlockId image = kNoBlock;  // host state to load
    bool from_host() const { return loads.value > 0 || image != kNoBlock; }
  };
  // The ids of a prefix: shared blocks, then host blocks to load behind them, and the content up to each.
  struct Found {
    std::vector<BlockId> blocks;
    std::vector<BlockId> host;
    std::vector<PrefixNode> path;
  };
  void remember_keys(Sequence& sequence, const PromptKeys& keys);
  Prefix find_prefix(const Sequence& sequence, Found& found) const;
  Demand demand_behind(const Sequence& sequence, Prefix& prefix) const;
  TokenCount shared_rows(const Prefix& prefix) const;
  void share_prefix(Pass& pass, Sequence& sequence, const Prefix& prefix,
                    std::span<const BlockId> blocks);
  void copy_tail(Pass& pass, Sequence& sequence, const Prefix& prefix);
  void book_prefix(const Sequence& sequence, const Prefix& prefix);
  void forget(const Sequence& taker, std::span<const BlockId> evicted);
  void start_publishing(Sequence& sequence, BlockCount keyed, PrefixNode node);
  void stop_publishing(Sequence& sequence);
  void find_due(PrefixState& prefix) const;
  void publish_due(std::uint64_t step);
  void publish(Sequence& sequence);
  void publish_tail(Sequence& sequence);

  // store.cc
  bool stores_states() const { return store_on_ && options_.state == Switch::kOn; }
  void find_on_host(const Sequence& sequence, Prefix& prefix, Found& found) const;
  void queue_load(SlotIndex slot, const Prefix& prefix, const Found& found);
  void forget_on_host(const Sequence& taker, PoolKind pool, std::span<const BlockId> evicted);
  void save_blocks(Sequence& sequence);
  void save_state(Pass& pass, Sequence& sequence, std::uint32_t position);
  TokenCount cut_at_boundary(const Sequence& sequence, TokenCount first, TokenCount count) const;
  std::uint32_t next_position(const Sequence& sequence) const {
    const RowCounts rows = rows_of(sequence);
    return (rows.processed + rows.in_flight).value;
  }
  void void_saves(std::uint64_t step);
  void end_saves(Ticket ticket, bool lost);
  void end_loads(Ticket ticket, bool lost);
  TokenCount rows_to_recover(const Sequence& sequence) const;
  void requeue_unloaded(SlotIndex slot);

  // inspect.cc
  class Mixer;
  std::uint64_t store_ticket_ahead(const Fence& fence) const;
  void hash_store(Mixer& mix) const;

  // prompts.cc
  void plan_prompts(Pass& pass);
  void plan_admissions(Pass& pass);
  Cause try_admit(Pass& pass, SlotIndex slot);
  void plan_chunk(Pass& pass, Sequence& sequence);
  void answer_later(Sequence& sequence, Cause cause, const Demand& demand);
  void answer_ok(Sequence& sequence, const Demand& demand);

  // results.cc
  void pass(Lane lane, Ticket ticket, bool lost = false);
  void fail_steps(std::uint64_t step);
  void park_surplus(Sequence& sequence);
  void name_exceptions(std::span<const RowResult> exceptions);
  void commit(SlotIndex slot, std::span<const RowResult> exceptions);
  void end_due();

  // steady.cc
  void collect_visits(std::uint64_t step);
  void retire_limits(std::uint64_t step);
  void promote_steady(std::uint64_t step);
  bool may_be_steady(const Sequence& sequence) const;
  void make_steady(SlotIndex slot, std::uint64_t step);
  void expect_publication(SlotIndex slot);
  void make_explicit(SlotIndex slot);
  RowCounts rows_of(const Sequence& sequence) const;
  TokenCount emitted_of(const Sequence& sequence) const;

  SchedulerOptions options_;
  bool fast_ = false;
  bool reuse_ = false;     // prefixes are reused
  bool store_on_ = false;  // and kept on the host
  Pools pools_;
  PrefixIndex prefixes_;
  FenceHolds holds_;
  Journal journal_;
  SchedulerStats stats_;
  Passed passed_;

  SequenceStore store_;
  WaitingQueue waiting_;
  std::vector<SlotIndex> forks_;    // waiting forks in fork order
  std::vector<SlotIndex> running_;  // in join order
  std::vector<SlotIndex> loading_;  // admitted, their loads have not passed; in order of admission
  std::vector<SlotIndex> active_;   // running ones that are visited one by one, in join order
  std::vector<SlotIndex> late_;     // waiting ones whose last epoch still has steps in flight
  std::uint32_t decodes_ = 0;       // running ones in phase kDecode
  std::uint64_t joins_ = 0;
  std::uint64_t planned_ = 0;      // steps dispatched
  std::uint64_t done_ = 0;         // steps whose result was processed
  std::uint64_t failed_upto_ = 0;  // results up to here commit nothing
  std::vector<Ended> ended_;
  std::vector<Left> left_pending_;  // rows that left between two plans

  // The fast path's books; empty when it is off.
  std::vector<std::vector<WheelEntry>> wheel_;  // by step mod B: rows that cross a block then
  StepHeap limits_;                             // rows that plan their last row in a step
  StepHeap publishers_;                         // rows whose result makes a block findable
  std::uint32_t steady_rows_ = 0;
  std::uint64_t steady_context_ = 0;  // sum of C + F over steady rows

  // A save that was queued: of which content, to where, and which step stages it (a state's).
  struct Save {
    Ticket ticket{};
    PrefixNode node = kNoNode;
    PoolKind pool = PoolKind::kHostBlocks;
    BlockId host = kNoBlock;
    std::uint64_t step = 0;
    bool is_void = false;  // that step failed
  };
  std::vector<Save> saves_;         // in order of their tickets
  std::vector<Ticket> staged_;      // by state slot: the last save out of its copy buffer
  std::uint64_t save_tickets_ = 0;  // issued on lane device-to-host
  std::uint64_t load_tickets_ = 0;  // and host-to-device
  std::vector<Transfer> transfers_;

  Hold step_copies_;  // sources of the copies of the step being planned

  // Buffers of one call, kept for their capacity.
  std::vector<Visit> visits_;
  std::vector<SlotIndex> due_;
  std::vector<SlotIndex> publish_due_;
  Found found_;
  std::vector<BlockId> words_;
};

}  // namespace pinfold
