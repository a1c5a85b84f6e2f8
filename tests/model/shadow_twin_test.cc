// The shadow memory beside its twin, which keeps a tag for every row and reads every row of every reader
// in every step. On clean journals of random worlds both find nothing; on journals with one planted
// corruption both find the same, in the same order: rule, record, reader, position, expected, found,
// writer and release. Overlap, fence modes, forks, drafts, state slots, preemption, aborts and failed
// steps are drawn by tests/model/random_world.cc.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>

#include "tests/model/random_draws.h"
#include "tests/model/random_world.h"
#include "tests/model/shadow_twin.h"

namespace pinfold::model {
namespace {

constexpr std::uint64_t kCleanWorlds = 2'000;
constexpr std::uint64_t kCorruptedWorlds = 1'000;  // for each kind

struct Event {
  Record record;
  std::vector<BlockId> ids;
};
using Events = std::vector<Event>;

Events events_of(std::span<const std::byte> journal) {
  Events events;
  for (std::size_t at = 0; at < journal.size();) {
    Event event{};
    std::memcpy(&event.record, &journal[at], sizeof event.record);
    at += sizeof event.record;
    event.ids.resize(ids_after(event.record));
    for (BlockId& id : event.ids) {
      std::memcpy(&id, &journal[at], sizeof id);
      at += sizeof id;
    }
    events.push_back(event);
  }
  return events;
}

std::vector<std::byte> bytes_of(const Events& events) {
  Journal journal;
  journal.set_enabled(true);
  for (const Event& event : events) {
    Record record = event.record;
    if (ids_after(record) != event.ids.size())
      record.count = static_cast<std::uint32_t>(event.ids.size());
    journal.append(record, event.ids);
  }
  const std::span<const std::byte> bytes = journal.unread();
  return {bytes.begin(), bytes.end()};
}

ShadowTwin twin_of(const SchedulerOptions& options) {
  const sim::ShadowOptions shadow = shadow_options(options);
  return ShadowTwin({shadow.block_size, shadow.block_ids, shadow.state_ids, shadow.draft_ids,
                     shadow.state_slots, shadow.fences_always, index_of(shadow.copy_lane)});
}

TwinRow row_of(const sim::RowTag& tag, const sim::Release& before) {
  return {static_cast<int>(tag.kind),
          tag.writer,
          tag.epoch,
          tag.position,
          before.event,
          before.sequence};
}

std::string text_of(const TwinRow& row) {
  return "kind " + std::to_string(row.kind) + " writer " + std::to_string(row.writer) + "/" +
         std::to_string(row.epoch) + " position " + std::to_string(row.position) + " release " +
         std::to_string(row.release_event) + " by " + std::to_string(row.release_sequence);
}

std::string text_of(const TwinFinding& finding) {
  return finding.rule + " at " + std::to_string(finding.event) + " sequence " +
         std::to_string(finding.sequence) + " " + name_of(finding.pool) + " " +
         std::to_string(finding.id) + " position " + std::to_string(finding.position) +
         " expected " + text_of(finding.expected) + " found " + text_of(finding.found) + " since " +
         std::to_string(finding.since_event) + " by " + std::to_string(finding.since_sequence);
}

std::string text_of(const sim::ShadowFinding& finding) {
  return text_of(TwinFinding{finding.rule, finding.event, finding.sequence, finding.pool,
                             finding.id, finding.position, row_of(finding.expected, {}),
                             row_of(finding.found.tag, finding.found.before), finding.since.event,
                             finding.since.sequence});
}

// Where the two part; "" if they say the same.
std::string difference(const sim::Shadow& shadow, const ShadowTwin& twin) {
  const std::size_t both = std::min(shadow.findings().size(), twin.findings().size());
  for (std::size_t n = 0; n < both; ++n) {
    const std::string one = text_of(shadow.findings()[n]);
    const std::string two = text_of(twin.findings()[n]);
    if (one != two) return "shadow: " + one + "\n  twin: " + two;
  }
  if (shadow.finding_count() != twin.findings().size()) {
    const std::string next = both < twin.findings().size()     ? text_of(twin.findings()[both])
                             : both < shadow.findings().size() ? text_of(shadow.findings()[both])
                                                               : "";
    return "shadow finds " + std::to_string(shadow.finding_count()) + ", twin " +
           std::to_string(twin.findings().size()) + "; next: " + next;
  }
  return "";
}

// ---- corruptions ---------------------------------------------------------------------------------------

bool is(const Event& event, Verb verb, PoolKind pool) {
  return event.record.verb == verb && event.record.pool == pool && !event.ids.empty();
}
bool is(const Event& event, Verb verb) { return event.record.verb == verb; }

using Test = std::function<bool(const Event&)>;
using Change = std::function<void(Events&, std::size_t, RandomDraws&)>;

/// One kind of lie in a journal: at a drawn record that passes `applies`.
struct Corruption {
  const char* name;
  Test applies;
  Change change;
};

Test verb(Verb wanted) {
  return [=](const Event& event) { return is(event, wanted); };
}
Test verb(Verb wanted, PoolKind pool) {
  return [=](const Event& event) { return is(event, wanted, pool); };
}
Test copies(PoolKind pool) {
  return [=](const Event& event) {
    return is(event, Verb::kCopyQueued, pool) && event.ids[1] != kNoBlock;
  };
}
Change dropped() {
  return [](Events& events, std::size_t at, RandomDraws&) {
    events.erase(events.begin() + static_cast<std::ptrdiff_t>(at));
  };
}
Change doubled() {
  return [](Events& events, std::size_t at, RandomDraws&) {
    const Event again = events[at];
    events.insert(events.begin() + static_cast<std::ptrdiff_t>(at), again);
  };
}
// Up to eight records earlier.
Change moved_ahead() {
  return [](Events& events, std::size_t at, RandomDraws& draws) {
    const std::size_t steps = std::min<std::size_t>(at, 1 + draws.below(8));
    const auto end = events.begin() + static_cast<std::ptrdiff_t>(at) + 1;
    std::rotate(end - 1 - static_cast<std::ptrdiff_t>(steps), end - 1, end);
  };
}
Change changed(std::function<void(Event&, RandomDraws&)> how) {
  return [=](Events& events, std::size_t at, RandomDraws& draws) { how(events[at], draws); };
}
BlockId some_other(BlockId id, RandomDraws& draws) {
  const std::uint32_t other = 1 + draws.below(4);
  return BlockId{other == index_of(id) ? other + 1 : other};
}

const std::vector<Corruption>& corruptions() {
  constexpr PoolKind kBlocks = PoolKind::kBlocks;
  constexpr PoolKind kStates = PoolKind::kStateSlots;
  constexpr PoolKind kDrafts = PoolKind::kDraftSlots;
  static const std::vector<Corruption> all = {
      {"release dropped", verb(Verb::kRelease, kBlocks), dropped()},
      {"release doubled", verb(Verb::kRelease, kBlocks), doubled()},
      {"release moved ahead", verb(Verb::kRelease, kBlocks), moved_ahead()},
      {"release of another block", verb(Verb::kRelease, kBlocks),
       changed([](Event& event, RandomDraws& draws) {
         event.ids.front() = some_other(event.ids.front(), draws);
       })},
      {"released, not parked", verb(Verb::kPark),
       changed([](Event& event, RandomDraws&) { event.record.verb = Verb::kRelease; })},
      {"parked behind an earlier ticket", verb(Verb::kPark),
       changed([](Event& event, RandomDraws&) { event.record.aux -= 1; })},
      {"hold never ended", verb(Verb::kUnpark), dropped()},
      {"hold ended twice", verb(Verb::kUnpark), doubled()},
      {"hold ended ahead of its fence", verb(Verb::kUnpark), moved_ahead()},
      {"copy source released early", copies(kBlocks),
       [](Events& events, std::size_t at, RandomDraws&) {
         Event early = events[at];
         early.record.verb = Verb::kUnpark;
         early.record.aux = 0;
         early.ids.resize(1);
         events.insert(events.begin() + static_cast<std::ptrdiff_t>(at) + 1, early);
       }},
      {"copy missing", copies(kBlocks), dropped()},
      {"copy into another block", copies(kBlocks), changed([](Event& event, RandomDraws& draws) {
         event.ids[1] = some_other(event.ids[1], draws);
       })},
      {"copy from another block", copies(kBlocks), changed([](Event& event, RandomDraws& draws) {
         event.ids[0] = some_other(event.ids[0], draws);
       })},
      {"copy of too few rows", copies(kBlocks),
       changed([](Event& event, RandomDraws&) { event.record.aux /= 2; })},
      {"clone missing", copies(kStates), dropped()},
      {"clone of another slot", copies(kStates), changed([](Event& event, RandomDraws& draws) {
         event.ids[0] = some_other(event.ids[0], draws);
       })},
      {"block issued that somebody owns", verb(Verb::kAcquire, kBlocks),
       changed([](Event& event, RandomDraws& draws) {
         event.ids.back() = some_other(event.ids.back(), draws);
       })},
      {"acquisition missing", verb(Verb::kAcquire, kBlocks), dropped()},
      {"state slot of somebody else", verb(Verb::kAcquire, kStates),
       changed([](Event& event, RandomDraws& draws) {
         event.ids[0] = some_other(event.ids[0], draws);
       })},
      {"draft slot of somebody else", verb(Verb::kAcquire, kDrafts),
       changed([](Event& event, RandomDraws& draws) {
         event.ids[0] = some_other(event.ids[0], draws);
       })},
      {"draft slot released early", verb(Verb::kPark, kDrafts),
       changed([](Event& event, RandomDraws&) { event.record.verb = Verb::kRelease; })},
      {"pins missing", verb(Verb::kPin, kBlocks), dropped()},
      {"fork of too many rows", verb(Verb::kFork),
       changed([](Event& event, RandomDraws&) { event.record.count += 1; })},
      {"fork of another parent", verb(Verb::kFork),
       changed([](Event& event, RandomDraws& draws) { event.record.aux += 1 + draws.below(2); })},
      {"more accepted than was", verb(Verb::kCommit),
       changed([](Event& event, RandomDraws&) { event.record.count += 1; })},
      {"commit forgotten", verb(Verb::kCommit), dropped()},
      {"chunk missing", verb(Verb::kChunk), dropped()},
      {"chunk in the wrong place", verb(Verb::kChunk),
       changed([](Event& event, RandomDraws&) { event.record.aux += 1; })},
      {"row that has left goes on", verb(Verb::kLeave), dropped()},
      {"drafts not counted", verb(Verb::kDrafts), dropped()},
      {"failed step taken for good",
       [](const Event& event) { return is(event, Verb::kResult) && event.record.aux == 1; },
       changed([](Event& event, RandomDraws&) { event.record.aux = 0; })},
      {"good step taken for failed", verb(Verb::kResult),
       changed([](Event& event, RandomDraws&) { event.record.aux = 1; })},
      {"preemption not said", verb(Verb::kPreempt), dropped()},
      {"fence passed too far", verb(Verb::kPassed),
       changed([](Event& event, RandomDraws&) { event.record.aux += 2; })},
      {"an id out of the pool", verb(Verb::kAcquire),
       changed([](Event& event, RandomDraws&) { event.ids[0] = BlockId{99}; })},
  };
  return all;
}

// Of journals with reuse of prefixes.
const std::vector<Corruption>& prefix_corruptions() {
  const auto an_earlier_record = [](Verb wanted, std::size_t at, const Events& events) {
    std::size_t n = at;
    while (n > 0 && !is(events[n - 1], wanted)) --n;
    return n;  // behind it; 0: there is none
  };
  static const std::vector<Corruption> all = {
      {"hit on an unpublished block", verb(Verb::kPublish), dropped()},
      {"hit on another block", verb(Verb::kHit), changed([](Event& event, RandomDraws& draws) {
         event.ids.back() = some_other(event.ids.back(), draws);
       })},
      {"hit on another chain", verb(Verb::kKeys), changed([](Event& event, RandomDraws& draws) {
         BlockId& word = event.ids[draws.below(static_cast<std::uint32_t>(event.ids.size()))];
         word = BlockId{index_of(word) + 1};
       })},
      {"hit on an unwritten block",
       [](const Event& event) { return is(event, Verb::kChunk) && event.record.count > 1; },
       changed([](Event& event, RandomDraws&) { event.record.count -= 1; })},
      {"hit of more rows", verb(Verb::kHit),
       changed([](Event& event, RandomDraws&) { event.record.aux += 1; })},
      {"hit not said", verb(Verb::kHit), dropped()},
      {"hit after its eviction", verb(Verb::kHit),
       [](Events& events, std::size_t at, RandomDraws&) {
         Event evicted = events[at];
         evicted.record.verb = Verb::kEvict;
         evicted.record.detail = 0;
         events.insert(events.begin() + static_cast<std::ptrdiff_t>(at), evicted);
       }},
      {"hit on a block that was written over", verb(Verb::kHit),
       [](Events& events, std::size_t at, RandomDraws&) {
         // By a copy of the step that completed last.
         Event copy = events[at];
         copy.record = {Verb::kCopyQueued, PoolKind::kBlocks, 0, copy.record.sequence, 2, 1};
         copy.ids = {BlockId{1}, events[at].ids.back()};
         events.insert(events.begin() + static_cast<std::ptrdiff_t>(at), copy);
       }},
      {"published too early", verb(Verb::kPublish),
       [=](Events& events, std::size_t at, RandomDraws&) {
         const std::size_t result = an_earlier_record(Verb::kResult, at, events);
         if (result == 0) return;
         std::rotate(events.begin() + static_cast<std::ptrdiff_t>(result) - 1,
                     events.begin() + static_cast<std::ptrdiff_t>(at),
                     events.begin() + static_cast<std::ptrdiff_t>(at) + 1);
       }},
      {"published in another place", verb(Verb::kPublish),
       changed([](Event& event, RandomDraws&) { event.record.aux += 1; })},
      {"published as a whole", verb(Verb::kPublish),
       changed([](Event& event, RandomDraws&) { event.record.detail ^= 1; })},
      {"eviction not said", verb(Verb::kEvict), dropped()},
      {"eviction of another block", verb(Verb::kEvict),
       changed([](Event& event, RandomDraws& draws) {
         event.ids.back() = some_other(event.ids.back(), draws);
       })},
      {"copy of a tail missing", copies(PoolKind::kBlocks), dropped()},
      {"release moved ahead", verb(Verb::kRelease, PoolKind::kBlocks), moved_ahead()},
      {"preemption not said", verb(Verb::kPreempt), dropped()},
  };
  return all;
}

void find_nothing_in_clean_worlds(Scenario (*draw)(std::uint64_t)) {
  std::uint64_t rows = 0, scanned = 0;
  for (std::uint64_t seed = 1; seed <= kCleanWorlds; ++seed) {
    const Scenario scenario = draw(seed);
    const Outcome outcome = run(scenario, seed, Switch::kOn);
    sim::Shadow shadow(shadow_options(scenario.options));
    ShadowTwin twin = twin_of(scenario.options);
    twin.consume(outcome.journal);
    sim::Shadow by_record = shadow;
    for (const Event& event : events_of(outcome.journal)) by_record.consume(bytes_of({event}));
    shadow.consume(outcome.journal);
    CAPTURE(seed);
    REQUIRE(difference(shadow, twin) == "");
    REQUIRE(shadow.finding_count() == 0);
    REQUIRE(by_record.hash() == shadow.hash());
    REQUIRE(by_record.rows_read() == shadow.rows_read());
    rows += shadow.rows_read();
    scanned += shadow.rows_scanned();
    // The twin reads twice: before the step's writes and after them.
    REQUIRE(twin.rows_read() == 2 * shadow.rows_read());
  }
  std::printf("%llu clean worlds: %llu rows read, %llu looked at\n",
              static_cast<unsigned long long>(kCleanWorlds), static_cast<unsigned long long>(rows),
              static_cast<unsigned long long>(scanned));
}

TEST_CASE("shadow and twin find nothing in clean random worlds, at any split of the journal") {
  find_nothing_in_clean_worlds(draw_scenario);
}

TEST_CASE("shadow and twin find nothing where prefixes are reused") {
  find_nothing_in_clean_worlds(draw_reuse_scenario);
}

void find_the_same(const std::vector<Corruption>& kinds, Scenario (*draw)(std::uint64_t)) {
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    const Corruption& corruption = kinds[kind];
    std::uint64_t applied = 0, found = 0, reads = 0;
    for (std::uint64_t seed = 1; seed <= kCorruptedWorlds; ++seed) {
      const Scenario scenario = draw(seed);
      Events events = events_of(run(scenario, seed, Switch::kOn).journal);
      RandomDraws draws(seed * 977 + kind);
      std::vector<std::size_t> places;
      for (std::size_t n = 0; n < events.size(); ++n) {
        if (corruption.applies(events[n])) places.push_back(n);
      }
      if (places.empty()) continue;
      corruption.change(events, places[draws.below(static_cast<std::uint32_t>(places.size()))],
                        draws);
      const std::vector<std::byte> journal = bytes_of(events);
      sim::Shadow shadow(shadow_options(scenario.options));
      ShadowTwin twin = twin_of(scenario.options);
      shadow.consume(journal);
      twin.consume(journal);
      CAPTURE(corruption.name);
      CAPTURE(seed);
      REQUIRE(difference(shadow, twin) == "");
      ++applied;
      found += shadow.finding_count() > 0;
      reads += std::any_of(
          shadow.findings().begin(), shadow.findings().end(),
          [](const sim::ShadowFinding& finding) { return finding.rule.starts_with("O12"); });
    }
    std::printf("  %-40s %5llu journals, %5llu found, %5llu by a read\n", corruption.name,
                static_cast<unsigned long long>(applied), static_cast<unsigned long long>(found),
                static_cast<unsigned long long>(reads));
    CHECK(found > 0);
  }
}

TEST_CASE("shadow and twin find the same in every kind of corrupted journal") {
  find_the_same(corruptions(), draw_scenario);
}

TEST_CASE("shadow and twin find the same in corrupted journals of reused prefixes") {
  find_the_same(prefix_corruptions(), draw_reuse_scenario);
}

}  // namespace
}  // namespace pinfold::model
