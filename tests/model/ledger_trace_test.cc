// The ledger beside its twin on the conversation trace: three drafts, overlap 1, state slots, a second
// sample of every tenth request, a pool too small for the run limit. Compared at every 1,000th event.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "sim/trace/azure_csv.h"
#include "tests/model/ledger_twin.h"
#include "tests/model/random_draws.h"

namespace pinfold::model {
namespace {

constexpr std::uint32_t kLive = 32;
constexpr std::uint64_t kEvery = 1'000;

std::uint32_t draw_acceptance(std::uint64_t seed, SequenceId sequence, std::uint32_t token) {
  RandomDraws draws(seed * 1'000'003 + value_of(sequence) * 8191ull + token);
  return draws.chance(70) ? 1 : 0;
}

std::vector<Wish> wishes() {
  const char* root = std::getenv("PINFOLD_SOURCE_ROOT");
  REQUIRE(root != nullptr);
  const auto trace = sim::read_azure_csv(
      (std::filesystem::path(root) / "traces/azure/AzureLLMInferenceTrace_conv.csv").string());
  REQUIRE_MESSAGE(bool(trace), (trace ? "" : describe(trace.error())));
  std::vector<Wish> wishes;
  for (const sim::TraceRequest& request : trace.value().requests) {
    Wish wish;
    wish.prompt = request.prompt;
    wish.output = request.output;
    wish.limit = 2'000;
    wish.drafts = 3;
    wishes.push_back(wish);
  }
  return wishes;
}

SchedulerOptions engine() {
  SchedulerOptions options;
  options.block_size = TokenCount(16);
  options.block_ids = 1'501;
  options.state = Switch::kOn;
  options.state_ids = kLive + 7;
  options.draft_ids = kLive + 7;
  options.max_sequences = kLive;
  options.token_budget = TokenCount(2'048);
  options.max_model_len = TokenCount(16'384);
  options.overlap = 1;
  return options;
}

TEST_CASE(
    "the ledger counts what its twin counts at every 1,000th event of the conversation trace") {
  World world(engine(), 1, draw_acceptance);
  WatchedLedger ledger(engine());
  const std::vector<Wish> asked = wishes();
  std::vector<std::pair<SequenceId, Wish>> to_fork;
  std::size_t next = 0;
  std::uint32_t next_id = 0;
  std::uint64_t compared = 0;
  const auto compare = [&] {
    ledger.take(world);
    if (world.scheduler.journal().events() / kEvery <= compared) return;
    ++compared;
    const std::string wrong = ledger.check(world);
    CAPTURE(world.scheduler.journal().events());
    REQUIRE(wrong == "");
    world.scheduler.audit();
  };
  const auto fork_those_with_a_whole_prompt = [&] {
    std::erase_if(to_fork, [&](const auto& entry) {
      if (!world.scheduler.knows(entry.first)) return true;
      const SequenceView parent = world.scheduler.view(entry.first);
      if (parent.rows.processed.value < entry.second.prompt) return false;
      world.fork(entry.first, SequenceId{next_id++}, entry.second);
      return true;
    });
  };
  while (next < asked.size() || !world.drained()) {
    while (next < asked.size() && world.scheduler.unfinished() < kLive) {
      const SequenceId id{next_id++};
      world.add(id, asked[next]);
      if (next % 10 == 0) to_fork.emplace_back(id, asked[next]);
      ++next;
    }
    fork_those_with_a_whole_prompt();
    compare();
    const bool planned = world.may_plan() && world.turn();
    compare();
    if (world.copies_pending()) world.pass_copies();
    compare();
    if (!world.flying.empty() && (!planned || !world.may_plan())) world.complete();
    compare();
  }
  const sim::LedgerTotals totals = ledger.ledger().totals();
  CHECK(totals.of(sim::PositionClass::kCachedIdle) == 0);
  CHECK(ledger.ledger().positions()[sim::PositionClass::kFree] == 24'000);
  CHECK(compared > 1'000);
  CHECK(world.live_forks > 1'000);
  CHECK(world.scheduler.stats().forks > 1'000);
  CHECK(world.scheduler.stats().preemptions > 0);
  MESSAGE(compared << " comparisons, " << world.scheduler.stats().forks << " forks, "
                   << world.scheduler.stats().preemptions << " preemptions");
}

}  // namespace
}  // namespace pinfold::model
