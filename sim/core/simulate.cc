#include "sim/core/simulate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "sim/check/invariant_watch.h"
#include "sim/check/shadow.h"
#include "sim/config/pool_size.h"
#include "sim/core/digest.h"
#include "sim/core/draw.h"
#include "sim/core/engine_options.h"
#include "sim/core/stops.h"
#include "sim/core/wait_reason.h"
#include "sim/device/step_cost.h"

namespace pinfold::sim {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::int64_t kNotYet = -1;

/// What a request has seen so far.
struct RequestState {
  std::int64_t arrival_ns = 0;
  std::int64_t first_token_ns = kNotYet;
  std::int64_t last_token_ns = 0;
  std::int64_t waiting_since_ns = kNotYet;  // kNotYet: it does not wait
  std::int64_t waited_ns = 0;
  std::uint64_t join_step = 0;    // its row is in the batch from this step ...
  std::uint64_t left_step = 0;    // ... up to but not including this one; 0: it stays
  std::uint32_t emitted = 0;      // tokens; counted with drafts only
  std::uint32_t batch_index = 0;  // with drafts: where its row is in the batch
  std::uint32_t stop_epoch = 0;   // epoch of the row that its stop belongs to
  bool ended = false;
};

/// A dispatched step, as far as the result's time and latencies need it.
struct Frame {
  std::uint64_t step = 0;
  std::int64_t planned_ns = 0;
  std::int64_t done_ns = 0;
  std::uint64_t going_on = 0;          // rows that were in the last step too
  std::vector<Joined> joined;          // rows that were not
  std::vector<Chunk> last_chunks;      // prompts that end
  std::vector<std::uint32_t> leaving;  // requests whose row is not in the next step
  std::vector<Drafted> rows;           // with drafts: every row of the step
};

/// The steps in flight, oldest first, in frames that are used again.
class Frames {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  Frame& front() { return frames_[first_ % kSize]; }
  Frame& back() { return frames_[(first_ + count_ - 1) % kSize]; }
  Frame& operator[](std::size_t n) { return frames_[(first_ + n) % kSize]; }

  /// A cleared frame behind the others.
  Frame& push() {
    PINFOLD_CHECK(count_ < kFlightsMax, "O15", "more steps in flight than any overlap allows");
    ++count_;
    Frame& frame = back();
    frame.joined.clear();
    frame.last_chunks.clear();
    frame.leaving.clear();
    frame.rows.clear();
    return frame;
  }
  /// The oldest frame leaves; it stays readable until the next push().
  Frame& pop() {
    Frame& frame = front();
    ++first_;
    --count_;
    return frame;
  }

 private:
  static constexpr std::size_t kSize = std::bit_ceil(kFlightsMax);  // so that % is a mask
  std::array<Frame, kSize> frames_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

const char* word_of(Cause cause) {
  switch (cause) {
    case Cause::kNone: return "nothing";
    case Cause::kBlocks: return "blocks";
    case Cause::kSlot: return "a slot";
    case Cause::kFence: return "a fence";
    case Cause::kFork: return "a waiting fork";
    case Cause::kPressure: return "the head of the queue";
    case Cause::kRunLimit: return "the run limit";
    case Cause::kBudget: return "the token budget";
  }
  return "?";
}

ShadowOptions shadow_options(const RunConfig& config) {
  const SchedulerOptions engine = engine_options(config, true);
  ShadowOptions options;
  options.block_size = engine.block_size.value;
  options.block_ids = engine.block_ids;
  options.state_ids = engine.state_ids;
  options.state_slots = engine.state == Switch::kOn;
  options.fences_always = engine.fence == FenceMode::kAlways;
  return options;
}

/// One replay. The loop is the engine's: observe what is due, plan while the overlap allows it, launch,
/// else wait for the next completion or arrival (rule O15, decision 2).
class Replay {
 public:
  Replay(const Trace& trace, const RunConfig& config, const RunOptions& options)
      : trace_(trace),
        config_(config),
        options_(options),
        observer_(options.observer),
        windowed_(!options.measure.whole()),
        scheduler_(engine_options(config, options.fast_path)),
        watch_(scheduler_.options(), options.audit_every > 0, options.audit_every == 1),
        requests_(trace.requests.size()),
        stops_(trace.requests.size()),
        queue_watch_(trace.requests.size(), config.workload.concurrency == 0) {
    scheduler_.journal().set_enabled(true);
    if (options.shadow) shadow_.emplace(shadow_options(config));
  }

  RunResult run() {
    try {
      loop();
    } catch (const InvariantViolation& violation) {
      result_.verdict = Verdict::kViolation;
      result_.verdict_detail = std::string(violation.what()) + ", at event " +
                               std::to_string(scheduler_.journal().events());
    }
    return summarise();
  }

 private:
  bool hidden() const { return config_.workload.stop == StopMode::kHidden; }
  bool drafting() const { return config_.workload.drafts > 0; }
  std::uint32_t output_of(std::uint32_t request) const { return trace_.requests[request].output; }

  std::int64_t arrival_in_trace(std::size_t request) const {
    const Rational& scale = config_.workload.time_scale;
    const Wide scaled = static_cast<Wide>(trace_.requests[request].arrival_ns) * scale.numerator;
    return static_cast<std::int64_t>(scaled / scale.denominator);
  }

  // ---- the loop ------------------------------------------------------------------------------------

  void loop() {
    find_next_arrival();
    if (next_arrival_ns_ != kNeverNs) now_ = waited_upto_ = next_arrival_ns_;
    while (true) {
      take_arrivals();
      const bool may_plan = frames_.size() <= config_.engine.overlap;
      if (may_plan) plan();
      if (may_plan && !plan_.empty) continue;  // as far ahead as the overlap allows
      const bool in_flight = !frames_.empty();
      const bool arrivals = next_arrival_ns_ != kNeverNs;
      if (may_plan && !in_flight && scheduler_.unfinished() > 0) {
        if (scheduler_.nothing_pending()) return stall("nothing is in flight and nothing can run");
      }
      if (passes_without_progress_ >
          4 * std::uint64_t{scheduler_.running_count() + scheduler_.waiting_count()} + 64) {
        return stall("steps run without progress");
      }
      // An arrival may be planned at once only if the overlap has room for another step.
      if (may_plan && arrivals && (!in_flight || next_arrival_ns_ < frames_.front().done_ns)) {
        advance_to(next_arrival_ns_);
      } else if (in_flight) {
        complete();
      } else {
        return;
      }
    }
  }

  void find_next_arrival() {
    next_arrival_ns_ =
        next_ < requests_.size() && !closed_loop() ? arrival_in_trace(next_) : kNeverNs;
  }

  void advance_to(std::int64_t ns) {
    PINFOLD_CHECK(ns >= now_, "time", "time went back");
    const std::uint64_t owned = scheduler_.pools().blocks().owned().value;
    owned_ns_ += static_cast<Wide>(owned) * static_cast<std::uint64_t>(ns - now_);
    now_ = ns;
  }

  void take_arrivals() {
    while (next_arrival_ns_ <= now_ || another_is_due()) {
      const std::uint32_t request = static_cast<std::uint32_t>(next_++);
      requests_[request].arrival_ns = closed_loop() ? now_ : next_arrival_ns_;
      find_next_arrival();
      queue_watch_.arrive(scheduler_.waiting_count());
      if (observer_ != nullptr) {
        observer_->on_arrival(request, requests_[request].arrival_ns);
      }
      const Answer answer = scheduler_.add(SequenceId{request}, spec_of(request));
      watch_.arrived(SequenceId{request}, spec_of(request), answer);
      if (answer == Answer::kNever) {
        if (counts(request)) ++result_.rejected_never;
        requests_[request].ended = true;
        note_end(request);
      } else {
        requests_[request].waiting_since_ns = requests_[request].arrival_ns;
        arrived_.push_back(requests_[request].arrival_ns);
      }
    }
  }

  // Requests outside the measured window run like the others and count in no figure of the benchmark.
  bool counts(std::uint32_t request) const {
    return !windowed_ || options_.measure.counts(requests_[request].arrival_ns);
  }

  void note_end(std::uint32_t request) {
    last_end_ns_ = now_;
    if (counts(request)) last_counted_end_ns_ = now_;
  }

  // Closed loop: the next request of the trace arrives when there is room among the live ones.
  bool closed_loop() const { return config_.workload.concurrency > 0; }
  bool another_is_due() const {
    return closed_loop() && next_ < requests_.size() &&
           scheduler_.unfinished() < config_.workload.concurrency;
  }

  RequestSpec spec_of(std::uint32_t request) const {
    const TraceRequest& asked = trace_.requests[request];
    RequestSpec spec;
    spec.prompt = TokenCount(asked.prompt);
    spec.stop = config_.workload.stop;
    spec.drafts = TokenCount(config_.workload.drafts);
    // Decision 1: without max_tokens in the trace the limit is the output where it is known, else
    // whatever the model's length allows (which add() clips to).
    spec.limit = TokenCount(hidden() ? config_.engine.max_model_len : asked.output);
    return spec;
  }

  // ---- planning ------------------------------------------------------------------------------------

  void plan() {
    account_waiting();
    const std::uint64_t preemptions = scheduler_.stats().preemptions;
    const std::uint64_t recomputed = scheduler_.stats().recomputed_rows;
    const std::size_t unread = scheduler_.journal().unread().size();
    watch_.before_plan(scheduler_);
    scheduler_.plan_step(plan_);
    watch_.after_plan(scheduler_, plan_);
    if (observer_ != nullptr) tell_observer();
    if (!scheduler_.ended().empty()) take_ends();
    cause_ = plan_.cause;
    waiting_ = scheduler_.waiting_count();
    note_left();
    note_admitted();
    if (scheduler_.stats().preemptions != preemptions) note_preempted(unread);
    if (!plan_.empty) {
      const std::uint64_t redone = scheduler_.stats().recomputed_rows - recomputed;
      const bool progress = plan_.decode_rows > 0 || plan_.prompt_rows > redone;
      passes_without_progress_ = progress ? 0 : passes_without_progress_ + 1;
      launch();
    }
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
    for (const Chunk& chunk : plan_.chunks) stop_waiting(requests_[value_of(chunk.sequence)]);
  }

  void stop_waiting(RequestState& request) {
    if (request.waiting_since_ns == kNotYet) return;
    request.waited_ns += now_ - request.waiting_since_ns;
    request.waiting_since_ns = kNotYet;
  }

  // A plan does not name its victims; the journal does, in what was written since byte `from`.
  void note_preempted(std::size_t from) {
    const std::span<const std::byte> bytes = scheduler_.journal().unread();
    for (std::size_t at = from; at < bytes.size();) {
      Record record;
      std::memcpy(&record, bytes.data() + at, sizeof record);
      at += sizeof record + ids_after(record) * sizeof(BlockId);
      if (record.verb != Verb::kPreempt) continue;
      RequestState& request = requests_[record.sequence];
      if (!request.ended) request.waiting_since_ns = now_;
    }
  }

  void note_left() {
    for (const Left& left : plan_.left) {
      const std::uint32_t request = value_of(left.sequence);
      RequestState& state = requests_[request];
      const std::uint64_t next_step = value_of(scheduler_.done()) + frames_.size() + 1;
      state.left_step = next_step;
      if (windowed_ && !state.ended && counts(request)) --rows_counted_;
      if (drafting()) {
        leave_batch(request);
      } else if (hidden()) {
        stops_.leave(request, next_step);
      }
      if (frames_.empty()) {
        state.last_token_ns = last_result_ns_;
      } else {
        frames_.back().leaving.push_back(request);
      }
    }
  }

  void leave_batch(std::uint32_t request) {
    const std::uint32_t at = requests_[request].batch_index;
    batch_[at] = batch_.back();
    requests_[value_of(batch_[at].sequence)].batch_index = at;
    batch_.pop_back();
  }

  void launch() {
    const std::uint64_t step = value_of(plan_.step);
    Frame& frame = frames_.push();
    frame.step = step;
    frame.planned_ns = now_;
    frame.going_on = windowed_ ? rows_counted_ : plan_.decode_rows - plan_.joined.size();
    frame.joined.swap(plan_.joined);
    for (const Joined& joined : frame.joined) {
      const std::uint32_t request = value_of(joined.sequence);
      requests_[request].join_step = step;
      requests_[request].left_step = 0;
      if (windowed_ && counts(request)) ++rows_counted_;
      expect_stop(request, joined.epoch, joined.tokens_before.value, step);
      if (drafting()) {
        requests_[request].batch_index = static_cast<std::uint32_t>(batch_.size());
        batch_.push_back({joined.sequence, joined.epoch, TokenCount(0)});
      }
    }
    for (const Chunk& chunk : plan_.chunks) {
      if (!chunk.last) continue;
      frame.last_chunks.push_back(chunk);
      const std::uint32_t request = value_of(chunk.sequence);
      // Any other stop is known once its row joins, which may be later than the next step.
      const bool only_token = chunk.tokens_before.value + 1 >= output_of(request);
      if (only_token) expect_stop(request, chunk.epoch, chunk.tokens_before.value, step);
    }
    if (drafting()) {
      frame.rows = batch_;
      for (const Drafted& row : plan_.drafted) {
        frame.rows[requests_[value_of(row.sequence)].batch_index].drafts = row.drafts;
      }
    }
    const StepCost cost = step_cost(config_.cost, config_.engine.block_size, plan_);
    result_.out_of_range.note(cost.limits_passed);
    std::int64_t copies_done = std::max(lane_free_ns_, now_);
    if (cost.copies_ps > 0) copies_done += picoseconds_.take_ns(cost.copies_ps);
    lane_free_ns_ = copies_done + picoseconds_.take_ns(cost.forward_ps);
    frame.done_ns = lane_free_ns_;
    ++result_.steps;
    if (value_of(plan_.copy_ticket) != 0) {
      // The host waits for the copies' fence in the same step (decision 6).
      advance_to(std::max(now_, copies_done));
      scheduler_.on_passed(Lane::kCompute, plan_.copy_ticket);
    }
  }

  // Without drafts a row yields one token a step and `before` tokens precede its first one, so the step
  // of its last one is known.
  void expect_stop(std::uint32_t request, std::uint32_t epoch, std::uint32_t before,
                   std::uint64_t step) {
    if (!hidden() || drafting()) return;
    const std::uint32_t output = std::max(output_of(request), std::uint32_t{1});
    if (before >= output) return;  // an overrun row: its stop is in flight
    if (stops_.has(request)) return;
    stops_.set(request, step + (output - before) - 1);
    requests_[request].stop_epoch = epoch;
  }

  // ---- results -------------------------------------------------------------------------------------

  void complete() {
    Frame& frame = frames_.pop();
    advance_to(std::max(now_, frame.done_ns));
    exceptions_.clear();
    if (drafting()) {
      draft_results(frame);
    } else {
      plain_results(frame);
    }
    scheduler_.on_step_complete(
        {StepNumber{frame.step}, false, exceptions_.data(), exceptions_.size()});
    if (!scheduler_.ended().empty()) take_ends();
    for (const std::uint32_t request : frame.leaving) requests_[request].last_token_ns = now_;
    last_result_ns_ = now_;
    timed_[timed_count_++] = {frame.step, static_cast<std::uint64_t>(frame.planned_ns),
                              static_cast<std::uint64_t>(now_)};
    if (timed_count_ == timed_.size()) drain_timed();
    drain();
  }

  // Every row yields one token. Rows of the last step share one inter-token latency.
  void plain_results(const Frame& frame) {
    if (hidden()) {
      stops_.take_due(frame.step, [&](std::uint32_t request) {
        const TokenCount tokens(output_of(request) > 0 ? 1 : 0);
        exceptions_.push_back({SequenceId{request}, requests_[request].stop_epoch, tokens, true});
      });
    }
    itl_.add(now_ - last_result_ns_, frame.going_on);
    for (const Joined& joined : frame.joined) {
      const RequestState& state = requests_[value_of(joined.sequence)];
      if (!state.ended && counts(value_of(joined.sequence))) itl_.add(now_ - state.last_token_ns);
    }
    for (const Chunk& chunk : frame.last_chunks) deliver_from_prompt(chunk);
  }

  void deliver_from_prompt(const Chunk& chunk) {
    const std::uint32_t request = value_of(chunk.sequence);
    RequestState& state = requests_[request];
    if (state.ended || output_of(request) == 0) return;
    if (state.first_token_ns == kNotYet) {
      state.first_token_ns = now_;
      if (observer_ != nullptr) observer_->on_first_token(request, now_);
    } else if (counts(request)) {
      itl_.add(now_ - state.last_token_ns);  // prefill again after a preemption
    }
    state.last_token_ns = now_;
  }

  // Every row is looked at: how many drafts were accepted is drawn for the token positions that the
  // row turned out to hold.
  void draft_results(const Frame& frame) {
    for (const Drafted& row : frame.rows) {
      const std::uint32_t request = value_of(row.sequence);
      RequestState& state = requests_[request];
      if (state.ended) continue;
      const std::uint32_t left = output_of(request) - state.emitted;
      std::uint32_t accepted = 1;
      while (accepted <= row.drafts.value && accepted < left &&
             accepts(request, state.emitted + accepted)) {
        ++accepted;
      }
      yield(request, row.epoch, accepted);
      if (counts(request)) itl_.add(now_ - state.last_token_ns);
      state.last_token_ns = now_;
    }
    for (const Chunk& chunk : frame.last_chunks) {
      const std::uint32_t request = value_of(chunk.sequence);
      RequestState& state = requests_[request];
      if (state.ended) continue;
      deliver_from_prompt(chunk);
      if (output_of(request) > 0) {
        yield(request, chunk.epoch, 1);
      } else if (hidden()) {
        exceptions_.push_back({chunk.sequence, chunk.epoch, TokenCount(0), true});
      }
    }
  }

  bool accepts(std::uint32_t request, std::uint32_t token) const {
    return draw_permille(config_.seed, Stream::kDraftAcceptance, request, token) <
           config_.workload.draft_acceptance_permille;
  }

  void yield(std::uint32_t request, std::uint32_t epoch, std::uint32_t tokens) {
    RequestState& state = requests_[request];
    state.emitted += tokens;
    const bool stop = hidden() && state.emitted == output_of(request);
    if (tokens == 1 && !stop) return;  // the uniform result
    exceptions_.push_back({SequenceId{request}, epoch, TokenCount(tokens), stop});
  }

  void take_ends() {
    for (const Ended& ended : scheduler_.ended()) {
      const std::uint32_t request = value_of(ended.sequence);
      RequestState& state = requests_[request];
      state.ended = true;
      note_end(request);
      stop_waiting(state);
      overrun(request);
      if (counts(request)) count_end(request, ended);
      ++ended_;
    }
    scheduler_.clear_ended();
    if (options_.progress && ended_ >= next_progress_) {
      options_.progress(ended_);
      next_progress_ = ended_ + kProgressEvery;
    }
  }

  void count_end(std::uint32_t request, const Ended& ended) {
    switch (ended.reason) {
      case EndReason::kStop:
      case EndReason::kLimit: complete_request(request, ended); break;
      case EndReason::kNever: ++result_.rejected_never; break;
      case EndReason::kAborted: ++result_.aborted; break;
    }
  }

  // Its rows in steps behind this one deliver nothing any more.
  void overrun(std::uint32_t request) {
    const RequestState& state = requests_[request];
    const bool in_batch = state.join_step > 0 && state.left_step == 0;
    if (in_batch && drafting()) leave_batch(request);
    if (in_batch && windowed_ && counts(request)) --rows_counted_;
    for (std::size_t n = 0; n < frames_.size(); ++n) {
      Frame& frame = frames_[n];
      const bool row = state.join_step > 0 && state.join_step < frame.step &&
                       (state.left_step == 0 || frame.step < state.left_step);
      if (row && counts(request)) --frame.going_on;
    }
  }

  void complete_request(std::uint32_t request, const Ended& ended) {
    const RequestState& state = requests_[request];
    ++result_.completed;
    result_.total_input_tokens += trace_.requests[request].prompt;
    result_.total_output_tokens += ended.emitted.value;
    const std::int64_t latency = now_ - requests_[request].arrival_ns;
    e2el_.add(latency);
    queue_.add(state.waited_ns);
    std::optional<std::int64_t> ttft;
    std::int64_t tpot = 0;
    if (state.first_token_ns != kNotYet) {
      ttft = state.first_token_ns - requests_[request].arrival_ns;
      ttft_.add(*ttft);
      if (ended.emitted.value > 1) {
        tpot = divide_half_up(static_cast<std::uint64_t>(latency - *ttft), ended.emitted.value - 1);
        tpot_.add(tpot);
      }
    }
    if (options_.measure.goodput.met(ttft, tpot, latency)) ++result_.good;
  }

  // ---- the end -------------------------------------------------------------------------------------

  void tell_observer() {
    const std::span<const std::byte> records = scheduler_.journal().unread().subspan(told_);
    told_ += records.size();
    if (!records.empty()) observer_->on_records(records, now_);
  }

  void drain() {
    if (observer_ != nullptr) tell_observer();
    if (scheduler_.journal().unread().size() >= kDrainBytes) drain_all();
    if (options_.audit_every == 0) return;
    const std::uint64_t due = scheduler_.journal().events() / options_.audit_every;
    if (due == audits_) return;
    audits_ = due;
    scheduler_.audit();
    watch_.audit(scheduler_);
  }

  void drain_all() {
    watch_.read(scheduler_);
    watch_.cleared();
    digest_.update(scheduler_.journal().unread());
    if (shadow_) shadow_->consume(scheduler_.journal().unread());
    scheduler_.journal().clear();
    told_ = 0;
  }

  void drain_timed() {
    digest_timed_.update(std::as_bytes(std::span(timed_).first(timed_count_)));
    timed_count_ = 0;
  }

  void stall(const std::string& what) {
    result_.verdict = Verdict::kStall;
    result_.verdict_detail = what;
    for (const WaitReason& reason : scheduler_.explain_wait()) {
      result_.verdict_detail += "\n  request " + std::to_string(value_of(reason.sequence)) +
                                " waits for " + word_of(reason.cause);
      if (reason.lacking.value > 0) {
        result_.verdict_detail +=
            " (" + std::to_string(reason.lacking.value) + " " + name_of(reason.pool) + "s short)";
      }
      if (reason.has_holder) {
        result_.verdict_detail += ", held by request " + std::to_string(value_of(reason.holder));
      }
    }
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

  RunResult summarise() {
    if (result_.verdict == Verdict::kOk) {
      try {
        check_drained();
      } catch (const InvariantViolation& violation) {
        result_.verdict = Verdict::kViolation;
        result_.verdict_detail = violation.what();
      }
    }
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
    r.trace_requests = requests_.size();
    r.measured_from_ns = options_.measure.from_ns;
    if (windowed_) r.measured_to_ns = options_.measure.to_ns;
    std::int64_t first_ns = kNeverNs;
    for (std::size_t request = 0; request < requests_.size(); ++request) {
      const std::int64_t arrival_ns = request < next_ ? requests_[request].arrival_ns
                                      : closed_loop() ? kNeverNs
                                                      : arrival_in_trace(request);
      if (windowed_ && !options_.measure.counts(arrival_ns)) continue;
      ++r.requests;
      first_ns = std::min(first_ns, arrival_ns);
    }
    if (first_ns != kNeverNs) {
      r.duration_ns = std::max<std::int64_t>(last_counted_end_ns_ - first_ns, 0);
    }
    if (!requests_.empty()) {
      r.run_ns = std::max<std::int64_t>(last_end_ns_ - requests_[0].arrival_ns, 0);
    }
  }

  std::int64_t waited_in_all() const {
    std::int64_t total_ns = 0;
    for (const RequestState& request : requests_) {
      total_ns += request.waited_ns;
      if (request.waiting_since_ns != kNotYet) total_ns += now_ - request.waiting_since_ns;
    }
    return total_ns;
  }

  std::int64_t wait(Wait reason) const {
    return static_cast<std::int64_t>(wait_ns_[static_cast<std::size_t>(reason)]);
  }

  static constexpr std::uint64_t kProgressEvery = 1000;
  // Hashing much at once costs a small part of hashing a record at a time.
  static constexpr std::size_t kDrainBytes = 16 * 1024;

  const Trace& trace_;
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
  Digest digest_timed_;
  // Step, time planned, time done: not yet in the timed digest.
  std::array<std::array<std::uint64_t, 3>, 512> timed_{};
  std::size_t timed_count_ = 0;

  std::vector<RequestState> requests_;  // by trace index, which is the sequence id
  Stops stops_;
  QueueWatch queue_watch_;
  std::vector<Drafted> batch_;  // with drafts: the rows of the next step
  std::vector<RowResult> exceptions_;
  std::size_t next_ = 0;              // the next arrival ...
  std::int64_t next_arrival_ns_ = 0;  // ... and its time

  Frames frames_;
  PicosecondClock picoseconds_;
  std::int64_t now_ = 0;
  std::int64_t lane_free_ns_ = 0;  // when the compute lane has nothing queued
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

RunResult simulate(const Trace& trace, const RunConfig& config, const RunOptions& options) {
  return Replay(trace, config, options).run();
}

}  // namespace pinfold::sim
