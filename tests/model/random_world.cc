#include "tests/model/random_world.h"

#include <algorithm>
#include <array>
#include <map>

#include "sim/check/invariants.h"
#include "tests/model/random_draws.h"

namespace pinfold::model {
namespace {

std::uint32_t draw_acceptance(std::uint64_t seed, SequenceId sequence, std::uint32_t token) {
  RandomDraws draws(seed * 1'000'003 + value_of(sequence) * 8191ull + token);
  return draws.chance(60) ? 1 : 0;
}

}  // namespace

Scenario draw_scenario(std::uint64_t seed) {
  RandomDraws draws(seed);
  Scenario scenario;
  SchedulerOptions& options = scenario.options;
  options.block_size = TokenCount(1 + draws.below(8));
  options.block_ids = 2 + draws.below(12);
  options.max_sequences = 1 + draws.below(5);
  options.token_budget = TokenCount(options.max_sequences + draws.below(12));
  options.overlap = draws.below(3);
  options.state = draws.chance(40) ? Switch::kOn : Switch::kOff;
  options.state_ids = options.state == Switch::kOn ? 1 + draws.below(5) : 1;
  options.draft_ids = 1 + draws.below(5);
  options.max_model_len = TokenCount(draws.chance(20) ? 8 + draws.below(20) : 200);
  options.release_order = draws.chance(80) ? ReleaseOrder::kReverse : ReleaseOrder::kForward;
  options.free_order = draws.chance(80) ? FreeOrder::kFifo : FreeOrder::kLifo;
  options.fence = draws.chance(85) ? FenceMode::kAlways : FenceMode::kUnorderedWriters;
  options.growth_check = draws.chance(90) ? GrowthCheck::kShortfall : GrowthCheck::kOneFree;
  options.sole_owner = draws.chance(70) ? SoleOwner::kCopy : SoleOwner::kAdopt;
  options.demote = draws.chance(92) ? Switch::kOn : Switch::kOff;
  options.tail_copy = draws.chance(70) ? TailCopy::kWholeBlock : TailCopy::kValidRows;
  scenario.poll_percent = draws.chance(30) ? 60 : 0;

  const bool hidden = draws.chance(60);
  const std::uint32_t drafts = draws.chance(60) ? draws.below(6) : 0;
  const std::uint32_t room = (options.block_ids - 1) * options.block_size.value;
  const std::uint32_t requests = 2 + draws.below(8);
  std::uint32_t turn = 0;
  for (std::uint32_t n = 0; n < requests; ++n) {
    turn += draws.below(6);
    Action action{turn, Act::kAdd, SequenceId{n * 2}, SequenceId{0}, {}};
    Wish& wish = action.wish;
    wish.prompt = 1 + draws.below(std::max(1u, room * 2 / 3));
    wish.output = draws.below(std::max(2u, room));
    if (draws.chance(5)) wish.prompt = room + 1 + draws.below(5);
    wish.stop = hidden ? StopMode::kHidden : StopMode::kKnown;
    wish.limit = hidden ? wish.output + draws.below(30) : wish.output;
    if (draws.chance(10)) wish.limit = hidden ? draws.below(wish.output + 1) : wish.output;
    wish.output = std::min(wish.output, hidden ? wish.output : wish.limit);
    wish.drafts = drafts;
    wish.priority = draws.chance(10) ? draws.below(3) : 1;
    scenario.actions.push_back(action);
  }
  const std::uint32_t events = draws.below(7);
  std::vector<Action> more;
  for (std::uint32_t n = 0; n < events; ++n) {
    const Action& on = scenario.actions[draws.below(requests)];
    Action action{on.turn + 1 + draws.below(12), Act::kAbort, on.id, on.id, on.wish};
    if (draws.chance(60)) {
      action.act = Act::kFork;
      action.wish.prompt =
          1 + draws.below(std::max(1u, on.wish.prompt + (draws.chance(50) ? 6 : 0)));
    } else if (draws.chance(15)) {
      action.act = Act::kFail;
    }
    more.push_back(action);
  }
  scenario.actions.insert(scenario.actions.end(), more.begin(), more.end());
  std::stable_sort(scenario.actions.begin(), scenario.actions.end(),
                   [](const Action& a, const Action& b) { return a.turn < b.turn; });
  // Without step fences a copy in a lane of its own may fill a block that a step in flight still writes.
  if (options.fence == FenceMode::kAlways && draws.chance(25)) {
    options.copy_lane = CopyLane::kSeparate;
  }
  // Ids increase with arrival: renumber what arrives, and what refers to it.
  std::map<SequenceId, SequenceId> renamed;
  std::uint32_t next = 0;
  for (Action& action : scenario.actions) {
    if (action.act == Act::kAdd) {
      renamed[action.id] = SequenceId{next};
      action.id = SequenceId{next++};
    } else if (action.act == Act::kFork) {
      action.parent = renamed.at(action.parent);
      action.id = SequenceId{next++};
    } else {
      action.id = renamed.at(action.id);
    }
  }
  return scenario;
}

Scenario draw_reuse_scenario(std::uint64_t seed) {
  Scenario scenario = draw_scenario(seed);
  RandomDraws draws(seed ^ 0x5EED);
  SchedulerOptions& options = scenario.options;
  options.state = Switch::kOff;
  options.state_ids = 1;
  options.reuse = Switch::kOn;
  options.eviction = draws.chance(60) ? Eviction::kLru : Eviction::kFifo;
  options.block_size = TokenCount(std::max(2u, options.block_size.value));
  const std::uint32_t block_size = options.block_size.value;
  // Text t is text 0 up to a point of its own.
  std::array<std::uint32_t, 4> parts_at{};
  for (std::uint32_t& part : parts_at) part = draws.below(40);
  const auto key_of = [&](std::uint32_t text, std::uint32_t begin, std::uint32_t end) {
    std::uint64_t key = 0;
    for (std::uint32_t n = begin; n < end; ++n) {
      key = key * 1'000'003 + 1 + n + (text > 0 && n >= parts_at[text] ? 1'000 * text : 0);
    }
    return key;
  };
  std::map<SequenceId, std::uint32_t> text_of;
  for (Action& action : scenario.actions) {
    if (action.act != Act::kAdd && action.act != Act::kFork) continue;
    const std::uint32_t text = action.act == Act::kFork ? text_of.at(action.parent)
                               : draws.chance(60)       ? 0
                                                        : draws.below(4);
    text_of[action.id] = text;
    Wish& wish = action.wish;
    if (draws.chance(10)) continue;
    // Short of the prompt, as far as it goes, or into the output.
    std::uint32_t end = wish.prompt;
    if (draws.chance(15)) end = draws.below(wish.prompt + 1);
    if (draws.chance(30)) end = wish.prompt + draws.below(12);
    for (std::uint32_t n = 0; (n + 1) * block_size <= end; ++n) {
      wish.keys.push_back(key_of(text, n * block_size, (n + 1) * block_size));
    }
    const std::uint32_t tail_end = draws.chance(70) ? std::min(wish.prompt, end) : 0;
    if (tail_end % block_size == 0) continue;
    wish.tail_end = tail_end;
    wish.tail = key_of(text, tail_end / block_size * block_size, tail_end);
  }
  return scenario;
}

namespace {

// Feeds the named invariants what the journal got, between two verbs.
class Watcher {
 public:
  explicit Watcher(const SchedulerOptions& options) : invariants_(options) {}

  void expect(const World& world, const Action& action) {
    std::uint32_t known = action.wish.prompt;
    if (action.act == Act::kFork && world.scheduler.knows(action.parent)) {
      const SequenceView parent = world.scheduler.view(action.parent);
      const bool runs = parent.phase == Phase::kPrefill || parent.phase == Phase::kDecode;
      const std::uint32_t processed = parent.rows.processed.value;
      if (runs && processed > 0) known = std::max(known, processed + 1);
    }
    invariants_.expect(action.id, TokenCount(known), TokenCount(action.wish.limit),
                       action.wish.stop);
  }
  void added(World& world, const Action& action) {
    look(world);
    const bool never = world.accounts.at(action.id).ended;
    invariants_.answered(action.id, never ? Answer::kNever : Answer::kOk);
  }
  bool turn(World& world) {
    invariants_.before_plan(world.scheduler);
    const bool planned = world.turn();
    read(world);
    invariants_.after_plan(world.scheduler, world.plan);
    invariants_.audit(world.scheduler);
    return planned;
  }
  void look(World& world) {
    read(world);
    invariants_.audit(world.scheduler);
  }
  void drained(const World& world) { invariants_.at_drain(world.scheduler); }
  std::string says() const {
    if (invariants_.findings().empty()) return "clean";
    const sim::Finding& first = invariants_.findings().first().front();
    return sim::name_of(first.check) + " at event " + std::to_string(first.event) + ": " +
           first.text;
  }

 private:
  void read(World& world) {
    const std::span<const std::byte> all = world.scheduler.journal().unread();
    invariants_.consume(all.subspan(read_));
    read_ = all.size();
  }

  sim::Invariants invariants_;
  std::size_t read_ = 0;
};

}  // namespace

Outcome run(const Scenario& scenario, std::uint64_t seed, Switch fast_path,
            const std::function<void(World&)>& after_event) {
  SchedulerOptions options = scenario.options;
  options.fast_path = fast_path;
  World world(options, seed, draw_acceptance);
  const auto seen = [&] {
    if (after_event) after_event(world);
  };
  RandomDraws order(seed ^ 0xABCDEF);
  Outcome outcome;
  bool fail_next = false;
  std::size_t next = 0;
  Watcher watcher(options);
  try {
    for (std::uint32_t turn = 0;; ++turn) {
      PINFOLD_CHECK(turn < 20'000, "world", "no end in sight");
      for (; next < scenario.actions.size() && scenario.actions[next].turn <= turn; ++next) {
        const Action& action = scenario.actions[next];
        const bool arrives = action.act == Act::kAdd || action.act == Act::kFork;
        if (arrives) watcher.expect(world, action);
        if (action.act == Act::kAdd) world.add(action.id, action.wish);
        if (action.act == Act::kFork) world.fork(action.parent, action.id, action.wish);
        if (action.act == Act::kAbort && !world.accounts.at(action.id).ended)
          world.abort(action.id);
        if (action.act == Act::kFail) fail_next = true;
        if (arrives) watcher.added(world, action);
        seen();
      }
      const bool planned =
          world.may_plan() && (world.flying.empty() || order.chance(70)) && watcher.turn(world);
      seen();
      if (world.copies_pending() && !order.chance(scenario.poll_percent)) world.pass_copies();
      seen();
      if (!world.flying.empty() && (!planned || order.chance(40))) {
        world.complete(fail_next);
        fail_next = false;
      }
      seen();
      world.check();
      watcher.look(world);
      outcome.hashes.push_back(world.scheduler.state_hash());
      if (next < scenario.actions.size()) continue;
      if (world.drained()) break;
      if (!planned && world.flying.empty() && world.scheduler.nothing_pending()) {
        // One more pass must not find anything either.
        if (watcher.turn(world) || world.drained()) continue;
        outcome.stalled = true;
        for (const WaitReason& reason : world.scheduler.explain_wait()) {
          outcome.wait_report += "request " + std::to_string(value_of(reason.sequence)) +
                                 " cause " + std::to_string(static_cast<int>(reason.cause)) +
                                 " lacking " + std::to_string(reason.lacking.value) + "; ";
        }
        break;
      }
    }
  } catch (const InvariantViolation& violation) {
    outcome.violation = violation.what();
  }
  if (world.drained()) watcher.drained(world);
  outcome.invariants = watcher.says();
  const std::span<const std::byte> journal = world.scheduler.journal().unread();
  outcome.journal.assign(journal.begin(), journal.end());
  outcome.stats = world.scheduler.stats();
  outcome.rejections = world.rejections_over_a_block_end;
  outcome.aborts_in_flight = world.aborts_in_flight;
  outcome.live_forks = world.live_forks;
  return outcome;
}

sim::ShadowOptions shadow_options(const SchedulerOptions& options) {
  sim::ShadowOptions shadow;
  shadow.block_size = options.block_size.value;
  shadow.block_ids = options.block_ids;
  shadow.state_ids = options.state_ids;
  shadow.draft_ids = options.draft_ids;
  shadow.state_slots = options.state == Switch::kOn;
  shadow.fences_always = options.fence == FenceMode::kAlways;
  shadow.copy_lane = options.copy_lane == CopyLane::kSeparate ? Lane::kCopy : Lane::kCompute;
  return shadow;
}

}  // namespace pinfold::model
