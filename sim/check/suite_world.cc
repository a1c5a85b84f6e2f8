#include "sim/check/suite_world.h"

#include <algorithm>
#include <deque>
#include <map>

#include "sim/check/invariants.h"
#include "sim/check/shadow.h"

namespace pinfold::sim {
namespace {

constexpr std::uint32_t kTurnsMost = 6000;

/// SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t state) {
  state += 0x9E3779B97F4A7C15u;
  state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
  state = (state ^ (state >> 27)) * 0x94D049BB133111EBu;
  return state ^ (state >> 31);
}

/// What is true of a request from outside.
struct Account {
  SuiteRequest wish;
  std::uint32_t emitted = 0;
  bool ended = false;
};

struct MirrorRow {
  std::uint32_t sequence = 0;
  std::uint32_t epoch = 0;
  std::uint32_t drafts = 0;
  bool prompt_end = false;
};

struct MirrorStep {
  std::uint64_t step = 0;
  Ticket copy_ticket{};
  bool copies_passed = true;
  std::vector<MirrorRow> rows;
};

/// Whether a finding of the shadow is about the content of rows and not about owners, which it follows too.
bool is_about_rows(std::string_view rule) {
  for (const std::string_view of_rows :
       {"O12", "O8 copy", "O9 copy", "O5 state slot", "O16", "prefix"}) {
    if (rule.starts_with(of_rows)) return true;
  }
  return false;
}

ShadowOptions shadow_options(const SchedulerOptions& options) {
  ShadowOptions shadow;
  shadow.block_size = options.block_size.value;
  shadow.block_ids = options.block_ids;
  shadow.state_ids = options.state_ids;
  shadow.state_slots = options.state == Switch::kOn;
  shadow.fences_always = options.fence == FenceMode::kAlways;
  return shadow;
}

class Run {
 public:
  explicit Run(const SuiteWorld& world)
      : world_(world),
        scheduler_(world.options),
        invariants_(world.options),
        shadow_(shadow_options(world.options)),
        order_(mixed(world.seed)) {
    scheduler_.journal().set_enabled(true);
  }

  SuiteOutcome run() {
    bool over = false;
    for (std::uint32_t turn = 0; !over; ++turn) {
      if (turn == kTurnsMost) {
        invariants_.find(Check::kI9, "no end after " + std::to_string(turn) + " turns");
        break;
      }
      over = take_turn(turn);
    }
    if (drained()) invariants_.at_drain(scheduler_);
    SuiteOutcome outcome;
    outcome.findings = invariants_.findings();
    for (const ShadowFinding& finding : shadow_.findings()) {
      outcome.findings.add(is_about_rows(finding.rule) ? Check::kShadow : Check::kOwners,
                           finding.event, finding.rule + ": " + finding.text);
    }
    outcome.journal_hash = hash_;
    outcome.events = scheduler_.journal().events();
    outcome.stats = scheduler_.stats();
    return outcome;
  }

 private:
  bool chance(std::uint32_t percent) { return (order_ = mixed(order_)) % 100 < percent; }
  bool drained() const { return scheduler_.unfinished() == 0 && flying_.empty(); }
  bool may_plan() const { return flying_.size() <= world_.options.overlap; }

  /// True when the world is over.
  bool take_turn(std::uint32_t turn) {
    for (; next_ < world_.actions.size() && world_.actions[next_].turn <= turn; ++next_) {
      act(world_.actions[next_]);
    }
    const bool wants = flying_.empty() || chance(world_.plan_percent);
    const bool planned = may_plan() && wants && plan();
    if (!chance(world_.late_copies_percent)) pass_copies();
    if (!transfers_.empty() && chance(world_.transfer_percent)) pass_transfer();
    if (!flying_.empty() && (!planned || chance(world_.complete_percent))) complete();
    if (next_ < world_.actions.size()) return false;
    if (!transfers_.empty() && !planned && flying_.empty()) {
      pass_transfer();
      return false;
    }
    if (drained() && transfers_.empty()) return true;
    if (planned || !flying_.empty()) return false;
    // Nothing is in flight; an event that nobody will ever send makes no difference.
    if (plan() || (drained() && transfers_.empty())) return drained();
    if (!transfers_.empty()) return false;
    std::string who;
    for (const WaitReason& reason : scheduler_.explain_wait()) {
      who += " " + std::to_string(value_of(reason.sequence));
    }
    invariants_.find(Check::kI9, "stall with " + std::to_string(scheduler_.unfinished()) +
                                     " unfinished, waiting:" + who);
    return true;
  }

  void act(const SuiteAction& action) {
    const SequenceId id{action.id};
    switch (action.act) {
      case SuiteAct::kAdd:
      case SuiteAct::kFork: arrive(action); break;
      case SuiteAct::kAbort:
        if (scheduler_.knows(id)) scheduler_.abort(id);
        break;
      case SuiteAct::kFail: fail_next_ = true; break;
    }
    look();
  }

  void arrive(const SuiteAction& action) {
    const SequenceId id{action.id};
    const SequenceId parent{action.parent};
    RequestSpec spec;
    spec.prompt = TokenCount(action.request.prompt);
    spec.limit = TokenCount(action.request.limit);
    spec.stop = action.request.stop;
    spec.drafts = TokenCount(action.request.drafts);
    spec.priority = action.request.priority;
    std::uint32_t known = action.request.prompt;
    const bool fork = action.act == SuiteAct::kFork;
    if (fork && scheduler_.knows(parent)) {
      const SequenceView view = scheduler_.view(parent);
      const bool runs = view.phase == Phase::kPrefill || view.phase == Phase::kDecode;
      const std::uint32_t processed = view.rows.processed.value;
      if (runs && processed > 0) known = std::max(known, processed + 1);
    }
    invariants_.expect(id, TokenCount(known), spec.limit, spec.stop);
    const PromptKeys keys{action.request.keys, TokenCount(action.request.tail_end),
                          action.request.tail};
    const Answer answer =
        fork ? scheduler_.fork(parent, id, spec, keys) : scheduler_.add(id, spec, keys);
    accounts_[action.id] = {action.request, 0, answer == Answer::kNever};
    read();
    invariants_.answered(id, answer);
  }

  bool plan() {
    invariants_.before_plan(scheduler_);
    scheduler_.plan_step(plan_);
    for (const Left& left : plan_.left) batch_.erase(value_of(left.sequence));
    if (!plan_.empty) dispatch();
    read();
    invariants_.after_plan(scheduler_, plan_);
    invariants_.audit(scheduler_);
    take_ends();
    return !plan_.empty;
  }

  void dispatch() {
    MirrorStep step;
    step.step = value_of(plan_.step);
    step.copy_ticket = plan_.copy_ticket;
    step.copies_passed = plan_.copies.empty();
    for (const Joined& joined : plan_.joined) batch_[value_of(joined.sequence)] = joined.epoch;
    for (const auto& [sequence, epoch] : batch_) {
      MirrorRow row{sequence, epoch, 0, false};
      for (const Drafted& drafted : plan_.drafted) {
        if (value_of(drafted.sequence) == sequence) row.drafts = drafted.drafts.value;
      }
      step.rows.push_back(row);
    }
    for (const Chunk& chunk : plan_.chunks) {
      if (chunk.last) step.rows.push_back({value_of(chunk.sequence), chunk.epoch, 0, true});
    }
    flying_.push_back(std::move(step));
  }

  void pass_copies() {
    for (MirrorStep& step : flying_) {
      if (step.copies_passed) continue;
      step.copies_passed = true;
      scheduler_.on_passed(Lane::kCompute, step.copy_ticket);
      look();
      return;
    }
  }

  // One that may be told of: a state's save is not before the result of the step that wrote the state.
  void pass_transfer() {
    for (std::size_t first = chance(50) ? transfers_.size() : 0, n = 0; n < transfers_.size();
         ++n) {
      const Transfer& transfer = transfers_[first > 0 ? first - 1 - n : n];
      const auto ahead = [&](const Transfer& other) {
        return other.lane == transfer.lane && other.ticket < transfer.ticket;
      };
      if (value_of(transfer.after) > value_of(scheduler_.done()) + 1) continue;
      if (std::any_of(transfers_.begin(), transfers_.end(), ahead)) continue;
      const Lane lane = transfer.lane;
      const Ticket ticket = transfer.ticket;
      std::erase_if(transfers_, [&](const Transfer& other) {
        return other.lane == lane && other.ticket == ticket;
      });
      if (world_.lost_percent > 0 && chance(world_.lost_percent)) {
        scheduler_.on_lost(lane, ticket);
      } else {
        scheduler_.on_passed(lane, ticket);
      }
      look();
      return;
    }
  }

  void take_transfers() {
    for (const Transfer& transfer : scheduler_.transfers()) transfers_.push_back(transfer);
    scheduler_.clear_transfers();
  }

  void complete() {
    const MirrorStep step = std::move(flying_.front());
    flying_.pop_front();
    std::vector<RowResult> exceptions;
    if (fail_next_) {
      for (MirrorStep& behind : flying_) behind.rows.clear();
    } else {
      for (const MirrorRow& row : step.rows) yield(row, exceptions);
    }
    scheduler_.on_step_complete(
        {StepNumber{step.step}, fail_next_, exceptions.data(), exceptions.size()});
    fail_next_ = false;
    take_ends();
    look();
  }

  void yield(const MirrorRow& row, std::vector<RowResult>& exceptions) {
    Account& account = accounts_[row.sequence];
    if (account.ended) return;
    const SuiteRequest& wish = account.wish;
    std::uint32_t tokens = 1;
    if (row.prompt_end) {
      tokens = wish.output > 0 && wish.limit > 0 ? 1 : 0;
    } else {
      while (tokens <= row.drafts && account.emitted + tokens < wish.output &&
             accepts(row.sequence, account.emitted + tokens)) {
        ++tokens;
      }
    }
    account.emitted += tokens;
    const bool stop = wish.stop == StopMode::kHidden && account.emitted >= wish.output;
    if ((tokens != 1 || stop) && wish.limit > 0) {
      exceptions.push_back({SequenceId{row.sequence}, row.epoch, TokenCount(tokens), stop});
    }
  }

  // Keyed by request and token: preemption, drafts and block size do not change what is accepted.
  bool accepts(std::uint32_t sequence, std::uint32_t token) const {
    const std::uint64_t key = mixed(mixed(world_.seed + 1) + sequence) + token;
    return mixed(key) % 100 < world_.accept_percent;
  }

  void take_ends() {
    for (const Ended& ended : scheduler_.ended()) {
      const std::uint32_t id = value_of(ended.sequence);
      batch_.erase(id);
      Account& account = accounts_[id];
      if (account.ended) {
        invariants_.find(Check::kI17, "sequence " + std::to_string(id) + " ended twice");
        continue;
      }
      account.ended = true;
      if (ended.reason != EndReason::kStop && ended.reason != EndReason::kLimit) continue;
      const std::uint32_t expected = std::min(account.wish.output, account.wish.limit);
      if (ended.emitted.value == expected && account.emitted == expected) continue;
      invariants_.find(Check::kI17, "sequence " + std::to_string(id) + " ended with " +
                                        std::to_string(ended.emitted.value) + " tokens, yielded " +
                                        std::to_string(account.emitted) + ": expected " +
                                        std::to_string(expected));
    }
    scheduler_.clear_ended();
  }

  void look() {
    read();
    invariants_.audit(scheduler_);
  }

  void read() {
    take_transfers();
    const std::span<const std::byte> bytes = scheduler_.journal().unread();
    invariants_.consume(bytes);
    shadow_.consume(bytes);
    for (const std::byte byte : bytes) {
      hash_ = (hash_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001B3u;  // FNV-1a
    }
    scheduler_.journal().clear();
  }

  const SuiteWorld& world_;
  Scheduler scheduler_;
  Invariants invariants_;
  Shadow shadow_;
  StepPlan plan_;
  std::vector<Transfer> transfers_;  // queued, not told of
  std::deque<MirrorStep> flying_;
  std::map<std::uint32_t, Account> accounts_;
  std::map<std::uint32_t, std::uint32_t> batch_;  // sequence -> epoch
  std::uint64_t order_;
  std::uint64_t hash_ = 0xCBF29CE484222325u;
  std::size_t next_ = 0;
  bool fail_next_ = false;
};

}  // namespace

SuiteOutcome run_suite_world(const SuiteWorld& world) { return Run(world).run(); }

}  // namespace pinfold::sim
