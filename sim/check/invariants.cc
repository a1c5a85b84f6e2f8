#include "sim/check/invariants.h"

#include <algorithm>

namespace pinfold::sim {
namespace {

constexpr PoolKind kPoolsUsed[] = {PoolKind::kBlocks, PoolKind::kStateSlots, PoolKind::kDraftSlots,
                                   PoolKind::kHostBlocks, PoolKind::kHostStates};

constexpr std::uint64_t kSmallPools = 1024;  // ids: looked at whole each time

std::uint64_t ids_of(const Scheduler& scheduler) {
  std::uint64_t ids = 0;
  for (const PoolKind kind : kPoolsUsed) ids += scheduler.pools().of(kind).ids();
  return ids;
}

std::string sequence_name(SequenceId id) { return "sequence " + std::to_string(value_of(id)); }

std::string id_name(PoolKind pool, std::uint32_t id) {
  return std::string(name_of(pool)) + " " + std::to_string(id);
}

std::string found(std::uint64_t value, std::uint64_t expected) {
  return "found " + std::to_string(value) + ", expected " + std::to_string(expected);
}

std::uint64_t ceil_of(std::uint64_t positions, std::uint64_t block_size) {
  return (positions + block_size - 1) / block_size;
}

BooksOptions books_options(const SchedulerOptions& options) {
  BooksOptions books;
  books.block_size = options.block_size.value;
  books.state_slots = options.state == Switch::kOn;
  books.fences_always = options.fence == FenceMode::kAlways;
  books.release_order = options.release_order;
  books.free_order = options.free_order;
  books.eviction = options.eviction;
  books.usable[index_of(PoolKind::kBlocks)] = options.block_ids - 1;
  books.usable[index_of(PoolKind::kStateSlots)] = options.state_ids - 1;
  books.usable[index_of(PoolKind::kDraftSlots)] = options.draft_ids - 1;
  books.usable[index_of(PoolKind::kHostBlocks)] = options.host_block_ids - 1;
  books.usable[index_of(PoolKind::kHostStates)] = options.host_state_ids - 1;
  return books;
}

}  // namespace

Invariants::Invariants(const SchedulerOptions& options)
    : options_(options), books_(books_options(options), findings_) {}

Invariants::Invariants(const Invariants& other)
    : options_(other.options_),
      findings_(other.findings_),
      books_(other.books_),
      asked_(other.asked_),
      hash_before_(other.hash_before_) {
  books_.report_to(findings_);
}

Invariants& Invariants::operator=(const Invariants& other) {
  options_ = other.options_;
  findings_ = other.findings_;
  books_ = other.books_;
  books_.report_to(findings_);
  asked_ = other.asked_;
  hash_before_ = other.hash_before_;
  return *this;
}

// ---- I10: answers at arrival -----------------------------------------------------------------------

void Invariants::expect(SequenceId id, TokenCount prompt, TokenCount limit, StopMode stop) {
  asked_[id] = {prompt, limit, stop};
}

void Invariants::answered(SequenceId id, Answer answer) {
  const Asked asked = asked_[id];
  asked_.erase(id);  // memory follows what lives
  const std::uint64_t longest = options_.max_model_len.value;
  const std::uint64_t prompt = asked.prompt.value;
  const std::uint64_t limit =
      std::min<std::uint64_t>(asked.limit.value, longest - std::min(longest, prompt) + 1);
  const std::uint64_t least =
      asked.stop == StopMode::kKnown ? prompt + std::max<std::uint64_t>(limit, 1) - 1 : prompt;
  const std::uint64_t blocks = ceil_of(least, options_.block_size.value);
  const bool no_slots = options_.state == Switch::kOn && options_.state_ids < 2;
  const bool never = prompt > longest || blocks > options_.block_ids - 1 || no_slots;
  if (never == (answer == Answer::kNever)) return;
  find(Check::kI10, sequence_name(id) + " needs " + std::to_string(blocks) +
                        " blocks at least, of " + std::to_string(options_.block_ids - 1) +
                        ": expected " + (never ? "NEVER" : "another answer than NEVER"));
}

// ---- around a plan ---------------------------------------------------------------------------------

// The hash covers every id: in a large pool it has its turn like audit().
void Invariants::before_plan(const Scheduler& scheduler) {
  const std::uint64_t ids = ids_of(scheduler);
  for (const PoolKind kind : kPoolsUsed) unhashed_ += 1 + books_.owned_ids(kind);
  hash_before_.reset();
  if (ids <= kSmallPools || unhashed_ >= ids) {
    hash_before_ = scheduler.state_hash();
    unhashed_ = 0;
  }
  before_ = counts_of(scheduler);
  books_.start_pass();
}

Invariants::Counts Invariants::counts_of(const Scheduler& scheduler) {
  Counts counts;
  for (std::size_t n = 0; n < std::size(kPoolsUsed); ++n) {
    const Pool& pool = scheduler.pools().of(kPoolsUsed[n]);
    counts.available[n] = pool.available().value;
    counts.acquired[n] = pool.acquired() + pool.revived();
  }
  counts.running = scheduler.running_count();
  counts.waiting = scheduler.waiting_count();
  counts.forks = scheduler.waiting_forks().size();
  counts.loading = scheduler.loading().size();
  counts.release_lists = scheduler.holds().holds().size();
  return counts;
}

void Invariants::after_plan(const Scheduler& scheduler, const StepPlan& plan) {
  const JournalBooks::Pass& pass = books_.pass();
  if (plan.empty) {
    // Nothing but refusals: blocks, slots, pins, queues and the order of the free list stay.
    // Rows that left since the last plan were handed over with this one.
    const auto same = [&] {
      return counts_of(scheduler) == before_ &&
             (!hash_before_ || scheduler.state_hash() == *hash_before_);
    };
    if (pass.changes == 0 && plan.left.empty() && !same()) {
      find(Check::kI11, "a pass that granted nothing changed the state (" +
                            std::to_string(pass.later) + " LATER answers)");
    }
    return;
  }
  check_plan(plan);
  check_tables(scheduler);
}

void Invariants::check_plan(const StepPlan& plan) {
  std::uint64_t context = 0;
  for (const std::uint32_t sequence : books_.batch()) {
    const SequenceBooks& of = books_.sequence(sequence);
    context += of.processed + of.in_flight;
  }
  const auto gauge = [&](const char* what, std::uint64_t value, std::uint64_t expected) {
    if (value == expected) return;
    find(Check::kI18, std::string("the plan's ") + what + ": " + found(value, expected));
  };
  gauge("decode rows", plan.decode_rows, books_.batch().size());
  gauge("draft rows", plan.draft_rows, books_.step_drafts());
  gauge("prompt rows", plan.prompt_rows, books_.step_prompt_rows());
  gauge("context rows", plan.context_rows, context);
}

// Rule O6: in the plan a table becomes its need, neither less nor more.
void Invariants::check_tables(const Scheduler& scheduler) {
  for (const SequenceId id : scheduler.running()) {
    const SequenceView view = scheduler.view(id);
    const std::uint64_t rows = std::uint64_t{view.rows.processed.value} + view.rows.in_flight.value;
    const std::uint64_t least = ceil_of(rows, options_.block_size.value);
    const std::uint64_t held = view.table.size();
    const bool lacks = held < least;
    std::uint64_t most = std::max<std::uint64_t>(view.rows.history.value, rows);
    for (const BookedFlight& flight : books_.sequence(value_of(id)).flights) {
      if (flight.step == value_of(scheduler.planned()) && !flight.chunk) {
        most = std::max<std::uint64_t>(most, view.rows.history.value + flight.rows - 1);
      }
    }
    if (!lacks && held <= ceil_of(most, options_.block_size.value)) continue;
    find(Check::kI6, sequence_name(id) + " holds " + std::to_string(held) + " blocks for " +
                         std::to_string(rows) + " rows and " +
                         std::to_string(view.rows.history.value) + " known tokens: expected " +
                         std::to_string(lacks ? least : ceil_of(most, options_.block_size.value)));
  }
}

// ---- a moment --------------------------------------------------------------------------------------

void Invariants::audit(const Scheduler& scheduler) {
  for (const PoolKind kind : kPoolsUsed) audit_pool(scheduler, kind);
  books_.forget_changes();
  looked_at_ = 0;
  audit_queues(scheduler);
  audit_holds(scheduler);
  audit_waits(scheduler);
}

bool Invariants::audit_changes(const Scheduler& scheduler) {
  if (is_whole_due(scheduler)) {
    audit(scheduler);
    return true;
  }
  for (const PoolKind kind : kPoolsUsed) {
    const Pool& pool = scheduler.pools().of(kind);
    for (const std::uint32_t index : books_.changed(kind)) {
      if (index == 0 || index >= pool.ids()) continue;
      audit_id(pool, index);
      if (pool.owners(BlockId{index}) == 0) audit_free(pool, index);
    }
    audit_counts(pool, books_.owned_ids(kind), books_.parked_ids(kind));
  }
  books_.forget_changes();
  audit_ids_in_use(scheduler);
  audit_queues(scheduler);
  audit_holds(scheduler);
  audit_waits(scheduler);
  return false;
}

// Looking at all of a pool is put off until as much else has been looked at; a small pool never waits.
bool Invariants::is_whole_due(const Scheduler& scheduler) {
  for (const PoolKind kind : kPoolsUsed) {
    looked_at_ += books_.changed(kind).size() + books_.owned_ids(kind);
  }
  const std::uint64_t ids = ids_of(scheduler);
  return ids <= kSmallPools || looked_at_ >= ids;
}

// What a table or a release list names is owned, and by as many as the journal says.
void Invariants::audit_ids_in_use(const Scheduler& scheduler) {
  const auto audit = [&](PoolKind kind, BlockId id) {
    const Pool& pool = scheduler.pools().of(kind);
    const std::uint32_t index = index_of(id);
    if (index == 0 || index >= pool.ids()) return;
    if (pool.owners(id) == 0) {
      find(Check::kI2, id_name(kind, index) + " is in use and has no owner");
    }
    audit_id(pool, index);
  };
  for (const auto& queue : {scheduler.running(), scheduler.waiting_forks(), scheduler.loading()}) {
    for (const SequenceId id : queue) {
      const SequenceView view = scheduler.view(id);
      for (const BlockId block : view.table) audit(PoolKind::kBlocks, block);
      audit(PoolKind::kStateSlots, view.state);
      audit(PoolKind::kDraftSlots, view.draft);
    }
  }
  for (const Hold& hold : scheduler.holds().holds()) {
    for (const BlockId block : hold.blocks) audit(PoolKind::kBlocks, block);
    for (const BlockId slot : hold.states) audit(PoolKind::kStateSlots, slot);
    for (const BlockId slot : hold.drafts) audit(PoolKind::kDraftSlots, slot);
    for (const BlockId id : hold.host_blocks) audit(PoolKind::kHostBlocks, id);
    for (const BlockId id : hold.host_states) audit(PoolKind::kHostStates, id);
  }
}

void Invariants::audit_pool(const Scheduler& scheduler, PoolKind kind) {
  const Pool& pool = scheduler.pools().of(kind);
  std::vector<bool> listed(pool.ids());
  std::uint64_t free = 0;
  const std::vector<BlockId> idle = pool.idle_list();
  std::vector<BlockId> without_owner = pool.free_list();
  without_owner.insert(without_owner.end(), idle.begin(), idle.end());
  for (const BlockId id : without_owner) {
    const std::uint32_t index = index_of(id);
    if (index == 0) {
      find(Check::kI4, id_name(kind, 0) + " is on the free list");
      continue;
    }
    if (index >= pool.ids() || listed[index]) {
      find(Check::kI1, id_name(kind, index) + " is free or idle twice, or outside the pool");
      continue;
    }
    listed[index] = true;
    ++free;
    audit_free(pool, index);
  }
  std::uint64_t owned = 0;
  std::uint64_t parked = 0;
  for (std::uint32_t index = 1; index < pool.ids(); ++index) {
    owned += pool.owners(BlockId{index}) > 0;
    parked += books_.id(kind, index).is_parked();
    audit_id(pool, index);
  }
  const std::vector<std::uint32_t>& booked_idle = books_.idle(kind);
  if (!std::equal(idle.begin(), idle.end(), booked_idle.begin(), booked_idle.end(),
                  [](BlockId block, std::uint32_t booked) { return index_of(block) == booked; })) {
    find(Check::kI2, std::to_string(idle.size()) + " " + name_of(kind) +
                         "s are idle, in the order of their eviction; the journal names " +
                         std::to_string(booked_idle.size()) + ", or others");
  }
  if (free != pool.available().value) {
    find(Check::kI1, std::string(name_of(kind)) +
                         "s on the free and idle lists: " + found(free, pool.available().value));
  }
  audit_counts(pool, owned, parked);
}

void Invariants::audit_counts(const Pool& pool, std::uint64_t owned, std::uint64_t parked) {
  const PoolKind kind = pool.kind();
  const std::uint64_t free = pool.available().value;
  if (free + owned != pool.usable().value) {
    find(Check::kI1, std::string(name_of(kind)) + "s: " + std::to_string(free) +
                         " free or idle and " + std::to_string(owned) + " owned, of " +
                         std::to_string(pool.usable().value));
  }
  if (pool.acquired() + pool.revived() != pool.freed() + owned) {
    find(Check::kI1, std::string(name_of(kind)) + "s issued or revived: " +
                         found(pool.acquired() + pool.revived(), pool.freed() + owned));
  }
  if (pool.parked().value != parked) {
    find(Check::kI18,
         std::string("parked ") + name_of(kind) + "s: " + found(pool.parked().value, parked));
  }
  if (pool.peak_owned() > pool.usable()) {
    find(Check::kI18, std::string("peak of owned ") + name_of(kind) +
                          "s: " + found(pool.peak_owned().value, pool.usable().value) + " at most");
  }
}

// The pool counts the owners that the journal names.
void Invariants::audit_id(const Pool& pool, std::uint32_t index) {
  const IdBooks& books = books_.id(pool.kind(), index);
  const std::uint32_t owners = pool.owners(BlockId{index});
  if (owners == books.owners.size() && pool.holds(BlockId{index}) == books.holds()) return;
  std::string names;
  for (const NamedOwner& owner : books.owners) {
    names += " " + std::to_string(owner.sequence) + (owner.hold ? " (hold)" : "");
  }
  find(Check::kI2, id_name(pool.kind(), index) + ": " + found(owners, books.owners.size()) +
                       " owners, named in the journal:" + names);
}

// Nothing that is dispatched uses what has no owner.
void Invariants::audit_free(const Pool& pool, std::uint32_t index) {
  const IdBooks& books = books_.id(pool.kind(), index);
  if (books.busy_until <= books_.passed() && books.copied_until <= books_.copies_passed()) return;
  find(Check::kI3, id_name(pool.kind(), index) +
                       " is free, and dispatched work uses it until ticket " +
                       std::to_string(std::max(books.busy_until, books.copied_until)) +
                       "; the lane has come to " + std::to_string(books_.passed()));
}

void Invariants::audit_queues(const Scheduler& scheduler) {
  std::map<SequenceId, std::uint32_t> queues;
  const auto visit = [&](const std::vector<SequenceId>& queue, bool runs, bool forks,
                         bool loads = false) {
    for (const SequenceId id : queue) {
      ++queues[id];
      const SequenceView view = scheduler.view(id);
      const bool running = view.phase == Phase::kPrefill || view.phase == Phase::kDecode;
      const bool fork = view.phase == Phase::kForkPinned || view.phase == Phase::kForkSettling;
      if (running != runs || fork != forks || (view.phase == Phase::kLoading) != loads) {
        find(Check::kI12, sequence_name(id) + " is in a queue that its phase " +
                              std::to_string(static_cast<int>(view.phase)) + " does not name");
      }
      const bool may_hold = runs || loads || view.phase == Phase::kForkPinned;
      const bool holds = !view.table.empty() || view.state != kNoBlock || view.draft != kNoBlock;
      if (holds && !may_hold) {
        find(Check::kI12, sequence_name(id) + " waits and holds " +
                              std::to_string(view.table.size()) + " blocks, state slot " +
                              std::to_string(index_of(view.state)) + ", draft slot " +
                              std::to_string(index_of(view.draft)));
      }
      audit_sequence(view);
    }
  };
  visit(scheduler.running(), true, false);
  visit(scheduler.waiting(), false, false);
  visit(scheduler.waiting_forks(), false, true);
  visit(scheduler.loading(), false, false, true);
  for (const auto& [id, times] : queues) {
    if (times != 1) {
      find(Check::kI12, sequence_name(id) + " is in " + std::to_string(times) + " queues");
    }
  }
  if (queues.size() != scheduler.unfinished()) {
    find(Check::kI12, "queues name " + std::to_string(queues.size()) + " sequences of " +
                          std::to_string(scheduler.unfinished()) + " unfinished ones");
  }
}

void Invariants::audit_sequence(const SequenceView& view) {
  const SequenceBooks& of = books_.sequence(value_of(view.id));
  if (std::find(view.table.begin(), view.table.end(), kNoBlock) != view.table.end()) {
    find(Check::kI4, sequence_name(view.id) + " has block 0 in its table");
  }
  const bool same =
      std::equal(view.table.begin(), view.table.end(), of.table.begin(), of.table.end(),
                 [](BlockId block, std::uint32_t booked) { return index_of(block) == booked; });
  if (!same) {
    find(Check::kI2, sequence_name(view.id) + "'s table of " + std::to_string(view.table.size()) +
                         " blocks is not the one of " + std::to_string(of.table.size()) +
                         " that the journal names");
  }
  if (index_of(view.state) != of.state || index_of(view.draft) != of.draft) {
    find(Check::kI2, sequence_name(view.id) + " has state slot " +
                         std::to_string(index_of(view.state)) + " and draft slot " +
                         std::to_string(index_of(view.draft)) + ", the journal names " +
                         std::to_string(of.state) + " and " + std::to_string(of.draft));
  }
  if (view.rows.in_flight.value != of.in_flight) {
    find(Check::kI20, sequence_name(view.id) +
                          "'s rows in flight: " + found(view.rows.in_flight.value, of.in_flight) +
                          ", scheduled less processed");
  }
  if (view.rows.processed.value != of.processed) {
    find(Check::kI20, sequence_name(view.id) +
                          "'s processed rows: " + found(view.rows.processed.value, of.processed));
  }
  if (view.emitted.value != of.emitted) {
    find(Check::kI17,
         sequence_name(view.id) + "'s tokens: " + found(view.emitted.value, of.emitted));
  }
}

// A LATER names a holder, a fence or a limit; with nothing held and nothing pending there is none.
void Invariants::audit_waits(const Scheduler& scheduler) {
  for (const WaitReason& reason : scheduler.explain_wait()) {
    const bool pool_short = reason.cause == Cause::kBlocks || reason.cause == Cause::kSlot;
    if (!pool_short) continue;
    const Pool& pool = scheduler.pools().of(reason.pool);
    if (reason.lacking + pool.available() > pool.usable()) continue;  // the next pass ends it
    if (!reason.has_holder && reason.fence == Fence{}) {
      find(Check::kI10, sequence_name(reason.sequence) + " waits for " +
                            std::to_string(reason.lacking.value) + " " + name_of(reason.pool) +
                            "s that nobody holds");
    }
  }
}

void Invariants::audit_holds(const Scheduler& scheduler) {
  for (const Hold& hold : scheduler.holds().holds()) {
    std::uint64_t ticket = 0;
    bool pending = false;
    std::uint64_t issued = 0;
    for (const Lane lane :
         {Lane::kCompute, Lane::kCopy, Lane::kHostToDevice, Lane::kDeviceToHost}) {
      const std::uint64_t awaited = value_of(hold.fence.ticket[index_of(lane)]);
      if (awaited == 0) continue;
      issued = books_.issued_on(lane);
      pending = pending || (awaited > books_.passed_on(lane) && awaited <= issued);
      ticket = std::max(ticket, awaited);
    }
    if (pending) continue;
    find(Check::kI21, std::to_string(hold.blocks.size() + hold.states.size() + hold.drafts.size()) +
                          " ids of " + sequence_name(hold.from) + " are parked behind ticket " +
                          std::to_string(ticket) + ": expected one from " +
                          std::to_string(books_.passed() + 1) + " to " + std::to_string(issued));
  }
}

void Invariants::at_drain(const Scheduler& scheduler) {
  for (const PoolKind kind : kPoolsUsed) {
    for (std::uint32_t index = 1; index < scheduler.pools().of(kind).ids(); ++index) {
      for (const NamedOwner& owner : books_.id(kind, index).owners) {
        find(Check::kI13, id_name(kind, index) + " is still owned by sequence " +
                              std::to_string(owner.sequence) +
                              (owner.hold ? ", behind a fence" : ""));
      }
    }
  }
  if (!scheduler.holds().empty()) {
    find(Check::kI13,
         std::to_string(scheduler.holds().holds().size()) + " release lists still wait");
  }
}

}  // namespace pinfold::sim
