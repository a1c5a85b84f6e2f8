#include "sim/core/simulation.h"

#include <algorithm>
#include <utility>

#include "sim/core/draft_acceptance.h"
#include "sim/core/step_faults.h"

namespace pinfold::sim {

void Simulation::complete() {
  Frame& frame = frames_.pop();
  advance_to(std::max(now_, frame.done_ns));
  fences_.pass(now_, scheduler_);
  const bool fails = steps_fail(config_.fault) && !frame.failed && step_fails(config_, frame.step);
  exceptions_.clear();
  if (fails) {
    void_steps(frame);
  } else if (!frame.failed) {
    if (drafting()) {
      draft_results(frame);
    } else {
      plain_results(frame);
    }
  }
  const std::uint64_t requeued = requeues();
  const std::size_t unread = scheduler_.journal().unread().size();
  scheduler_.on_step_complete(
      {StepNumber{frame.step}, fails, exceptions_.data(), exceptions_.size()});
  fences_.result_upto(Ticket{2 * frame.step});
  if (requeues() != requeued) note_requeued(unread, false);
  if (store_.on()) store_.queue(scheduler_, now_, staged_ns_);
  if (!scheduler_.ended().empty()) take_ends();
  if (!frame.failed) {
    for (const SequenceId id : frame.leaving) {
      Member* const member = members_.find(value_of(id));
      if (member != nullptr) member->last_token_ns = now_;
    }
    last_result_ns_ = now_;
    if (!frame.last_chunks.empty()) fork_after(frame);
  }
  readers_.complete(frame.step, frame.planned_ns, now_);
  if (config_.fault.abort_storm_permille > 0) abort_storm(frame.step);
  readers_.drain(now_);
}

// Decision 9: nothing of the failed step or of the steps behind it is delivered. Every row leaves the
// batch with the next plan and joins again, and stops come with the rows that then yield them.
void Simulation::void_steps(Frame& failed) {
  failed.failed = true;
  ++result_.failed_steps;
  for (std::size_t n = 0; n < frames_.size(); ++n) frames_[n].failed = true;
  const auto undo = [&](SequenceId id) {
    Member* const member = members_.find(value_of(id));
    if (member != nullptr && member->join_step < failed.step) {
      member->last_token_ns = last_result_ns_;
    }
  };
  for (const SequenceId id : failed.leaving) undo(id);
  for (std::size_t n = 0; n < frames_.size(); ++n) {
    for (const SequenceId id : frames_[n].leaving) undo(id);
  }
  members_.for_each([&](std::uint64_t id, Member& member) {
    Stops::forget(member);
    if (member.join_step == 0 || member.left_step != 0) return;
    undo(SequenceId{static_cast<std::uint32_t>(id)});
    member.voided = true;
  });
}

// Every row yields one token. Rows of the last step share one inter-token latency.
void Simulation::plain_results(const Frame& frame) {
  if (hidden()) {
    stops_.take_due(frame.step, members_, [&](std::uint32_t id, const Member& member) {
      const TokenCount tokens(member.output > 0 ? 1 : 0);
      exceptions_.push_back({SequenceId{id}, member.stop_epoch, tokens, true});
    });
  }
  figures_.add_itl(now_ - last_result_ns_, frame.going_on);
  for (const Joined& joined : frame.joined) {
    Member* const member = members_.find(value_of(joined.sequence));
    if (member != nullptr) deliver(*member);
  }
  for (const Chunk& chunk : frame.last_chunks) deliver_from_prompt(chunk);
}

// A token that is not the steady next one of its row: the first one, or one behind a gap.
void Simulation::deliver(Member& member) {
  if (member.first_token_ns == kNotYet) {
    member.first_token_ns = now_;
    LiveRequest& request = requests_[member.request];
    if (request.first_token_ns == kNotYet) {
      request.first_token_ns = now_;
      if (observer_ != nullptr) {
        observer_->on_first_token(static_cast<std::uint32_t>(member.request), now_);
      }
    }
  } else if (counts(member)) {
    figures_.add_itl(now_ - member.last_token_ns);
  }
  member.last_token_ns = now_;
}

void Simulation::deliver_from_prompt(const Chunk& chunk) {
  Member* const member = members_.find(value_of(chunk.sequence));
  if (member == nullptr || member->output == 0) return;
  deliver(*member);
}

// Every row is looked at: how many drafts were accepted is drawn for the token positions that the
// row turned out to hold.
void Simulation::draft_results(const Frame& frame) {
  for (const Drafted& row : frame.rows) {
    Member* const member = members_.find(value_of(row.sequence));
    if (member == nullptr) continue;
    const std::uint32_t left = member->output - member->emitted;
    const std::uint32_t accepted = 1 + accepted_drafts(config_, requests_[member->request].asked,
                                                       *member, row.drafts.value, left - 1);
    yield(row.sequence, *member, row.epoch, accepted);
    deliver(*member);
  }
  for (const Chunk& chunk : frame.last_chunks) {
    Member* const member = members_.find(value_of(chunk.sequence));
    if (member == nullptr) continue;
    deliver_from_prompt(chunk);
    if (member->output > 0) {
      yield(chunk.sequence, *member, chunk.epoch, 1);
    } else if (hidden()) {
      exceptions_.push_back({chunk.sequence, chunk.epoch, TokenCount(0), true});
    }
  }
}

void Simulation::yield(SequenceId id, Member& member, std::uint32_t epoch, std::uint32_t tokens) {
  member.emitted += tokens;
  const bool stop = hidden() && member.emitted == member.output;
  if (tokens == 1 && !stop) return;  // the uniform result
  exceptions_.push_back({id, epoch, TokenCount(tokens), stop});
}

void Simulation::fork_after(const Frame& frame) {
  for (const Chunk& chunk : frame.last_chunks) {
    const Member* const member = members_.find(value_of(chunk.sequence));
    if (member == nullptr || member->sample != 0) continue;
    const std::uint64_t number = member->request;
    LiveRequest& request = requests_[number];
    if (request.unforked == 0) continue;
    // Preempted since: its rows are gone, and the next time its prompt is computed will do.
    if (scheduler_.view(request.first).epoch != chunk.epoch) continue;
    fork_samples(number, request);
  }
  if (!scheduler_.ended().empty()) take_ends();
}

}  // namespace pinfold::sim
