#pragma once
// The named invariants I1 to I21, judged from outside: from the journal (sim/check/journal_books.h) and
// from the scheduler's read-only views. docs/invariants.md says what each one means here.
//
// I17 is judged as far as the journal goes (each
// token once, in order); that it is the same stream with and without preemption, drafts and forks, I19,
// and stalls (I9) are properties of two runs or of a loop, which a driver has to hold.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "engine/scheduler.h"
#include "sim/check/journal_books.h"

namespace pinfold::sim {

/// Follows one scheduler; a copy follows a copy of it. The caller feeds it every record, tells it of each plan, and asks for the
/// checks of a moment whenever no verb of the scheduler runs.
class Invariants {
 public:
  explicit Invariants(const SchedulerOptions& options);
  Invariants(const Invariants& other);
  Invariants& operator=(const Invariants& other);

  /// What the journal got since the last call. Must be called between two verbs of the scheduler.
  void consume(std::span<const std::byte> journal) { books_.consume(journal); }

  /// What a request asks for, before it is added: NEVER is judged by it (I10). `least`: its prompt, or
  /// for a fork the tokens that it will know.
  void expect(SequenceId id, TokenCount prompt, TokenCount limit, StopMode stop);
  /// add() or fork() answered NEVER, or not, and the records were consumed.
  void answered(SequenceId id, Answer answer);

  /// Before and after plan_step(); the records of the plan must be consumed before after_plan().
  void before_plan(const Scheduler& scheduler);
  void after_plan(const Scheduler& scheduler, const StepPlan& plan);

  /// The checks of a moment. O(state).
  void audit(const Scheduler& scheduler);

  /// The checks of a moment for every sequence, every release list, and the ids that are theirs or that
  /// records named since the last audit. The other ids of a large pool have their turn, in audit(), once
  /// as many have been looked at as the pools have: O(what is in use or changed). True if all had it.
  bool audit_changes(const Scheduler& scheduler);

  /// When the run is over and everything has ended (I13).
  void at_drain(const Scheduler& scheduler);

  /// For a driver's own findings.
  void find(Check check, const std::string& text) { findings_.add(check, books_.event(), text); }

  const Findings& findings() const { return findings_; }
  const JournalBooks& books() const { return books_; }

 private:
  struct Asked {
    TokenCount prompt, limit;
    StopMode stop;
  };

  bool is_whole_due(const Scheduler& scheduler);
  void audit_pool(const Scheduler& scheduler, PoolKind kind);
  void audit_counts(const Pool& pool, std::uint64_t owned, std::uint64_t parked);
  void audit_id(const Pool& pool, std::uint32_t index);
  void audit_free(const Pool& pool, std::uint32_t index);
  void audit_ids_in_use(const Scheduler& scheduler);
  void audit_queues(const Scheduler& scheduler);
  void audit_sequence(const SequenceView& view);
  void audit_waits(const Scheduler& scheduler);
  void audit_holds(const Scheduler& scheduler);
  void check_tables(const Scheduler& scheduler);
  void check_plan(const StepPlan& plan);

  SchedulerOptions options_;
  Findings findings_;
  JournalBooks books_;
  std::map<SequenceId, Asked> asked_;  // and not answered yet
  /// What a pass that grants nothing leaves alone, as far as counts tell.
  struct Counts {
    std::array<std::uint64_t, kPoolKinds> available{}, acquired{};
    std::size_t running = 0, waiting = 0, forks = 0, loading = 0, release_lists = 0;
    friend bool operator==(const Counts&, const Counts&) = default;
  };
  static Counts counts_of(const Scheduler& scheduler);

  Counts before_{};
  std::optional<std::uint64_t> hash_before_;  // none: the pool is large, and it is not its turn
  std::uint64_t unhashed_ = 0;                // ids owned in passes since the last hash
  std::uint64_t looked_at_ = 0;               // ids, since the last audit() of all
};

}  // namespace pinfold::sim
