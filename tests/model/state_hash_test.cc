// Two schedulers with equal state hashes behave alike: what an explorer relies on when it leaves a state that
// it has seen. Random walks through tiny worlds meet again and again by different ways; whenever two do,
// both go on with the same events, and plans, transfers, ends, records and hashes must be the same. A field
// that decides something and is not in the hash parts them.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "scheduler/tickets.h"
#include "tests/model/random_draws.h"
#include "tests/model/world.h"

namespace pinfold::model {
namespace {

constexpr std::uint32_t kScenarios = 300;
constexpr std::uint32_t kWalks = 40;
constexpr std::uint32_t kWalkEvents = 40;
constexpr std::uint32_t kEventsBehind = 40;  // after two walks have met

struct Request {
  RequestSpec spec;
  std::vector<std::uint64_t> keys;
};

struct Tiny {
  SchedulerOptions options;
  std::vector<Request> requests;  // what may arrive, any number of times
  std::uint32_t arrivals_max = 0;
};

Tiny draw_tiny(RandomDraws& draws) {
  Tiny tiny;
  SchedulerOptions& options = tiny.options;
  options.block_size = TokenCount(2);
  options.block_ids = 3 + draws.below(5);
  options.max_sequences = 2 + draws.below(2);
  options.token_budget = TokenCount(options.max_sequences + draws.below(3));
  options.max_model_len = TokenCount(12);
  options.overlap = draws.below(3);
  options.release_order = draws.chance(50) ? ReleaseOrder::kReverse : ReleaseOrder::kForward;
  options.free_order = draws.chance(50) ? FreeOrder::kFifo : FreeOrder::kLifo;
  if (draws.chance(50)) {
    options.state = Switch::kOn;
    options.state_ids = 2 + draws.below(3);
  }
  if (draws.chance(30)) options.draft_ids = 2;
  if (draws.chance(60)) {
    options.reuse = Switch::kOn;
    options.host_block_ids = 1 + draws.below(2) * (2 + draws.below(4));
    options.host_state_ids = 2 + draws.below(2);
    options.store_interval = TokenCount(2);
    options.recovered_rows = TokenCount(1);
  }
  if (options.reuse == Switch::kOff && draws.chance(20)) {
    options.fence = FenceMode::kUnorderedWriters;
  } else if (draws.chance(20)) {
    options.copy_lane = CopyLane::kSeparate;
  }
  if (draws.chance(30)) options.sole_owner = SoleOwner::kAdopt;
  tiny.arrivals_max = 2 + draws.below(3);
  const std::uint32_t count = 2 + draws.below(2);
  for (std::uint32_t n = 0; n < count; ++n) {
    Request request;
    request.spec.prompt = TokenCount(1 + draws.below(7));
    request.spec.limit = TokenCount(draws.below(5));
    request.spec.stop = draws.chance(50) ? StopMode::kHidden : StopMode::kKnown;
    if (options.draft_ids > 1) request.spec.drafts = TokenCount(draws.below(3));
    request.spec.priority = draws.below(2);
    const std::uint64_t text = draws.below(2);
    for (std::uint32_t block = 0; block < 4; ++block) request.keys.push_back(10 * text + block + 1);
    tiny.requests.push_back(request);
  }
  return tiny;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15;
  return hash ^ hash >> 31;
}

/// A scheduler, and a device that is only an order. What is left to do on the device follows from what the
/// scheduler waits for, so that its hash is all that is compared.
struct Walker {
  explicit Walker(const SchedulerOptions& options) : scheduler(options) {
    scheduler.journal().set_enabled(true);
  }

  Scheduler scheduler;
  std::uint32_t arrived = 0;
  std::deque<MirrorStep> flying;
  MirrorBatch batch;
  std::deque<Transfer> transfers;
  Passed passed;  // of the lanes in which steps and copies run
  StepPlan plan;
  std::vector<std::uint64_t> seen;  // what the last event showed, without step numbers and tickets
  std::uint64_t history = 0;        // of all events that showed something

  Lane copy_lane() const {
    return scheduler.options().copy_lane == CopyLane::kSeparate ? Lane::kCopy : Lane::kCompute;
  }
  void see(std::initializer_list<std::uint64_t> values) {
    seen.insert(seen.end(), values.begin(), values.end());
  }

  void pass(Lane lane, Ticket ticket) {
    Ticket& upto = passed.upto[index_of(lane)];
    if (ticket <= upto) return;  // a later step's copies have passed: so has this one
    upto = ticket;
    scheduler.on_passed(lane, ticket);
  }
  void pass_copies(MirrorStep& step) {
    if (step.copies_passed) return;
    step.copies_passed = true;
    pass(copy_lane(), step.copy_ticket);
  }
  /// The compute lane comes as far as the end of the oldest step, ahead of its result.
  void pass_step() {
    pass_copies(flying.front());
    pass(Lane::kCompute, step_ticket(flying.front().step));
  }
  void complete(bool fails, RandomDraws& draws) {
    MirrorStep step = flying.front();
    flying.pop_front();
    if (copy_lane() == Lane::kCopy) pass_copies(step);
    if (fails) {
      for (MirrorStep& behind : flying) behind.rows.clear();
      scheduler.on_step_complete({StepNumber{step.step}, true, nullptr, 0});
      return;
    }
    std::vector<RowResult> exceptions;
    for (const MirrorRow& row : step.rows) {
      if (row.prompt_end || !scheduler.knows(row.sequence)) continue;
      const std::uint32_t tokens = 1 + draws.below(row.drafts + 1);
      const bool ends = draws.chance(10);
      if (tokens == row.drafts + 1 && row.drafts == 0 && !ends) continue;
      exceptions.push_back({row.sequence, row.epoch, TokenCount(tokens), ends});
    }
    scheduler.on_step_complete(
        {StepNumber{step.step}, false, exceptions.data(), exceptions.size()});
  }
  void pass_transfer(Lane lane, bool lost) {
    const auto queued = [&](const Transfer& one) { return one.lane == lane; };
    const auto first = std::find_if(transfers.begin(), transfers.end(), queued);
    if (first == transfers.end()) return;
    const Ticket ticket = first->ticket;
    // A state's save reads what a step staged: not before the result of the step before it.
    if (!lost && value_of(first->after) > value_of(scheduler.done()) + 1) return;
    std::erase_if(transfers,
                  [&](const Transfer& one) { return queued(one) && one.ticket == ticket; });
    lost ? scheduler.on_lost(lane, ticket) : scheduler.on_passed(lane, ticket);
  }
  void plan_step() {
    scheduler.plan_step(plan);
    for (const Left& left : plan.left) batch.erase(left.sequence);
    see({plan.empty, plan.decode_rows, plan.draft_rows, plan.prompt_rows, plan.recovered_rows,
         plan.context_rows, static_cast<std::uint64_t>(plan.cause), plan.left.size()});
    for (const std::vector<Copy>* copies : {&plan.copies, &plan.stages}) {
      for (const Copy& copy : *copies)
        see({index_of(copy.from), index_of(copy.to), copy.rows.value});
    }
    for (const Chunk& chunk : plan.chunks) {
      see({value_of(chunk.sequence), chunk.first.value, chunk.count.value, chunk.last});
    }
    if (!plan.empty) flying.push_back(mirror_step(plan, batch));
  }

  void arrive(const Tiny& tiny, RandomDraws& draws) {
    const std::uint32_t count = static_cast<std::uint32_t>(tiny.requests.size());
    const Request& request = tiny.requests[draws.below(count)];
    const PromptKeys keys{request.keys, TokenCount(0), 0};
    const bool forks = arrived > 0 && draws.chance(40);
    const SequenceId id{arrived};
    const Answer answer =
        forks ? scheduler.fork(SequenceId{draws.below(arrived)}, id, request.spec, keys)
              : scheduler.add(id, request.spec, keys);
    ++arrived;
    see({static_cast<std::uint64_t>(answer)});
  }

  void act(const Tiny& tiny, RandomDraws& draws) {
    seen.clear();
    const std::uint32_t what = draws.below(100);
    RandomDraws own(draws.next());  // so that every event takes as many draws
    if (what < 12) {
      if (arrived < tiny.arrivals_max) arrive(tiny, own);
    } else if (what < 50) {
      if (flying.size() <= scheduler.options().overlap) plan_step();
    } else if (what < 60) {
      const auto queued = std::find_if(flying.begin(), flying.end(),
                                       [](const MirrorStep& step) { return !step.copies_passed; });
      if (own.chance(30)) {
        if (!flying.empty()) pass_step();
      } else if (queued != flying.end()) {
        pass_copies(*queued);
      }
    } else if (what < 84) {
      if (!flying.empty()) complete(own.chance(8), own);
    } else if (what < 96) {
      const Lane lane = own.chance(50) ? Lane::kHostToDevice : Lane::kDeviceToHost;
      pass_transfer(lane, own.chance(15));
    } else if (arrived > 0) {
      scheduler.abort(SequenceId{own.below(arrived)});
    }
    for (const Ended& end : scheduler.ended()) {
      see({value_of(end.sequence), static_cast<std::uint64_t>(end.reason), end.emitted.value});
      batch.erase(end.sequence);
    }
    scheduler.clear_ended();
    for (const Transfer& queued : scheduler.transfers()) {
      see({index_of(queued.lane), index_of(queued.device), index_of(queued.host)});
      transfers.push_back(queued);
    }
    scheduler.clear_transfers();
    see_journal();
    if (seen.empty()) return;  // there was nothing to do
    see({key()});
    for (const std::uint64_t value : seen) history = mixed(history, value);
  }

  void see_journal() {
    const std::span<const std::byte> bytes = scheduler.journal().unread();
    for (std::size_t at = 0; at < bytes.size();) {
      Record record{};
      std::memcpy(&record, &bytes[at], sizeof record);
      at += sizeof record + 4 * ids_after(record);
      // Left out, since they tell of the past and decide nothing: LATER is noted when its cause changes,
      // an unpark names who let go, and steps and tickets are counted from the start.
      if (record.verb == Verb::kAnswer) continue;
      const bool unparked = record.verb == Verb::kUnpark;
      const bool result = record.verb == Verb::kResult;
      const bool numbered = unparked || result || record.verb == Verb::kStep;
      see({static_cast<std::uint64_t>(record.verb), record.detail, numbered ? 0 : record.sequence,
           record.count, result ? record.aux : 0});
    }
    scheduler.journal().clear();
  }

  std::uint64_t key() const { return mixed(scheduler.state_hash(), arrived); }
};

TEST_CASE("state hash: walks that meet by different ways behave alike from there on") {
  std::uint64_t states = 0;
  std::uint64_t meetings = 0;
  SchedulerStats most;  // of each count in one walk
  for (std::uint64_t seed = 1; seed <= kScenarios; ++seed) {
    RandomDraws draws(seed);
    const Tiny tiny = draw_tiny(draws);
    CAPTURE(seed);
    std::map<std::uint64_t, Walker> met;
    for (std::uint32_t walk = 0; walk < kWalks; ++walk) {
      Walker walker(tiny.options);
      const SchedulerStats& stats = walker.scheduler.stats();
      for (std::uint32_t event = 0; event < kWalkEvents; ++event) {
        walker.act(tiny, draws);
        const auto [other, is_new] = met.emplace(walker.key(), walker);
        // By the same way, or once more by one of many.
        if (is_new || other->second.history == walker.history || draws.chance(80)) continue;
        Walker first = other->second;
        Walker second = walker;
        RandomDraws of_first(draws.next());
        RandomDraws of_second = of_first;
        ++meetings;
        bool alike = true;
        for (std::uint32_t behind = 0; alike && behind < kEventsBehind; ++behind) {
          first.act(tiny, of_first);
          second.act(tiny, of_second);
          alike = first.seen == second.seen;
        }
        REQUIRE(alike);
      }
      most.preemptions = std::max(most.preemptions, stats.preemptions);
      most.sat_out = std::max(most.sat_out, stats.sat_out);
      most.forks = std::max(most.forks, stats.forks);
      most.sharing_lost = std::max(most.sharing_lost, stats.sharing_lost);
      most.loads_lost = std::max(most.loads_lost, stats.loads_lost);
      most.loaded_states = std::max(most.loaded_states, stats.loaded_states);
      most.saved_states = std::max(most.saved_states, stats.saved_states);
    }
    states += met.size();
  }
  std::printf("  %llu states, met %llu times\n", static_cast<unsigned long long>(states),
              static_cast<unsigned long long>(meetings));
  CHECK(meetings > 10'000);
  CHECK(most.preemptions > 1);
  CHECK(most.sat_out > 1);
  CHECK(most.forks > 1);
  CHECK(most.sharing_lost > 0);
  CHECK(most.loads_lost > 0);
  CHECK(most.loaded_states > 0);
  CHECK(most.saved_states > 0);
}

}  // namespace
}  // namespace pinfold::model
