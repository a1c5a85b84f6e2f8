// Does the pool agree with its twin? Both are driven by the same operations, right and wrong ones, and
// compared after each: what came back, which rule broke, the free list, and every count.
#include "tests/model/pool_twin.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pool/pool.h"
#include "tests/model/random_draws.h"

namespace pinfold::model {
namespace {

/// The pool under the twin's interface: a violation becomes the rule it names.
class RealPool {
 public:
  explicit RealPool(const TwinOptions& options)
      : pool_({.ids = options.ids,
               .release_order = options.walk == TwinWalk::kLastToFirst ? ReleaseOrder::kReverse
                                                                       : ReleaseOrder::kForward,
               .free_order = options.issue == TwinIssue::kLongestFree ? FreeOrder::kFifo
                                                                      : FreeOrder::kLifo}) {}

  Broken take(std::span<BlockId> out) {
    return rule_of([&] { pool_.take(out); });
  }
  Broken pin(std::span<const BlockId> ids) {
    return rule_of([&] { pool_.pin(ids); });
  }
  Broken release(std::span<const BlockId> table) {
    return rule_of([&] { pool_.release(table); });
  }
  Broken park(std::span<const BlockId> ids) {
    return rule_of([&] { pool_.park(ids); });
  }
  Broken unpark(std::span<const BlockId> ids) {
    return rule_of([&] { pool_.unpark(ids); });
  }

  std::uint32_t owners(BlockId id) const { return pool_.owners(id); }
  std::uint32_t holds(BlockId id) const { return pool_.holds(id); }
  std::uint64_t acquired() const { return pool_.acquired(); }
  std::uint64_t freed() const { return pool_.freed(); }
  std::uint64_t peak_owned() const { return pool_.peak_owned().value; }
  std::uint32_t available() const { return pool_.available().value; }
  std::uint32_t owned() const { return pool_.owned().value; }
  std::uint32_t parked() const { return pool_.parked().value; }
  std::vector<BlockId> free_list() const { return pool_.free_list(); }
  void audit() const { pool_.audit(); }

 private:
  template <class Action>
  static Broken rule_of(Action action) {
    try {
      action();
    } catch (const InvariantViolation& violation) {
      return violation.rule();
    }
    return {};
  }

  Pool pool_;
};

// --- Operations ----------------------------------------------------------------------------------

enum class Act : std::uint8_t { kTake, kPin, kRelease, kPark, kUnpark };
constexpr std::uint32_t kActs = 5;

struct Operation {
  Act act = Act::kTake;
  std::vector<BlockId> ids{};  // as many as are taken, or the ids concerned
};

constexpr std::uint32_t index_of(Act act) { return static_cast<std::uint32_t>(act); }

std::string text(const Operation& operation) {
  constexpr std::array<const char*, kActs> names = {"take", "pin", "release", "park", "unpark"};
  std::string result = names[index_of(operation.act)];
  if (operation.act == Act::kTake) return result + " " + std::to_string(operation.ids.size());
  for (const BlockId id : operation.ids) result += " " + std::to_string(pinfold::index_of(id));
  return result;
}

/// What a caller gets back: the broken rule, and for take() the ids. A refused take leaves zeros.
struct Outcome {
  Broken broken;
  std::vector<BlockId> taken;
};

template <class Subject>
Outcome apply(Subject& subject, const Operation& operation) {
  switch (operation.act) {
    case Act::kTake: {
      Outcome outcome{{}, std::vector<BlockId>(operation.ids.size())};
      outcome.broken = subject.take(outcome.taken);
      return outcome;
    }
    case Act::kPin: return {subject.pin(operation.ids), {}};
    case Act::kRelease: return {subject.release(operation.ids), {}};
    case Act::kPark: return {subject.park(operation.ids), {}};
    case Act::kUnpark: return {subject.unpark(operation.ids), {}};
  }
  return {"no such act", {}};
}

/// What the two show differently, or nothing.
template <class Subject>
std::string difference(const Subject& subject, const PoolTwin& twin) {
  if (subject.free_list() != twin.free_list()) return "free list";
  if (subject.available() != twin.available()) return "available";
  if (subject.owned() != twin.owned()) return "owned";
  if (subject.parked() != twin.parked()) return "parked";
  if (subject.acquired() != twin.acquired()) return "acquired";
  if (subject.freed() != twin.freed()) return "freed";
  if (subject.peak_owned() != twin.peak_owned()) return "peak owned";
  for (std::uint32_t n = 1; n < twin.ids(); ++n) {
    const BlockId id{n};
    if (subject.owners(id) != twin.owners(id)) return "owners of " + std::to_string(n);
    if (subject.holds(id) != twin.holds(id)) return "holds of " + std::to_string(n);
  }
  try {
    subject.audit();
  } catch (const InvariantViolation& violation) {
    return violation.what();
  }
  return {};
}

/// Applies `operation` to both and says what then differs, or nothing. `broken` tells whether (both)
/// refused it.
template <class Subject>
std::string differs_after(const Operation& operation, Subject& subject, PoolTwin& twin,
                          bool& broken) {
  const Outcome of_subject = apply(subject, operation);
  const Outcome of_twin = apply(twin, operation);
  broken = !of_twin.broken.empty();
  if (of_subject.broken != of_twin.broken) {
    return "rule '" + of_subject.broken + "', expected '" + of_twin.broken + "'";
  }
  if (of_subject.taken != of_twin.taken) return "ids taken";
  return difference(subject, twin);
}

// --- Random operations ---------------------------------------------------------------------------

/// One pool and how it is treated: drawn anew every few hundred operations, so that some worlds are
/// crowded, some mostly parked, some full of mistakes.
struct World {
  TwinOptions options;
  std::array<std::uint32_t, kActs> weight{};
  std::uint32_t mistake_percent = 0;
  std::uint32_t operations = 0;
};

World draw_world(RandomDraws& draws) {
  World world;
  world.options.ids = draws.chance(5) ? 40 + draws.below(60) : 1 + draws.below(13);
  world.options.walk = draws.chance(50) ? TwinWalk::kLastToFirst : TwinWalk::kFirstToLast;
  world.options.issue = draws.chance(50) ? TwinIssue::kLongestFree : TwinIssue::kLatestFreed;
  for (std::uint32_t& weight : world.weight) weight = 1 + draws.below(8);
  constexpr std::array<std::uint32_t, 4> kMistakes = {0, 1, 5, 30};
  world.mistake_percent = kMistakes[draws.below(4)];
  world.operations = 100 + draws.below(400);
  return world;
}

/// How often `act` may still name `id` without breaking a rule.
std::uint32_t allowed(const PoolTwin& twin, Act act, BlockId id) {
  switch (act) {
    case Act::kTake: return 0;
    case Act::kPin: return twin.owners(id) > 0 ? 2 : 0;  // any number; twice in a list is enough
    case Act::kRelease: return twin.owners(id) - twin.holds(id);
    case Act::kPark: return twin.owners(id) - twin.holds(id);
    case Act::kUnpark: return twin.holds(id);
  }
  return 0;
}

/// Mostly a list that is right; with the world's share of mistakes an id that is 0, free, out of
/// range, or named once too often.
std::vector<BlockId> draw_ids(const World& world, const PoolTwin& twin, Act act,
                              RandomDraws& draws) {
  std::vector<BlockId> right;
  for (std::uint32_t n = 1; n < twin.ids(); ++n) {
    right.insert(right.end(), allowed(twin, act, BlockId{n}), BlockId{n});
  }
  draws.shuffle(right);
  if (const std::uint32_t length = draws.below(7); right.size() > length) right.resize(length);
  for (BlockId& id : right) {
    if (draws.chance(world.mistake_percent)) id = BlockId{draws.below(twin.ids() + 2)};
  }
  if (draws.chance(world.mistake_percent)) right.push_back(BlockId{draws.below(twin.ids() + 2)});
  return right;
}

Operation draw_operation(const World& world, const PoolTwin& twin, RandomDraws& draws) {
  std::uint32_t total = 0;
  for (const std::uint32_t weight : world.weight) total += weight;
  std::uint32_t drawn = draws.below(total);
  std::uint32_t act = 0;
  while (drawn >= world.weight[act]) drawn -= world.weight[act++];

  const Act chosen{static_cast<std::uint8_t>(act)};
  if (chosen != Act::kTake) return {chosen, draw_ids(world, twin, chosen, draws)};
  const bool too_many = draws.chance(world.mistake_percent);
  const std::uint32_t count = too_many ? twin.available() + 1 + draws.below(3)
                                       : draws.below(std::min(twin.available(), 5U) + 1);
  return {Act::kTake, std::vector<BlockId>(count)};
}

/// Lets everything go, then everything must be available.
std::vector<Operation> drain_of(const PoolTwin& twin) {
  Operation release{Act::kRelease};
  Operation unpark{Act::kUnpark};
  for (std::uint32_t n = 1; n < twin.ids(); ++n) {
    const BlockId id{n};
    release.ids.insert(release.ids.end(), twin.owners(id) - twin.holds(id), id);
    unpark.ids.insert(unpark.ids.end(), twin.holds(id), id);
  }
  return {release, unpark};
}

struct Found {
  std::uint64_t operation = 0;  // counted from 1
  std::string what;
};

/// What the driver tried: an operation that nobody tried proves nothing.
struct Tally {
  std::uint64_t worlds = 0;
  std::array<std::uint64_t, kActs> kept{};
  std::array<std::uint64_t, kActs> broken{};
  std::uint64_t with_parked = 0;  // operations after which an id was parked
  std::uint64_t full = 0;         // operations after which nothing was available
};

/// Drives a `Subject` and the twin until they differ, or `operations` are done.
template <class Subject>
std::optional<Found> first_difference(std::uint64_t seed, std::uint64_t operations, Tally& tally) {
  RandomDraws draws(seed);
  std::uint64_t done = 0;
  while (done < operations) {
    const World world = draw_world(draws);
    Subject subject(world.options);
    PoolTwin twin(world.options);
    ++tally.worlds;
    const auto step = [&](const Operation& operation) -> std::optional<Found> {
      bool broken = false;
      const std::string what = differs_after(operation, subject, twin, broken);
      ++done;
      if (!what.empty()) return Found{done, text(operation) + ": " + what};
      ++(broken ? tally.broken : tally.kept)[index_of(operation.act)];
      if (twin.parked() > 0) ++tally.with_parked;
      if (twin.available() == 0) ++tally.full;
      return std::nullopt;
    };
    for (std::uint32_t n = 0; n < world.operations; ++n) {
      if (const auto found = step(draw_operation(world, twin, draws))) return found;
    }
    for (const Operation& operation : drain_of(twin)) {
      if (const auto found = step(operation)) return found;
    }
    if (twin.available() != twin.ids() - 1) return Found{done, "not everything came back"};
  }
  return std::nullopt;
}

TEST_CASE("pool twin (O2, O9): equal after each of 1,000,000 random operations") {
  Tally tally;
  const std::optional<Found> found = first_difference<RealPool>(1, 1'000'000, tally);
  INFO((found ? "operation " + std::to_string(found->operation) + ", " + found->what : "none"));
  CHECK_FALSE(found.has_value());
  CHECK(tally.worlds > 2000);
  for (std::uint32_t act = 0; act < kActs; ++act) {
    CAPTURE(act);
    CHECK(tally.kept[act] > 50'000);
    CHECK(tally.broken[act] > 1'000);
  }
  CHECK(tally.with_parked > 100'000);
  CHECK(tally.full > 100'000);
}

// --- Planted bugs --------------------------------------------------------------------------------

/// Walks a table the other way round.
class WrongReleaseOrder : public PoolTwin {
 public:
  explicit WrongReleaseOrder(TwinOptions options) : PoolTwin(turned(options)) {}

 private:
  static TwinOptions turned(TwinOptions options) {
    options.walk =
        options.walk == TwinWalk::kLastToFirst ? TwinWalk::kFirstToLast : TwinWalk::kLastToFirst;
    return options;
  }
};

/// Counts the whole list down first and links what came to zero afterwards (case B13): an id named
/// twice is linked twice, and a fault in between leaves ids that are counted free but on no list.
class CountsBeforeLinking : public PoolTwin {
 public:
  using PoolTwin::PoolTwin;
  Broken release(std::span<const BlockId> table) {
    std::vector<BlockId> walked(table.begin(), table.end());
    if (options_.walk == TwinWalk::kLastToFirst) walked.assign(table.rbegin(), table.rend());
    for (const BlockId id : walked) {
      if (!is_issuable(id) || at(id).tables == 0) return "O2";
      --at(id).tables;
    }
    for (const BlockId id : walked) {
      if (owners(id) == 0) link(pinfold::index_of(id));
    }
    return {};
  }
};

/// A refused take keeps what it got so far (case B8).
class PartialTake : public PoolTwin {
 public:
  using PoolTwin::PoolTwin;
  Broken take(std::span<BlockId> out) {
    for (BlockId& id : out) {
      if (first_ == 0) return "O3";
      id = BlockId{unlink_first()};
    }
    return {};
  }
};

/// A count below zero becomes zero, and all goes on (case B16).
class ClampsAtZero : public PoolTwin {
 public:
  using PoolTwin::PoolTwin;
  Broken release(std::span<const BlockId> table) {
    std::vector<BlockId> live;
    for (const BlockId id : table) {
      if (!is_issuable(id) || at(id).tables > 0) live.push_back(id);
    }
    return PoolTwin::release(live);
  }
};

/// Pins an id that is on the free list, and leaves it there (case B15).
class PinsFreeIds : public PoolTwin {
 public:
  using PoolTwin::PoolTwin;
  Broken pin(std::span<const BlockId> ids) {
    for (const BlockId id : ids) {
      if (!is_issuable(id)) return "O2";
    }
    for (const BlockId id : ids) ++at(id).tables;
    return {};
  }
};

/// Lets a table's release drop what only a fence still holds.
class ReleasesHolds : public PoolTwin {
 public:
  using PoolTwin::PoolTwin;
  Broken release(std::span<const BlockId> table) {
    for (const BlockId id : table) {
      if (is_issuable(id) && at(id).tables == 0 && at(id).fences > 0) {
        --at(id).fences;
        ++at(id).tables;
      }
    }
    return PoolTwin::release(table);
  }
};

/// Walks a release list once more in reverse, although it is in the order of its drops.
class UnparksInReverse : public PoolTwin {
 public:
  using PoolTwin::PoolTwin;
  Broken unpark(std::span<const BlockId> ids) {
    const std::vector<BlockId> turned(ids.rbegin(), ids.rend());
    return PoolTwin::unpark(turned);
  }
};

/// The bug must be found within 10,000 operations, for each of 20 seeds.
template <class Mutant>
void check_found(const std::string& name) {
  std::uint64_t latest = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Tally tally;
    const std::optional<Found> found = first_difference<Mutant>(seed, 10'000, tally);
    REQUIRE(found.has_value());
    if (seed == 1) {
      MESSAGE(name << ": found at operation " << found->operation << " (" << found->what << ")");
    }
    latest = std::max(latest, found->operation);
  }
  MESSAGE(name << ": at operation " << latest << " with the slowest of 20 seeds");
}

TEST_CASE("pool twin: finds a pool that releases in the wrong order") {
  check_found<WrongReleaseOrder>("wrong release order");
}
TEST_CASE("pool twin: finds a pool that counts before it links") {
  check_found<CountsBeforeLinking>("counting before linking");
}
TEST_CASE("pool twin: finds a pool whose refused take keeps a part") {
  check_found<PartialTake>("partial take");
}
TEST_CASE("pool twin: finds a pool that clamps counts at zero") {
  check_found<ClampsAtZero>("clamp at zero");
}
TEST_CASE("pool twin: finds a pool that pins free ids") {
  check_found<PinsFreeIds>("pin of a free id");
}
TEST_CASE("pool twin: finds a pool whose tables release what a fence holds") {
  check_found<ReleasesHolds>("release of a hold");
}
TEST_CASE("pool twin: finds a pool that unparks in reverse") {
  check_found<UnparksInReverse>("unpark in reverse");
}

// --- Everything small ----------------------------------------------------------------------------

std::vector<Operation> words_on(const std::vector<std::vector<BlockId>>& lists) {
  std::vector<Operation> words;
  for (const Act act : {Act::kPin, Act::kRelease, Act::kPark, Act::kUnpark}) {
    for (const std::vector<BlockId>& ids : lists) words.push_back({act, ids});
  }
  return words;
}

/// Take one, take two, take one more than there are; pin, release, park or unpark one id.
std::vector<Operation> single_words(std::uint32_t usable) {
  std::vector<std::vector<BlockId>> lists;
  for (std::uint32_t n = 1; n <= usable; ++n) lists.push_back({BlockId{n}});
  std::vector<Operation> words = words_on(lists);
  for (const std::uint32_t count : {1U, 2U, usable + 1}) {
    words.push_back({Act::kTake, std::vector<BlockId>(count)});
  }
  return words;
}

/// The same, any other number to take, and every pair of ids: in both orders, one id twice, and with
/// id 0 or an id out of range behind or before a right one. A longer list adds nothing: an operation
/// on a list is its single-id operations in a row but for the direction of the walk, an id named again,
/// and a fault that must undo (take, pin) or keep (release, park, unpark) what came before it; two
/// places are enough for each of these.
std::vector<Operation> pair_words(std::uint32_t usable) {
  std::vector<std::vector<BlockId>> lists;
  for (std::uint32_t first = 0; first <= usable + 1; ++first) {
    for (std::uint32_t second = 0; second <= usable + 1; ++second) {
      const bool right = first >= 1 && first <= usable;
      if (right || (second >= 1 && second <= usable)) {
        lists.push_back({BlockId{first}, BlockId{second}});
      }
    }
  }
  std::vector<Operation> words = words_on(lists);
  for (std::uint32_t count = 3; count <= usable; ++count) {
    words.push_back({Act::kTake, std::vector<BlockId>(count)});
  }
  for (const Operation& word : single_words(usable)) words.push_back(word);
  return words;
}

struct Enumeration {
  std::uint64_t visited = 0;
  std::string difference{};
};

/// Tries every word after the sequence that led to `subject` and `twin`, up to `left` words.
void enumerate(const RealPool& subject, const PoolTwin& twin, const std::vector<Operation>& words,
               int left, const std::string& said, Enumeration& result) {
  for (const Operation& word : words) {
    if (!result.difference.empty()) return;
    RealPool next_subject = subject;
    PoolTwin next_twin = twin;
    bool broken = false;
    const std::string what = differs_after(word, next_subject, next_twin, broken);
    ++result.visited;
    const std::string saying = said + text(word) + "; ";
    if (!what.empty()) result.difference = saying + what;
    // A word that was refused and changed nothing leads nowhere new: what follows it is visited
    // without it.
    if (left == 1 || (broken && difference(next_subject, twin).empty())) continue;
    enumerate(next_subject, next_twin, words, left - 1, saying, result);
  }
}

// One by one: all 431,908 sequences on 0 to 4 usable ids in both orders of issue. No word here is a list of
// two, so the walk's direction does not come in.
TEST_CASE("pool twin (O2, O9): equal over every sequence of up to 6 operations on up to 4 ids") {
  std::uint64_t all = 0;
  for (std::uint32_t usable = 0; usable <= 4; ++usable) {
    std::uint64_t sequences = 0;
    for (const TwinIssue issue : {TwinIssue::kLongestFree, TwinIssue::kLatestFreed}) {
      const TwinOptions options{.ids = usable + 1, .issue = issue};
      Enumeration result;
      enumerate(RealPool(options), PoolTwin(options), single_words(usable), 6, "", result);
      CHECK(result.difference == "");
      sequences += result.visited;
    }
    MESSAGE(usable << " usable ids: " << sequences << " sequences");
    all += sequences;
  }
  CHECK(all == 431'908);  // not a rule: it says when the enumeration has become a smaller one
}

enum class Merge : std::uint8_t { kEqualStates, kStatesEqualButForNames };

/// All that a caller can see but the peak, and with it all that decides the future: the free list and the number
/// of ids issued tell which part of the pool's ring is live and what is in it. Without names: how many
/// ids are free, and the counts of the others in order of size.
std::vector<std::uint64_t> state_of(const PoolTwin& twin, Merge merge) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> counts;
  for (std::uint32_t n = 1; n < twin.ids(); ++n) {
    counts.emplace_back(twin.owners(BlockId{n}), twin.holds(BlockId{n}));
  }
  if (merge == Merge::kStatesEqualButForNames) std::sort(counts.begin(), counts.end());
  std::vector<std::uint64_t> state = {twin.acquired()};
  for (const auto& [owners, holds] : counts) {
    state.push_back(owners);
    state.push_back(holds);
  }
  if (merge == Merge::kEqualStates) {
    for (const BlockId id : twin.free_list()) state.push_back(pinfold::index_of(id));
  }
  return state;
}

/// Length by length: from each state that sequences of one length reach, every word. Sequences that
/// meet in a state are continued once.
Enumeration enumerate_states(const TwinOptions& options, const std::vector<Operation>& words,
                             int length, Merge merge) {
  Enumeration result;
  std::vector<std::pair<RealPool, PoolTwin>> from = {{RealPool(options), PoolTwin(options)}};
  std::set<std::vector<std::uint64_t>> seen = {state_of(from[0].second, merge)};
  for (int n = 0; n < length; ++n) {
    std::vector<std::pair<RealPool, PoolTwin>> reached;
    for (const auto& [subject, twin] : from) {
      for (const Operation& word : words) {
        auto next = std::pair(subject, twin);
        bool broken = false;
        const std::string what = differs_after(word, next.first, next.second, broken);
        ++result.visited;
        if (!what.empty()) {
          result.difference = text(word) + ": " + what;
          return result;
        }
        if (n + 1 < length && seen.insert(state_of(next.second, merge)).second) {
          reached.push_back(std::move(next));
        }
      }
    }
    from = std::move(reached);
  }
  return result;
}

// Sequences of 6 words, all of them by way of the states they meet in: 27, 59, 100 and 149 words for
// 1, 2, 3 and 4 ids. From 3 ids on, states that differ in the names of ids only are continued once as
// well; with 4 ids each direction of the walk goes with one order of issue, to save time.
TEST_CASE("pool twin (O2, O9): equal over every state that lists of two ids reach") {
  std::uint64_t all = 0;
  for (std::uint32_t usable = 1; usable <= 4; ++usable) {
    const std::vector<Operation> words = pair_words(usable);
    const Merge merge = usable <= 2 ? Merge::kEqualStates : Merge::kStatesEqualButForNames;
    std::vector<TwinOptions> pools = {
        {usable + 1, TwinWalk::kLastToFirst, TwinIssue::kLongestFree},
        {usable + 1, TwinWalk::kFirstToLast, TwinIssue::kLatestFreed},
    };
    if (usable <= 3) {
      pools.push_back({usable + 1, TwinWalk::kLastToFirst, TwinIssue::kLatestFreed});
      pools.push_back({usable + 1, TwinWalk::kFirstToLast, TwinIssue::kLongestFree});
    }
    std::uint64_t visited = 0;
    for (const TwinOptions& options : pools) {
      const Enumeration result = enumerate_states(options, words, 6, merge);
      CHECK(result.difference == "");
      visited += result.visited;
    }
    MESSAGE(usable << " usable ids, " << words.size() << " words: " << visited << " operations");
    all += visited;
  }
  CHECK(all == 679'548);  // as above
}

}  // namespace
}  // namespace pinfold::model
