// The ledger inside a run beside its twin: the conversation trace with three drafts, overlap 1, a second
// sample of a tenth of the requests and state slots, on the default pool, shadow on. The twin recounts
// every class from the scheduler's tables at every 1,000th event.
#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/parse.h"
#include "sim/core/simulate.h"
#include "sim/metrics/ledger.h"
#include "sim/trace/azure_csv.h"
#include "tests/model/ledger_twin.h"

namespace pinfold::model {
namespace {

constexpr std::uint64_t kEvery = 1'000;
constexpr std::int64_t kUsable = 262'143;  // blocks of the default pool, without id 0
constexpr std::int64_t kBlockSize = 16;

/// Follows the plans and what has passed, and holds the ledger against the twin.
class TwinBeside : public sim::RunObserver {
 public:
  void on_records(std::span<const std::byte> records, std::int64_t /*now_ns*/) override {
    for (std::size_t at = 0; at < records.size();) {
      Record record;
      std::memcpy(&record, records.data() + at, sizeof record);
      at += sizeof record + ids_after(record) * sizeof(BlockId);
      if (record.verb == Verb::kEnd) batch_.erase(SequenceId{record.sequence});
      if (record.verb == Verb::kPassed) passed(record.aux);
    }
  }

  void on_plan(const StepPlan& plan) override {
    for (const Left& left : plan.left) batch_.erase(left.sequence);
    if (!plan.empty) flying_.push_back(mirror_step(plan, batch_));
  }

  void on_audit(const Scheduler& scheduler, const sim::Ledger* ledger) override {
    while (!flying_.empty() && flying_.front().step <= value_of(scheduler.done())) {
      flying_.pop_front();
    }
    ++compared;
    REQUIRE(ledger != nullptr);
    const Recount twin = recount(scheduler, flying_);
    CAPTURE(compared);
    REQUIRE(difference(*ledger, twin) == "");
    std::int64_t all = 0;
    for (const std::int64_t positions : twin.positions) all += positions;
    REQUIRE(all == kUsable * kBlockSize);
    for (std::size_t n = 0; n < seen.size(); ++n) seen[n] += twin.positions[n] > 0 ? 1u : 0u;
    shared += twin.saved > 0 ? 1u : 0u;
  }

  std::uint64_t compared = 0;
  std::array<std::uint64_t, 9> seen{};  // comparisons at which a class was not empty
  std::uint64_t shared = 0;             // at which blocks were in several tables

 private:
  void passed(std::uint64_t ticket) {
    for (MirrorStep& step : flying_) {
      if (value_of(step.copy_ticket) <= ticket) step.copies_passed = true;
    }
  }

  std::deque<MirrorStep> flying_;
  MirrorBatch batch_;
};

TEST_CASE("the ledger of a run counts what its twin counts at every 1,000th event") {
  const char* root = std::getenv("PINFOLD_SOURCE_ROOT");
  REQUIRE(root != nullptr);
  const auto trace = sim::read_azure_csv(
      (std::filesystem::path(root) / "traces/azure/AzureLLMInferenceTrace_conv.csv").string());
  REQUIRE_MESSAGE(bool(trace), (trace ? "" : describe(trace.error())));
  const std::vector<std::string> settings = {"workload.drafts=3", "workload.samples=2",
                                             "workload.samples_permille=100",
                                             "model.state_slots=true"};
  const auto config = sim::load_config(std::nullopt, settings);
  REQUIRE_MESSAGE(bool(config), (config ? "" : describe(config.error())));
  REQUIRE(config.value().engine.overlap == 1);

  TwinBeside twin;
  sim::RunOptions options;
  options.audit_every = kEvery;
  options.shadow = true;
  options.observer = &twin;
  const sim::RunResult result = sim::simulate(trace.value(), config.value(), options);

  CHECK_MESSAGE(result.verdict == sim::Verdict::kOk, result.verdict_detail);
  CHECK(result.completed == 19'366);
  CHECK(twin.compared >= result.events / kEvery - 1);
  CHECK(result.forks > 1'000);
  // What a comparison must have met: rows committed and in flight, drafts, known prompts, slack, parked
  // and free blocks, shared blocks. Nothing is ever idle here, and surplus is given back in the plan.
  for (const std::size_t n : {0u, 1u, 2u, 3u, 5u, 6u, 8u}) CHECK_MESSAGE(twin.seen[n] > 0, n);
  CHECK(twin.shared > 0);

  // Every class was counted for itself; they sum to capacity, which is known without them.
  REQUIRE(result.ledger.has_value());
  const sim::LedgerTotals& totals = *result.ledger;
  sim::PositionNs all = 0;
  for (const sim::PositionNs part : totals.position_ns) all += part;
  // A step behind the last end still runs: nothing is owned then, but time goes on.
  const auto run_ns = static_cast<std::uint64_t>(result.run_ns);
  CHECK(totals.duration_ns >= run_ns);
  CHECK(totals.duration_ns < run_ns + 1'000'000'000);
  const sim::PositionNs expected =
      sim::PositionNs{kUsable * kBlockSize} * std::uint64_t{totals.duration_ns};
  CHECK(bool(all == expected));
  CHECK(bool(totals.capacity_ns == expected));
  // At drain the pools are empty.
  CHECK(result.blocks_acquired == result.blocks_released);
  MESSAGE(twin.compared << " comparisons, " << result.forks << " forks");
}

}  // namespace
}  // namespace pinfold::model
