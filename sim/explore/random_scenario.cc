#include "sim/explore/random_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "sim/core/draw.h"

namespace pinfold::sim {
namespace {

class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t n) : seed_(seed), n_(n) {}
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(draw_below(seed_, Stream::kScenario, n_, next_++, bound));
  }
  std::uint32_t from(std::uint32_t least, std::uint32_t most) {
    return least + below(most - least + 1);
  }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::uint64_t seed_;
  std::uint64_t n_;
  std::uint64_t next_ = 0;
};

void draw_config(Draws& draw, RunConfig& config) {
  EngineConfig& engine = config.engine;
  engine.block_size = draw.from(1, 4);
  engine.num_blocks = 1 + draw.from(2, 8);
  engine.overlap = draw.below(3);
  engine.max_num_seqs = draw.from(1, 3);
  engine.max_num_batched_tokens = draw.one_in(2) ? engine.max_num_seqs + draw.below(4) : 32;
  engine.max_model_len = draw.from(6, 16);
  engine.slot_factor = draw.one_in(2) ? Rational{1, 1} : Rational{2, 1};
  engine.fence = draw.one_in(4) ? FenceMode::kUnorderedWriters : FenceMode::kAlways;
  if (draw.one_in(4)) engine.release_order = ReleaseOrder::kForward;
  if (draw.one_in(4)) engine.free_order = FreeOrder::kLifo;
  config.model.state_slots = draw.one_in(2);
  config.workload.stop = draw.one_in(4) ? StopMode::kKnown : StopMode::kHidden;
  config.workload.drafts = draw.one_in(2) ? draw.from(1, 3) : 0;
  if (draw.one_in(2)) config.fork.sole_owner = SoleOwner::kAdopt;
  // Without step fences every writer has to queue behind the steps: a copy lane of its own does not.
  const bool separate = draw.one_in(3);
  if (separate && engine.fence == FenceMode::kAlways) {
    config.fork.copy_lane = CopyLane::kSeparate;
  }
}

void draw_requests(Draws& draw, Scenario& scenario) {
  const std::uint32_t requests = draw.from(1, 4);
  const bool known = scenario.config.workload.stop == StopMode::kKnown;
  for (std::uint32_t n = 0; n < requests; ++n) {
    ScenarioRequest asked;
    asked.name = std::string(1, static_cast<char>('A' + n));
    TraceRequest& request = asked.request;
    request.prompt = draw.from(1, 6);
    request.output = draw.from(1, 5);
    if (draw.one_in(12)) request.output = 0;
    if (!known && request.output > 0) request.limit = request.output;
    asked.drafts = draw.below(scenario.config.workload.drafts + 1);
    if (draw.one_in(3)) request.priority = draw.below(2);
    if (n > 0 && draw.one_in(2)) {
      request.fork_of = draw.below(n);
      request.fork_at = draw.one_in(2) ? 0 : scenario.requests[request.fork_of].request.prompt;
    } else if (draw.one_in(6)) {
      request.samples = 2;
    }
    scenario.requests.push_back(asked);
  }
}

void draw_freedom(Draws& draw, Scenario& scenario) {
  ExploreOptions& explore = scenario.explore;
  if (draw.one_in(2)) explore.arrivals = Freedom::kAny;
  if (scenario.config.workload.stop == StopMode::kHidden && draw.one_in(2)) {
    explore.stops = Freedom::kAny;
  }
  if (scenario.config.workload.drafts > 0 && draw.one_in(2)) explore.rejections = Freedom::kAny;
  if (draw.one_in(2)) explore.abort_any = true;
  if (draw.one_in(4)) explore.faults.emplace_back(FaultKind::kStepFailed, 1 + draw.below(2));
}

/// One walk of at most `events`; the path to its finding, if any.
std::optional<std::vector<WorldEvent>> walk_at_random(const Stage& stage, Draws& draw,
                                                      std::uint32_t events, std::uint64_t& walked) {
  World world(stage);
  std::vector<WorldEvent> path;
  std::vector<WorldEvent> possible;
  for (std::uint32_t n = 0; n < events && !world.over(stage); ++n) {
    world.list_events(stage, possible);
    if (possible.empty()) return is_stalled(stage, world) ? std::optional(path) : std::nullopt;
    path.push_back(possible[draw.below(static_cast<std::uint32_t>(possible.size()))]);
    ++walked;
    if (world.apply(stage, path.back()) || world.audit(stage)) return path;
    world.settle();
  }
  return std::nullopt;
}

bool fits(const Scenario& scenario) {
  return scenario.config.engine.num_blocks >= 2 && !scenario.requests.empty();
}

bool same(const ExploreResult& a, const ExploreResult& b) {
  return a.verdict == b.verdict && a.check == b.check;
}

Scenario without_request(Scenario scenario, std::size_t gone) {
  scenario.requests.erase(scenario.requests.begin() + static_cast<std::ptrdiff_t>(gone));
  for (ScenarioRequest& asked : scenario.requests) {
    std::uint64_t& parent = asked.request.fork_of;
    if (parent == kNoRequest) continue;
    if (parent == gone) {
      parent = kNoRequest;
      asked.request.fork_at = 0;
    } else if (parent > gone) {
      --parent;
    }
  }
  return scenario;
}

/// Everything that is one step smaller.
std::vector<Scenario> smaller(const Scenario& scenario) {
  std::vector<Scenario> all;
  for (std::size_t n = 0; n < scenario.requests.size(); ++n) {
    all.push_back(without_request(scenario, n));
  }
  const auto change = [&](auto edit) {
    Scenario other = scenario;
    if (edit(other)) all.push_back(std::move(other));
  };
  for (std::size_t n = 0; n < scenario.requests.size(); ++n) {
    change([n](Scenario& s) { return s.requests[n].request.prompt-- > 1; });
    change([n](Scenario& s) {
      TraceRequest& request = s.requests[n].request;
      if (request.output <= 1) return false;
      --request.output;
      if (request.limit > 0) --request.limit;
      return true;
    });
    change([n](Scenario& s) { return std::exchange(s.requests[n].request.samples, 1) > 1; });
    change([n](Scenario& s) { return std::exchange(s.requests[n].request.priority, 0) > 0; });
    change([n](Scenario& s) { return std::exchange(s.requests[n].drafts, 0) > 0; });
  }
  change([](Scenario& s) { return s.config.engine.num_blocks-- > 2; });
  change([](Scenario& s) { return s.config.engine.overlap-- > 0; });
  change([](Scenario& s) { return std::exchange(s.explore.abort_any, false); });
  change([](Scenario& s) { return std::exchange(s.explore.faults, {}).size() > 0; });
  change([](Scenario& s) {
    return std::exchange(s.explore.arrivals, Freedom::kGiven) == Freedom::kAny;
  });
  return all;
}

}  // namespace

Scenario random_scenario(std::uint64_t seed, std::uint64_t n) {
  Draws draw(seed, n);
  Scenario scenario;
  scenario.path = fmt::format("random scenario {} of seed {}", n, seed);
  scenario.story = scenario.path;
  draw_config(draw, scenario.config);
  draw_requests(draw, scenario);
  draw_freedom(draw, scenario);
  return scenario;
}

Scenario shrink(const Scenario& scenario, const ExploreResult& result, const ExploreLimits& limits,
                bool watch) {
  Scenario best = scenario;
  bool again = true;
  while (again) {
    again = false;
    for (Scenario& candidate : smaller(best)) {
      if (!fits(candidate)) continue;
      if (!same(explore(stage_of(candidate, true, watch), limits), result)) continue;
      best = std::move(candidate);
      again = true;
      break;
    }
  }
  return best;
}

RandomSearch search_random(std::uint64_t seed, std::uint64_t count, const ExploreLimits& limits,
                           std::size_t findings_most, bool watch) {
  constexpr std::uint32_t kWalks = 20;
  constexpr std::uint32_t kWalkEvents = 500;
  RandomSearch search;
  for (std::uint64_t n = 0; n < count && search.findings.size() < findings_most; ++n) {
    const Scenario scenario = random_scenario(seed, n);
    const Stage stage = stage_of(scenario, true, watch);
    ExploreResult result = explore(stage, limits);
    search.states += result.states;
    search.transitions += result.transitions;
    if (result.verdict == ExploreVerdict::kBounded) {
      ++search.bounded;
      Draws draw(seed ^ 0x5851F42D4C957F2Du, n);
      for (std::uint32_t walk_number = 0; walk_number < kWalks; ++walk_number) {
        const auto path = walk_at_random(stage, draw, kWalkEvents, search.walked);
        if (!path) continue;
        const Walked walked = walk(stage, *path);
        result.verdict = walked.finding ? ExploreVerdict::kViolation : ExploreVerdict::kStall;
        result.check = walked.finding ? walked.finding->check : "I9";
        result.text = walked.finding ? walked.finding->text : "nothing can run, and somebody waits";
        result.path = *path;
        break;
      }
    } else if (result.verdict == ExploreVerdict::kProved) {
      ++search.explored;
    }
    if (result.verdict == ExploreVerdict::kProved || result.verdict == ExploreVerdict::kBounded) {
      continue;
    }
    RandomFinding finding{n, shrink(scenario, result, limits, watch), {}};
    ExploreResult shortest = explore(stage_of(finding.scenario, true, watch), limits);
    finding.result = same(shortest, result) ? std::move(shortest) : std::move(result);
    search.findings.push_back(std::move(finding));
  }
  return search;
}

}  // namespace pinfold::sim
