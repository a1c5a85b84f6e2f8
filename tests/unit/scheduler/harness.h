#pragma once
// A scheduler and a device that is only an order, in the words of the tests of this folder. Act verbs
// (plan, finish_step, step, ...) change something; probe verbs read, most of them as short text, so
// that an expected value can be written down before the run.
//
// Every act is done twice, with the fast path on and with the row-by-row twin, and both are audited:
// journals, state hashes and plans must stay equal, and after a plan every table has its need (O6).

#include <deque>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "engine/scheduler.h"

namespace pinfold::test {

inline constexpr SequenceId kA{0};
inline constexpr SequenceId kB{1};
inline constexpr SequenceId kC{2};
inline constexpr SequenceId kD{3};
inline constexpr SequenceId kE{4};

/// An engine that is short of nothing but blocks: 8 sequences, 64 rows a step, 1000 positions, no
/// state, no draft slots, overlap 0.
SchedulerOptions engine_with(std::uint32_t usable_blocks, std::uint32_t block_size);
/// The same with `usable_slots` state slots.
SchedulerOptions stateful_with(std::uint32_t usable_blocks, std::uint32_t block_size,
                               std::uint32_t usable_slots);

/// A request whose output is known to be `output` tokens, or whose stop is hidden behind `limit`.
RequestSpec known(std::uint32_t prompt, std::uint32_t output, std::uint32_t drafts = 0);
RequestSpec hidden(std::uint32_t prompt, std::uint32_t limit, std::uint32_t drafts = 0);
RequestSpec with_priority(RequestSpec spec, std::uint32_t priority);

/// What a row of the finishing step yields where that is not one token without an end.
struct Yield {
  SequenceId sequence;
  std::uint32_t tokens = 1;
  bool ends = false;
};
inline Yield yields(SequenceId id, std::uint32_t tokens) { return {id, tokens, false}; }
inline Yield stops(SequenceId id, std::uint32_t tokens = 1) { return {id, tokens, true}; }

class Engine {
 public:
  explicit Engine(const SchedulerOptions& options);

  // ---- acts
  Answer add(SequenceId id, const RequestSpec& spec, const PromptKeys& keys = {});
  Answer fork(SequenceId parent, SequenceId child, const RequestSpec& spec,
              const PromptKeys& keys = {});
  bool abort(SequenceId id);
  /// One pass. The plan is that of the last pass.
  const StepPlan& plan();
  /// The copies of the oldest step with queued copies are done.
  void pass_copies();
  /// The oldest ticket of a store's lane passes, or will never.
  void pass_load() { pass_transfer(Lane::kHostToDevice, false); }
  void pass_save() { pass_transfer(Lane::kDeviceToHost, false); }
  void lose_load() { pass_transfer(Lane::kHostToDevice, true); }
  void lose_save() { pass_transfer(Lane::kDeviceToHost, true); }
  /// The oldest step in flight completes, or is lost.
  void finish_step(std::initializer_list<Yield> rows = {});
  void fail_step();
  /// The cadence of an engine: plans, then completes the oldest step if more than `overlap` are in
  /// flight or if there was nothing to plan.
  const StepPlan& step(std::initializer_list<Yield> rows = {});
  void steps(std::uint32_t count);
  /// Steps until every request has ended, and completes what is in flight then; loads pass when nothing
  /// else is left. Each pass must get on.
  void drain();

  // ---- probes of the whole
  const Scheduler& scheduler() const { return fast_; }
  const SchedulerStats& stats() const { return fast_.stats(); }
  std::uint64_t hash() const { return fast_.state_hash(); }
  std::uint64_t steps_planned() const { return value_of(fast_.planned()); }
  std::size_t in_flight() const { return flying_.size(); }
  std::string free_blocks() const;
  std::string free_slots() const;
  std::string idle_blocks() const;  // in the order of eviction
  std::uint32_t available() const { return fast_.pools().blocks().available().value; }
  std::uint32_t owned() const { return fast_.pools().blocks().owned().value; }
  std::uint32_t parked() const { return fast_.pools().blocks().parked().value; }
  std::uint64_t acquired() const { return fast_.pools().blocks().acquired(); }
  std::uint32_t owners(std::uint32_t block) const;
  std::uint32_t slot_owners(std::uint32_t slot) const;
  std::string running() const;  // "[0, 1]", in join order
  std::string waiting() const;  // in queue order
  std::string forks() const;
  /// All pools are back to empty and nothing is in flight.
  bool is_drained() const;
  /// "0 limit 8; 1 stop 3": all ends so far with their tokens.
  const std::string& ends() const { return ends_; }
  const Ended& last_end() const { return last_end_; }

  // ---- probes of one sequence
  SequenceView view(SequenceId id) const { return fast_.view(id); }
  bool knows(SequenceId id) const { return fast_.knows(id); }
  std::string table(SequenceId id) const;   // "[1, 2]"
  std::string counts(SequenceId id) const;  // "H 5 C 4 F 1"
  std::uint32_t held(SequenceId id) const;
  std::uint32_t emitted(SequenceId id) const { return view(id).emitted.value; }
  std::uint32_t slot(SequenceId id) const { return index_of(view(id).state); }
  std::string phase(SequenceId id) const;
  /// Has the last plan a row or a chunk of this sequence?
  bool in_step(SequenceId id) const;
  /// "blocks, lacking 1, held by 0, until step 4"; "nothing" if it does not wait.
  std::string why(SequenceId id) const;

  // ---- probes of the last plan
  const StepPlan& last_plan() const { return plan_; }
  std::string copies() const;   // "slot 1>2 block 3>4:2"; after the colon, the rows
  std::string loads() const;    // not passed: "1: block 2>3 state 1>2", host to device, by ticket
  std::string saves() const;    // likewise, device to host
  std::string chunks() const;   // "0[0,4) 1[0,3)!"; ! ends the prompt
  std::string drafted() const;  // "0:3"
  std::string joined() const;   // "[0]"
  std::string left() const;

  /// All records so far, without their ids, and all their bytes.
  std::vector<Record> records();
  std::vector<std::byte> journal_bytes();
  /// The ids that follow the first record from the `from`-th on with this verb: "[1, 2]".
  std::string ids_with(Verb verb, std::size_t from = 0);

 private:
  struct Flying {
    std::uint64_t step = 0;
    Ticket copy_ticket{};
    bool copies_pending = false;
    std::map<SequenceId, std::uint32_t> rows;  // sequence -> epoch
  };

  void after_act();
  void pass_transfer(Lane lane, bool lost);
  std::string transfers(Lane lane) const;
  void check_tables() const;

  Scheduler fast_;
  Scheduler slow_;
  StepPlan plan_;
  StepPlan slow_plan_;
  std::deque<Transfer> transfers_;
  std::deque<Flying> flying_;
  std::map<SequenceId, std::uint32_t> batch_;
  std::map<SequenceId, std::uint32_t> last_rows_;
  std::string ends_;
  Ended last_end_;
};

}  // namespace pinfold::test
