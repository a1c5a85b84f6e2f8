#include "sim/explore/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/core/engine_options.h"

namespace pinfold::sim {
namespace {

constexpr std::uint32_t kPositionBits = 20;

bool is_in(const std::vector<std::uint64_t>& steps, std::uint64_t step) {
  return std::find(steps.begin(), steps.end(), step) != steps.end();
}

constexpr std::uint64_t ahead(std::uint64_t number, std::uint64_t done) {
  return number > done ? number - done : 0;
}

/// The lane's tickets, from the outside: two a step.
constexpr std::uint64_t copies_ticket(std::uint64_t step) { return 2 * step - 1; }
constexpr std::uint64_t rows_ticket(std::uint64_t step) { return 2 * step; }

std::string list_text(std::span<const BlockId> ids) {
  std::string text = "[";
  for (const BlockId id : ids) text += (text.size() > 1 ? " " : "") + std::to_string(index_of(id));
  return text + "]";
}

std::string count_text(std::uint32_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

const char* name_of(EventKind kind) {
  switch (kind) {
    case EventKind::kArrive: return "arrive";
    case EventKind::kPlan: return "plan";
    case EventKind::kRun: return "run";
    case EventKind::kPass: return "pass";
    case EventKind::kResult: return "result";
    case EventKind::kFail: return "fail";
    case EventKind::kLose: return "lose";
    case EventKind::kAbort: return "abort";
  }
  return "?";
}

// ---- the stage -------------------------------------------------------------------------------------

namespace {

bool equal(const Actor& a, const Actor& b) {
  return a.spec.prompt == b.spec.prompt && a.spec.limit == b.spec.limit &&
         a.spec.stop == b.spec.stop && a.spec.drafts == b.spec.drafts &&
         a.spec.priority == b.spec.priority && a.output == b.output && a.accepted == b.accepted &&
         a.parent == b.parent && a.fork_at == b.fork_at && a.may_abort == b.may_abort;
}

/// A request that somebody forks from is like no other.
bool is_parent(const Stage& stage, std::uint32_t actor) {
  return std::any_of(stage.actors.begin(), stage.actors.end(),
                     [&](const Actor& other) { return other.parent == actor; });
}

void find_twins(Stage& stage) {
  for (std::uint32_t n = 0; n < stage.actors.size(); ++n) {
    if (is_parent(stage, n)) continue;
    for (std::uint32_t before = n; before-- > 0;) {
      if (is_parent(stage, before) || !equal(stage.actors[n], stage.actors[before])) continue;
      stage.actors[n].twin = before;
      break;
    }
  }
}

}  // namespace

Stage stage_of(const Scenario& scenario, bool reduce, bool watch) {
  Stage stage;
  stage.watch = watch;
  stage.options = engine_options(scenario.config, true);
  stage.reduce = reduce;
  stage.any_arrivals = scenario.explore.arrivals == Freedom::kAny;
  stage.any_stops = scenario.explore.stops == Freedom::kAny;
  stage.any_rejections = scenario.explore.rejections == Freedom::kAny;
  stage.abort_any = scenario.explore.abort_any;
  std::vector<std::uint32_t> actor_of(scenario.requests.size());
  for (std::size_t n = 0; n < scenario.requests.size(); ++n) {
    const ScenarioRequest& asked = scenario.requests[n];
    const TraceRequest& request = asked.request;
    Actor actor;
    actor.name = asked.name;
    actor.output = request.output;
    actor.accepted = request.accepted;
    actor.spec.prompt = TokenCount(request.prompt);
    actor.spec.stop = scenario.config.workload.stop;
    actor.spec.drafts = TokenCount(asked.drafts);
    actor.spec.priority = request.priority;
    const bool known = actor.spec.stop == StopMode::kKnown;
    actor.spec.limit = TokenCount(request.limit != 0 ? request.limit
                                  : known            ? request.output
                                                     : scenario.config.engine.max_model_len);
    const std::vector<std::size_t>& aborts = scenario.explore.aborts;
    actor.may_abort =
        request.abort_ns != kNeverNs || std::find(aborts.begin(), aborts.end(), n) != aborts.end();
    if (request.fork_of != kNoRequest) {
      actor.parent = actor_of[static_cast<std::size_t>(request.fork_of)];
      actor.fork_at = request.fork_at;
    }
    actor_of[n] = static_cast<std::uint32_t>(stage.actors.size());
    stage.actors.push_back(actor);
    for (std::uint32_t sample = 1; sample < request.samples; ++sample) {
      Actor other = actor;
      other.name = fmt::format("{}.{}", asked.name, sample + 1);
      other.parent = actor_of[n];
      other.fork_at = request.prompt;
      stage.actors.push_back(other);
    }
  }
  for (const auto& [kind, most] : scenario.explore.faults) {
    if (kind == FaultKind::kStepFailed) stage.failures += most;
    if (kind == FaultKind::kStepLost) stage.losses += most;
    if (kind == FaultKind::kCopyLost) stage.copies_lost += most;
  }
  for (const Fault& fault : scenario.faults) {
    if (fault.kind == FaultKind::kStepFailed) stage.failing.push_back(fault.step);
    if (fault.kind == FaultKind::kStepLost) stage.lost.push_back(fault.step);
    if (fault.kind == FaultKind::kCopyLost) stage.unreported.push_back(fault.step);
  }
  if (reduce) find_twins(stage);
  return stage;
}

// ---- which events ----------------------------------------------------------------------------------

World::World(const Stage& stage)
    : scheduler_(stage.options),
      block_size_(stage.options.block_size.value),
      states_(stage.actors.size()),
      flying_(kFlightsMax + 1),
      rows_(std::size_t{stage.options.block_ids} * block_size_),
      slots_(stage.options.state_ids),
      failures_left_(stage.failures),
      losses_left_(stage.losses),
      copies_lost_left_(stage.copies_lost) {
  scheduler_.journal().set_enabled(true);
  if (stage.watch) watch_.emplace(stage.options);
}

// Tokens known before the first one that it yields: its prompt, or what it inherits and one more.
std::uint32_t World::base_of(const Stage& stage, std::uint32_t n) const {
  const std::uint32_t prompt = stage.actors[n].spec.prompt.value;
  const std::uint32_t shared = states_[n].shared;
  return shared > 0 && prompt <= shared ? shared + 1 : prompt;
}

// As the scheduler clips it to the model's length.
std::uint32_t World::limit_of(const Stage& stage, std::uint32_t n) const {
  const std::uint32_t longest = stage.options.max_model_len.value;
  const std::uint32_t base = base_of(stage, n);
  return std::min(stage.actors[n].spec.limit.value, base <= longest ? longest - base + 1 : 0);
}

bool World::may_plan() const { return flights_ <= scheduler_.options().overlap; }

std::size_t World::first_not_run() const {
  std::size_t n = 0;
  while (n < flights_ && flying_[n].run) ++n;
  return n;
}

bool World::fork_may_arrive(const Stage& stage, std::uint32_t n) const {
  const Actor& actor = stage.actors[n];
  if (!actor.parent || states_[n].status != Status::kAbsent) return false;
  const State& parent = states_[*actor.parent];
  if (parent.status == Status::kAbsent) return false;
  if (parent.status == Status::kEnded) return true;
  return scheduler_.view(SequenceId{parent.id}).rows.processed.value >= actor.fork_at;
}

bool World::arrival_allowed(const Stage& stage, std::uint32_t n) const {
  const Actor& actor = stage.actors[n];
  if (states_[n].status != Status::kAbsent) return false;
  if (actor.twin && states_[*actor.twin].status == Status::kAbsent) return false;
  if (actor.parent) return fork_may_arrive(stage, n);
  if (!stage.any_arrivals) {
    for (std::uint32_t before = 0; before < n; ++before) {
      if (!stage.actors[before].parent && states_[before].status == Status::kAbsent) return false;
    }
  }
  if (!stage.reduce || may_plan()) return true;
  // Its number decides a queue's order beside a fork's, so it may have to come before one.
  for (std::uint32_t fork = 0; fork < states_.size(); ++fork) {
    if (fork_may_arrive(stage, fork)) return true;
  }
  return false;
}

void World::list_events(const Stage& stage, std::vector<WorldEvent>& events) const {
  events.clear();
  for (std::uint32_t n = 0; n < states_.size(); ++n) {
    if (arrival_allowed(stage, n)) {
      events.push_back({EventKind::kArrive, static_cast<std::uint8_t>(n), 0});
    }
  }
  if (may_plan()) events.push_back({EventKind::kPlan, 0, 0});
  for (std::uint32_t n = 0; n < states_.size(); ++n) {
    if (states_[n].status != Status::kLive) continue;
    if (stage.actors[n].may_abort || (stage.abort_any && !aborted_one_)) {
      events.push_back({EventKind::kAbort, static_cast<std::uint8_t>(n), 0});
    }
  }
  // An arrival commutes with all that the device does: it is looked at again once it was planned for.
  if (must_plan_) return;
  if (!news_.empty()) {
    const bool unreported = is_in(stage.unreported, news_.front());
    if (!unreported) events.push_back({EventKind::kPass, 0, 0});
    if (unreported || copies_lost_left_ > 0) events.push_back({EventKind::kLose, 0, 1});
  }
  if (flights_ == 0) return;

  const Step& front = flying_[0];
  const std::size_t next = first_not_run();
  if (!separate() && next < flights_ && !flying_[next].copied) {
    // The copies' turn comes once all rows ahead of them have run.
    events.push_back({EventKind::kPass, 0, 0});
  }
  bool copies_behind = false;
  // Nobody can tell when rows run, except by copies behind them that pass.
  for (std::size_t n = next + 1; n < flights_; ++n)
    copies_behind |= !flying_[n].copied && !separate();
  const bool must_fail = is_in(stage.failing, front.number) && !front.run;
  if (next < flights_ && copies_behind && !flying_[next].lost && !(next == 0 && must_fail)) {
    const std::uint32_t choices = choices_of(stage, flying_[next]);
    for (std::uint32_t choice = 0; choice < choices; ++choice) {
      events.push_back({EventKind::kRun, 0, static_cast<std::uint16_t>(choice)});
    }
  }
  if (front.lost || is_in(stage.lost, front.number)) return;
  if (!must_fail) {
    const std::uint32_t choices = front.run ? 1 : choices_of(stage, front);
    for (std::uint32_t choice = 0; choice < choices; ++choice) {
      events.push_back({EventKind::kResult, 0, static_cast<std::uint16_t>(choice)});
    }
  }
  if (!front.run && (must_fail || failures_left_ > 0)) events.push_back({EventKind::kFail, 0, 0});
  if (losses_left_ > 0) events.push_back({EventKind::kLose, 0, 0});
}

bool World::is_of_system(const Stage& stage, const WorldEvent& event) const {
  switch (event.kind) {
    case EventKind::kPlan:
    case EventKind::kRun:
    case EventKind::kPass:
    case EventKind::kResult: return true;
    case EventKind::kFail: return is_in(stage.failing, flying_[0].number);
    case EventKind::kLose: return event.choice == 1 && is_in(stage.unreported, news_.front());
    case EventKind::kArrive:
    case EventKind::kAbort: return false;
  }
  return false;
}

// ---- what rows yield -------------------------------------------------------------------------------

// Ways in which the device may end this row.
std::uint32_t World::options_of(const Stage& stage, const Row& row) const {
  const State& state = states_[row.actor];
  if (row.is_void || state.status != Status::kLive || state.stopping) return 1;
  const Actor& actor = stage.actors[row.actor];
  if (row.chunk && (!row.last || actor.spec.limit.value == 0)) return 1;
  const std::uint32_t lengths = row.chunk || !stage.any_rejections ? 1 : row.width;
  const bool stops = stage.any_stops && actor.spec.stop == StopMode::kHidden;
  return lengths * (stops ? 2 : 1);
}

std::uint32_t World::choices_of(const Stage& stage, const Step& step) const {
  std::uint32_t choices = 1;
  for (const Row& row : step.rows) choices *= options_of(stage, row);
  PINFOLD_CHECK(choices <= UINT16_MAX, "explorer", "a step of too many rows and drafts");
  return choices;
}

Yield World::yield_of(const Stage& stage, const Row& row, std::uint32_t choice) const {
  const State& state = states_[row.actor];
  const Actor& actor = stage.actors[row.actor];
  Yield yield;
  if (row.is_void || (row.chunk && !row.last)) return yield;
  yield.tokens = 1;
  if (state.status != Status::kLive || state.stopping) return yield;
  if (actor.spec.limit.value == 0) return Yield{};
  const bool hidden = actor.spec.stop == StopMode::kHidden;
  const bool any_stop = stage.any_stops && hidden;
  if (any_stop) {
    yield.stop = choice % 2 == 1;
    choice /= 2;
  }
  if (!row.chunk) {
    std::uint32_t drafts = choice;
    if (!stage.any_rejections) {
      drafts = state.verified < actor.accepted.size() ? actor.accepted[state.verified] : 0;
      drafts = std::min(drafts, row.width - 1);
    }
    yield.tokens = static_cast<std::uint8_t>(1 + drafts);
  }
  if (!any_stop && hidden && state.yielded + yield.tokens >= actor.output) {
    const std::uint32_t left = actor.output - std::min(actor.output, state.yielded);
    // A decode row yields a token even where the output was to have none: a fork of the decode path.
    yield.tokens = static_cast<std::uint8_t>(row.chunk ? left : std::max(left, 1u));
    yield.stop = true;
  }
  return yield;
}

// ---- row memory ------------------------------------------------------------------------------------

void World::find(const char* check, std::string text) {
  if (!finding_) finding_ = ExploreFinding{check, std::move(text)};
}

World::Tag World::tag_of(const Stage& stage, std::uint32_t actor, std::uint32_t position) const {
  while (position < states_[actor].shared) actor = *stage.actors[actor].parent;
  return (actor + 1) << kPositionBits | position;
}

std::string World::tag_text(const Stage& stage, Tag tag) const {
  if (tag == 0) return "nothing valid";
  return fmt::format("position {} of {}", tag & ((1u << kPositionBits) - 1),
                     stage.actors[(tag >> kPositionBits) - 1].name);
}

std::uint32_t& World::device_rows_of(const Row& row) {
  State& state = states_[row.actor];
  if (row.epoch == state.epoch) return state.device_rows;
  for (Life& life : lives_) {
    if (life.actor == row.actor && life.epoch == row.epoch) return life.device_rows;
  }
  return state.device_rows;
}

std::uint32_t World::device_rows_of(const Row& row) const {
  const State& state = states_[row.actor];
  if (row.epoch == state.epoch) return state.device_rows;
  for (const Life& life : lives_) {
    if (life.actor == row.actor && life.epoch == row.epoch) return life.device_rows;
  }
  return state.device_rows;
}

// Positions that the row, in the step at this place of the lane, may reach.
std::uint32_t World::reach_of(std::size_t step, const Row& row) const {
  if (row.is_void) return row.first + row.width;
  std::uint32_t reach = device_rows_of(row);
  for (std::size_t n = 0; n <= step; ++n) {
    if (flying_[n].run) continue;
    for (const Row& other : flying_[n].rows) {
      if (other.actor == row.actor && other.epoch == row.epoch && !other.is_void) {
        reach += other.width;
      }
    }
  }
  return reach;
}

// The host hears that the oldest copies it has not heard of are done.
void World::pass_copies(const Stage& stage) {
  if (separate()) {
    const std::uint64_t number = news_.front();
    news_.erase(news_.begin());
    for (std::size_t n = 0; n < flights_; ++n) {
      if (flying_[n].number == number && !flying_[n].copied) {
        run_copies(stage, flying_[n], number <= failed_upto_);
      }
    }
    copies_passed_ = copies_ticket(number);
    scheduler_.on_passed(Lane::kCopy, Ticket{copies_passed_});
  } else {
    Step& step = flying_[first_not_run()];
    run_copies(stage, step, step.number <= failed_upto_);
    passed_ = std::max(passed_, copies_ticket(step.number));
    scheduler_.on_passed(Lane::kCompute, Ticket{copies_ticket(step.number)});
  }
  read_journal(stage, false);
}

void World::run_copies(const Stage&, Step& step, bool lost) {
  step.copied = true;
  for (const Job& job : step.copies) {
    if (job.pool == PoolKind::kBlocks) {
      for (std::uint32_t row = 0; row < job.rows; ++row) {
        row_at(job.to, row) = lost ? 0 : row_at(job.from, row);
      }
    } else if (job.pool == PoolKind::kStateSlots) {
      slots_[index_of(job.to)] = lost ? 0 : slots_[index_of(job.from)];
    }
  }
  step.copies.clear();
}

void World::run_row(const Stage& stage, Step& step, Row& row) {
  const std::span<const BlockId> table = std::span(step.tables).subspan(row.table, row.blocks);
  const auto block_of = [&](std::uint32_t position) { return table[position / block_size_]; };
  const auto covered = [&](std::uint32_t position) {
    return position / block_size_ < table.size();
  };
  if (row.is_void) {
    for (std::uint32_t p = row.first; p < row.first + row.width && covered(p); ++p) {
      row_at(block_of(p), p % block_size_) = 0;
    }
    return;
  }
  const std::string& name = stage.actors[row.actor].name;
  std::uint32_t& rows = device_rows_of(row);
  const std::uint32_t start = rows;
  if (row.chunk && row.first != start) {
    find("O7", fmt::format("a chunk of {} starts at {}, and {} are processed", name, row.first,
                           count_text(start, "row")));
    return;
  }
  const std::uint32_t end = start + row.width;
  if (!covered(end - 1)) {
    find("I6", fmt::format("{} writes position {} with a table of {}", name, end - 1,
                           count_text(row.blocks, "block")));
    return;
  }
  for (std::uint32_t p = 0; p < start; ++p) {
    const Tag found = row_at(block_of(p), p % block_size_);
    const Tag wanted = tag_of(stage, row.actor, p);
    if (found == wanted) continue;
    find("O12",
         fmt::format("{} reads row {} of block {}: expected {}, found {}", name, p % block_size_,
                     index_of(block_of(p)), tag_text(stage, wanted), tag_text(stage, found)));
    return;
  }
  // A row consumes the last token that was known when it ran, and a prompt ends with it.
  const State& state = states_[row.actor];
  if (state.status == Status::kLive && !state.stopping && (!row.chunk || row.last)) {
    const std::uint32_t last = (row.chunk ? end : start + 1) - 1;
    const std::uint32_t known = base_of(stage, row.actor) + state.yielded;
    if (last + 1 != known) {
      find("I17", fmt::format("{} goes on from position {}, and {} are known", name, last,
                              count_text(known, "token")));
    }
  }
  const std::uint32_t kept = row.chunk ? row.width : row.yield.tokens;
  for (std::uint32_t p = start; p < end; ++p) {
    row_at(block_of(p), p % block_size_) = p < start + kept ? tag_of(stage, row.actor, p) : 0;
  }
  rows = start + kept;
  if (stage.options.state == Switch::kOn && row.state != kNoBlock) {
    Tag& slot = slots_[index_of(row.state)];
    const Tag wanted = start > 0 ? tag_of(stage, row.actor, start - 1) : slot;
    if (slot != wanted) {
      find("I16", fmt::format("{} reads state slot {}: expected {}, found {}", name,
                              index_of(row.state), tag_text(stage, wanted), tag_text(stage, slot)));
    }
    slot = tag_of(stage, row.actor, rows - 1);
  }
}

void World::run_step(const Stage& stage, Step& step, std::uint32_t choice) {
  if (!step.copied) run_copies(stage, step, step.number <= failed_upto_);
  step.run = true;
  for (Row& row : step.rows) {
    const std::uint32_t options = options_of(stage, row);
    row.yield = yield_of(stage, row, choice % options);
    choice /= options;
    run_row(stage, step, row);
    State& state = states_[row.actor];
    if (row.is_void) continue;
    state.yielded += row.yield.tokens;
    if (!row.chunk && row.width > 1) ++state.verified;
    state.stopping |= row.yield.stop;
    if (telling_ && !(row.chunk && !row.last)) {
      told_ +=
          fmt::format("; {} yields {}{}", stage.actors[row.actor].name,
                      count_text(row.yield.tokens, "token"), row.yield.stop ? " and stops" : "");
    }
  }
}

// ---- the journal -----------------------------------------------------------------------------------

// Somebody gets this id: nothing that is queued may still touch it.
void World::check_issue(const Stage& stage, PoolKind pool, BlockId id) {
  const auto to_whom = [&](const char* what) {
    return fmt::format("{} {} is issued while {}", name_of(pool), index_of(id), what);
  };
  for (std::size_t n = 0; n < flights_; ++n) {
    const Step& step = flying_[n];
    for (const Job& job : step.copies) {
      if (job.pool != pool) continue;
      const std::string& name = stage.actors[job.actor].name;
      if (job.from == id) {
        find("I8", to_whom(fmt::format("the copy {} -> {} for {} still reads it",
                                       index_of(job.from), index_of(job.to), name)
                               .c_str()));
      }
      if (job.to == id) {
        find("I8", to_whom(fmt::format("the copy {} -> {} for {} still fills it",
                                       index_of(job.from), index_of(job.to), name)
                               .c_str()));
      }
    }
    if (step.run || stage.options.fence != FenceMode::kAlways) continue;
    for (const Row& row : step.rows) {
      bool touched = (pool == PoolKind::kStateSlots && row.state == id) ||
                     (pool == PoolKind::kDraftSlots && row.draft == id);
      if (pool == PoolKind::kBlocks) {
        const std::uint32_t reached = std::min(row.blocks, div_ceil(reach_of(n, row), block_size_));
        for (std::uint32_t at = 0; at < reached; ++at) touched |= step.tables[row.table + at] == id;
      }
      if (!touched) continue;
      find("I7", to_whom(fmt::format("step {}, which has not run, may still touch it for {}",
                                     step.number, stage.actors[row.actor].name)
                             .c_str()));
    }
  }
}

void World::read_journal(const Stage& stage, bool planning) {
  const std::span<const std::byte> bytes = scheduler_.journal().unread();
  if (watch_) watch_->consume(bytes);
  std::array<BlockId, 2> pair{};
  for (std::size_t at = 0; at < bytes.size();) {
    Record record{};
    std::memcpy(&record, &bytes[at], sizeof record);
    at += sizeof record;
    const std::size_t ids = at;
    at += ids_after(record) * sizeof(BlockId);
    const std::size_t verb = static_cast<std::size_t>(record.verb);
    if (verb < kVerbs) ++verbs_[verb];
    if (record.verb == Verb::kAcquire) {
      for (std::uint32_t n = 0; n < record.count; ++n) {
        BlockId id{};
        std::memcpy(&id, &bytes[ids + n * sizeof id], sizeof id);
        check_issue(stage, record.pool, id);
        if (index_of(id) == 0 || index_of(id) >= scheduler_.pools().of(record.pool).ids()) {
          find("I4", fmt::format("{} {} is issued", name_of(record.pool), index_of(id)));
          continue;
        }
        // The new owner may write at once from another lane, unless the mode says that all writers
        // queue behind.
        if (stage.options.fence != FenceMode::kAlways) continue;
        if (record.pool == PoolKind::kBlocks) {
          for (std::uint32_t row = 0; row < block_size_; ++row) row_at(id, row) = 0;
        } else if (record.pool == PoolKind::kStateSlots) {
          slots_[index_of(id)] = 0;
        }
      }
      continue;
    }
    if (record.verb == Verb::kRelease) {
      // A table holds each id once.
      for (std::uint32_t n = 1; n < record.count; ++n) {
        for (std::uint32_t before = 0; before < n; ++before) {
          std::memcpy(&pair[0], &bytes[ids + n * sizeof(BlockId)], sizeof(BlockId));
          std::memcpy(&pair[1], &bytes[ids + before * sizeof(BlockId)], sizeof(BlockId));
          if (pair[0] != pair[1]) continue;
          find("I2", fmt::format("{} {} is released twice at once", name_of(record.pool),
                                 index_of(pair[0])));
        }
      }
    }
    if (record.verb == Verb::kResult || record.verb == Verb::kStep ||
        record.verb == Verb::kPassed || record.sequence >= actors_by_id_.size()) {
      continue;
    }
    const std::uint32_t n = actors_by_id_[record.sequence];
    State& state = states_[n];
    if (telling_) {
      const std::string& name = stage.actors[n].name;
      switch (record.verb) {
        case Verb::kPreempt: told_ += fmt::format("; {} is preempted", name); break;
        case Verb::kSitOut: told_ += fmt::format("; {} sits out", name); break;
        case Verb::kDemote: told_ += fmt::format("; fork {} is demoted", name); break;
        case Verb::kFork:
          told_ += fmt::format("; {} shares {}", name, count_text(record.count, "row"));
          break;
        case Verb::kForkMissed:
          told_ += fmt::format("; {} becomes an ordinary request", name);
          break;
        case Verb::kChunk:
          told_ += fmt::format("; {} computes rows {} to {}", name, record.aux,
                               record.aux + record.count - 1);
          break;
        case Verb::kEnd: told_ += fmt::format("; {} ends", name); break;
        default: break;
      }
    }
    switch (record.verb) {
      case Verb::kFork: {
        state.shared = record.count;
        state.device_rows = record.count;
        const State& parent = states_[*stage.actors[n].parent];
        state.fork_step = parent.fork_step;
        break;
      }
      case Verb::kCopyQueued: {
        std::memcpy(pair.data(), &bytes[ids], sizeof pair);
        if (pair[1] == kNoBlock) break;
        state.fork_step = state.copy_step = value_of(scheduler_.planned());
        break;
      }
      case Verb::kDemote:
        state.demoted = true;
        state.device_rows = 0;
        state.fork_step = state.copy_step = 0;
        break;
      case Verb::kPreempt: {
        state.late_rows = state.host_rows;
        bool flies = false;
        for (std::size_t step = 0; step < flights_; ++step) {
          for (const Row& row : flying_[step].rows) {
            flies |= row.actor == n && row.epoch == state.epoch && !row.is_void;
          }
        }
        if (flies) lives_.push_back({n, state.epoch, state.device_rows});
        ++state.epoch;
        state.device_rows = 0;
        state.fork_step = state.copy_step = 0;
        state.in_batch = false;
        break;
      }
      case Verb::kLeave:
        if (!planning) left_pending_.push_back(static_cast<std::uint8_t>(n));
        state.in_batch = false;
        break;
      case Verb::kSitOut: state.in_batch = false; break;
      case Verb::kEnd:
        state.status = Status::kEnded;
        state.in_batch = false;
        std::erase(left_pending_, static_cast<std::uint8_t>(n));
        break;
      default: break;
    }
  }
  scheduler_.journal().clear();
}

void World::take_ends(const Stage& stage) {
  for (const Ended& ended : scheduler_.ended()) {
    const std::uint32_t n = actor_of(ended.sequence);
    const State& state = states_[n];
    ends_.push_back({n, ended.reason, ended.emitted.value});
    if (ended.emitted.value != state.emitted) {
      find("I20", fmt::format("{} ended with {}, and the host saw {}", stage.actors[n].name,
                              count_text(ended.emitted.value, "token"), state.emitted));
    }
  }
  scheduler_.clear_ended();
}

// ---- events ----------------------------------------------------------------------------------------

void World::arrive(const Stage& stage, std::uint32_t n) {
  const Actor& actor = stage.actors[n];
  State& state = states_[n];
  state.status = Status::kLive;
  state.id = static_cast<std::uint32_t>(actors_by_id_.size());
  actors_by_id_.push_back(static_cast<std::uint8_t>(n));
  Answer answer = Answer::kOk;
  if (watch_) {
    std::uint32_t known = actor.spec.prompt.value;
    if (actor.parent && scheduler_.knows(SequenceId{states_[*actor.parent].id})) {
      const SequenceView view = scheduler_.view(SequenceId{states_[*actor.parent].id});
      const bool runs = view.phase == Phase::kPrefill || view.phase == Phase::kDecode;
      const std::uint32_t processed = view.rows.processed.value;
      if (runs && processed > 0) known = std::max(known, processed + 1);
    }
    watch_->before_arrival(SequenceId{state.id}, TokenCount(known), actor.spec);
  }
  if (actor.parent) {
    const State& parent = states_[*actor.parent];
    if (scheduler_.knows(SequenceId{parent.id})) state.parent_epoch = parent.epoch;
    answer = scheduler_.fork(SequenceId{parent.id}, SequenceId{state.id}, actor.spec);
    const std::vector<SequenceId> forks = scheduler_.waiting_forks();
    state.forked = std::find(forks.begin(), forks.end(), SequenceId{state.id}) != forks.end();
  } else {
    answer = scheduler_.add(SequenceId{state.id}, actor.spec);
    must_plan_ = stage.reduce;
  }
  read_journal(stage, false);
  if (watch_) watch_->after_arrival(SequenceId{state.id}, answer);
  if (answer == Answer::kNever) {
    state.status = Status::kEnded;
    ends_.push_back({n, EndReason::kNever, 0});
  }
  if (telling_) {
    told_ += fmt::format(" ({} prompt tokens, limit {}{})", actor.spec.prompt.value,
                         actor.spec.limit.value, answer == Answer::kNever ? "; NEVER" : "");
  }
  // A fork that arrives beside waiting ones clears the way for what the device does.
  if (actor.parent && !may_plan()) must_plan_ = false;
}

void World::plan(const Stage& stage) {
  static thread_local StepPlan plan;
  must_plan_ = false;
  if (watch_) watch_->before_plan(scheduler_);
  scheduler_.plan_step(plan);
  left_pending_.clear();
  // The journal speaks of copies under the number of the step that is being planned.
  read_journal(stage, true);
  if (watch_) watch_->after_plan(scheduler_, plan);
  take_ends(stage);
  if (plan.empty) {
    if (telling_) told_ += "; no step";
    return;
  }
  for (const Joined& joined : plan.joined) {
    State& state = states_[actor_of(joined.sequence)];
    state.in_batch = true;
    if (state.epoch != joined.epoch) find("I20", "a row joins with an epoch of its own");
  }
  if (flights_ == flying_.size()) {
    find("O15", "more steps in flight than the overlap allows");
    return;
  }
  Step& step = flying_[flights_++];
  step.number = value_of(plan.step);
  step.copied = plan.copies.empty();
  if (!step.copied && separate()) news_.push_back(step.number);
  step.run = step.lost = false;
  step.rows.clear();
  step.tables.clear();
  step.copies.clear();
  const auto add_row = [&](std::uint32_t n, Row row) {
    const SequenceView view = scheduler_.view(SequenceId{states_[n].id});
    row.actor = static_cast<std::uint8_t>(n);
    row.epoch = states_[n].epoch;
    row.table = static_cast<std::uint32_t>(step.tables.size());
    row.blocks = static_cast<std::uint32_t>(view.table.size());
    row.state = view.state;
    row.draft = row.width > 1 && !row.chunk ? view.draft : kNoBlock;
    step.tables.insert(step.tables.end(), view.table.begin(), view.table.end());
    if (!row.chunk) row.first = (view.rows.processed + view.rows.in_flight).value - row.width;
    step.rows.push_back(row);
    const std::uint32_t reach = reach_of(flights_ - 1, row);
    if (div_ceil(reach, block_size_) > row.blocks) {
      find("I6", fmt::format("step {} may write position {} of {} with a table of {}", step.number,
                             reach - 1, stage.actors[n].name, count_text(row.blocks, "block")));
    }
  };
  std::uint32_t decodes = 0;
  for (std::uint32_t n = 0; n < states_.size(); ++n) {
    if (!states_[n].in_batch) continue;
    Row row;
    for (const Drafted& drafted : plan.drafted) {
      if (actor_of(drafted.sequence) == n) row.width = 1 + drafted.drafts.value;
    }
    add_row(n, row);
    ++decodes;
  }
  if (decodes != plan.decode_rows) find("I20", "the plan's rows are not its deltas'");
  for (const Chunk& chunk : plan.chunks) {
    Row row;
    row.chunk = true;
    const std::uint32_t n = actor_of(chunk.sequence);
    // A prompt that is computed again after the last token yields none.
    row.last = chunk.last && states_[n].emitted < limit_of(stage, n);
    row.first = chunk.first.value;
    row.width = chunk.count.value;
    add_row(n, row);
  }
  for (const Copy& copy : plan.copies) {
    if (copy.to == kNoBlock) continue;
    // Whose copy it is: the one that holds the destination now.
    std::uint8_t owner = 0;
    for (const Row& row : step.rows) {
      const std::span<const BlockId> table = std::span(step.tables).subspan(row.table, row.blocks);
      const bool holds = copy.pool == PoolKind::kBlocks
                             ? std::find(table.begin(), table.end(), copy.to) != table.end()
                             : row.state == copy.to;
      if (holds) owner = row.actor;
    }
    step.copies.push_back({copy.pool, copy.from, copy.to, copy.rows.value, owner});
    if (telling_) {
      told_ += fmt::format("; {} copy {} -> {} for {} is queued", name_of(copy.pool),
                           index_of(copy.from), index_of(copy.to), stage.actors[owner].name);
    }
  }
  if (telling_) {
    told_ += fmt::format("; step {} goes out", step.number);
    for (const Row& row : step.rows) {
      if (!row.chunk)
        told_ += fmt::format(", {} {}", stage.actors[row.actor].name, count_text(row.width, "row"));
    }
  }
}

void World::result(const Stage& stage, std::uint32_t choice, bool failed) {
  static thread_local std::vector<RowResult> exceptions;
  Step& step = flying_[0];
  exceptions.clear();
  if (failed) {
    // The step and those behind it may have left anything where they were to write.
    if (!step.copied) run_copies(stage, step, true);
    for (std::size_t n = 0; n < flights_; ++n) {
      for (Row& row : flying_[n].rows) row.is_void = true;
    }
    failed_upto_ = value_of(scheduler_.planned());
    lives_.clear();
    for (Row& row : step.rows) run_row(stage, step, row);
    step.run = true;
  } else {
    if (!step.run) run_step(stage, step, choice);
    for (const Row& row : step.rows) {
      State& state = states_[row.actor];
      if (row.is_void || state.status != Status::kLive) continue;
      const std::uint32_t usual = row.chunk && !row.last ? 0 : 1;
      const bool limited = stage.actors[row.actor].spec.limit.value == 0;
      state.emitted += row.yield.tokens;
      if (limited || (row.chunk && !row.last)) continue;
      if (row.yield.tokens == usual && !row.yield.stop) continue;
      exceptions.push_back(
          {SequenceId{state.id}, row.epoch, TokenCount(row.yield.tokens), row.yield.stop});
    }
  }
  passed_ = std::max(passed_, rows_ticket(step.number));
  const StepNumber number{step.number};
  // It leaves the lane before the journal is read: what it touched may be issued again.
  const auto live = flying_.begin() + static_cast<std::ptrdiff_t>(flights_);
  std::rotate(flying_.begin(), flying_.begin() + 1, live);
  --flights_;
  Step& gone = flying_[flights_];
  std::erase_if(lives_, [&](const Life& life) {
    for (std::size_t n = 0; n < flights_; ++n) {
      for (const Row& row : flying_[n].rows) {
        if (row.actor == life.actor && row.epoch == life.epoch && !row.is_void) return false;
      }
    }
    return true;
  });
  for (const Row& row : gone.rows) {
    State& state = states_[row.actor];
    if (!row.is_void && row.epoch != state.epoch) {
      state.late_rows += row.chunk ? row.width : row.yield.tokens;
    }
  }
  gone.rows.clear();
  gone.tables.clear();
  gone.copies.clear();
  scheduler_.on_step_complete({number, failed, exceptions.data(), exceptions.size()});
  if (failed) {
    // What the device had run beyond the processed rows was thrown away with the step.
    for (State& state : states_) {
      if (state.status != Status::kLive) continue;
      state.yielded = state.emitted;
      if (scheduler_.knows(SequenceId{state.id})) {
        const SequenceView view = scheduler_.view(SequenceId{state.id});
        if (view.epoch == state.epoch) state.device_rows = view.rows.processed.value;
      }
    }
  }
  read_journal(stage, false);
  take_ends(stage);
}

std::optional<ExploreFinding> World::apply(const Stage& stage, const WorldEvent& event) {
  finding_.reset();
  verbs_ = {};
  ends_.clear();
  told_.clear();
  if (telling_) {
    const std::uint64_t front = flights_ > 0 ? flying_[0].number : 0;
    switch (event.kind) {
      case EventKind::kArrive: {
        const Actor& actor = stage.actors[event.actor];
        told_ = actor.name + " arrives";
        if (actor.parent) {
          told_ = fmt::format("{} forks {}", actor.name, stage.actors[*actor.parent].name);
        }
        break;
      }
      case EventKind::kPlan: told_ = "the host plans"; break;
      case EventKind::kRun:
        told_ = fmt::format("the device runs step {}", flying_[first_not_run()].number);
        break;
      case EventKind::kPass:
        told_ = fmt::format("the host hears that the copies of step {} are done",
                            separate() ? news_.front() : flying_[first_not_run()].number);
        break;
      case EventKind::kResult: told_ = fmt::format("the result of step {} comes", front); break;
      case EventKind::kFail: told_ = fmt::format("step {} fails", front); break;
      case EventKind::kLose:
        told_ =
            event.choice == 1
                ? fmt::format("nobody will say that the copies of step {} are done", news_.front())
                : fmt::format("the result of step {} is lost", front);
        break;
      case EventKind::kAbort: told_ = stage.actors[event.actor].name + " is aborted"; break;
    }
  }
  try {
    switch (event.kind) {
      case EventKind::kArrive:
        arrive(stage, event.actor);
        take_ends(stage);
        break;
      case EventKind::kPlan: plan(stage); break;
      case EventKind::kRun: run_step(stage, flying_[first_not_run()], event.choice); break;
      case EventKind::kPass: pass_copies(stage); break;
      case EventKind::kResult: result(stage, event.choice, false); break;
      case EventKind::kFail:
        if (failures_left_ > 0) --failures_left_;
        result(stage, 0, true);
        break;
      case EventKind::kLose:
        if (event.choice == 1) {
          if (!is_in(stage.unreported, news_.front())) --copies_lost_left_;
          news_.erase(news_.begin());
        } else {
          --losses_left_;
          flying_[0].lost = true;
        }
        break;
      case EventKind::kAbort: {
        aborted_one_ = true;
        scheduler_.abort(SequenceId{states_[event.actor].id});
        read_journal(stage, false);
        take_ends(stage);
        break;
      }
    }
    if (!finding_) check_touched(stage);
    if (!finding_) check_rows(stage);
    if (watch_ && !finding_) {
      watch_->audit(scheduler_, !open());
      if (const auto found = watch_->found()) find(found->check.c_str(), found->text);
    }
  } catch (const InvariantViolation& violation) {
    scheduler_.journal().clear();
    find("library", violation.what());
  }
  return finding_;
}

void World::settle() {
  const bool enabled = scheduler_.journal().enabled();
  scheduler_.journal() = Journal{};
  scheduler_.journal().set_enabled(enabled);
}

// ---- checks ----------------------------------------------------------------------------------------

// What queued work may touch has an owner.
void World::check_touched(const Stage& stage) {
  const Pools& pools = scheduler_.pools();
  const auto is_free = [&](PoolKind pool, BlockId id) { return pools.of(pool).owners(id) == 0; };
  for (std::size_t n = 0; n < flights_; ++n) {
    const Step& step = flying_[n];
    for (const Job& job : step.copies) {
      for (const BlockId id : {job.from, job.to}) {
        if (!is_free(job.pool, id)) continue;
        find("I8", fmt::format("{} {} is free while the copy {} -> {} for {} has not run",
                               name_of(job.pool), index_of(id), index_of(job.from),
                               index_of(job.to), stage.actors[job.actor].name));
        return;
      }
    }
    if (step.run || stage.options.fence != FenceMode::kAlways) continue;
    for (const Row& row : step.rows) {
      const auto name_step = [&](PoolKind pool, BlockId id) {
        find("I7",
             fmt::format("{} {} is free while step {}, which has not run, may still touch it "
                         "for {}",
                         name_of(pool), index_of(id), step.number, stage.actors[row.actor].name));
      };
      const std::uint32_t reached = std::min(row.blocks, div_ceil(reach_of(n, row), block_size_));
      for (std::uint32_t at = 0; at < reached; ++at) {
        const BlockId id = step.tables[row.table + at];
        if (is_free(PoolKind::kBlocks, id)) return name_step(PoolKind::kBlocks, id);
      }
      if (row.state != kNoBlock && is_free(PoolKind::kStateSlots, row.state)) {
        return name_step(PoolKind::kStateSlots, row.state);
      }
      if (row.draft != kNoBlock && is_free(PoolKind::kDraftSlots, row.draft)) {
        return name_step(PoolKind::kDraftSlots, row.draft);
      }
    }
  }
}

// Committed rows hold their own tags, or a queued copy is about to put them there.
void World::check_rows(const Stage& stage) {
  const auto filled_by = [&](PoolKind pool, BlockId id) {
    for (std::size_t n = 0; n < flights_; ++n) {
      for (const Job& job : flying_[n].copies) {
        if (job.pool == pool && job.to == id) return job.from;
      }
    }
    return id;
  };
  for (std::uint32_t n = 0; n < states_.size(); ++n) {
    const State& state = states_[n];
    if (state.status != Status::kLive) continue;
    const SequenceView view = scheduler_.view(SequenceId{state.id});
    if (view.emitted.value != state.emitted) {
      find("I20", fmt::format("{} has yielded {}, the scheduler says {}", stage.actors[n].name,
                              count_text(state.emitted, "token"), view.emitted.value));
      return;
    }
    const std::uint32_t committed = view.rows.processed.value;
    states_[n].host_rows = committed;
    BlockId source = kNoBlock;
    for (std::uint32_t p = 0; p < committed; ++p) {
      const std::uint32_t at = p / block_size_;
      if (at >= view.table.size()) {
        find("I6", fmt::format("{} has {} processed and a table of {}", stage.actors[n].name,
                               count_text(committed, "row"), count_text(at, "block")));
        return;
      }
      const std::uint32_t row = p % block_size_;
      if (row == 0) source = filled_by(PoolKind::kBlocks, view.table[at]);
      const Tag wanted = tag_of(stage, n, p);
      const Tag found = row_at(source, row);
      if (found == wanted) continue;
      find("O12", fmt::format("row {} of block {} is position {} of {}: expected {}, found {}", row,
                              index_of(view.table[at]), p, stage.actors[n].name,
                              tag_text(stage, wanted), tag_text(stage, found)));
      return;
    }
    if (view.state == kNoBlock || committed == 0) continue;
    const Tag found = slots_[index_of(filled_by(PoolKind::kStateSlots, view.state))];
    const Tag wanted = tag_of(stage, n, std::max(state.device_rows, committed) - 1);
    if (found == wanted) continue;
    find("I16", fmt::format("state slot {} is {}'s: expected {}, found {}", index_of(view.state),
                            stage.actors[n].name, tag_text(stage, wanted), tag_text(stage, found)));
    return;
  }
}

std::optional<ExploreFinding> World::audit(const Stage& stage) const {
  const auto found = [](const char* check, std::string text) {
    return std::optional<ExploreFinding>(ExploreFinding{check, std::move(text)});
  };
  try {
    scheduler_.audit();
  } catch (const InvariantViolation& violation) {
    return found("library", violation.what());
  }
  // The same laws from the outside: a program whose checks are compiled out has no audit.
  const Pools& pools = scheduler_.pools();
  static thread_local std::vector<std::uint32_t> entries;
  for (std::uint32_t index = 0; index < kPoolKinds; ++index) {
    const PoolKind kind{static_cast<std::uint8_t>(index)};
    const Pool& pool = pools.of(kind);
    entries.assign(pool.ids(), 0);
    const auto count = [&](BlockId id) {
      if (index_of(id) < entries.size()) ++entries[index_of(id)];
    };
    for (const State& state : states_) {
      if (state.status != Status::kLive) continue;
      const SequenceView view = scheduler_.view(SequenceId{state.id});
      if (kind == PoolKind::kBlocks) {
        for (const BlockId id : view.table) count(id);
      }
      if (kind == PoolKind::kStateSlots && view.state != kNoBlock) count(view.state);
      if (kind == PoolKind::kDraftSlots && view.draft != kNoBlock) count(view.draft);
    }
    for (const Hold& hold : scheduler_.holds().holds()) {
      const std::vector<BlockId>* ids = kind == PoolKind::kBlocks       ? &hold.blocks
                                        : kind == PoolKind::kStateSlots ? &hold.states
                                        : kind == PoolKind::kDraftSlots ? &hold.drafts
                                                                        : nullptr;
      if (ids == nullptr) continue;
      for (const BlockId id : *ids) count(id);
    }
    if (entries[0] > 0) {
      return found("I4", fmt::format("{} 0 has an owner", name_of(kind)));
    }
    for (std::uint32_t id = 1; id < pool.ids(); ++id) {
      if (pool.owners(BlockId{id}) == entries[id]) continue;
      return found("I2", fmt::format("{} {} counts {} owners, and {} tables and holds name it",
                                     name_of(kind), id, pool.owners(BlockId{id}), entries[id]));
    }
    const std::vector<BlockId> free = pool.free_list();
    for (const BlockId id : free) {
      if (index_of(id) == 0 || index_of(id) >= pool.ids() || entries[index_of(id)]++ > 0) {
        return found("I1", fmt::format("the free list names {} {} twice, or it has an owner",
                                       name_of(kind), index_of(id)));
      }
    }
    for (std::uint32_t id = 1; id < pool.ids(); ++id) {
      if (entries[id] == 0) {
        return found("I1", fmt::format("{} {} is neither free nor owned", name_of(kind), id));
      }
    }
  }
  // Everybody is in exactly one queue.
  std::vector<std::uint32_t> places(states_.size(), 0);
  for (const std::vector<SequenceId>& queue :
       {scheduler_.running(), scheduler_.waiting(), scheduler_.waiting_forks()}) {
    for (const SequenceId id : queue) ++places[actor_of(id)];
  }
  for (std::uint32_t n = 0; n < states_.size(); ++n) {
    if (places[n] == (states_[n].status == Status::kLive ? 1u : 0u)) continue;
    return found("I12",
                 fmt::format("{} is in {}", stage.actors[n].name, count_text(places[n], "queue")));
  }
  if (open() || scheduler_.unfinished() > 0) return std::nullopt;
  for (const PoolKind kind : {PoolKind::kBlocks, PoolKind::kStateSlots, PoolKind::kDraftSlots}) {
    if (pools.of(kind).owned().value == 0) continue;
    return found("I13", fmt::format("nobody lives, and somebody owns a {}", name_of(kind)));
  }
  return std::nullopt;
}

bool World::open() const {
  if (flights_ > 0 || !news_.empty()) return true;
  return std::any_of(states_.begin(), states_.end(),
                     [](const State& state) { return state.status == Status::kLive; });
}

bool World::over(const Stage&) const {
  return flights_ == 0 && std::all_of(states_.begin(), states_.end(), [](const State& state) {
           return state.status == Status::kEnded;
         });
}

// ---- keys ------------------------------------------------------------------------------------------

namespace {

/// Two independent 64-bit lanes.
class KeyMixer {
 public:
  void add(std::uint64_t value) {
    a_ = (a_ ^ value) * 0xBF58476D1CE4E5B9u;
    a_ ^= a_ >> 32;
    b_ = (b_ + value) * 0x9E3779B97F4A7C15u;
    b_ ^= b_ >> 29;
  }
  World::Key value() const { return {a_, b_}; }

 private:
  std::uint64_t a_ = 0x2545F4914F6CDD1Du;
  std::uint64_t b_ = 0x94D049BB133111EBu;
};

/// Ids by the order in which they are first seen.
class Names {
 public:
  Names(std::uint32_t ids, bool rename) : rename_(rename) { names_.assign(ids, 0); }
  std::uint64_t operator()(BlockId id) {
    if (id == kNoBlock || !rename_) return index_of(id);
    std::uint32_t& name = names_[index_of(id)];
    if (name == 0) name = ++next_;
    return name;
  }

 private:
  std::vector<std::uint32_t> names_;
  std::uint32_t next_ = 0;
  bool rename_;
};

}  // namespace

World::Key World::key(const Stage& stage, bool rename) const {
  KeyMixer mix;
  const Pools& pools = scheduler_.pools();
  Names blocks(pools.blocks().ids(), rename);
  Names slots(pools.of(PoolKind::kStateSlots).ids(), rename);
  Names drafts(pools.of(PoolKind::kDraftSlots).ids(), rename);
  const std::uint64_t done = value_of(scheduler_.done());
  const auto add_ids = [&](Names& names, std::span<const BlockId> ids) {
    mix.add(ids.size());
    for (const BlockId id : ids) mix.add(names(id));
  };
  mix.add((must_plan_ ? 1u : 0u) | (aborted_one_ && stage.abort_any ? 2u : 0u) |
          std::uint64_t{failures_left_} << 8 | std::uint64_t{losses_left_} << 16 |
          std::uint64_t{copies_lost_left_} << 24);
  mix.add(news_.size());
  for (const std::uint64_t step : news_) {
    mix.add((value_of(scheduler_.planned()) - step) << 1 |
            (is_in(stage.unreported, step) ? 1u : 0u));
  }
  mix.add(ahead(failed_upto_, done));
  mix.add(ahead(passed_, 2 * done));
  mix.add(ahead(copies_passed_, 2 * done));
  for (const auto* steps : {&stage.failing, &stage.lost, &stage.unreported}) {
    for (const std::uint64_t step : *steps) mix.add(ahead(step, done));
  }
  for (std::uint32_t n = 0; n < states_.size(); ++n) {
    const State& state = states_[n];
    mix.add(static_cast<std::uint64_t>(state.status));
    if (state.status == Status::kAbsent) continue;
    if (state.status == Status::kEnded) {
      // Rows of it that fly still write.
      if (flights_ > 0) mix.add(state.device_rows);
      continue;
    }
    const SequenceView view = scheduler_.view(SequenceId{state.id});
    mix.add(static_cast<std::uint64_t>(view.phase) | (state.in_batch ? 8u : 0u) |
            (state.stopping ? 16u : 0u) | (state.demoted ? 32u : 0u) | (view.frozen ? 64u : 0u) |
            (state.forked ? 128u : 0u));
    mix.add(std::uint64_t{view.rows.history.value} << 32 | view.rows.processed.value);
    mix.add(std::uint64_t{view.rows.in_flight.value} << 32 | state.emitted);
    mix.add(std::uint64_t{state.yielded} << 32 | state.device_rows);
    mix.add(std::uint64_t{view.prompt_end.value} << 32 | state.shared);
    if (!stage.actors[n].accepted.empty()) mix.add(state.verified);
    mix.add(ahead(value_of(view.last_step), done));
    mix.add(ahead(state.fork_step, done));
    mix.add(ahead(state.copy_step == 0 ? 0 : copies_ticket(state.copy_step), passed_));
    if (view.phase == Phase::kForkSettling || view.phase == Phase::kForkPinned) {
      const State& parent = states_[*stage.actors[n].parent];
      mix.add(parent.status == Status::kLive && parent.epoch == state.parent_epoch ? 1 : 0);
    }
    add_ids(blocks, view.table);
    mix.add(slots(view.state));
    mix.add(drafts(view.draft));
    if (!rename) {
      mix.add(state.id);
      mix.add(state.epoch);
      mix.add(state.late_rows);
      mix.add(state.parent_epoch);
      mix.add(ahead(state.copy_step == 0 ? 0 : copies_ticket(state.copy_step), 2 * done));
      if (stage.actors[n].parent) mix.add(states_[*stage.actors[n].parent].id);
    }
  }
  // Queues give the order of ids where it counts; the arrival order of those who wait is in it.
  for (const std::vector<SequenceId>& queue :
       {scheduler_.running(), scheduler_.waiting_forks(), scheduler_.waiting()}) {
    mix.add(queue.size());
    for (const SequenceId id : queue) mix.add(actor_of(id));
  }
  // Who is preempted, demoted or missed queues by id.
  for (const std::uint8_t n : actors_by_id_) {
    if (states_[n].status == Status::kLive) mix.add(n);
  }
  mix.add(left_pending_.size());
  for (const std::uint8_t n : left_pending_) mix.add(n);
  mix.add(lives_.size());
  for (const Life& life : lives_) {
    mix.add(std::uint64_t{life.actor} << 32 | (states_[life.actor].epoch - life.epoch));
    mix.add(life.device_rows);
  }
  mix.add(flights_);
  for (std::size_t n = 0; n < flights_; ++n) {
    const Step& step = flying_[n];
    mix.add((step.copied ? 1u : 0u) | (step.run ? 2u : 0u) | (step.lost ? 4u : 0u) |
            step.rows.size() << 8);
    for (const Row& row : step.rows) {
      mix.add(row.actor | (row.chunk ? 256u : 0u) | (row.last ? 512u : 0u) |
              (row.is_void ? 1024u : 0u) | std::uint64_t{row.width} << 32);
      mix.add(states_[row.actor].epoch - row.epoch);
      if (row.chunk || row.is_void) mix.add(row.first);
      if (step.run) {
        mix.add(row.yield.tokens | (row.yield.stop ? 256u : 0u));
        continue;
      }
      add_ids(blocks, std::span(step.tables).subspan(row.table, row.blocks));
      mix.add(slots(row.state));
      mix.add(drafts(row.draft));
    }
    mix.add(step.copies.size());
    for (const Job& job : step.copies) {
      Names& names = job.pool == PoolKind::kBlocks ? blocks : slots;
      mix.add(static_cast<std::uint64_t>(job.pool) | std::uint64_t{job.actor} << 8 |
              std::uint64_t{job.rows} << 32);
      mix.add(names(job.from));
      mix.add(names(job.to));
    }
  }
  mix.add(scheduler_.holds().holds().size());
  for (const Hold& hold : scheduler_.holds().holds()) {
    mix.add(ahead(value_of(hold.fence.ticket[index_of(Lane::kCompute)]), 2 * done) << 1 |
            static_cast<unsigned>(hold.behind));
    // The copy lane may lag behind results; a hold of it is as old as what the host has to hear of.
    const std::uint64_t copies = value_of(hold.fence.ticket[index_of(Lane::kCopy)]);
    mix.add(copies == 0 ? 0 : 2 * value_of(scheduler_.planned()) + 1 - copies);
    add_ids(slots, hold.states);
    add_ids(drafts, hold.drafts);
    add_ids(blocks, hold.blocks);
  }
  add_ids(blocks, pools.blocks().free_list());
  add_ids(slots, pools.of(PoolKind::kStateSlots).free_list());
  add_ids(drafts, pools.of(PoolKind::kDraftSlots).free_list());
  return mix.value();
}

// ---- words -----------------------------------------------------------------------------------------

std::string World::shown(const Stage& stage) const {
  std::string text;
  for (std::uint32_t n = 0; n < states_.size(); ++n) {
    if (states_[n].status != Status::kLive) continue;
    const SequenceView view = scheduler_.view(SequenceId{states_[n].id});
    if (view.table.empty() && view.state == kNoBlock) continue;
    text += fmt::format("{}={} ", stage.actors[n].name, list_text(view.table));
    if (view.state != kNoBlock) {
      text += fmt::format("slot {} ", index_of(view.state));
    }
  }
  const Pools& pools = scheduler_.pools();
  text += "free=" + list_text(pools.blocks().free_list());
  if (stage.options.state == Switch::kOn) {
    text += " slots free=" + list_text(pools.of(PoolKind::kStateSlots).free_list());
  }
  std::vector<BlockId> parked;
  for (const Hold& hold : scheduler_.holds().holds()) {
    parked.insert(parked.end(), hold.blocks.begin(), hold.blocks.end());
  }
  if (!parked.empty()) text += " parked=" + list_text(parked);
  return text;
}

}  // namespace pinfold::sim
