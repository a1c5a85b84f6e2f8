#include "sim/core/simulate.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "sim/check/invariant_watch.h"
#include "sim/check/shadow.h"
#include "sim/config/pool_size.h"
#include "sim/core/arrivals.h"
#include "sim/core/draw.h"
#include "sim/core/engine_options.h"
#include "sim/core/frames.h"
#include "sim/core/live_request.h"
#include "sim/core/live_window.h"
#include "sim/core/prefix_keys.h"
#include "sim/core/stall_report.h"
#include "sim/core/stops.h"
#include "sim/core/wait_reason.h"
#include "sim/device/host_link.h"
#include "sim/device/step_cost.h"
#include "sim/metrics/ledger.h"
#include "sim/record/digest.h"

namespace pinfold::sim {
namespace {

__extension__ using Wide = unsigned __int128;

ShadowOptions shadow_options(const RunConfig& config) {
  const SchedulerOptions engine = engine_options(config, true);
  ShadowOptions options;
  options.block_size = engine.block_size.value;
  options.block_ids = engine.block_ids;
  options.state_ids = engine.state_ids;
  options.draft_ids = engine.draft_ids;
  options.copy_lane = engine.copy_lane == CopyLane::kSeparate ? Lane::kCopy : Lane::kCompute;
  options.state_slots = engine.state == Switch::kOn;
  options.fences_always = engine.fence == FenceMode::kAlways;
  return options;
}

LedgerOptions ledger_options(const SchedulerOptions& engine) {
  return {engine.block_size.value, engine.block_ids, engine.state_ids, engine.draft_ids};
}

/// A fork that has arrived and waits until its parent has processed enough.
struct PendingFork {
  std::uint64_t request;
  std::uint64_t parent;  // request
};

/// A load or save that is given up at a time unless it has passed.
struct Lease {
  std::int64_t at_ns;
  Lane lane;
  Ticket ticket;
};

/// A state's save ends behind the result of the step that wrote the state.
struct StagedSave {
  Ticket ticket;
  std::uint64_t step;
};

/// Copies whose end the host has not been told of.
struct CopyFence {
  std::int64_t at_ns;
  Ticket ticket;
};

/// One replay. The loop is the engine's: observe what is due, plan while the overlap allows it, launch,
/// else wait for the next completion or arrival (rule O15, decision 2).
class Replay {
 public:
  Replay(RequestSource& source, const RunConfig& config, const RunOptions& options)
      : config_(config),
        options_(options),
        observer_(options.observer),
        windowed_(!options.measure.whole()),
        scheduler_(engine_options(config, options.fast_path)),
        watch_(scheduler_.options(), options.audit_every > 0, options.audit_every == 1),
        prefix_keys_(config.prefix.reuse ? source.id_block() : 0, config.engine.block_size),
        prefix_classes_(config.prefix.reuse ? source.id_block() : 0, config.engine.block_size),
        arrivals_(source, config),
        queue_watch_(source.expected(), config.workload.concurrency == 0),
        link_(config.store.duplex == Duplex::kHalf) {
    scheduler_.journal().set_enabled(true);
    if (source.expected() == 0) {
      for (LatencySamples* const samples : {&ttft_, &tpot_, &itl_, &e2el_, &queue_}) {
        samples->take_memory();
      }
    }
    if (options.shadow) shadow_.emplace(shadow_options(config));
    if (options.ledger) ledger_.emplace(ledger_options(scheduler_.options()));
  }

  RunResult run() {
    try {
      loop();
      tell_ledger();
      if (ledger_) result_.ledger = ledger_->totals();
    } catch (const InvariantViolation& violation) {
      result_.verdict = Verdict::kViolation;
      result_.verdict_detail = std::string(violation.what()) + ", at event " +
                               std::to_string(scheduler_.journal().events());
      ledger_.reset();
    }
    return summarise();
  }

 private:
  bool hidden() const { return config_.workload.stop == StopMode::kHidden; }
  bool drafting() const { return config_.workload.drafts > 0; }

  // ---- the loop ------------------------------------------------------------------------------------

  void loop() {
    if (arrivals_.next_ns() != kNeverNs) now_ = waited_upto_ = first_ns_ = arrivals_.next_ns();
    if (ledger_) ledger_->start_at(now_);
    while (true) {
      pass_fences();
      if (storing_) pass_transfers();
      take_aborts();
      take_arrivals();
      if (!pending_forks_.empty()) release_forks();
      const bool may_plan = frames_.size() <= config_.engine.overlap;
      if (may_plan) plan();
      if (host_waits_) return stall(lost_wait());
      if (may_plan && !plan_.empty) continue;  // as far ahead as the overlap allows
      const bool result_lost =
          !frames_.empty() && is_given(FaultKind::kStepLost, frames_.front().step);
      const bool in_flight = !frames_.empty() && !result_lost;
      const std::int64_t fence_ns = fences_.empty() ? kNeverNs : fences_.front().at_ns;
      const std::int64_t link_ns = storing_ ? next_transfer_ns() : kNeverNs;
      const bool awaits = fence_ns != kNeverNs || link_ns != kNeverNs;
      if (may_plan && !in_flight && scheduler_.unfinished() > 0 && !awaits) {
        if (scheduler_.nothing_pending()) return stall("nothing is in flight and nothing can run");
        if (lost_fences_ > 0) return stall("nothing can run but what waits for a lost fence");
        if (const std::string what = lost_transfer(); !what.empty()) {
          return stall("nothing can run but what waits for " + what);
        }
      }
      if (passes_without_progress_ >
          4 * std::uint64_t{scheduler_.running_count() + scheduler_.waiting_count()} + 64) {
        return stall("steps run without progress");
      }
      // A client may be heard at once only if the overlap has room for another step.
      const std::int64_t client_ns = std::min(arrivals_.next_ns(), arrivals_.next_abort_ns());
      const std::int64_t idle_ns = in_flight ? kNeverNs : fence_ns;
      const std::int64_t next_ns = std::min({client_ns, idle_ns, link_ns});
      if (may_plan && next_ns != kNeverNs && (!in_flight || next_ns < frames_.front().done_ns)) {
        if (!in_flight && !result_lost && scheduler_.unfinished() == 0 && !arrivals_.more() &&
            idle_ns == kNeverNs && link_ns == kNeverNs) {
          return;  // only clients of ended requests are left to give up
        }
        // A client that came and gave up while the host was busy is heard of now.
        advance_to(std::max(next_ns, now_));
      } else if (result_lost) {
        return stall("the result of step " + std::to_string(frames_.front().step) + " was lost");
      } else if (in_flight) {
        complete();
      } else {
        return;
      }
    }
  }

  void advance_to(std::int64_t ns) {
    PINFOLD_CHECK(ns >= now_, "time", "time went back");
    if (ns == now_) return;
    if (observer_ != nullptr) tell_observer();
    tell_ledger();
    if (ledger_) ledger_->advance_to(ns);
    const std::uint64_t owned = scheduler_.pools().blocks().owned().value;
    owned_ns_ += static_cast<Wide>(owned) * static_cast<std::uint64_t>(ns - now_);
    loading_ns_ += scheduler_.loading_count() * static_cast<std::uint64_t>(ns - now_);
    now_ = ns;
  }

  // ---- clients -------------------------------------------------------------------------------------

  void take_arrivals() {
    while (arrivals_.take(now_, requests_.size(), arrival_)) {
      LiveRequest& request = requests_.add(arrival_.number);
      std::swap(request.asked, arrival_.asked);
      request.arrival_ns = arrival_.at_ns;
      if (!any_arrival_) first_ns_ = arrival_.at_ns;
      any_arrival_ = true;
      note_counted_arrival(arrival_.at_ns);
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

  Member& new_member(std::uint64_t number, std::uint32_t sample, std::uint32_t output,
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

  RequestSpec spec_of(const LiveRequest& request, std::uint32_t output) const {
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
  void begin(std::uint64_t number, LiveRequest& request) {
    SequenceId id{};
    Member& member = new_member(number, 0, request.asked.output, id);
    request.first = id;
    request.begun = true;
    prefix_classes_.arrive(id, request.asked);
    const Answer answer =
        scheduler_.add(id, spec_of(request, request.asked.output), prefix_keys_.of(request.asked));
    watch_.arrived(id, spec_of(request, request.asked.output), answer);
    begun(id, member, request.arrival_ns, answer);
  }

  // After add() or fork().
  void begun(SequenceId id, Member& member, std::int64_t since_ns, Answer answer) {
    if (answer == Answer::kNever) {
      end_member(id, member, EndReason::kNever, 0);
    } else if (scheduler_.view(id).phase == Phase::kWaiting) {
      member.waiting_since_ns = since_ns;
      arrived_.push_back(since_ns);
    }
  }

  // A fork of a request goes ahead once its parent has processed enough, or has ended.
  void release_forks() {
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
  void fork_samples(std::uint64_t number, LiveRequest& request) {
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

  void take_aborts() {
    std::uint64_t number = 0;
    while (arrivals_.take_abort(now_, number)) abort_request(number);
  }

  void abort_request(std::uint64_t number) {
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
    account_waiting();  // one that waits does so no longer than until now
    const std::uint64_t requeued = requeues();
    const std::size_t unread = scheduler_.journal().unread().size();
    for (const SequenceId id : members) scheduler_.abort(id);
    if (requeues() != requeued) note_requeued(unread, true);  // forks that had not pinned it yet
    take_ends();
    waiting_ = scheduler_.waiting_count();
  }

  // Every so many steps many clients give up at once.
  void abort_storm(std::uint64_t step) {
    const FaultConfig& fault = config_.fault;
    if (fault.abort_storm_permille == 0 || step % fault.abort_storm_steps != 0) return;
    std::vector<std::uint64_t> hit;
    requests_.for_each([&](std::uint64_t number, LiveRequest&) {
      if (draw_permille(config_.seed, Stream::kFault, number, step) < fault.abort_storm_permille) {
        hit.push_back(number);
      }
    });
    for (const std::uint64_t number : hit) abort_request(number);
  }

  // Requests outside the measured window run like the others and count in no figure of the benchmark.
  bool counts(std::int64_t arrival_ns) const {
    return !windowed_ || options_.measure.counts(arrival_ns);
  }
  bool counts(const Member& member) {
    return !windowed_ || options_.measure.counts(requests_[member.request].arrival_ns);
  }

  void note_counted_arrival(std::int64_t arrival_ns) {
    if (!counts(arrival_ns)) return;
    ++result_.requests;
    first_counted_ns_ = std::min(first_counted_ns_, arrival_ns);
  }

  // ---- planning ------------------------------------------------------------------------------------

  void plan() {
    account_waiting();
    const std::uint64_t requeued = requeues();
    const std::uint64_t recomputed = scheduler_.stats().recomputed_rows;
    const std::size_t unread = scheduler_.journal().unread().size();
    watch_.before_plan(scheduler_);
    scheduler_.plan_step(plan_);
    watch_.after_plan(scheduler_, plan_);
    if (observer_ != nullptr) {
      tell_observer();
      observer_->on_plan(plan_);
    }
    cause_ = plan_.cause;
    note_left();
    note_admitted();
    if (requeues() != requeued) note_requeued(unread, true);
    if (!scheduler_.ended().empty()) take_ends();
    waiting_ = scheduler_.waiting_count();
    if (!plan_.empty) {
      const std::uint64_t redone = scheduler_.stats().recomputed_rows - recomputed;
      const bool progress = plan_.decode_rows > 0 || plan_.prompt_rows > redone;
      passes_without_progress_ = progress ? 0 : passes_without_progress_ + 1;
      launch();
    }
    if (storing_) queue_transfers();
    drain();
  }

  // Waiting requests waited since the last plan for what refused the head then; those that arrived
  // meanwhile waited for the running step.
  void account_waiting() {
    if (observer_ != nullptr && now_ > waited_upto_) {
      observer_->on_wait(cause_, waited_upto_, now_);
    }
    wait_ns_[static_cast<std::size_t>(wait_of(cause_))] +=
        std::uint64_t{waiting_} * static_cast<std::uint64_t>(now_ - waited_upto_);
    for (const std::int64_t arrival : arrived_) {
      wait_ns_[static_cast<std::size_t>(Wait::kStep)] += static_cast<std::uint64_t>(now_ - arrival);
    }
    arrived_.clear();
    waited_upto_ = now_;
  }

  void note_admitted() {
    if (scheduler_.loading_count() > 0) {
      for (const SequenceId id : scheduler_.loading()) stop_waiting(members_[value_of(id)]);
    }
    for (const Chunk& chunk : plan_.chunks) stop_waiting(members_[value_of(chunk.sequence)]);
  }

  void stop_waiting(Member& member) {
    if (member.waiting_since_ns == kNotYet) return;
    member.waited_ns += now_ - member.waiting_since_ns;
    member.waiting_since_ns = kNotYet;
  }

  // Events that put a sequence into the queue again.
  std::uint64_t requeues() const {
    const SchedulerStats& stats = scheduler_.stats();
    return stats.preemptions + stats.sharing_lost + stats.forks_missed + stats.loads_lost;
  }

  // Neither a plan nor a result names who was put into the queue again; the journal does, in what was
  // written since byte `from`.
  void note_requeued(std::size_t from, bool by_plan) {
    const std::span<const std::byte> bytes = scheduler_.journal().unread();
    for (std::size_t at = from; at < bytes.size();) {
      Record record;
      std::memcpy(&record, bytes.data() + at, sizeof record);
      at += sizeof record + ids_after(record) * sizeof(BlockId);
      const bool requeued = record.verb == Verb::kPreempt || record.verb == Verb::kDemote ||
                            record.verb == Verb::kForkMissed;
      Member* const member = requeued ? members_.find(record.sequence) : nullptr;
      if (member == nullptr || member->waiting_since_ns != kNotYet) continue;
      if (!scheduler_.knows(SequenceId{record.sequence})) continue;
      if (scheduler_.view(SequenceId{record.sequence}).phase != Phase::kWaiting) continue;
      member->waiting_since_ns = now_;
      if (!by_plan) arrived_.push_back(now_);
    }
  }

  void note_left() {
    for (const Left& left : plan_.left) {
      Member* const member = members_.find(value_of(left.sequence));
      if (member == nullptr) continue;
      const std::uint64_t next_step = value_of(scheduler_.done()) + frames_.size() + 1;
      member->left_step = next_step;
      if (windowed_ && counts(*member)) --rows_counted_;
      if (drafting()) {
        leave_batch(*member);
      } else if (hidden()) {
        Stops::leave(*member, next_step);
      }
      if (std::exchange(member->voided, false)) continue;
      if (frames_.empty()) {
        member->last_token_ns = last_result_ns_;
      } else {
        frames_.back().leaving.push_back(left.sequence);
      }
    }
  }

  void leave_batch(const Member& member) {
    const std::uint32_t at = member.batch_index;
    batch_[at] = batch_.back();
    members_[value_of(batch_[at].sequence)].batch_index = at;
    batch_.pop_back();
  }

  void launch() {
    const std::uint64_t step = value_of(plan_.step);
    const std::int64_t planned_ns = now_;
    if (config_.cost.plan_ps > 0) advance_to(now_ + picoseconds_.take_ns(config_.cost.plan_ps));
    Frame& frame = frames_.push();
    frame.step = step;
    frame.planned_ns = planned_ns;
    frame.going_on = windowed_ ? rows_counted_ : plan_.decode_rows - plan_.joined.size();
    frame.joined.swap(plan_.joined);
    for (const Joined& joined : frame.joined) {
      Member& member = members_[value_of(joined.sequence)];
      member.join_step = step;
      member.left_step = 0;
      if (windowed_ && counts(member)) ++rows_counted_;
      expect_stop(joined.sequence, member, joined.epoch, joined.tokens_before.value, step);
      if (drafting()) {
        member.batch_index = static_cast<std::uint32_t>(batch_.size());
        batch_.push_back({joined.sequence, joined.epoch, TokenCount(0)});
      }
    }
    for (const Chunk& chunk : plan_.chunks) {
      if (!chunk.last) continue;
      frame.last_chunks.push_back(chunk);
      Member& member = members_[value_of(chunk.sequence)];
      // Any other stop is known once its row joins, which may be later than the next step.
      const bool only_token = chunk.tokens_before.value + 1 >= member.output;
      if (only_token) {
        expect_stop(chunk.sequence, member, chunk.epoch, chunk.tokens_before.value, step);
      }
    }
    if (drafting()) {
      frame.rows = batch_;
      for (const Drafted& row : plan_.drafted) {
        frame.rows[members_[value_of(row.sequence)].batch_index].drafts = row.drafts;
      }
    }
    const StepCost cost = step_cost(config_.cost, config_.engine.block_size, plan_);
    result_.out_of_range.note(cost.limits_passed);
    std::int64_t start_ns = std::max(lane_free_ns_, now_);
    const bool copies = value_of(plan_.copy_ticket) != 0;
    std::int64_t copies_done = now_;
    if (copies) {
      // A lane of their own lets copies run beside an earlier step's forward; their own forward waits.
      std::int64_t& copy_lane_ns = separate_copies() ? copy_lane_free_ns_ : lane_free_ns_;
      copies_done = std::max(copy_lane_ns, now_) +
                    picoseconds_.take_ns(cost.copies_ps + config_.cost.copy_launch_ps +
                                         config_.fault.copy_delay_ps) +
                    given_delay_ns(step);
      copy_lane_ns = copies_done;
      start_ns = std::max(start_ns, copies_done);
    }
    if (cost.stages_ps > 0) start_ns += picoseconds_.take_ns(cost.stages_ps);
    staged_ns_ = start_ns;
    lane_free_ns_ = start_ns + picoseconds_.take_ns(cost.forward_ps);
    frame.done_ns = lane_free_ns_;
    ++result_.steps;
    if (copies) await_copies(copies_done);
  }

  bool is_given(FaultKind kind, std::uint64_t step) const {
    const std::vector<Fault>& given = config_.fault.given;
    return std::any_of(given.begin(), given.end(), [&](const Fault& fault) {
      return fault.kind == kind && fault.step == step;
    });
  }

  std::int64_t given_delay_ns(std::uint64_t step) const {
    std::int64_t delay_ns = 0;
    for (const Fault& fault : config_.fault.given) {
      if (fault.kind == FaultKind::kCopyDelay && fault.step == step) delay_ns += fault.delay_ns;
    }
    return delay_ns;
  }

  bool separate_copies() const { return config_.fork.copy_lane == CopyLane::kSeparate; }
  Lane copy_lane() const { return separate_copies() ? Lane::kCopy : Lane::kCompute; }

  // Decision 6: the host waits for the copies' fence in the same step, or looks when it next plans.
  void await_copies(std::int64_t done_ns) {
    ++copy_steps_;
    const bool lost = config_.fault.copy_lost == copy_steps_ ||
                      is_given(FaultKind::kCopyLost, value_of(plan_.step));
    if (lost) {
      ++lost_fences_;
      lost_ticket_ = plan_.copy_ticket;
      lost_step_ = value_of(plan_.step);
      host_waits_ = config_.fork.wait == FenceWait::kBlock;
    } else if (config_.fork.wait == FenceWait::kBlock) {
      advance_to(std::max(now_, done_ns));
      scheduler_.on_passed(copy_lane(), plan_.copy_ticket);
    } else {
      fences_.push_back({done_ns, plan_.copy_ticket});
    }
  }

  // An event on an in-order lane proves every earlier one, a lost one among them.
  void pass_fences() {
    while (!fences_.empty() && fences_.front().at_ns <= now_) {
      const Ticket ticket = fences_.front().ticket;
      fences_.pop_front();
      if (!separate_copies() && ticket <= compute_passed_) continue;
      scheduler_.on_passed(copy_lane(), ticket);
      if (ticket > lost_ticket_) lost_fences_ = 0;
    }
  }

  // ---- the store -----------------------------------------------------------------------------------

  std::uint64_t link_ps(std::uint64_t bytes) const {
    const Rational& gb_s = config_.store.bandwidth_gb_s;
    if (gb_s.numerator == 0) return 0;
    return static_cast<std::uint64_t>(static_cast<Wide>(bytes) * 1000 * gb_s.denominator /
                                      gb_s.numerator);
  }

  // As the model says, or else as the device file's geometry does.
  std::uint64_t moved_block_bytes() const {
    const std::uint64_t bytes = block_bytes_of(config_).value;
    if (bytes > 0 || !config_.cost.device) return bytes;
    return config_.cost.device->copy.bytes_per_position * config_.engine.block_size;
  }

  std::uint64_t bytes_moved(PoolKind pool) const {
    if (pool == PoolKind::kStateSlots) return stored_state_bytes_;
    return block_bytes_;
  }

  // What was queued since, one transfer for each ticket.
  void queue_transfers() {
    const std::span<const Transfer> queued = scheduler_.transfers();
    for (std::size_t n = 0; n < queued.size();) {
      const Transfer& first = queued[n];
      const bool load = first.lane == Lane::kHostToDevice;
      std::uint64_t bytes = 0;
      for (; n < queued.size() && queued[n].lane == first.lane && queued[n].ticket == first.ticket;
           ++n) {
        bytes += bytes_moved(queued[n].pool);
      }
      (load ? result_.store_bytes_in : result_.store_bytes_out) += bytes;
      const std::uint64_t staged_by = value_of(first.after);
      LinkTransfer transfer{first.lane, first.ticket, now_,
                            config_.store.latency_ps + link_ps(bytes)};
      if (staged_by > 0) {
        transfer.ready_ns = staged_ns_;
        staged_.push_back({first.ticket, staged_by});
      }
      link_.queue(transfer, now_);
      if (config_.store.lease_ps > 0) {
        const std::uint64_t lease_ns = (config_.store.lease_ps + 999) / 1000;
        leases_.push_back({now_ + static_cast<std::int64_t>(lease_ns), first.lane, first.ticket});
      }
    }
    scheduler_.clear_transfers();
  }

  static std::size_t lane_index(Lane lane) { return lane == Lane::kHostToDevice ? 0 : 1; }

  // The event of the n-th load or save may be lost; a later one on its lane proves it.
  bool is_lost(Lane lane, Ticket ticket) {
    StoreLane& of = store_lanes_[lane_index(lane)];
    const bool load = lane == Lane::kHostToDevice;
    if (++of.seen != (load ? config_.fault.load_lost : config_.fault.save_lost)) return false;
    of.lost = ticket;
    return true;
  }

  void pass_transfers() {
    link_.advance_to(now_);
    while (const HostLink::End* const end = link_.ended()) {
      const Lane lane = end->lane;
      const Ticket ticket = end->ticket;
      if (lane == Lane::kDeviceToHost && !staged_.empty() && staged_.front().ticket == ticket) {
        if (staged_.front().step > value_of(scheduler_.done()) + 1) break;  // behind that result
        staged_.pop_front();
      }
      link_.take_ended();
      const bool stale = ticket <= store_lanes_[lane_index(lane)].passed;
      if (!is_lost(lane, ticket) && !stale) pass_transfer(lane, ticket, false);
    }
    while (!leases_.empty() && leases_.front().at_ns <= now_) {
      const Lease lease = leases_.front();
      leases_.pop_front();
      if (lease.ticket > store_lanes_[lane_index(lease.lane)].passed) {
        pass_transfer(lease.lane, lease.ticket, true);
      }
    }
  }

  void pass_transfer(Lane lane, Ticket ticket, bool lost) {
    const std::uint64_t requeued = requeues();
    const std::size_t unread = scheduler_.journal().unread().size();
    store_lanes_[lane_index(lane)].passed = ticket;
    if (lost) {
      account_waiting();
      scheduler_.on_lost(lane, ticket);
    } else {
      scheduler_.on_passed(lane, ticket);
    }
    if (requeues() == requeued) return;
    note_requeued(unread, true);
    waiting_ = scheduler_.waiting_count();
  }

  // The ticket of a lost event that no later one has proved, in words; empty: there is none.
  std::string lost_transfer() const {
    for (const Lane lane : {Lane::kHostToDevice, Lane::kDeviceToHost}) {
      const StoreLane& of = store_lanes_[lane_index(lane)];
      if (of.lost <= of.passed) continue;
      return "a lost " + std::string(lane == Lane::kHostToDevice ? "load" : "save") + ": ticket " +
             std::to_string(value_of(of.lost)) + " of the " + name_of(lane) + " lane";
    }
    return {};
  }

  // When the host next hears of the store. What ended and is not told yet waits for a step's result.
  std::int64_t next_transfer_ns() const {
    std::int64_t next = link_.next_ns().value_or(kNeverNs);
    for (const Lease& lease : leases_) {
      if (lease.ticket <= store_lanes_[lane_index(lease.lane)].passed) continue;
      next = std::min(next, lease.at_ns);
      break;
    }
    return next;
  }

  std::string lost_wait() const {
    return "the host waits for the copies of step " + std::to_string(lost_step_) +
           ", and their event was lost: ticket " + std::to_string(value_of(lost_ticket_)) +
           (separate_copies() ? " of the copy lane" : " of the compute lane");
  }

  // Without drafts a row yields one token a step and `before` tokens precede its first one, so the step
  // of its last one is known.
  void expect_stop(SequenceId id, Member& member, std::uint32_t epoch, std::uint32_t before,
                   std::uint64_t step) {
    if (!hidden() || drafting()) return;
    const std::uint32_t output = std::max(member.output, std::uint32_t{1});
    if (before >= output) return;  // an overrun row: its stop is in flight
    if (Stops::has(member)) return;
    stops_.set(value_of(id), member, step + (output - before) - 1);
    member.stop_epoch = epoch;
  }

  // ---- results -------------------------------------------------------------------------------------

  void complete() {
    Frame& frame = frames_.pop();
    advance_to(std::max(now_, frame.done_ns));
    pass_fences();
    const bool fails = !frame.failed && step_fails(frame.step);
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
    compute_passed_ = Ticket{2 * frame.step};
    if (!separate_copies() && compute_passed_ > lost_ticket_) lost_fences_ = 0;
    if (requeues() != requeued) note_requeued(unread, false);
    if (storing_) queue_transfers();
    if (!scheduler_.ended().empty()) take_ends();
    if (!frame.failed) {
      for (const SequenceId id : frame.leaving) {
        Member* const member = members_.find(value_of(id));
        if (member != nullptr) member->last_token_ns = now_;
      }
      last_result_ns_ = now_;
      fork_after(frame);
    }
    timed_[timed_count_++] = {frame.step, static_cast<std::uint64_t>(frame.planned_ns),
                              static_cast<std::uint64_t>(now_)};
    if (timed_count_ == timed_.size()) drain_timed();
    abort_storm(frame.step);
    drain();
  }

  bool step_fails(std::uint64_t step) const {
    const std::vector<std::uint32_t>& given = config_.fault.failed_steps;
    if (std::find(given.begin(), given.end(), step) != given.end()) return true;
    const std::uint32_t permille = config_.fault.step_failed_permille;
    return permille > 0 && draw_permille(config_.seed, Stream::kFault, step, 1) < permille;
  }

  // Decision 9: nothing of the failed step or of the steps behind it is delivered. Every row leaves the
  // batch with the next plan and joins again, and stops come with the rows that then yield them.
  void void_steps(Frame& failed) {
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
  void plain_results(const Frame& frame) {
    if (hidden()) {
      stops_.take_due(frame.step, members_, [&](std::uint32_t id, const Member& member) {
        const TokenCount tokens(member.output > 0 ? 1 : 0);
        exceptions_.push_back({SequenceId{id}, member.stop_epoch, tokens, true});
      });
    }
    itl_.add(now_ - last_result_ns_, frame.going_on);
    for (const Joined& joined : frame.joined) {
      Member* const member = members_.find(value_of(joined.sequence));
      if (member != nullptr) deliver(*member);
    }
    for (const Chunk& chunk : frame.last_chunks) deliver_from_prompt(chunk);
  }

  // A token that is not the steady next one of its row: the first one, or one behind a gap.
  void deliver(Member& member) {
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
      itl_.add(now_ - member.last_token_ns);
    }
    member.last_token_ns = now_;
  }

  void deliver_from_prompt(const Chunk& chunk) {
    Member* const member = members_.find(value_of(chunk.sequence));
    if (member == nullptr || member->output == 0) return;
    deliver(*member);
  }

  // Every row is looked at: how many drafts were accepted is drawn for the token positions that the
  // row turned out to hold.
  void draft_results(const Frame& frame) {
    for (const Drafted& row : frame.rows) {
      Member* const member = members_.find(value_of(row.sequence));
      if (member == nullptr) continue;
      const std::uint32_t left = member->output - member->emitted;
      const std::uint32_t accepted = 1 + accepted_drafts(*member, row.drafts.value, left - 1);
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

  // Drafts of one verify row that the target accepts, as the trace says or as drawn; the output may stop
  // inside the row.
  std::uint32_t accepted_drafts(Member& member, std::uint32_t drafts, std::uint32_t most) {
    const LiveRequest& request = requests_[member.request];
    const std::uint32_t row = member.verify_rows++;
    if (!request.asked.accepted.empty()) {
      const std::uint32_t given =
          row < request.asked.accepted.size() ? request.asked.accepted[row] : 0;
      return std::min({given, drafts, most});
    }
    std::uint32_t accepted = 0;
    while (accepted < std::min(drafts, most) &&
           accepts(member, member.emitted + 1 + accepted, accepted)) {
      ++accepted;
    }
    return accepted;
  }

  bool accepts(const Member& member, std::uint32_t token, std::uint32_t position) const {
    const WorkloadConfig& workload = config_.workload;
    const std::vector<std::uint32_t>& table = workload.draft_acceptance_by_position;
    const std::uint32_t permille = table.empty()
                                       ? workload.draft_acceptance_permille
                                       : table[std::min<std::size_t>(position, table.size() - 1)];
    const std::uint64_t key = member.request | std::uint64_t{member.sample} << 48;
    return draw_permille(config_.seed, Stream::kDraftAcceptance, key, token) < permille;
  }

  void yield(SequenceId id, Member& member, std::uint32_t epoch, std::uint32_t tokens) {
    member.emitted += tokens;
    const bool stop = hidden() && member.emitted == member.output;
    if (tokens == 1 && !stop) return;  // the uniform result
    exceptions_.push_back({id, epoch, TokenCount(tokens), stop});
  }

  void fork_after(const Frame& frame) {
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

  // ---- ends ----------------------------------------------------------------------------------------

  void take_ends() {
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

  void end_member(SequenceId id, Member& member, EndReason reason, std::uint32_t emitted) {
    const std::uint64_t number = member.request;
    LiveRequest& request = requests_[number];
    stop_waiting(member);
    overrun(member);
    request.waited_ns += member.waited_ns;
    waited_ended_ns_ += member.waited_ns;
    // A sample's first token came out of the prompt's step.
    const std::uint32_t tokens = emitted + (member.sample > 0 ? 1 : 0);
    request.emitted += tokens;
    if (reason == EndReason::kNever) request.never = true;
    if (reason == EndReason::kAborted) request.aborted = true;
    const bool whole = reason == EndReason::kStop || reason == EndReason::kLimit;
    if (whole && tokens > 1 && request.first_token_ns != kNotYet) {
      const std::int64_t tpot_ns =
          divide_half_up(static_cast<std::uint64_t>(now_ - request.first_token_ns), tokens - 1);
      request.tpot_ns = std::max(request.tpot_ns, tpot_ns);
      if (counts(request.arrival_ns)) tpot_.add(tpot_ns);
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
  void overrun(const Member& member) {
    const bool in_batch = member.join_step > 0 && member.left_step == 0;
    if (in_batch && drafting()) leave_batch(member);
    if (in_batch && windowed_ && counts(member)) --rows_counted_;
    for (std::size_t n = 0; n < frames_.size(); ++n) {
      Frame& frame = frames_[n];
      const bool row = member.join_step > 0 && member.join_step < frame.step &&
                       (member.left_step == 0 || frame.step < member.left_step);
      if (row && counts(member)) --frame.going_on;
    }
  }

  void finish_request(std::uint64_t number, LiveRequest& request) {
    last_end_ns_ = now_;
    ++ended_;
    if (observer_ != nullptr) observer_->on_end(static_cast<std::uint32_t>(number), now_);
    if (counts(request.arrival_ns)) {
      last_counted_end_ns_ = now_;
      if (request.never) {
        ++result_.rejected_never;
      } else if (request.aborted) {
        ++result_.aborted;
      } else {
        complete_request(request);
      }
    }
    arrivals_.note_end(request.asked.session, now_);
    requests_.remove(number);
  }

  void complete_request(const LiveRequest& request) {
    ++result_.completed;
    result_.total_input_tokens += request.asked.prompt;
    std::uint64_t emitted = request.emitted;
    // Samples of one token are the prompt's step's alone.
    if (request.asked.output == 1) emitted += request.asked.samples - 1;
    result_.total_output_tokens += emitted;
    const std::int64_t latency = now_ - request.arrival_ns;
    e2el_.add(latency);
    queue_.add(request.waited_ns);
    std::optional<std::int64_t> ttft;
    if (request.first_token_ns != kNotYet) {
      ttft = request.first_token_ns - request.arrival_ns;
      ttft_.add(*ttft);
    }
    if (options_.measure.goodput.met(ttft, request.tpot_ns, latency)) ++result_.good;
  }

  // ---- the end -------------------------------------------------------------------------------------

  void tell_observer() {
    const std::span<const std::byte> records = scheduler_.journal().unread().subspan(told_);
    told_ += records.size();
    if (!records.empty()) observer_->on_records(records, now_);
  }

  // What happened since the last time happened at this one: time stands still until it is told.
  void tell_ledger() {
    if (!ledger_) return;
    ledger_->consume(scheduler_.journal().unread().subspan(ledger_told_));
    ledger_told_ = scheduler_.journal().unread().size();
  }

  void drain() {
    if (observer_ != nullptr) tell_observer();
    if (scheduler_.journal().unread().size() >= kDrainBytes) drain_all();
    if (options_.audit_every == 0) return;
    const std::uint64_t due = scheduler_.journal().events() / options_.audit_every;
    if (due == audits_) return;
    audits_ = due;
    watch_.audit(scheduler_);
    if (observer_ == nullptr) return;
    tell_ledger();
    observer_->on_audit(scheduler_, ledger_ ? &*ledger_ : nullptr);
  }

  void drain_all() {
    tell_ledger();
    ledger_told_ = 0;
    watch_.read(scheduler_);
    watch_.cleared();
    digest_.update(scheduler_.journal().unread());
    if (shadow_) shadow_->consume(scheduler_.journal().unread());
    if (config_.prefix.reuse) prefix_classes_.consume(scheduler_.journal().unread());
    scheduler_.journal().clear();
    told_ = 0;
  }

  void drain_timed() {
    digest_timed_.update(std::as_bytes(std::span(timed_).first(timed_count_)));
    timed_count_ = 0;
  }

  void stall(const std::string& what) {
    result_.verdict = Verdict::kStall;
    result_.stall = stall_report(scheduler_, what);
    result_.verdict_detail = describe(*result_.stall);
  }

  void take_findings() {
    if (!shadow_ || shadow_->finding_count() == 0) return;
    result_.verdict = Verdict::kViolation;
    result_.verdict_detail +=
        std::to_string(shadow_->finding_count()) + " findings in shadow memory";
    for (const ShadowFinding& finding : shadow_->findings()) {
      result_.verdict_detail += "\n  " + finding.rule + " at event " +
                                std::to_string(finding.event) + ": " + finding.text;
    }
  }

  void check_drained() {
    scheduler_.audit();
    if (scheduler_.unfinished() > 0) return;
    watch_.at_drain(scheduler_);
    for (const PoolKind kind : {PoolKind::kBlocks, PoolKind::kStateSlots, PoolKind::kDraftSlots}) {
      PINFOLD_CHECK(scheduler_.pools().of(kind).owned().value == 0, "O10",
                    std::string("at the end somebody owns a ") + name_of(kind));
    }
  }

  // What a lost event leaves behind when everybody has gone.
  void report_lost() {
    if (result_.verdict != Verdict::kOk || scheduler_.holds().empty()) return;
    if (const std::string lost = storing_ ? lost_transfer() : ""; !lost.empty()) {
      return stall("everything has ended, and " +
                   std::to_string(scheduler_.pools().blocks().parked().value) +
                   " blocks stay parked behind " + lost);
    }
    if (lost_fences_ == 0) return;
    stall("everything has ended, and " +
          std::to_string(scheduler_.pools().blocks().parked().value) + " blocks and " +
          std::to_string(scheduler_.pools().of(PoolKind::kStateSlots).parked().value) +
          " state slots stay parked behind a lost event: ticket " +
          std::to_string(value_of(lost_ticket_)) + " of the copy lane, step " +
          std::to_string(lost_step_));
  }

  RunResult summarise() {
    report_lost();
    if (result_.verdict == Verdict::kOk) {
      try {
        check_drained();
      } catch (const InvariantViolation& violation) {
        result_.verdict = Verdict::kViolation;
        result_.verdict_detail = violation.what();
      }
    }
    if (observer_ != nullptr) tell_observer();
    drain_all();
    drain_timed();
    take_findings();
    const SchedulerStats& stats = scheduler_.stats();
    RunResult& r = result_;
    count_requests();
    r.unfinished = r.requests - r.completed - r.rejected_never - r.aborted;
    r.goodput = options_.measure.goodput;
    r.arrival_queue = queue_watch_.queue();
    r.wait_total_ns = waited_in_all();
    r.ttft = ttft_.stats();
    r.tpot = tpot_.stats();
    r.itl = itl_.stats();
    r.e2el = e2el_.stats();
    r.queue = queue_.stats();
    r.preemptions = stats.preemptions;
    r.recomputed_tokens = stats.recomputed_rows;
    r.sat_out = stats.sat_out;
    r.wait_blocks_ns = wait(Wait::kBlocks);
    r.wait_slot_ns = wait(Wait::kSlot);
    r.wait_fence_ns = wait(Wait::kFence);
    r.wait_fork_ns = wait(Wait::kFork);
    r.wait_run_limit_ns = wait(Wait::kRunLimit);
    r.wait_budget_ns = wait(Wait::kBudget);
    r.wait_step_ns = wait(Wait::kStep);
    r.answers_ok = stats.answered_ok;
    r.answers_later = stats.answered_later;
    r.answers_never = stats.answered_never;
    r.later_blocks = stats.later_blocks;
    r.later_slot = stats.later_slot;
    r.later_fence = stats.later_fence;
    r.later_fork = stats.later_fork;
    r.forks = stats.forks;
    r.forks_missed = stats.forks_missed;
    r.forks_demoted = stats.sharing_lost;
    r.cow_copies = stats.block_copies;
    r.copies = stats.block_copies + stats.state_copies;
    r.copy_bytes =
        (block_bytes_of(config_) * stats.block_copies + slot_bytes_of(config_) * stats.state_copies)
            .value;
    r.prefix_reuse = config_.prefix.reuse;
    r.prefix_queries = stats.prefix_queries;
    r.prefix_hits = stats.prefix_hits;
    r.prefix_blocks = stats.prefix_blocks;
    r.prefix_block_hits = stats.prefix_block_hits;
    r.prefix_tail_copies = stats.prefix_tail_hits;
    r.resume_queries = stats.resume_queries;
    r.resume_hits = stats.resume_hits;
    r.blocks_published = stats.published;
    r.blocks_evicted = stats.evicted;
    r.blocks_idle = scheduler_.pools().blocks().idle().value;
    r.prefix_ids = prefix_classes_.counts();
    r.store = storing_;
    r.store_loads = stats.loads;
    r.store_loaded_blocks = stats.loaded_blocks;
    r.store_loaded_states = stats.loaded_states;
    r.store_hits = stats.loaded_rows;
    r.store_load_ns = loading_ns_;
    r.store_loads_aborted = stats.loads_aborted;
    r.store_loads_lost = stats.loads_lost;
    r.store_recovered_tokens = stats.recovered_rows;
    r.store_saved_blocks = stats.saved_blocks;
    r.store_saved_states = stats.saved_states;
    r.store_saves_refused = stats.saves_refused;
    r.store_saves_lost = stats.saves_lost;
    r.store_evicted = stats.host_evicted;
    r.drafts_proposed = stats.drafts_planned;
    r.drafts_accepted = stats.drafts_accepted;
    const Pool& blocks = scheduler_.pools().blocks();
    r.block_bytes = block_bytes_of(config_).value;
    r.blocks_usable = blocks.usable().value;
    r.blocks_acquired = blocks.acquired();
    r.blocks_released = blocks.freed();
    r.blocks_peak_owned = blocks.peak_owned().value;
    r.blocks_owned_ns_high = static_cast<std::uint64_t>(owned_ns_ >> 64);
    r.blocks_owned_ns_low = static_cast<std::uint64_t>(owned_ns_);
    const Pool& slots = scheduler_.pools().of(PoolKind::kStateSlots);
    r.slots_usable = slots.usable().value;
    r.slots_peak_owned = slots.peak_owned().value;
    r.events = scheduler_.journal().events();
    r.digest = digest_.value();
    r.digest_timed = digest_timed_.value();
    return r;
  }

  // A request that never arrived, because the run stalled, arrives as in the trace.
  void count_requests() {
    RunResult& r = result_;
    r.measured_from_ns = options_.measure.from_ns;
    if (windowed_) r.measured_to_ns = options_.measure.to_ns;
    std::int64_t at_ns = 0;
    while (arrivals_.take_unarrived(at_ns)) note_counted_arrival(at_ns);
    r.trace_requests = arrivals_.numbered();
    if (first_counted_ns_ != kNeverNs) {
      r.duration_ns = std::max<std::int64_t>(last_counted_end_ns_ - first_counted_ns_, 0);
    }
    if (r.trace_requests > 0) r.run_ns = std::max<std::int64_t>(last_end_ns_ - first_ns_, 0);
  }

  // Ended or not.
  std::int64_t waited_in_all() {
    std::int64_t total_ns = waited_ended_ns_;
    members_.for_each([&](std::uint64_t, const Member& member) {
      total_ns += member.waited_ns;
      if (member.waiting_since_ns != kNotYet) total_ns += now_ - member.waiting_since_ns;
    });
    return total_ns;
  }

  std::int64_t wait(Wait reason) const {
    return static_cast<std::int64_t>(wait_ns_[static_cast<std::size_t>(reason)]);
  }

  static constexpr std::uint64_t kProgressEvery = 1000;
  // Hashing much at once costs a small part of hashing a record at a time.
  static constexpr std::size_t kDrainBytes = 16 * 1024;

  static constexpr SequenceId kNoParent{UINT32_MAX};

  const RunConfig& config_;
  const RunOptions& options_;
  RunObserver* const observer_;
  const bool windowed_;  // not all requests count
  Scheduler scheduler_;
  InvariantWatch watch_;
  StepPlan plan_;
  RunResult result_;
  Digest digest_;
  std::optional<Shadow> shadow_;
  std::optional<Ledger> ledger_;
  std::size_t ledger_told_ = 0;  // journal bytes that it has read
  Digest digest_timed_;
  // Step, time planned, time done: not yet in the timed digest.
  std::array<std::array<std::uint64_t, 3>, 512> timed_{};
  std::size_t timed_count_ = 0;

  PrefixKeys prefix_keys_;
  PrefixClasses prefix_classes_;
  Arrivals arrivals_;
  Arrival arrival_;                   // the one being taken
  LiveWindow<LiveRequest> requests_;  // by number in the trace
  LiveWindow<Member> members_;        // by sequence id
  std::uint32_t next_sequence_ = 0;
  std::vector<PendingFork> pending_forks_;  // in order of arrival
  Stops stops_;
  QueueWatch queue_watch_;
  std::vector<Drafted> batch_;  // with drafts: the rows of the next step
  std::vector<RowResult> exceptions_;
  bool any_arrival_ = false;
  std::int64_t first_ns_ = 0;                 // first arrival
  std::int64_t first_counted_ns_ = kNeverNs;  // of those that count
  std::int64_t waited_ended_ns_ = 0;          // by sequences that have ended

  Frames frames_;
  PicosecondClock picoseconds_;
  std::int64_t now_ = 0;
  std::int64_t lane_free_ns_ = 0;       // when the compute lane has nothing queued
  std::int64_t copy_lane_free_ns_ = 0;  // and the copy lane, where copies have one
  std::deque<CopyFence> fences_;        // polled: copies whose end the host has not seen
  Ticket compute_passed_{};             // by results
  std::uint32_t copy_steps_ = 0;        // steps with copies so far
  std::uint32_t lost_fences_ = 0;       // lost events that no later one has proved
  Ticket lost_ticket_{};
  std::uint64_t lost_step_ = 0;
  HostLink link_;
  const bool storing_ = config_.prefix.reuse && config_.store.host_blocks > 0;
  const std::uint64_t block_bytes_ = moved_block_bytes();
  const std::uint64_t stored_state_bytes_ = stored_state_bytes_of(config_).value;
  std::deque<StagedSave> staged_;  // saves of states, in order
  std::deque<Lease> leases_;       // in order
  // What the host was told of each.
  struct StoreLane {
    Ticket passed{};
    Ticket lost{};
    std::uint32_t seen = 0;
  };
  std::array<StoreLane, 2> store_lanes_{};
  std::int64_t staged_ns_ = 0;  // of the step launched last
  std::uint64_t loading_ns_ = 0;
  bool host_waits_ = false;  // for an event that was lost
  std::int64_t last_result_ns_ = 0;
  std::int64_t last_end_ns_ = 0;
  std::int64_t last_counted_end_ns_ = 0;
  std::uint64_t rows_counted_ = 0;  // rows of the batch whose requests count, where not all do
  std::size_t told_ = 0;            // journal bytes that the observer has seen

  Cause cause_ = Cause::kNone;  // what the head of the queue waits for since the last plan
  std::uint32_t waiting_ = 0;
  std::int64_t waited_upto_ = 0;
  std::vector<std::int64_t> arrived_;  // since the last plan
  std::array<std::uint64_t, kWaits> wait_ns_{};
  Wide owned_ns_ = 0;
  LatencySamples ttft_, tpot_, itl_, e2el_, queue_;

  std::uint64_t passes_without_progress_ = 0;
  std::uint64_t audits_ = 0;
  std::uint64_t ended_ = 0;
  std::uint64_t next_progress_ = kProgressEvery;
};

}  // namespace

RunResult simulate(RequestSource& source, const RunConfig& config, const RunOptions& options) {
  return Replay(source, config, options).run();
}

RunResult simulate(const Trace& trace, const RunConfig& config, const RunOptions& options) {
  TraceSource source(trace);
  return simulate(source, config, options);
}

}  // namespace pinfold::sim
