#include "sim/core/simulation.h"

#include <algorithm>
#include <utility>

#include "sim/core/step_faults.h"

namespace pinfold::sim {
namespace {

constexpr SequenceId kNoParent{UINT32_MAX};

}  // namespace

void Simulation::take_arrivals() {
  while (arrivals_.take(now_, requests_.size(), arrival_)) {
    LiveRequest& request = requests_.add(arrival_.number);
    std::swap(request.asked, arrival_.asked);
    request.arrival_ns = arrival_.at_ns;
    if (!any_arrival_) first_ns_ = arrival_.at_ns;
    any_arrival_ = true;
    figures_.arrive(arrival_.at_ns);
    queue_watch_.arrive(scheduler_.waiting_count());
    if (observer_ != nullptr) {
      observer_->on_arrival(static_cast<std::uint32_t>(arrival_.number), arrival_.at_ns);
    }
    request.live = 1;
    request.unforked = request.asked.output > 1 ? request.asked.samples - 1 : 0;
    if (request.asked.fork_of != kNoRequest) {
      pending_forks_.push_back({arrival_.number, request.asked.fork_of});
    } else {
      begin(arrival_.number, request);
    }
  }
}

Member& Simulation::new_member(std::uint64_t number, std::uint32_t sample, std::uint32_t output,
                               SequenceId& id) {
  id = SequenceId{next_sequence_++};
  Member& member = members_.add(value_of(id));
  member.request = number;
  member.sample = sample;
  member.output = output;
  if (observer_ != nullptr) {
    observer_->on_sequence(id, static_cast<std::uint32_t>(number), sample);
  }
  return member;
}

RequestSpec Simulation::spec_of(const LiveRequest& request, std::uint32_t output) const {
  const TraceRequest& asked = request.asked;
  RequestSpec spec;
  spec.prompt = TokenCount(asked.prompt);
  spec.stop = config_.workload.stop;
  spec.drafts = TokenCount(std::min(asked.drafts, config_.workload.drafts));
  spec.priority = asked.priority;
  // Decision 1: without max_tokens in the trace the limit is the output where it is known, else
  // whatever the model's length allows (which add() clips to).
  const std::uint32_t hidden_limit =
      asked.limit > 0 ? std::max(asked.limit, asked.output) : config_.engine.max_model_len;
  spec.limit = TokenCount(hidden() ? hidden_limit : output);
  return spec;
}

// The sequence that computes the request's prompt.
void Simulation::begin(std::uint64_t number, LiveRequest& request) {
  SequenceId id{};
  Member& member = new_member(number, 0, request.asked.output, id);
  request.first = id;
  request.begun = true;
  readers_.prefix_classes().arrive(id, request.asked);
  const Answer answer =
      scheduler_.add(id, spec_of(request, request.asked.output), prefix_keys_.of(request.asked));
  readers_.watch().arrived(id, spec_of(request, request.asked.output), answer);
  begun(id, member, request.arrival_ns, answer);
}

// After add() or fork().
void Simulation::begun(SequenceId id, Member& member, std::int64_t since_ns, Answer answer) {
  if (answer == Answer::kNever) {
    end_member(id, member, EndReason::kNever, 0);
  } else if (scheduler_.view(id).phase == Phase::kWaiting) {
    member.waiting_since_ns = since_ns;
    waits_.arrive(since_ns);
  }
}

// A fork of a request goes ahead once its parent has processed enough, or has ended.
void Simulation::release_forks() {
  std::size_t kept = 0;
  for (std::size_t n = 0; n < pending_forks_.size(); ++n) {
    const PendingFork fork = pending_forks_[n];
    LiveRequest* const request = requests_.find(fork.request);
    if (request == nullptr) continue;  // given up before it began
    LiveRequest* const parent = requests_.find(fork.parent);
    if (parent != nullptr && !parent->begun) {  // a fork of a fork
      pending_forks_[kept++] = fork;
      continue;
    }
    const bool lives = parent != nullptr && scheduler_.knows(parent->first);
    if (lives) {
      const SequenceView view = scheduler_.view(parent->first);
      const TokenCount least(std::max(request->asked.fork_at, std::uint32_t{1}));
      if (view.rows.processed < least) {
        pending_forks_[kept++] = fork;
        continue;
      }
    }
    const SequenceId parent_id = lives ? parent->first : kNoParent;
    SequenceId id{};
    Member& member = new_member(fork.request, 0, request->asked.output, id);
    request->first = id;
    request->begun = true;
    const Answer answer = scheduler_.fork(parent_id, id, spec_of(*request, request->asked.output),
                                          prefix_keys_.of(request->asked));
    begun(id, member, now_, answer);
  }
  pending_forks_.resize(kept);
}

// The prompt of a request with samples has been computed: the others fork it at its settled count.
void Simulation::fork_samples(std::uint64_t number, LiveRequest& request) {
  const std::uint32_t count = request.unforked;
  request.unforked = 0;
  request.live += count;
  const SequenceId parent = request.first;
  const std::uint32_t samples = request.asked.samples;
  // A sample's first token comes out of the prompt's step, like the first sample's.
  const std::uint32_t own = request.asked.output - 1;
  for (std::uint32_t sample = samples - count; sample < samples; ++sample) {
    SequenceId id{};
    Member& member = new_member(number, sample, own, id);
    member.first_token_ns = request.first_token_ns;
    member.last_token_ns = request.first_token_ns;
    request.others.push_back(id);
    const Answer answer =
        scheduler_.fork(parent, id, spec_of(request, own), prefix_keys_.of(request.asked));
    begun(id, member, now_, answer);
  }
}

void Simulation::abort_request(std::uint64_t number) {
  LiveRequest* const request = requests_.find(number);
  if (request == nullptr) return;
  request->aborted = true;
  request->unforked = 0;
  if (!request->begun) {  // a fork that still waits for its parent
    request->live = 0;
    finish_request(number, *request);
    return;
  }
  std::vector<SequenceId> members = request->others;
  members.insert(members.begin(), request->first);
  waits_.account(now_, observer_);  // one that waits does so no longer than until now
  const std::uint64_t requeued = requeues();
  const std::size_t unread = scheduler_.journal().unread().size();
  for (const SequenceId id : members) scheduler_.abort(id);
  if (requeues() != requeued) note_requeued(unread, true);  // forks that had not pinned it yet
  take_ends();
  waits_.set_waiting(scheduler_.waiting_count());
}

// Every so many steps many clients give up at once.
void Simulation::abort_storm(std::uint64_t step) {
  const FaultConfig& fault = config_.fault;
  if (step % fault.abort_storm_steps != 0) return;
  std::vector<std::uint64_t> hit;
  requests_.for_each([&](std::uint64_t number, LiveRequest&) {
    if (storm_hits(config_, step, number)) hit.push_back(number);
  });
  for (const std::uint64_t number : hit) abort_request(number);
}

void Simulation::take_ends() {
  for (std::size_t n = 0; n < scheduler_.ended().size(); ++n) {
    const Ended ended = scheduler_.ended()[n];
    Member* const member = members_.find(value_of(ended.sequence));
    if (member == nullptr) continue;  // NEVER at once: add() and fork() said so
    end_member(ended.sequence, *member, ended.reason, ended.emitted.value);
  }
  scheduler_.clear_ended();
  if (options_.progress && ended_ >= next_progress_) {
    options_.progress(ended_);
    next_progress_ = ended_ + kProgressEvery;
  }
}

void Simulation::end_member(SequenceId id, Member& member, EndReason reason,
                            std::uint32_t emitted) {
  const std::uint64_t number = member.request;
  LiveRequest& request = requests_[number];
  stop_waiting(member);
  overrun(member);
  request.waited_ns += member.waited_ns;
  waited_ended_ns_ += member.waited_ns;
  // A sample's first token came out of the prompt's step.
  const std::uint32_t tokens = emitted + (member.sample > 0 ? 1 : 0);
  request.emitted += tokens;
  if (reason == EndReason::kNever) {
    request.never = true;
    if (!result_.first_never) result_.first_never = number;
  }
  if (reason == EndReason::kAborted) request.aborted = true;
  const bool whole = reason == EndReason::kStop || reason == EndReason::kLimit;
  if (whole && tokens > 1 && request.first_token_ns != kNotYet) {
    const std::int64_t tpot_ns =
        divide_half_up(static_cast<std::uint64_t>(now_ - request.first_token_ns), tokens - 1);
    request.tpot_ns = std::max(request.tpot_ns, tpot_ns);
    if (figures_.counts(request.arrival_ns)) figures_.add_tpot(tpot_ns);
  }
  const bool computes_prompt = member.sample == 0;
  members_.remove(value_of(id));
  --request.live;
  if (computes_prompt && request.unforked > 0) {
    if (whole) {
      fork_samples(number, request);  // too late to share anything
    } else {
      request.unforked = 0;
    }
  }
  if (request.live == 0) finish_request(number, requests_[number]);
}

// Its rows in steps behind this one deliver nothing any more.
void Simulation::overrun(const Member& member) {
  const bool in_batch = member.join_step > 0 && member.left_step == 0;
  if (in_batch && drafting()) leave_batch(member);
  if (in_batch && figures_.windowed() && counts(member)) --rows_counted_;
  for (std::size_t n = 0; n < frames_.size(); ++n) {
    Frame& frame = frames_[n];
    const bool row = member.join_step > 0 && member.join_step < frame.step &&
                     (member.left_step == 0 || frame.step < member.left_step);
    if (row && counts(member)) --frame.going_on;
  }
}

void Simulation::leave_batch(const Member& member) {
  const std::uint32_t at = member.batch_index;
  batch_[at] = batch_.back();
  members_[value_of(batch_[at].sequence)].batch_index = at;
  batch_.pop_back();
}

void Simulation::finish_request(std::uint64_t number, LiveRequest& request) {
  last_end_ns_ = now_;
  ++ended_;
  if (observer_ != nullptr) observer_->on_end(static_cast<std::uint32_t>(number), now_);
  figures_.end(request, now_);
  arrivals_.note_end(request.asked.session, now_);
  requests_.remove(number);
}

}  // namespace pinfold::sim
