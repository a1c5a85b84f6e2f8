#include "sim/report/run_recorder.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/decimal.h"
#include "sim/config/json_writer.h"
#include "sim/metrics/latency.h"
#include "sim/metrics/watch.h"
#include "sim/record/journal_records.h"

namespace pinfold::sim {
namespace {

constexpr std::string_view kRequestsFile = "requests.csv";
constexpr std::string_view kPreemptionsFile = "preemptions.csv";
constexpr std::string_view kTraceFile = "trace.pftrace";
constexpr std::uint32_t kTimePlaces = 9;         // seconds, to the nanosecond
constexpr std::uint32_t kMillisecondPlaces = 6;  // milliseconds, likewise

const char* word_of(EndReason reason) {
  switch (reason) {
    case EndReason::kStop: return "stop";
    case EndReason::kLimit: return "limit";
    case EndReason::kAborted: return "aborted";
    case EndReason::kNever: return "never";
  }
  return "?";
}

std::string ms(std::int64_t ns) { return milliseconds(ns, kMillisecondPlaces); }

}  // namespace

std::string requests_header() {
  std::string header =
      "request,arrival_s,prompt_tokens,output_tokens,samples,end,end_s,ttft_ms,tpot_ms,e2el_ms,"
      "queue_ms";
  for (std::size_t i = 0; i < kWaits; ++i) {
    header += fmt::format(",wait_{}_ms", name_of(static_cast<Wait>(i)));
  }
  return header +
         ",preemptions,preempted_ms,recomputed_tokens,blocks_most,loads,loads_lost,loading_ms,"
         "loaded_tokens,loaded_blocks,loaded_states";
}

void RunRecorder::Slots::add(std::span<const BlockId> ids) {
  for (const BlockId id : ids) {
    if (owners_.size() <= index_of(id)) owners_.resize(index_of(id) + 1);
    if (owners_[index_of(id)]++ == 0) ++owned_;
  }
}

void RunRecorder::Slots::drop(std::span<const BlockId> ids) {
  for (const BlockId id : ids) {
    if (--owners_[index_of(id)] == 0) --owned_;
  }
}

RunRecorder::RunRecorder(const RecorderOptions& options,
                         const std::function<std::string(std::string_view)>& path_of)
    : options_(options),
      path_of_(path_of),
      trace_(path_of(kTraceFile)),
      map_(options.block_ids),
      blocks_(options.block_ids),
      bytes_(options.copy_sizes, options.copy_lane) {
  if (options.ledger) ledger_.emplace(*options.ledger);
  blocks_in_[static_cast<std::size_t>(BlockState::kFree)] = options.block_ids - 1;
  for (const std::string_view name : {kRequestsFile, kPreemptionsFile}) {
    files_[name].open(path_of(name));
  }
  files_[kRequestsFile].append(requests_header() + '\n');
  files_[kPreemptionsFile].append(
      "time_s,request,sample,attempt,known_tokens,rows_in_flight,blocks\n");
  engine_ = trace_.add_process("engine", 1);
  compute_ = trace_.add_track(engine_, "compute lane: steps");
  clients_ = trace_.add_process("requests", 2);
}

// ---- what the run tells ----------------------------------------------------------------------------

void RunRecorder::on_arrival(std::uint32_t request, std::int64_t arrival_ns) {
  requests_[request].arrival_ns = arrival_ns;
}

void RunRecorder::on_sequence(SequenceId id, std::uint32_t request, std::uint32_t sample) {
  Request& of = requests_[request];
  ++of.samples;
  ++of.live;
  Live& added = live_[value_of(id)];
  added.request = request;
  added.sample = sample;
  // A sample is a fork. What is a fork of another request shows in its records.
  ++now_[Column::kWaiting];
  if (sample > 0) {
    added.phase = Phase::kForking;
  } else {
    enqueue(value_of(id), added, of.arrival_ns);
  }
}

// A request that was given up before it had a sequence is in no record.
void RunRecorder::on_end(std::uint32_t request, std::int64_t now_ns) {
  const auto found = requests_.find(request);
  if (found == requests_.end() || found->second.samples > 0) return;
  found->second.end_ns = now_ns;
  found->second.reason = EndReason::kAborted;
  ++now_[Column::kEnded];
  end_request(request);
}

void RunRecorder::on_wait(Cause cause, std::int64_t from_ns, std::int64_t to_ns) {
  const Waits before = waits_ns_;
  waits_ns_[static_cast<std::size_t>(wait_of(cause))] += to_ns - from_ns;
  for (const std::uint32_t sequence : queued_) {
    Live* const queued = find(sequence);
    if (queued == nullptr || queued->phase != Phase::kWaiting || queued->waits_from) continue;
    const bool whole = queued->since_ns <= from_ns;
    queued->waited_ns[static_cast<std::size_t>(Wait::kStep)] +=
        (whole ? from_ns : to_ns) - queued->since_ns;
    queued->waits_from = whole ? before : waits_ns_;
  }
  queued_.clear();
  waits_upto_ns_ = to_ns;
  add_departed(before, from_ns, to_ns);
}

void RunRecorder::on_first_token(std::uint32_t request, std::int64_t now_ns) {
  const auto found = requests_.find(request);
  if (found != requests_.end()) found->second.first_token_ns = now_ns;
}

void RunRecorder::on_records(std::span<const std::byte> records, std::int64_t now_ns) {
  now_.at_ns = now_ns;
  map_.advance(now_ns);
  if (ledger_) ledger_->consume(records);
  for_each_record(records, ids_, [this](const Record& record, std::span<const BlockId> ids) {
    const bool of_victim = preemption_ && record.sequence == preemption_->sequence &&
                           (record.verb == Verb::kPark || record.verb == Verb::kRelease);
    if (!of_victim) flush_preemption();
    bytes_.take(record, ids);
    const StoreLoad* const loading = loads_.take(record, now_.at_ns);
    if (loading != nullptr) load(live(record.sequence), *loading);
    take(record, ids);
  });
  flush_preemption();
  for (const std::uint32_t sequence : refused_) {
    Live* const refused = find(sequence);
    if (refused == nullptr) continue;  // it was taken in first, and its end has come
    refused->waited_ns = {};
    refused->waits_from.reset();
    refused->since_ns = now_ns;  // it waited for nothing, however late it was heard
    end(sequence, EndReason::kNever, 0);
  }
  refused_.clear();
  sample();
}

void RunRecorder::take(const Record& record, std::span<const BlockId> ids) {
  switch (record.verb) {
    case Verb::kArrive: arrive(record); return;
    case Verb::kAnswer: {
      const auto answer = static_cast<Answer>(record.detail & 0xFF);
      if (answer == Answer::kOk) admit(live(record.sequence));
      if (answer == Answer::kNever) refused_.push_back(record.sequence);
      return;
    }
    case Verb::kAcquire:
    case Verb::kPin:
    case Verb::kHit:
    case Verb::kRelease:
    case Verb::kPark:
    case Verb::kUnpark: take_ids(record, ids); return;
    case Verb::kSave:
      if (record.pool == PoolKind::kBlocks) save_blocks(ids);
      return;
    case Verb::kKeys:
    case Verb::kLoad:
    case Verb::kStored: return;
    case Verb::kLoaded: {
      Live& loaded = live(record.sequence);
      loaded.rows = record.count;
      commit_blocks(loaded, loaded.rows);
      return;
    }
    case Verb::kPublish: publish(ids, true); return;
    case Verb::kEvict:
      if (record.pool == PoolKind::kBlocks) publish(ids, false);
      return;
    case Verb::kCopyQueued:
      if (ids[1] == kNoBlock) return;
      ++now_[Column::kCopies];
      ++copies_queued_;
      return;
    case Verb::kFork: fork(record); return;
    case Verb::kForkMissed: miss_fork(record); return;
    case Verb::kJoin: join(live(record.sequence)); return;
    case Verb::kLeave: return;
    case Verb::kDrafts:
    case Verb::kCommit: note_drafts(record); return;
    case Verb::kChunk: chunk(live(record.sequence), record.aux, record.count); return;
    case Verb::kStep:
      ++steps_planned_;
      planned_.push_back({steps_planned_, now_.at_ns, record.count, record.aux});
      if (copies_queued_ > 0) copies_.push_back({steps_planned_, now_.at_ns, copies_queued_});
      copies_queued_ = 0;
      return;
    case Verb::kResult: step_done(record); return;
    case Verb::kSitOut:
      ++now_[Column::kSatOut];
      if (const Live* const found = find(record.sequence)) {
        trace_.instant(found->track, now_.at_ns, TraceWord::kSitOut, {});
      }
      return;
    case Verb::kPreempt: preempt(record); return;
    case Verb::kDemote: demote(record); return;
    case Verb::kEnd:
      end(record.sequence, static_cast<EndReason>(record.detail), record.count);
      return;
    case Verb::kPassed:
      if (record.count > index_of(Lane::kCopy)) return;  // the store's
      // Step k's copies have ticket 2k - 1.
      copies_passed(record.count, (std::uint64_t{record.aux} + 1) / 2);
      return;
  }
}

// ---- blocks and slots ------------------------------------------------------------------------------

void RunRecorder::take_ids(const Record& record, std::span<const BlockId> ids) {
  if (record.pool == PoolKind::kBlocks) return take_blocks(record, ids);
  const bool host = record.pool == PoolKind::kHostBlocks || record.pool == PoolKind::kHostStates;
  if (host || record.verb == Verb::kPark) return;
  Slots& slots = record.pool == PoolKind::kStateSlots ? state_slots_ : draft_slots_;
  const bool more = record.verb == Verb::kAcquire || record.verb == Verb::kPin;
  more ? slots.add(ids) : slots.drop(ids);
}

void RunRecorder::take_blocks(const Record& record, std::span<const BlockId> ids) {
  Live* const holder = find(record.sequence);
  const bool preempted = preemption_ && preemption_->sequence == record.sequence;
  const bool decodes = holder != nullptr && holder->phase == Phase::kDecode;
  for (const BlockId id : ids) {
    Block& block = blocks_[index_of(id)];
    std::uint32_t owner = block.owner;
    std::uint32_t request = block.request;
    const auto now_of = [&] {
      owner = record.sequence;
      request = holder == nullptr ? kNoOwner : holder->request;
    };
    switch (record.verb) {
      case Verb::kAcquire:
        block.tables = 1;
        block.committed = decodes;
        now_of();
        break;
      case Verb::kPin:
      case Verb::kHit:
        ++block.tables;
        now_of();
        break;
      case Verb::kRelease:
      case Verb::kPark:
        --block.tables;
        if (record.verb == Verb::kPark) ++block.holds;
        block.taken = preempted;
        if (block.tables == 0) {
          now_of();  // the last who let go
        } else if (owner == record.sequence) {
          owner = request = kNoOwner;
        }
        break;
      default: --block.holds; break;
    }
    settle(index_of(id), block, owner, request);
  }
  if (record.verb == Verb::kUnpark) return;
  if (preempted) preemption_->blocks += record.count;
  if (holder == nullptr) return;
  std::vector<BlockId>& table = holder->table;
  const bool more = record.verb == Verb::kAcquire || record.verb == Verb::kPin ||
                    record.verb == Verb::kHit;  // a tail's source too: kPark takes it off again
  if (more) {
    table.insert(table.end(), ids.begin(), ids.end());
  } else {
    // What a sequence lets go is the end of its table.
    table.resize(table.size() - std::min(table.size(), ids.size()));
  }
  Request& request = requests_[holder->request];
  request.blocks_most = std::max(request.blocks_most, table.size());
}

// What is being saved is held, also behind its last table.
void RunRecorder::save_blocks(std::span<const BlockId> ids) {
  for (std::size_t n = 0; n < ids.size(); n += 2) ++blocks_[index_of(ids[n])].holds;
}

// `block` has new holders, or new content.
void RunRecorder::settle(std::uint32_t id, Block& block, std::uint32_t owner,
                         std::uint32_t request) {
  BlockState state = BlockState::kFree;
  if (block.tables > 1) {
    state = BlockState::kShared;
  } else if (block.tables == 1) {
    state = block.committed ? BlockState::kCommitted : BlockState::kReserved;
  } else if (block.holds > 0) {
    state = block.taken ? BlockState::kTaken : BlockState::kParked;
  } else {
    if (block.published) state = BlockState::kIdle;
    owner = request = kNoOwner;
  }
  if (state == block.state && owner == block.owner) return;
  --blocks_in_[static_cast<std::size_t>(block.state)];
  ++blocks_in_[static_cast<std::size_t>(state)];
  block.state = state;
  block.owner = owner;
  block.request = request;
  map_.change(BlockId{id}, state, request);
}

std::int64_t RunRecorder::blocks_owned() const {
  return std::int64_t{options_.block_ids} - 1 -
         blocks_in_[static_cast<std::size_t>(BlockState::kFree)] -
         blocks_in_[static_cast<std::size_t>(BlockState::kIdle)];
}

void RunRecorder::publish(std::span<const BlockId> ids, bool findable) {
  for (const BlockId id : ids) {
    Block& block = blocks_[index_of(id)];
    block.published = findable;
    settle(index_of(id), block, block.owner, block.request);
  }
}

void RunRecorder::commit_blocks(Live& live, std::uint32_t rows) {
  const std::size_t upto = std::min<std::size_t>(
      live.table.size(), (std::uint64_t{rows} + options_.block_size - 1) / options_.block_size);
  // Chunks come in order, so what is committed already lies in front.
  for (std::size_t n = upto; n-- > 0;) {
    Block& block = blocks_[index_of(live.table[n])];
    if (block.committed) return;
    block.committed = true;
    settle(index_of(live.table[n]), block, block.owner, block.request);
  }
}

// ---- sequences and their requests -------------------------------------------------------------------

RunRecorder::Live* RunRecorder::find(std::uint32_t sequence) {
  const auto found = live_.find(sequence);
  return found == live_.end() ? nullptr : &found->second;
}

RunRecorder::Live& RunRecorder::live(std::uint32_t sequence) {
  Live* const found = find(sequence);
  PINFOLD_WATCH(found != nullptr, "journal", "a record of a sequence that nobody added");
  return *found;
}

void RunRecorder::begin_attempt(Live& live, std::int64_t at_ns) {
  const std::string sample = live.sample == 0 ? "" : fmt::format(" sample {}", live.sample);
  live.track = trace_.add_track(clients_, "requests");
  trace_.begin(live.track, at_ns,
               fmt::format("request {}{}.{}", live.request, sample, live.attempt),
               {{TraceWord::kRequest, live.request}});
  trace_.begin(live.track, at_ns, TraceWord::kQueued);
}

void RunRecorder::end_attempt(Live& live) {
  trace_.end(live.track, now_.at_ns);  // queued, prefill or decode
  trace_.end(live.track, now_.at_ns);
}

// Into the queue; what it waits for is told with the next plan.
void RunRecorder::enqueue(std::uint32_t sequence, Live& live, std::int64_t since_ns) {
  live.phase = Phase::kWaiting;
  live.since_ns = since_ns;
  live.waits_from.reset();
  queued_.push_back(sequence);
}

void RunRecorder::add_waits(Live& live) {
  if (!live.waits_from) return;
  for (std::size_t i = 0; i < kWaits; ++i) {
    live.waited_ns[i] += waits_ns_[i] - (*live.waits_from)[i];
  }
  live.waits_from.reset();
}

// `before`: all waits up to `from_ns`. They ended at `to_ns`.
void RunRecorder::add_departed(const Waits& before, std::int64_t from_ns, std::int64_t to_ns) {
  for (const Departed& departed : departed_) {
    Request& request = requests_[departed.request];
    const bool whole = departed.waits_from || departed.since_ns <= from_ns;
    if (whole) {
      const Waits& then = departed.waits_from ? *departed.waits_from : before;
      for (std::size_t i = 0; i < kWaits; ++i) request.waited_ns[i] += waits_ns_[i] - then[i];
    }
    if (!departed.waits_from) {
      request.waited_ns[static_cast<std::size_t>(Wait::kStep)] +=
          (whole ? from_ns : to_ns) - departed.since_ns;
    }
    --request.unsettled;
    end_request(departed.request);
  }
  departed_.clear();
}

void RunRecorder::leave_queue(Live& live) {
  --now_[Column::kWaiting];
  if (live.preempted_at_ns < 0) return;
  requests_[live.request].preempted_ns += now_.at_ns - live.preempted_at_ns;
  live.preempted_at_ns = -1;
  --now_[Column::kPreempted];
}

void RunRecorder::arrive(const Record& record) {
  Live& arrived = live(record.sequence);
  arrived.prompt = record.count;
  Request& request = requests_[arrived.request];
  if (arrived.sample == 0) request.prompt = record.count;
  const bool first = arrived.sample == 0 && arrived.since_ns == request.arrival_ns;
  begin_attempt(arrived, first ? request.arrival_ns : now_.at_ns);
}

// It is an ordinary request from here on.
void RunRecorder::miss_fork(const Record& record) {
  Live& missed = live(record.sequence);
  missed.waited_ns = {};
  enqueue(record.sequence, missed, now_.at_ns);
}

// It holds its parent's blocks and is in no queue.
void RunRecorder::fork(const Record& record) {
  ++now_[Column::kForks];
  Live& child = live(record.sequence);
  child.phase = Phase::kForking;
  child.waited_ns = {};
  child.waits_from.reset();
  child.rows = child.rows_high = record.count;
}

void RunRecorder::demote(const Record& record) {
  Live& demoted = live(record.sequence);
  demoted.rows = 0;
  enqueue(record.sequence, demoted, now_.at_ns);
}

void RunRecorder::admit(Live& live) {
  // Taken in by the plan behind its arrival, when waits had been told already.
  if (live.phase == Phase::kWaiting && !live.waits_from) {
    live.waited_ns[static_cast<std::size_t>(Wait::kStep)] += now_.at_ns - live.since_ns;
  }
  add_waits(live);
  leave_queue(live);
  live.phase = Phase::kPrefill;
  ++now_[Column::kRunning];
  trace_.end(live.track, now_.at_ns);
  trace_.begin(live.track, now_.at_ns, TraceWord::kPrefill,
               {{TraceWord::kPromptTokens, live.prompt}}, live.flow);
  live.flow = 0;
}

// It holds all that it asked for and runs nothing before its load has passed.
void RunRecorder::load(Live& live, const StoreLoad& load) {
  Request& request = requests_[live.request];
  const auto next = [&](Phase phase, Column gauge) {
    --now_[live.phase == Phase::kLoading ? Column::kLoading : Column::kRunning];
    ++now_[gauge];
    live.phase = phase;
  };
  const auto slice = [&](TraceWord word) {
    trace_.end(live.track, now_.at_ns);
    trace_.begin(live.track, now_.at_ns, word);
  };
  if (load.state == StoreLoad::State::kQueued) {
    if (live.phase == Phase::kLoading) return;  // its state, behind its blocks
    ++request.loads;
    next(Phase::kLoading, Column::kLoading);
    return slice(TraceWord::kLoading);
  }
  request.loading_ns += load.time_ns();
  switch (load.state) {
    case StoreLoad::State::kPassed:
      request.loaded_tokens += load.tokens;
      request.loaded_blocks += load.blocks;
      request.loaded_states += load.states;
      next(Phase::kPrefill, Column::kRunning);
      return slice(TraceWord::kPrefill);
    case StoreLoad::State::kLost:
      ++request.loads_lost;
      next(Phase::kWaiting, Column::kWaiting);
      return slice(TraceWord::kQueued);
    case StoreLoad::State::kAborted: return next(Phase::kPrefill, Column::kRunning);
    case StoreLoad::State::kQueued: return;
  }
}

void RunRecorder::chunk(Live& live, std::uint32_t first, std::uint32_t count) {
  if (first < live.rows_high) {
    requests_[live.request].recomputed += std::min(first + count, live.rows_high) - first;
  }
  live.rows = first + count;
  commit_blocks(live, live.rows);
}

void RunRecorder::join(Live& live) {
  if (live.phase == Phase::kDecode) return;  // it sat out, or a step of it failed
  live.phase = Phase::kDecode;
  commit_blocks(live, UINT32_MAX);
  trace_.end(live.track, now_.at_ns);
  trace_.begin(live.track, now_.at_ns, TraceWord::kDecode);
}

void RunRecorder::preempt(const Record& record) {
  Live& victim = live(record.sequence);
  preemption_ = {record.sequence, record.count, record.aux, 0};
  ++now_[Column::kPreemptions];
  ++now_[Column::kPreempted];
  ++now_[Column::kWaiting];
  --now_[Column::kRunning];
  ++requests_[victim.request].preemptions;
  // Of H known tokens the last is not computed; each row in flight computes one more.
  const std::uint32_t rows =
      victim.phase == Phase::kDecode ? record.count - 1 + record.aux : victim.rows;
  victim.rows_high = std::max(victim.rows_high, rows);
  victim.preempted_at_ns = now_.at_ns;
  victim.rows = 0;
  enqueue(record.sequence, victim, now_.at_ns);
  map_.preempted(static_cast<std::uint32_t>(blocks_owned()));
}

// The victim has let go: its attempt ends here and the next one begins.
void RunRecorder::flush_preemption() {
  if (!preemption_) return;
  const PendingPreemption done = *preemption_;
  preemption_.reset();
  Live& victim = live(done.sequence);
  files_[kPreemptionsFile].append(
      fmt::format("{},{},{},{},{},{},{}\n", seconds(now_.at_ns, kTimePlaces), victim.request,
                  victim.sample, victim.attempt, done.known, done.in_flight, done.blocks));
  victim.flow = ++flows_;
  trace_.instant(victim.track, now_.at_ns, TraceWord::kPreempt,
                 {{TraceWord::kRequest, victim.request},
                  {TraceWord::kKnownTokens, done.known},
                  {TraceWord::kRowsInFlight, done.in_flight},
                  {TraceWord::kBlocks, done.blocks}},
                 victim.flow);
  end_attempt(victim);
  ++victim.attempt;
  begin_attempt(victim, now_.at_ns);
}

void RunRecorder::end(std::uint32_t sequence, EndReason reason, std::uint32_t emitted) {
  Live* const found = find(sequence);
  if (found == nullptr) return;
  const std::uint32_t number = found->request;
  Request& request = requests_[number];
  if (found->phase == Phase::kWaiting || found->phase == Phase::kForking) {
    const bool waited = found->waits_from || found->since_ns < now_.at_ns;
    if (found->phase == Phase::kWaiting && waited && waits_upto_ns_ < now_.at_ns) {
      departed_.push_back({number, found->since_ns, found->waits_from});
      ++request.unsettled;
    } else {
      // Waits were told up to now before it was heard of.
      if (found->phase == Phase::kWaiting && !found->waits_from) {
        found->waited_ns[static_cast<std::size_t>(Wait::kStep)] += now_.at_ns - found->since_ns;
      }
      add_waits(*found);
    }
    leave_queue(*found);
  } else {
    --now_[Column::kRunning];
  }
  end_attempt(*found);
  for (std::size_t i = 0; i < kWaits; ++i) request.waited_ns[i] += found->waited_ns[i];
  // A sample's first token came out of the prompt's step.
  const std::uint64_t tokens = std::uint64_t{emitted} + (found->sample > 0 ? 1 : 0);
  request.emitted += tokens;
  const bool whole = reason == EndReason::kStop || reason == EndReason::kLimit;
  if (whole && tokens > 1 && request.first_token_ns >= 0) {
    const auto decoded_ns = static_cast<std::uint64_t>(now_.at_ns - request.first_token_ns);
    request.tpot_ns = std::max(request.tpot_ns, divide_half_up(decoded_ns, tokens - 1));
  }
  if (found->sample == 0 && whole && request.reason == EndReason::kStop) request.reason = reason;
  if (reason == EndReason::kAborted && request.reason != EndReason::kNever) request.reason = reason;
  if (reason == EndReason::kNever) request.reason = reason;
  live_.erase(sequence);
  if (--request.live > 0) return;
  request.end_ns = now_.at_ns;
  ++now_[Column::kEnded];
  end_request(number);
}

// Once everything of it is told.
void RunRecorder::end_request(std::uint32_t number) {
  const Request& request = requests_[number];
  if (request.end_ns < 0 || request.unsettled > 0) return;
  write_request(number, request, word_of(request.reason));
  requests_.erase(number);
}

void RunRecorder::write_request(std::uint32_t number, const Request& request,
                                std::string_view reason) {
  const bool ended = request.end_ns >= 0;
  const bool token = request.first_token_ns >= 0;
  std::string row =
      fmt::format("{},{},{},{},{},{}", number, seconds(request.arrival_ns, kTimePlaces),
                  request.prompt, request.emitted, request.samples, reason);
  row += ended ? ',' + seconds(request.end_ns, kTimePlaces) : ",";
  row += token ? ',' + ms(request.first_token_ns - request.arrival_ns) : ",";
  row += request.tpot_ns >= 0 ? ',' + ms(request.tpot_ns) : ",";
  row += ended ? ',' + ms(request.end_ns - request.arrival_ns) : ",";
  std::int64_t queue_ns = 0;
  std::string parts;
  for (const std::int64_t part_ns : request.waited_ns) {
    queue_ns += part_ns;
    parts += ',' + ms(part_ns);
  }
  row += ',' + ms(queue_ns) + parts;
  row += fmt::format(",{},{},{},{}", request.preemptions, ms(request.preempted_ns),
                     request.recomputed, request.blocks_most);
  row +=
      fmt::format(",{},{},{},{},{},{}\n", request.loads, request.loads_lost, ms(request.loading_ns),
                  request.loaded_tokens, request.loaded_blocks, request.loaded_states);
  files_[kRequestsFile].append(row);
  ++rows_written_;
}

// ---- steps, copies, drafts -------------------------------------------------------------------------

void RunRecorder::step_done(const Record& record) {
  ++now_[Column::kSteps];
  if (planned_.empty()) return;
  const PlannedStep step = planned_.front();
  planned_.pop_front();
  // Its copies ran ahead of it in its lane; a host that polls may not have been told.
  if (options_.copy_lane == Lane::kCompute) {
    copies_passed(index_of(Lane::kCompute), step.number);
  }
  // The lane is in order: a step begins when it is planned, or when the one before it is done.
  const std::int64_t begin_ns = std::max(step.planned_ns, last_result_ns_);
  last_result_ns_ = now_.at_ns;
  if (record.aux != 0) {
    flush_steps();
    trace_.begin(compute_, begin_ns, TraceWord::kFailedStep, {{TraceWord::kRows, step.rows}});
    trace_.end(compute_, now_.at_ns);
    return;
  }
  if (group_.steps == 0) {
    group_.first = step.number;
    group_.begin_ns = begin_ns;
  }
  ++group_.steps;
  group_.end_ns = now_.at_ns;
  group_.rows += step.rows;
  group_.prompt_rows += step.prompt_rows;
  if (group_.steps >= step_group_) flush_steps();
}

void RunRecorder::flush_steps() {
  if (group_.steps == 0) return;
  if (group_.steps == 1) {
    trace_.begin(compute_, group_.begin_ns, TraceWord::kStep,
                 {{TraceWord::kRows, group_.rows}, {TraceWord::kPromptRows, group_.prompt_rows}});
  } else {
    trace_.begin(compute_, group_.begin_ns, TraceWord::kSteps,
                 {{TraceWord::kFirst, group_.first},
                  {TraceWord::kCount, group_.steps},
                  {TraceWord::kRows, group_.rows},
                  {TraceWord::kPromptRows, group_.prompt_rows}});
  }
  trace_.end(compute_, group_.end_ns);
  group_ = StepGroup{};
  if (++step_slices_ % kStepSlices == 0) step_group_ *= 2;
}

void RunRecorder::copies_passed(std::uint32_t lane, std::uint64_t upto_step) {
  while (!copies_.empty() && copies_.front().step <= upto_step) {
    const PendingCopies& done = copies_.front();
    std::optional<TrackId>& track = copy_tracks_[lane];
    constexpr std::array<const char*, kLanes> kNames{"compute lane: copies", "copy lane: copies",
                                                     "host-to-device lane: copies",
                                                     "device-to-host lane: copies"};
    if (!track) track = trace_.add_track(engine_, kNames[lane]);
    trace_.begin(*track, std::max(done.queued_ns, copies_done_ns_[lane]), TraceWord::kCopies,
                 {{TraceWord::kCount, done.count}});
    trace_.end(*track, now_.at_ns);
    copies_done_ns_[lane] = now_.at_ns;
    copies_.pop_front();
  }
}

void RunRecorder::note_drafts(const Record& record) {
  const auto places = [](std::uint32_t count, std::array<std::uint64_t, kDraftPlaces>& at) {
    for (std::size_t place = 0; place < std::min<std::size_t>(count, kDraftPlaces); ++place) {
      ++at[place];
    }
  };
  if (record.verb == Verb::kDrafts) {
    now_[Column::kDraftsProposed] += record.count;
    places(record.count, proposed_);
  } else if (record.count > 1) {
    // The row's own token and the drafts that were accepted.
    now_[Column::kDraftsAccepted] += record.count - 1;
    places(record.count - 1, accepted_);
  }
}

// ---- over time -------------------------------------------------------------------------------------

void RunRecorder::sample() {
  const auto in = [this](BlockState state) { return blocks_in_[static_cast<std::size_t>(state)]; };
  now_[Column::kBlocksOwned] = blocks_owned();
  now_[Column::kBlocksReserved] = in(BlockState::kReserved);
  now_[Column::kBlocksCommitted] = in(BlockState::kCommitted);
  now_[Column::kBlocksShared] = in(BlockState::kShared);
  now_[Column::kBlocksParked] = in(BlockState::kParked) + in(BlockState::kTaken);
  now_[Column::kStateSlots] = state_slots_.owned();
  now_[Column::kDraftSlots] = draft_slots_.owned();
  const auto bytes = [this](Lane lane) { return static_cast<std::int64_t>(bytes_.on(lane)); };
  now_[Column::kCopyBytes] = bytes(options_.copy_lane);
  now_[Column::kLoadBytes] = bytes(Lane::kHostToDevice);
  now_[Column::kSaveBytes] = bytes(Lane::kDeviceToHost);
  if (ledger_) now_.positions = ledger_->positions();
  map_.occupied(static_cast<std::uint32_t>(now_[Column::kBlocksOwned]));
  timeline_.add(now_);
}

void RunRecorder::write_counters() {
  const auto write = [this](std::string_view name, const auto& value_of) {
    const TrackId track = trace_.add_counter(engine_, name);
    std::optional<std::int64_t> last;
    for (const TimelineRow& row : timeline_.rows()) {
      const std::int64_t value = value_of(row);
      if (value == last) continue;
      trace_.count(track, row.at_ns, value);
      last = value;
    }
  };
  for (std::size_t i = 0; i < kColumns; ++i) {
    const Column column = static_cast<Column>(i);
    write(name_of(column), [column](const TimelineRow& row) { return row[column]; });
  }
  for (std::size_t i = 0; ledger_ && i < kPositionClasses; ++i) {
    write(fmt::format("ledger_{}", kPositionClassNames[i]),
          [i](const TimelineRow& row) { return row.positions.of[i]; });
  }
}

std::string RunRecorder::recording_json(const LatencyStats& inter_token) const {
  JsonWriter json;
  json.open_object();
  json.key("format").integer(1);
  json.key("timeline").open_object();
  json.key("instants").integer(timeline_.instants());
  json.key("rows").integer(timeline_.rows().size());
  json.key("rows_max").integer(Timeline::kRowsMax);
  json.key("bucket_s").number(seconds(timeline_.bucket_ns(), kTimePlaces));
  json.close();
  json.key("trace").open_object();
  json.key("steps").integer(static_cast<std::uint64_t>(now_[Column::kSteps]));
  json.key("step_slices").integer(step_slices_);
  json.key("step_slices_before_merging").integer(kStepSlices);
  json.key("packets").integer(trace_.packets());
  json.close();
  json.key("requests").integer(rows_written_);
  json.key("preemptions").integer(static_cast<std::uint64_t>(now_[Column::kPreemptions]));
  const auto places = [&json](std::string_view name,
                              const std::array<std::uint64_t, kDraftPlaces>& counts) {
    json.key(name).open_array();
    for (const std::uint64_t count : counts) {
      if (count > 0) json.integer(count);
    }
    json.close();
  };
  json.key("drafts").open_object();
  places("proposed_by_place", proposed_);
  places("accepted_by_place", accepted_);
  json.close();
  json.key("inter_token").open_object();
  json.key("samples").integer(inter_token.samples);
  json.key("ms").open_array();
  for (const std::int64_t ns : inter_token.distribution_ns) json.number(milliseconds(ns, 3));
  json.close();
  json.close();
  json.close();
  return json.finish();
}

std::optional<FileFailure> RunRecorder::finish(const LatencyStats& inter_token) {
  flush_steps();
  if (!departed_.empty()) on_wait(Cause::kNone, now_.at_ns, now_.at_ns);
  for (auto& [sequence, unfinished] : live_) {
    if (unfinished.phase == Phase::kWaiting) add_waits(unfinished);
    Request& request = requests_[unfinished.request];
    for (std::size_t i = 0; i < kWaits; ++i) request.waited_ns[i] += unfinished.waited_ns[i];
    if (const auto loading = loads_.pending().find(sequence); loading != loads_.pending().end()) {
      request.loading_ns += std::max(now_.at_ns, waits_upto_ns_) - loading->second.since_ns;
    }
    if (unfinished.track != TrackId{}) end_attempt(unfinished);
  }
  for (const auto& [number, unfinished] : requests_)
    write_request(number, unfinished, "unfinished");
  write_counters();
  map_.finish();
  const auto whole = [this](std::string_view name, const std::string& content) {
    files_[name].open(path_of_(name));
    files_[name].append(content);
  };
  whole("timeline.csv", timeline_csv(timeline_, ledger_.has_value()));
  whole("blockmap.json", map_.json(options_.block_size));
  whole("recording.json", recording_json(inter_token));
  std::optional<FileFailure> failure;
  for (auto& [name, file] : files_) {
    const int reason = file.close();
    if (reason != 0 && !failure) failure = {std::string(name), reason};
  }
  const int reason = trace_.close();
  if (reason != 0 && !failure) failure = {std::string(kTraceFile), reason};
  return failure;
}

}  // namespace pinfold::sim
