// The worlds of the mutant suite. Each hand-made one exists for a bug that the drawn ones cannot tell
// from another; its comment says which.

#include <algorithm>
#include <map>

#include "sim/check/suite_world.h"

namespace pinfold::sim {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014) as a stream.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  std::uint32_t below(std::uint32_t bound) {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return static_cast<std::uint32_t>((mixed ^ (mixed >> 31)) % bound);
  }
  bool chance(std::uint32_t percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

SchedulerOptions engine(std::uint32_t block_size, std::uint32_t block_ids, std::uint32_t overlap) {
  SchedulerOptions options;
  options.block_size = TokenCount(block_size);
  options.block_ids = block_ids;
  options.overlap = overlap;
  options.max_sequences = 8;
  options.token_budget = TokenCount(64);
  options.max_model_len = TokenCount(1u << 20);
  return options;
}

SuiteRequest request(std::uint32_t prompt, std::uint32_t output, std::uint32_t drafts = 0) {
  return {prompt, output, output + 5, StopMode::kHidden, drafts, 0};
}

SuiteRequest known(std::uint32_t prompt, std::uint32_t output, std::uint32_t drafts = 0) {
  return {prompt, output, output, StopMode::kKnown, drafts, 0};
}

SuiteAction add(std::uint32_t turn, std::uint32_t id, const SuiteRequest& what) {
  return {turn, SuiteAct::kAdd, id, 0, what};
}

SuiteAction fork(std::uint32_t turn, std::uint32_t parent, std::uint32_t id,
                 const SuiteRequest& what) {
  return {turn, SuiteAct::kFork, id, parent, what};
}

SuiteAction abort_of(std::uint32_t turn, std::uint32_t id) {
  return {turn, SuiteAct::kAbort, id, 0, {}};
}

/// One plan and one result a turn.
SuiteWorld in_step(std::string name, const SchedulerOptions& options) {
  SuiteWorld world;
  world.name = std::move(name);
  world.options = options;
  world.plan_percent = 100;
  world.complete_percent = 100;
  return world;
}

/// As far ahead as the overlap allows: a result comes only when no further step may be planned.
SuiteWorld pipelined(std::string name, const SchedulerOptions& options) {
  SuiteWorld world = in_step(std::move(name), options);
  world.complete_percent = 0;
  return world;
}

// Plenty of blocks, slots and drafts: what leaks or is kept here makes nobody wait.
SuiteWorld roomy() {
  SchedulerOptions options = engine(4, 200, 1);
  options.state = Switch::kOn;
  options.state_ids = 24;
  options.draft_ids = 24;
  SuiteWorld world = pipelined("roomy", options);
  for (std::uint32_t n = 0; n < 12; ++n) {
    const SuiteRequest asked =
        n % 2 == 0 ? request(5 + n % 4, 12 + n, 3) : known(5 + n % 4, 12 + n, 3);
    world.actions.push_back(add(3 * n, n, asked));
    if (n % 3 == 2) world.actions.push_back(abort_of(3 * n + 2, n));
  }
  return world;
}

// A parent that outlives its fork's copy: only the pin on the source is missing.
SuiteWorld fork_of_a_long_parent() {
  SuiteWorld world = in_step("fork of a long parent", engine(4, 40, 1));
  world.late_copies_percent = 100;
  world.actions = {add(0, 0, request(6, 40)), fork(4, 0, 1, request(6, 10)),
                   fork(9, 0, 2, request(6, 10))};
  return world;
}

// Drafts reserve blocks beyond the tail, which a fork's pins then hold too.
SuiteWorld fork_of_a_drafting_parent() {
  SchedulerOptions options = engine(2, 40, 1);
  options.draft_ids = 9;
  SuiteWorld world = in_step("fork of a drafting parent", options);
  world.actions = {add(0, 0, request(6, 40, 5)), fork(4, 0, 1, request(6, 10)),
                   fork(9, 0, 2, request(6, 10))};
  return world;
}

// The fork waits for a block until its parent has planned its last row.
SuiteWorld fork_of_a_leaving_parent(std::uint32_t output) {
  SuiteWorld world = in_step("fork of a leaving parent " + std::to_string(output), engine(8, 4, 1));
  world.actions = {add(0, 0, known(9, 4)), add(0, 1, known(3, output)), fork(3, 0, 2, known(9, 3))};
  return world;
}

// No fences, and every draft is rejected: a shrink below the rows in flight loses nothing.
SuiteWorld rejected_drafts_without_fences() {
  SchedulerOptions options = engine(2, 60, 2);
  options.fence = FenceMode::kUnorderedWriters;
  options.draft_ids = 9;
  SuiteWorld world = pipelined("rejected drafts without fences", options);
  world.accept_percent = 0;
  world.actions = {add(0, 0, request(5, 20, 5)), add(2, 1, request(3, 20, 4))};
  return world;
}

// The parent is aborted before it would use the slot that its fork should not have kept.
SuiteWorld fork_and_abort_of_the_parent() {
  SchedulerOptions options = engine(4, 40, 0);
  options.state = Switch::kOn;
  options.state_ids = 6;
  options.sole_owner = SoleOwner::kAdopt;
  SuiteWorld world = in_step("fork and abort of the parent", options);
  world.actions = {add(0, 0, request(6, 30)), fork(4, 0, 1, request(6, 10)), abort_of(5, 0)};
  return world;
}

// Without fences only the copies hold anything: the child is aborted while its tail is copied.
SuiteWorld abort_under_the_copy() {
  SchedulerOptions options = engine(4, 8, 1);
  options.fence = FenceMode::kUnorderedWriters;
  SuiteWorld world = pipelined("abort under the copy", options);
  world.late_copies_percent = 100;
  world.actions = {add(0, 0, request(6, 30)), fork(4, 0, 1, request(6, 10)), abort_of(5, 1),
                   add(5, 2, request(7, 4)),  fork(9, 0, 3, request(6, 10)), abort_of(10, 3),
                   add(10, 4, request(10, 4))};
  return world;
}

// The parent ends while the copy out of its tail is queued, and others wait for blocks.
SuiteWorld fork_of_an_ending_parent() {
  SuiteWorld world = pipelined("fork of an ending parent", engine(4, 7, 1));
  world.late_copies_percent = 100;
  for (std::uint32_t n = 0; n < 6; ++n) {
    const std::uint32_t turn = 14 * n;
    world.actions.push_back(add(turn, 3 * n, request(6, 3 + n % 3)));
    world.actions.push_back(fork(turn + 3, 3 * n, 3 * n + 1, request(6, 8)));
    world.actions.push_back(add(turn + 3, 3 * n + 2, request(9, 2)));
  }
  return world;
}

// Drafts take the whole token budget, so the prompt misses steps.
SuiteWorld prompt_behind_drafts() {
  SchedulerOptions options = engine(4, 60, 0);
  options.draft_ids = 9;
  options.token_budget = TokenCount(12);
  SuiteWorld world = in_step("prompt behind drafts", options);
  world.actions = {add(0, 0, request(4, 20, 5)), add(0, 1, request(4, 40, 5)),
                   add(0, 2, request(30, 3))};
  return world;
}

// Lengths of the first 40 requests of the Azure conversation trace (traces/azure), prompt and output.
constexpr std::uint32_t kTrace[][2] = {
    {374, 44},   {396, 109}, {879, 55},  {91, 16},    {91, 16},   {381, 84},   {1313, 142},
    {388, 84},   {242, 14},  {209, 152}, {394, 124},  {394, 59},  {1315, 174}, {2221, 15},
    {389, 90},   {415, 106}, {120, 12},  {369, 74},   {206, 162}, {1353, 142}, {197, 152},
    {181, 154},  {388, 54},  {4085, 62}, {2584, 170}, {203, 147}, {126, 194},  {389, 87},
    {2548, 116}, {91, 16},   {4081, 74}, {181, 123},  {191, 217}, {27, 183},   {203, 217},
    {398, 81},   {126, 172}, {209, 181}, {209, 181},  {28, 175}};

SuiteWorld trace_slice(std::uint32_t block_ids, std::uint32_t drafts, Switch fast_path) {
  SchedulerOptions options = engine(16, block_ids, 1);
  options.draft_ids = 9;
  options.token_budget = TokenCount(512);
  options.fast_path = fast_path;
  SuiteWorld world = in_step("slice of the Azure conversation trace, " + std::to_string(block_ids) +
                                 " blocks, " + std::to_string(drafts) + " drafts" +
                                 (fast_path == Switch::kOn ? "" : ", slow path"),
                             options);
  std::uint32_t id = 0;
  for (const auto& [prompt, output] : kTrace) {
    world.actions.push_back(add(id * 5, id, request(prompt, output, drafts)));
    ++id;
  }
  return world;
}

SchedulerOptions drawn_engine(Draws& draws) {
  SchedulerOptions options;
  options.block_size = TokenCount(1 + draws.below(8));
  options.block_ids = 2 + draws.below(12);
  options.max_sequences = 1 + draws.below(5);
  options.token_budget = TokenCount(options.max_sequences + draws.below(12));
  options.overlap = draws.below(3);
  options.state = draws.chance(40) ? Switch::kOn : Switch::kOff;
  options.state_ids = options.state == Switch::kOn ? 2 + draws.below(4) : 1;
  options.draft_ids = 1 + draws.below(5);
  options.max_model_len = TokenCount(1000);
  options.release_order = draws.chance(80) ? ReleaseOrder::kReverse : ReleaseOrder::kForward;
  options.free_order = draws.chance(80) ? FreeOrder::kFifo : FreeOrder::kLifo;
  options.fast_path = draws.chance(70) ? Switch::kOn : Switch::kOff;
  return options;
}

// A small engine and whatever may happen to it.
SuiteWorld drawn(std::uint64_t seed) {
  Draws draws(seed);
  SuiteWorld world;
  world.name = "drawn " + std::to_string(seed);
  world.seed = seed;
  world.options = drawn_engine(draws);
  const bool hidden = draws.chance(60);
  const std::uint32_t drafts = draws.chance(60) ? draws.below(6) : 0;
  const std::uint32_t room = (world.options.block_ids - 1) * world.options.block_size.value;
  const std::uint32_t requests = 2 + draws.below(8);
  std::uint32_t turn = 0;
  for (std::uint32_t n = 0; n < requests; ++n) {
    turn += draws.below(6);
    SuiteRequest wish;
    wish.prompt = 1 + draws.below(std::max(1u, room * 2 / 3));
    wish.output = draws.below(std::max(2u, room));
    if (draws.chance(20) && room > wish.prompt) wish.output = room - wish.prompt + 1;  // exact fit
    wish.stop = hidden ? StopMode::kHidden : StopMode::kKnown;
    wish.limit = hidden ? wish.output + draws.below(30) : wish.output;
    wish.drafts = drafts;
    world.actions.push_back(add(turn, n, wish));
  }
  const std::uint32_t events = draws.below(7);
  for (std::uint32_t n = 0; n < events; ++n) {
    const SuiteAction on = world.actions[draws.below(requests)];
    const std::uint32_t at = on.turn + 1 + draws.below(12);
    SuiteRequest wish = on.request;
    wish.prompt = 1 + draws.below(std::max(1u, wish.prompt + (draws.chance(50) ? 6 : 0)));
    if (draws.chance(60)) {
      world.actions.push_back(fork(at, on.id, 0, wish));
    } else if (draws.chance(15)) {
      world.actions.push_back({at, SuiteAct::kFail, 0, 0, {}});
    } else {
      world.actions.push_back(abort_of(at, on.id));
    }
  }
  std::stable_sort(world.actions.begin(), world.actions.end(),
                   [](const SuiteAction& a, const SuiteAction& b) { return a.turn < b.turn; });
  // Ids increase with arrival: renumber what arrives, and what refers to it.
  std::map<std::uint32_t, std::uint32_t> renamed;
  std::uint32_t next = 0;
  for (SuiteAction& action : world.actions) {
    if (action.act == SuiteAct::kAdd) {
      renamed[action.id] = next;
      action.id = next++;
    } else if (action.act == SuiteAct::kFork) {
      action.parent = renamed.at(action.parent);
      action.id = next++;
    } else if (action.act == SuiteAct::kAbort) {
      action.id = renamed.at(action.id);
    }
  }
  return world;
}

// The same with reuse of prefixes. A key says what its own block holds; texts part at a point of their own
// and meet again behind it, so that equal keys stand behind different ones.
SuiteWorld drawn_reuse(std::uint64_t seed) {
  SuiteWorld world = drawn(seed);
  world.name = "drawn " + std::to_string(seed) + ", prefixes reused";
  Draws draws(seed + 0x5EED);
  SchedulerOptions& options = world.options;
  options.state = Switch::kOff;
  options.state_ids = 1;
  options.reuse = Switch::kOn;
  options.eviction = draws.chance(50) ? Eviction::kLru : Eviction::kFifo;
  options.sole_owner = draws.chance(50) ? SoleOwner::kCopy : SoleOwner::kAdopt;
  options.block_size = TokenCount(std::max(2u, options.block_size.value));
  const std::uint32_t block_size = options.block_size.value;
  const std::uint32_t part_at = draws.below(8);
  const auto key_of = [&](std::uint32_t text, std::uint32_t begin, std::uint32_t end) {
    std::uint64_t key = 0;
    for (std::uint32_t n = begin; n < end; ++n) {
      const bool own = text > 0 && n >= part_at && n < part_at + 3;
      key = key * 1'000'003 + 1 + n + (own ? 1'000 * text : 0);
    }
    return key;
  };
  std::map<std::uint32_t, std::uint32_t> text_of;
  for (SuiteAction& action : world.actions) {
    if (action.act != SuiteAct::kAdd && action.act != SuiteAct::kFork) continue;
    const bool forks = action.act == SuiteAct::kFork;
    const std::uint32_t text = forks ? text_of.at(action.parent) : draws.below(3);
    text_of[action.id] = text;
    SuiteRequest& wish = action.request;
    const std::uint32_t end = wish.prompt + (draws.chance(30) ? draws.below(12) : 0);
    for (std::uint32_t n = 0; (n + 1) * block_size <= end; ++n) {
      wish.keys.push_back(key_of(text, n * block_size, (n + 1) * block_size));
    }
    if (wish.prompt % block_size == 0 || draws.chance(40)) continue;
    wish.tail_end = wish.prompt;
    wish.tail = key_of(text, wish.prompt / block_size * block_size, wish.prompt);
  }
  return world;
}

SuiteRequest text(SuiteRequest what, std::uint64_t name, std::uint32_t blocks) {
  for (std::uint32_t n = 0; n < blocks; ++n) what.keys.push_back(name * 100 + n);
  return what;
}

SchedulerOptions with_store(SchedulerOptions options, std::uint32_t places) {
  options.reuse = Switch::kOn;
  options.host_block_ids = places + 1;
  options.store_interval = TokenCount(2 * options.block_size.value);
  return options;
}

// Two texts lie on the host, and two requests want both; neither fits beside the other.
SuiteWorld two_loads() {
  SuiteWorld world = in_step("two loads", with_store(engine(4, 9, 0), 40));
  world.transfer_percent = 100;
  for (std::uint32_t n = 0; n < 2; ++n) {
    world.actions.push_back(add(0, n, text(known(17, 1), n + 1, 4)));
  }
  world.actions.push_back(add(6, 2, known(32, 1)));  // takes every block: both are forgotten
  for (std::uint32_t n = 0; n < 2; ++n) {
    world.actions.push_back(add(10, 3 + n, text(known(24, 2), n + 1, 6)));
  }
  return world;
}

// Chunks and rows of a model with state; its states are saved and come back.
SuiteWorld states_on_the_host(std::uint32_t overlap) {
  SchedulerOptions options = with_store(engine(4, 40, overlap), 40);
  options.state = Switch::kOn;
  options.state_ids = 5;
  options.host_state_ids = 9;
  options.recovered_rows = TokenCount(3);
  options.token_budget = TokenCount(24);
  SuiteWorld world = in_step("states on the host, overlap " + std::to_string(overlap), options);
  for (std::uint32_t n = 0; n < 8; ++n) {
    world.actions.push_back(add(7 * n, n, text(known(9 + 5 * (n % 4), 3 + n % 5), 1 + n % 2, 8)));
  }
  world.actions.push_back({30, SuiteAct::kFail, 0, 0, {}});
  return world;
}

// The step that stages a state fails while the save is under way.
SuiteWorld failed_staging() {
  SuiteWorld world = states_on_the_host(0);
  world.name = "failed staging";
  world.transfer_percent = 5;
  world.actions.clear();
  for (std::uint32_t n = 0; n < 6; ++n) {
    world.actions.push_back(add(12 * n, n, text(known(17 + n, 2), 1, 8)));
    if (n % 2 == 0) world.actions.push_back({12 * n + 1, SuiteAct::kFail, 0, 0, {}});
  }
  return world;
}

// The same with an external store, and with state in every other world.
SuiteWorld drawn_store(std::uint64_t seed) {
  SuiteWorld world = drawn_reuse(seed);
  world.name = "drawn " + std::to_string(seed) + ", external store";
  Draws draws(seed + 0x570E);
  world.options = with_store(world.options, 1 + draws.below(30));
  if (draws.chance(50)) world.options.store_interval = world.options.block_size;
  if (draws.chance(50)) {
    world.options.state = Switch::kOn;
    world.options.state_ids = 2 + draws.below(4);
    world.options.host_state_ids = 2 + draws.below(6);
    world.options.recovered_rows = TokenCount(draws.below(4));
  }
  world.transfer_percent = 10 + draws.below(80);
  world.lost_percent = draws.chance(30) ? 20 : 0;
  return world;
}

}  // namespace

std::vector<SuiteWorld> suite_worlds() {
  std::vector<SuiteWorld> worlds{roomy(),
                                 fork_of_a_long_parent(),
                                 fork_of_a_drafting_parent(),
                                 rejected_drafts_without_fences(),
                                 fork_and_abort_of_the_parent(),
                                 abort_under_the_copy(),
                                 fork_of_an_ending_parent(),
                                 prompt_behind_drafts(),
                                 trace_slice(140, 0, Switch::kOn),
                                 trace_slice(160, 0, Switch::kOff),
                                 trace_slice(160, 3, Switch::kOn)};
  for (std::uint32_t output = 3; output < 8; ++output) {
    worlds.push_back(fork_of_a_leaving_parent(output));
  }
  for (std::uint64_t seed = 1; seed <= 60; ++seed) worlds.push_back(drawn(seed));
  for (std::uint64_t seed = 1; seed <= 60; ++seed) worlds.push_back(drawn_reuse(seed));
  worlds.push_back(two_loads());
  for (const std::uint32_t overlap : {0u, 1u, 2u}) worlds.push_back(states_on_the_host(overlap));
  worlds.push_back(failed_staging());
  for (std::uint64_t seed = 1; seed <= 100; ++seed) worlds.push_back(drawn_store(seed));
  return worlds;
}

}  // namespace pinfold::sim
