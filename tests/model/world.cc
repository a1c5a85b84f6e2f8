#include "tests/model/world.h"

#include <algorithm>

namespace pinfold::model {

RequestSpec World::spec_of(const Wish& wish) {
  RequestSpec spec;
  spec.prompt = TokenCount(wish.prompt);
  spec.limit = TokenCount(wish.limit);
  spec.stop = wish.stop;
  spec.drafts = TokenCount(wish.drafts);
  spec.priority = wish.priority;
  return spec;
}

void World::add(SequenceId id, const Wish& wish) {
  const Answer answer = scheduler.add(id, spec_of(wish), keys_of(wish));
  accounts[id] = {wish, 0, answer == Answer::kNever, EndReason::kNever};
}

void World::fork(SequenceId parent, SequenceId child, const Wish& wish) {
  if (scheduler.knows(parent)) {
    const SequenceView view = scheduler.view(parent);
    const bool runs = view.phase == Phase::kPrefill || view.phase == Phase::kDecode;
    if (runs && view.rows.processed.value > 0) ++live_forks;
  }
  const Answer answer = scheduler.fork(parent, child, spec_of(wish), keys_of(wish));
  accounts[child] = {wish, 0, answer == Answer::kNever, EndReason::kNever};
}

void World::abort(SequenceId id) {
  for (const MirrorStep& step : flying) {
    const auto names_it = [&](const MirrorRow& row) { return row.sequence == id; };
    if (std::any_of(step.rows.begin(), step.rows.end(), names_it)) {
      ++aborts_in_flight;
      break;
    }
  }
  PINFOLD_CHECK(scheduler.abort(id) == !accounts.at(id).ended, "world", "abort of a dead request");
  take_ends();
}

MirrorStep mirror_step(const StepPlan& plan, MirrorBatch& batch) {
  MirrorStep step;
  step.step = value_of(plan.step);
  step.copy_ticket = plan.copy_ticket;
  step.copies_passed = plan.copies.empty();
  step.copies = plan.copies;
  for (const Joined& joined : plan.joined) batch[joined.sequence] = joined.epoch;
  for (const auto& [sequence, epoch] : batch) {
    MirrorRow row{sequence, epoch, 0, false};
    for (const Drafted& drafted : plan.drafted) {
      if (drafted.sequence == sequence) row.drafts = drafted.drafts.value;
    }
    step.rows.push_back(row);
  }
  for (const Chunk& chunk : plan.chunks) {
    if (chunk.last) step.rows.push_back({chunk.sequence, chunk.epoch, 0, true});
  }
  return step;
}

bool World::turn() {
  PINFOLD_CHECK(may_plan(), "world", "planned too far ahead");
  scheduler.plan_step(plan);
  for (const Left& left : plan.left) {
    PINFOLD_CHECK(batch.count(left.sequence) == 1, "world", "a row left that was not in the batch");
    batch.erase(left.sequence);
  }
  take_ends();
  if (plan.empty) return false;
  for (const Joined& joined : plan.joined) {
    PINFOLD_CHECK(batch.count(joined.sequence) == 0, "world", "a row joined twice");
  }
  MirrorStep step = mirror_step(plan, batch);
  PINFOLD_CHECK(batch.size() == plan.decode_rows, "world",
                "the plan counts " + std::to_string(plan.decode_rows) +
                    " decode rows, its deltas " + std::to_string(batch.size()));
  std::uint64_t context = 0;
  std::uint32_t draft_rows = 0;
  for (const MirrorRow& row : step.rows) {
    if (row.prompt_end) continue;
    draft_rows += row.drafts;
    const SequenceView view = scheduler.view(row.sequence);
    context += (view.rows.processed + view.rows.in_flight).value;
  }
  PINFOLD_CHECK(context == plan.context_rows, "world", "the plan's context is not the rows' sum");
  PINFOLD_CHECK(draft_rows == plan.draft_rows, "world", "the plan's drafts are not the rows' sum");
  for (const Chunk& chunk : plan.chunks) {
    const SequenceView view = scheduler.view(chunk.sequence);
    PINFOLD_CHECK(view.rows.processed + view.rows.in_flight == chunk.first + chunk.count, "world",
                  "a chunk does not end where the counts say");
  }
  flying.push_back(std::move(step));
  return true;
}

bool World::copies_pending() const {
  return std::any_of(flying.begin(), flying.end(),
                     [](const MirrorStep& step) { return !step.copies_passed; });
}

void World::pass_copies() {
  for (MirrorStep& step : flying) {
    if (step.copies_passed) continue;
    step.copies_passed = true;
    scheduler.on_passed(copy_lane(), step.copy_ticket);
    return;
  }
}

void World::complete(bool failed) {
  const MirrorStep step = flying.front();
  flying.pop_front();
  // The step waited for its copies; in a lane of their own only that lane's event says so.
  if (!step.copies_passed && copy_lane() == Lane::kCopy) {
    scheduler.on_passed(Lane::kCopy, step.copy_ticket);
  }
  if (failed) {
    // Nothing of this step or of the steps behind it counts, and every row starts anew.
    for (MirrorStep& behind : flying) behind.rows.clear();
    scheduler.on_step_complete({StepNumber{step.step}, true, nullptr, 0});
    take_ends();
    return;
  }
  std::vector<RowResult> exceptions;
  for (const MirrorRow& row : step.rows) {
    Account& account = accounts.at(row.sequence);
    if (account.ended) continue;
    std::uint32_t tokens = 1;
    if (row.prompt_end) {
      tokens = account.wish.output > 0 && account.wish.limit > 0 ? 1 : 0;
    } else {
      while (tokens <= row.drafts && account.emitted + tokens < account.wish.output &&
             accepts(seed, row.sequence, account.emitted + tokens) != 0) {
        ++tokens;
      }
    }
    account.emitted += tokens;
    const bool stop =
        account.wish.stop == StopMode::kHidden && account.emitted >= account.wish.output;
    const bool limited = account.wish.limit == 0;
    if (tokens != 1 || stop) {
      if (!limited) exceptions.push_back({row.sequence, row.epoch, TokenCount(tokens), stop});
    }
    if (row.drafts + 1 > tokens && scheduler.knows(row.sequence)) {
      const SequenceView view = scheduler.view(row.sequence);
      if (view.epoch == row.epoch && view.rows.in_flight.value > row.drafts) {
        const TokenCount block_size = scheduler.options().block_size;
        const TokenCount upto = view.rows.processed + view.rows.in_flight;
        const TokenCount kept = upto - TokenCount(row.drafts + 1 - tokens);
        if (blocks_for(kept, block_size) < blocks_for(upto, block_size)) {
          ++rejections_over_a_block_end;
        }
      }
    }
  }
  scheduler.on_step_complete({StepNumber{step.step}, false, exceptions.data(), exceptions.size()});
  take_ends();
}

void World::take_ends() {
  for (const Ended& ended : scheduler.ended()) {
    Account& account = accounts.at(ended.sequence);
    PINFOLD_CHECK(!account.ended, "world", "a request ended twice");
    PINFOLD_CHECK(ended.emitted.value == account.emitted, "world",
                  "request " + std::to_string(value_of(ended.sequence)) + " ended with " +
                      std::to_string(ended.emitted.value) + " tokens, yielded " +
                      std::to_string(account.emitted));
    account.ended = true;
    account.reason = ended.reason;
    batch.erase(ended.sequence);
  }
  scheduler.clear_ended();
}

void World::check() const {
  scheduler.audit();
  std::uint32_t live = 0;
  for (const auto& [id, account] : accounts) {
    PINFOLD_CHECK(scheduler.knows(id) == !account.ended, "world", "who is alive?");
    if (account.ended) continue;
    ++live;
    const SequenceView view = scheduler.view(id);
    PINFOLD_CHECK(view.emitted.value == account.emitted, "world",
                  "request " + std::to_string(value_of(id)) + " emitted " +
                      std::to_string(account.emitted) + ", the scheduler says " +
                      std::to_string(view.emitted.value));
  }
  PINFOLD_CHECK(live == scheduler.unfinished(), "world", "unfinished requests were miscounted");
  if (!drained()) return;
  for (const PoolKind kind : {PoolKind::kBlocks, PoolKind::kStateSlots, PoolKind::kDraftSlots}) {
    PINFOLD_CHECK(flying.empty() && scheduler.pools().of(kind).owned().value == 0, "world",
                  std::string("drained, and somebody owns a ") + name_of(kind));
  }
}

}  // namespace pinfold::model
