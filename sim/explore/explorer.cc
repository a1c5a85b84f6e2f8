#include "sim/explore/explorer.h"

#include <fmt/format.h>

#include <algorithm>

namespace pinfold::sim {
namespace {

constexpr std::uint32_t kNoState = UINT32_MAX;

/// States by key: open addressing over numbers, keys beside them.
class Visited {
 public:
  Visited() : slots_(1u << 12, kNoState) {}

  /// The state's number, and whether it is new.
  std::pair<std::uint32_t, bool> insert(const World::Key& key) {
    if (2 * (keys_.size() + 1) > slots_.size()) grow();
    std::size_t at = place(key);
    if (slots_[at] != kNoState) return {slots_[at], false};
    slots_[at] = static_cast<std::uint32_t>(keys_.size());
    keys_.push_back(key);
    return {slots_[at], true};
  }
  std::size_t size() const { return keys_.size(); }

 private:
  std::size_t place(const World::Key& key) const {
    std::size_t at = key[0] & (slots_.size() - 1);
    while (slots_[at] != kNoState && keys_[slots_[at]] != key) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    slots_.assign(2 * slots_.size(), kNoState);
    for (std::size_t n = 0; n < keys_.size(); ++n) {
      slots_[place(keys_[n])] = static_cast<std::uint32_t>(n);
    }
  }
  std::vector<std::uint32_t> slots_;
  std::vector<World::Key> keys_;
};

/// How a state was first reached.
struct Origin {
  std::uint32_t from = kNoState;
  WorldEvent event;
};

class Explorer {
 public:
  Explorer(const Stage& stage, const ExploreLimits& limits)
      : stage_(stage), limits_(limits), scratch_(stage) {}

  ExploreResult run() {
    World start(stage_);
    if (auto finding = start.audit(stage_)) return broken(*finding, kNoState, nullptr);
    visited_.insert(start.key(stage_, stage_.reduce));
    origins_.push_back({});
    std::vector<World> level;
    level.push_back(std::move(start));
    std::uint32_t number = 0;  // of the level's first state
    while (!level.empty()) {
      if (result_.depth >= limits_.depth || visited_.size() >= limits_.states) {
        result_.not_expanded = level.size();
        break;
      }
      std::vector<World> next;
      for (World& world : level) {
        if (!expand(world, number, next)) return finish();
        ++number;
        world = World(empty_);  // gives its memory back
      }
      level.swap(next);
      if (!level.empty()) ++result_.depth;
    }
    if (result_.not_expanded > 0) {
      result_.verdict = ExploreVerdict::kBounded;
    } else {
      find_cycle();
    }
    return finish();
  }

 private:
  /// False: a finding ends the search.
  bool expand(const World& world, std::uint32_t number, std::vector<World>& next) {
    edges_at_.push_back(edges_.size());
    if (world.over(stage_)) {
      ++result_.over;
      return true;
    }
    world.list_events(stage_, events_);
    bool moves = false;
    for (const WorldEvent& event : events_) {
      scratch_ = world;
      ++result_.transitions;
      ++result_.events[static_cast<std::size_t>(event.kind)];
      const std::optional<ExploreFinding> finding = scratch_.apply(stage_, event);
      for (std::size_t verb = 0; verb < World::kVerbs; ++verb) {
        result_.verbs[verb] += scratch_.verbs()[verb];
      }
      if (finding) {
        broken(*finding, number, &event);
        return false;
      }
      for (const World::End& end : scratch_.ends()) {
        result_.outcomes.insert({end.actor, end.reason, end.emitted});
      }
      const auto [to, is_new] = visited_.insert(scratch_.key(stage_, stage_.reduce));
      if (to != number) {
        edges_.push_back(to);
        moves |= world.is_of_system(stage_, event);
      }
      if (!is_new) continue;
      origins_.push_back({number, event});
      if (const auto broken_law = scratch_.audit(stage_)) {
        broken(*broken_law, number, &event);
        return false;
      }
      next.push_back(scratch_);
      next.back().settle();
    }
    if (moves || !world.open() || !is_stalled(stage_, world)) return true;
    result_.verdict = ExploreVerdict::kStall;
    result_.check = "I9";
    result_.text = "nothing is pending, nothing can run, and somebody waits";
    result_.path = path_to(number);
    return false;
  }

  ExploreResult& broken(const ExploreFinding& finding, std::uint32_t from,
                        const WorldEvent* event) {
    result_.verdict = ExploreVerdict::kViolation;
    result_.check = finding.check;
    result_.text = finding.text;
    result_.path = path_to(from);
    if (event != nullptr) result_.path.push_back(*event);
    return result_;
  }

  std::vector<WorldEvent> path_to(std::uint32_t state) const {
    std::vector<WorldEvent> path;
    while (state != kNoState && origins_[state].from != kNoState) {
      path.push_back(origins_[state].event);
      state = origins_[state].from;
    }
    std::reverse(path.begin(), path.end());
    return path;
  }

  // Progress (a token beyond the last, an end, an arrival, a fault) never goes back, and all of it is in
  // a state's key. So a cycle of states is a cycle without progress, and the host and the device can go
  // round in it for ever: only aborts and faults are optional, and neither can be part of a cycle.
  void find_cycle() {
    const std::size_t states = origins_.size();
    edges_at_.push_back(edges_.size());
    std::vector<std::uint32_t> into(states, 0);
    for (const std::uint32_t to : edges_) ++into[to];
    std::vector<std::uint32_t> open;
    for (std::uint32_t state = 0; state < states; ++state) {
      if (into[state] == 0) open.push_back(state);
    }
    std::size_t left = states;
    while (!open.empty()) {
      const std::uint32_t state = open.back();
      open.pop_back();
      --left;
      for (std::size_t e = edges_at_[state]; e < edges_at_[state + 1]; ++e) {
        if (--into[edges_[e]] == 0) open.push_back(edges_[e]);
      }
    }
    if (left == 0) return;
    result_.verdict = ExploreVerdict::kCycle;
    result_.check = "I9";
    result_.text = "the engine can go round for ever without progress";
    result_.path = path_to(cycle_start(into));
  }

  // The first state, in order of discovery, that lies on a cycle: one that comes back to itself among the
  // states that were left.
  std::uint32_t cycle_start(const std::vector<std::uint32_t>& into) const {
    for (std::uint32_t state = 0; state < into.size(); ++state) {
      if (into[state] == 0) continue;
      std::vector<std::uint32_t> open{state};
      std::vector<bool> seen(into.size(), false);
      while (!open.empty()) {
        const std::uint32_t at = open.back();
        open.pop_back();
        for (std::size_t e = edges_at_[at]; e < edges_at_[at + 1]; ++e) {
          if (edges_[e] == state) return state;
          if (into[edges_[e]] == 0 || seen[edges_[e]]) continue;
          seen[edges_[e]] = true;
          open.push_back(edges_[e]);
        }
      }
    }
    return 0;
  }

  ExploreResult finish() {
    result_.states = visited_.size();
    return std::move(result_);
  }

  const Stage& stage_;
  const ExploreLimits limits_;
  ExploreResult result_;
  World scratch_;
  const World empty_{Stage{}};
  Visited visited_;
  std::vector<Origin> origins_;        // by number of the state
  std::vector<std::uint32_t> edges_;   // states that a state leads to, state by state
  std::vector<std::size_t> edges_at_;  // where its begin
  std::vector<WorldEvent> events_;
};

const char* word_of(Cause cause) {
  switch (cause) {
    case Cause::kNone: return "its turn";
    case Cause::kBlocks: return "blocks";
    case Cause::kSlot: return "a slot";
    case Cause::kFence: return "a fence";
    case Cause::kFork: return "a waiting fork";
    case Cause::kPressure: return "the head of the queue";
    case Cause::kRunLimit: return "the run limit";
    case Cause::kBudget: return "the token budget";
    case Cause::kLoad: return "its load";
  }
  return "?";
}

}  // namespace

const char* name_of(ExploreVerdict verdict) {
  switch (verdict) {
    case ExploreVerdict::kProved: return "proved";
    case ExploreVerdict::kViolation: return "violation";
    case ExploreVerdict::kStall: return "stall";
    case ExploreVerdict::kCycle: return "cycle";
    case ExploreVerdict::kBounded: return "bounded";
  }
  return "?";
}

ExploreResult explore(const Stage& stage, const ExploreLimits& limits) {
  return Explorer(stage, limits).run();
}

bool is_stalled(const Stage& stage, const World& world) {
  if (!world.open()) return false;
  if (world.must_plan()) return false;
  std::vector<WorldEvent> events;
  world.list_events(stage, events);
  const World::Key key = world.key(stage, false);
  for (const WorldEvent& event : events) {
    if (!world.is_of_system(stage, event)) continue;
    World next = world;
    if (next.apply(stage, event) || next.key(stage, false) != key) return false;
  }
  return true;
}

Walked walk(const Stage& stage, const std::vector<WorldEvent>& path) {
  Walked walked;
  World world(stage);
  world.set_telling(true);
  std::vector<WorldEvent> events;
  for (const WorldEvent& event : path) {
    world.list_events(stage, events);
    if (std::find(events.begin(), events.end(), event) == events.end()) {
      walked.possible = false;
      return walked;
    }
    walked.finding = world.apply(stage, event);
    if (!walked.finding) walked.finding = world.audit(stage);
    walked.told.push_back(world.told());
    walked.shown.push_back(world.shown(stage));
    if (walked.finding) return walked;
  }
  walked.stalled = is_stalled(stage, world);
  const Scheduler& scheduler = world.scheduler();
  for (const WaitReason& reason : scheduler.explain_wait()) {
    std::string text = fmt::format("{} waits for {}", world.actor_name(stage, reason.sequence),
                                   word_of(reason.cause));
    if (reason.lacking.value > 0) text += fmt::format(" ({} lacking)", reason.lacking.value);
    if (reason.has_holder) {
      text += fmt::format(", which {} holds", world.actor_name(stage, reason.holder));
    }
    walked.waits.push_back(std::move(text));
  }
  return walked;
}

}  // namespace pinfold::sim
