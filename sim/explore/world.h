#pragma once
// A scenario's world between two events: the real scheduler, a device that is only an order, and a plain
// account of what every row holds. It is a value: copying it forks the world.
//
// The device has one lane: step 1's copies, step 1's rows, step 2's copies, ... It takes the next of them
// whenever the explorer lets it; the host hears of it when copies "pass" and when a result comes. Where
// copies have a lane of their own they run at any moment before their step's rows, and the host may hear
// of them long after its result. What the rows yield (accepted drafts, stops) is chosen when the device
// runs the step.
//
// Row memory. A row holds the tag of a position of somebody's history, or nothing valid. After each event
// every committed row of every sequence must hold its own tag, or a queued copy must be about to put it
// there. So two worlds whose schedulers and lanes agree behave alike, whatever lies in their free blocks,
// and states need not include what rows hold.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/scheduler.h"
#include "sim/core/scenario.h"
#include "sim/explore/watch.h"

namespace pinfold::sim {

/// One request as the explorer drives it; samples are forks of their own.
struct Actor {
  std::string name;
  RequestSpec spec;
  std::uint32_t output = 0;  // tokens at which it stops, where stops are given
  std::vector<std::uint8_t> accepted{};
  std::optional<std::uint32_t> parent{};
  std::uint32_t fork_at = 0;
  bool may_abort = false;
  // An equal request before it: it arrives after that one (symmetry reduction).
  std::optional<std::uint32_t> twin{};
};

/// What every world of an exploration shares.
struct Stage {
  SchedulerOptions options;
  std::vector<Actor> actors;
  bool any_arrivals = false;
  bool any_stops = false;
  bool any_rejections = false;
  bool abort_any = false;
  bool reduce = true;  // arrivals only where a plan can see them, equal requests in one order
  std::uint32_t failures = 0;               // steps that may fail
  std::uint32_t losses = 0;                 // results that may never come
  std::uint32_t copies_lost = 0;            // copies in a lane of their own that nobody may report
  std::vector<std::uint64_t> failing{};     // steps that do fail
  std::vector<std::uint64_t> lost{};        // results that never come
  std::vector<std::uint64_t> unreported{};  // copies in a lane of their own that nobody reports
  bool watch = false;  // judge every event by the named invariants and shadow memory too
};

/// Actors, their twins and what may vary, from a scenario.
Stage stage_of(const Scenario& scenario, bool reduce, bool watch = false);

enum class EventKind : std::uint8_t {
  kArrive,  // a request or fork
  kPlan,    // the host plans and dispatches a step, or finds nothing to do
  kRun,     // the device runs the oldest step that has not run; nobody is told
  kPass,    // the device is done with the next step's copies and the host hears of it
  kResult,  // the oldest step's result reaches the host
  kFail,    // ... and says that the step failed
  kLose,    // the oldest step's result will never come, or nobody will say that its copies are done
  kAbort,
};
inline constexpr std::size_t kEventKinds = 8;

/// "arrive", "plan", ...
const char* name_of(EventKind kind);

struct WorldEvent {
  EventKind kind = EventKind::kPlan;
  std::uint8_t actor = 0;    // kArrive, kAbort
  std::uint16_t choice = 0;  // kRun, kResult: what the rows yield, mixed radix in row order
  friend bool operator==(const WorldEvent&, const WorldEvent&) = default;
};

/// A broken rule.
struct ExploreFinding {
  std::string check;  // "I3", or "library" where a check of src/ threw
  std::string text;
};

/// What a row of a step that has run yielded.
struct Yield {
  std::uint8_t tokens = 0;
  bool stop = false;
};

class World {
 public:
  explicit World(const Stage& stage);

  /// Events that may happen now, in a fixed order.
  void list_events(const Stage& stage, std::vector<WorldEvent>& events) const;
  /// Whether a listed event needs nobody outside, or is a fault that the scenario gives: if only others are
  /// left, the engine is stuck.
  bool is_of_system(const Stage& stage, const WorldEvent& event) const;

  /// Performs a listed event and checks what rows hold and who may touch what. A finding ends the world.
  std::optional<ExploreFinding> apply(const Stage& stage, const WorldEvent& event);

  /// Every law of the scheduler's records, from the outside and by its own audit.
  std::optional<ExploreFinding> audit(const Stage& stage) const;

  /// Everybody has arrived and ended, and nothing is in flight.
  bool over(const Stage& stage) const;
  /// Somebody has arrived and not ended, or a step is in flight.
  bool open() const;

  /// 128 bits that tell worlds apart. `rename`: ids of blocks and slots stand for nothing but
  /// themselves, so worlds that differ in their names alone are one. Otherwise epochs are absolute too,
  /// and equal keys mean an equal Scheduler::state_hash().
  using Key = std::array<std::uint64_t, 2>;
  Key key(const Stage& stage, bool rename) const;

  const Scheduler& scheduler() const { return scheduler_; }
  const std::string& actor_name(const Stage& stage, SequenceId id) const {
    return stage.actors[actor_of(id)].name;
  }
  /// An arrival waits for the plan that can see it: the device's events come after (reduction).
  bool must_plan() const { return must_plan_; }
  /// Journal verbs of the last event, by verb.
  static constexpr std::size_t kVerbs = 32;
  const std::array<std::uint32_t, kVerbs>& verbs() const { return verbs_; }
  /// How the requests that ended in the last event did: actor, reason, tokens.
  struct End {
    std::uint32_t actor = 0;
    EndReason reason = EndReason::kStop;
    std::uint32_t emitted = 0;
  };
  const std::vector<End>& ends() const { return ends_; }
  /// The event in words: "the result of step 2 comes: A 1 token, stops".
  const std::string& told() const { return told_; }
  /// Drops buffers that only the last event needed.
  void settle();
  /// Whether apply() writes told(): costs time.
  void set_telling(bool telling) { telling_ = telling; }
  /// Tables of all who hold something, free list and holds, on one line.
  std::string shown(const Stage& stage) const;

 private:
  using Tag = std::uint32_t;  // 0: nothing valid
  enum class Status : std::uint8_t { kAbsent, kLive, kEnded };
  struct State {
    Status status = Status::kAbsent;
    bool in_batch = false;
    bool stopping = false;  // the device has run its last row
    bool demoted = false;
    bool forked = false;  // fork() kept it as a fork
    std::uint32_t id = 0;
    std::uint32_t epoch = 0;
    std::uint32_t emitted = 0;      // on the host
    std::uint32_t yielded = 0;      // on the device
    std::uint32_t verified = 0;     // verify rows run
    std::uint32_t device_rows = 0;  // C on the device
    std::uint32_t host_rows = 0;    // C on the host after the last event
    std::uint32_t late_rows = 0;    // C of the epoch before
    std::uint32_t shared = 0;
    std::uint32_t parent_epoch = 0;
    std::uint64_t fork_step = 0;
    std::uint64_t copy_step = 0;
  };
  /// An epoch that a preemption ended while rows of it were in flight.
  struct Life {
    std::uint32_t actor = 0;
    std::uint32_t epoch = 0;
    std::uint32_t device_rows = 0;
  };
  struct Row {
    std::uint8_t actor = 0;
    bool chunk = false;
    bool last = false;  // of a prompt: yields a token
    bool is_void = false;
    Yield yield{};
    std::uint32_t epoch = 0;
    std::uint32_t first = 0;
    std::uint32_t width = 1;
    std::uint32_t table = 0;  // where its table begins among the step's
    std::uint32_t blocks = 0;
    BlockId state = kNoBlock;
    BlockId draft = kNoBlock;
  };
  struct Job {
    PoolKind pool = PoolKind::kBlocks;
    BlockId from = kNoBlock;
    BlockId to = kNoBlock;
    std::uint32_t rows = 0;
    std::uint8_t actor = 0;
  };
  struct Step {
    std::uint64_t number = 0;
    bool copied = true;  // the device has run its copies
    bool run = false;    // and its rows
    bool lost = false;
    std::vector<Row> rows{};
    std::vector<BlockId> tables{};  // as dispatched
    std::vector<Job> copies{};
  };

  Tag tag_of(const Stage& stage, std::uint32_t actor, std::uint32_t position) const;
  std::string tag_text(const Stage& stage, Tag tag) const;
  Tag& row_at(BlockId block, std::uint32_t row) {
    return rows_[index_of(block) * block_size_ + row];
  }
  Tag row_at(BlockId block, std::uint32_t row) const {
    return rows_[index_of(block) * block_size_ + row];
  }
  bool may_plan() const;
  bool separate() const { return scheduler_.options().copy_lane == CopyLane::kSeparate; }
  void pass_copies(const Stage& stage);
  std::uint32_t base_of(const Stage& stage, std::uint32_t actor) const;
  std::uint32_t limit_of(const Stage& stage, std::uint32_t actor) const;
  std::size_t first_not_run() const;
  std::uint32_t options_of(const Stage& stage, const Row& row) const;
  std::uint32_t choices_of(const Stage& stage, const Step& step) const;
  Yield yield_of(const Stage& stage, const Row& row, std::uint32_t choice) const;
  bool fork_may_arrive(const Stage& stage, std::uint32_t actor) const;
  bool arrival_allowed(const Stage& stage, std::uint32_t actor) const;

  void arrive(const Stage& stage, std::uint32_t actor);
  void plan(const Stage& stage);
  void run_copies(const Stage& stage, Step& step, bool lost);
  void run_step(const Stage& stage, Step& step, std::uint32_t choice);
  void run_row(const Stage& stage, Step& step, Row& row);
  void result(const Stage& stage, std::uint32_t choice, bool failed);
  void read_journal(const Stage& stage, bool planning);
  void take_ends(const Stage& stage);
  void check_issue(const Stage& stage, PoolKind pool, BlockId id);
  void check_rows(const Stage& stage);
  void check_touched(const Stage& stage);
  std::uint32_t device_rows_of(const Row& row) const;
  std::uint32_t& device_rows_of(const Row& row);
  std::uint32_t reach_of(std::size_t step, const Row& row) const;
  void find(const char* check, std::string text);
  std::uint32_t actor_of(SequenceId id) const { return actors_by_id_[pinfold::value_of(id)]; }

  Scheduler scheduler_;
  std::optional<Watch> watch_;
  std::uint32_t block_size_;
  std::vector<State> states_;               // by actor
  std::vector<std::uint8_t> actors_by_id_;  // in order of arrival
  std::vector<Life> lives_;
  std::vector<Step> flying_;  // oldest first; the first flights_ are live
  std::size_t flights_ = 0;
  std::vector<std::uint8_t> left_pending_;
  std::vector<Tag> rows_;            // of all blocks
  std::vector<Tag> slots_;           // the last position that a state includes
  std::uint64_t passed_ = 0;         // ticket of the compute lane
  std::uint64_t copies_passed_ = 0;  // and of the copy lane
  std::uint64_t failed_upto_ = 0;
  std::uint32_t failures_left_ = 0;
  std::uint32_t losses_left_ = 0;
  std::uint32_t copies_lost_left_ = 0;
  std::vector<std::uint64_t>
      news_;  // steps whose copies the host has not heard of; separate lane only
  bool must_plan_ = false;
  bool aborted_one_ = false;
  bool telling_ = false;

  std::array<std::uint32_t, kVerbs> verbs_{};
  std::vector<End> ends_;
  std::string told_;
  std::optional<ExploreFinding> finding_;
};

}  // namespace pinfold::sim
