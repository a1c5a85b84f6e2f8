#include "sim/report/run_recorder.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/decimal.h"
#include "sim/config/json_writer.h"
#include "sim/metrics/latency.h"
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
      "request,arrival_s,prompt_tokens,output_tokens,end,end_s,ttft_ms,tpot_ms,e2el_ms,queue_ms";
  for (std::size_t i = 0; i < kWaits; ++i) {
    header += fmt::format(",wait_{}_ms", name_of(static_cast<Wait>(i)));
  }
  return header + ",preemptions,preempted_ms,recomputed_tokens,blocks_most";
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
      blocks_(options.block_ids) {
  blocks_in_[static_cast<std::size_t>(BlockState::kFree)] = options.block_ids - 1;
  for (const std::string_view name : {kRequestsFile, kPreemptionsFile}) {
    files_[name].open(path_of(name));
  }
  files_[kRequestsFile].append(requests_header() + '\n');
  files_[kPreemptionsFile].append("time_s,request,attempt,known_tokens,rows_in_flight,blocks\n");
  engine_ = trace_.add_process("engine", 1);
  compute_ = trace_.add_track(engine_, "compute lane: steps");
  requests_ = trace_.add_process("requests", 2);
}

// ---- what the run tells ----------------------------------------------------------------------------

void RunRecorder::on_arrival(std::uint32_t request, std::int64_t arrival_ns) {
  Live& arrived = live_[request];
  arrived.arrival_ns = arrival_ns;
  arrived_.push_back(request);
  ++now_[Column::kWaiting];
  begin_attempt(request, arrived, arrival_ns);
}

void RunRecorder::on_wait(Cause cause, std::int64_t from_ns, std::int64_t to_ns) {
  const Waits before = waits_ns_;
  waits_ns_[static_cast<std::size_t>(wait_of(cause))] += to_ns - from_ns;
  for (const std::uint32_t request : arrived_) {
    Live* const waiting = find(request);
    if (waiting == nullptr || waiting->waits_from) continue;
    if (waiting->arrival_ns <= from_ns) {
      waiting->waits_from = before;
    } else {
      waiting->waited_ns[static_cast<std::size_t>(Wait::kStep)] += to_ns - waiting->arrival_ns;
      waiting->waits_from = waits_ns_;
    }
  }
  arrived_.clear();
}

void RunRecorder::on_first_token(std::uint32_t request, std::int64_t now_ns) {
  if (Live* const found = find(request)) found->first_token_ns = now_ns;
}

void RunRecorder::on_records(std::span<const std::byte> records, std::int64_t now_ns) {
  now_.at_ns = now_ns;
  map_.advance(now_ns);
  for_each_record(records, ids_, [this](const Record& record, std::span<const BlockId> ids) {
    const bool of_victim = preemption_ && record.sequence == preemption_->request &&
                           (record.verb == Verb::kPark || record.verb == Verb::kRelease);
    if (!of_victim) flush_preemption();
    take(record, ids);
  });
  flush_preemption();
  for (const std::uint32_t request : refused_) end(request, word_of(EndReason::kNever), 0);
  refused_.clear();
  sample();
}

void RunRecorder::take(const Record& record, std::span<const BlockId> ids) {
  const std::uint32_t request = record.sequence;
  switch (record.verb) {
    case Verb::kArrive: live(request).prompt = record.count; return;
    case Verb::kAnswer: {
      const auto answer = static_cast<Answer>(record.detail & 0xFF);
      if (answer == Answer::kOk) admit(request, live(request));
      if (answer == Answer::kNever) refused_.push_back(request);
      return;
    }
    case Verb::kAcquire:
    case Verb::kPin:
    case Verb::kRelease:
    case Verb::kPark:
    case Verb::kUnpark: take_ids(record, ids); return;
    case Verb::kCopyQueued:
      if (ids[1] == kNoBlock) return;
      ++now_[Column::kCopies];
      ++copies_queued_;
      return;
    case Verb::kFork:
      ++now_[Column::kForks];
      live(request).rows = record.count;
      return;
    case Verb::kForkMissed: return;
    case Verb::kJoin: join(request); return;
    case Verb::kLeave: return;
    case Verb::kDrafts:
    case Verb::kCommit: note_drafts(record); return;
    case Verb::kChunk: chunk(live(request), record.aux, record.count); return;
    case Verb::kStep:
      ++steps_planned_;
      planned_.push_back({steps_planned_, now_.at_ns, record.count, record.aux});
      if (copies_queued_ > 0) copies_.push_back({steps_planned_, now_.at_ns, copies_queued_});
      copies_queued_ = 0;
      return;
    case Verb::kResult: step_done(record); return;
    case Verb::kSitOut:
      ++now_[Column::kSatOut];
      if (const Live* const found = find(request)) {
        trace_.instant(found->track, now_.at_ns, TraceWord::kSitOut, {});
      }
      return;
    case Verb::kPreempt: preempt(record); return;
    case Verb::kDemote: return;
    case Verb::kEnd:
      end(request, word_of(static_cast<EndReason>(record.detail)), record.count);
      return;
    case Verb::kPassed:
      // Step k's copies have ticket 2k - 1 on the compute lane.
      copies_passed(record.count, record.count == index_of(Lane::kCompute)
                                      ? (std::uint64_t{record.aux} + 1) / 2
                                      : steps_planned_);
      return;
  }
}

// ---- blocks and slots ------------------------------------------------------------------------------

void RunRecorder::take_ids(const Record& record, std::span<const BlockId> ids) {
  if (record.pool == PoolKind::kBlocks) return take_blocks(record, ids);
  if (record.pool == PoolKind::kHostBlocks || record.verb == Verb::kPark) return;
  Slots& slots = record.pool == PoolKind::kStateSlots ? state_slots_ : draft_slots_;
  const bool more = record.verb == Verb::kAcquire || record.verb == Verb::kPin;
  more ? slots.add(ids) : slots.drop(ids);
}

void RunRecorder::take_blocks(const Record& record, std::span<const BlockId> ids) {
  Live* const holder = find(record.sequence);
  const bool preempted = preemption_ && preemption_->request == record.sequence;
  const bool decodes = holder != nullptr && holder->phase == Phase::kDecode;
  for (const BlockId id : ids) {
    Block& block = blocks_[index_of(id)];
    std::uint32_t owner = block.owner;
    switch (record.verb) {
      case Verb::kAcquire:
        block.tables = 1;
        block.committed = decodes;
        owner = record.sequence;
        break;
      case Verb::kPin:
        ++block.tables;
        owner = record.sequence;
        break;
      case Verb::kRelease:
      case Verb::kPark:
        --block.tables;
        if (record.verb == Verb::kPark) ++block.holds;
        block.taken = preempted;
        if (block.tables > 0 && owner == record.sequence) owner = kNoOwner;
        break;
      default: --block.holds; break;
    }
    settle(index_of(id), block, owner);
  }
  if (record.verb == Verb::kUnpark) return;
  if (preempted) preemption_->blocks += record.count;
  if (holder == nullptr) return;
  std::vector<BlockId>& table = holder->table;
  if (record.verb == Verb::kAcquire || record.verb == Verb::kPin) {
    table.insert(table.end(), ids.begin(), ids.end());
  } else {
    // What a sequence lets go is the end of its table.
    table.resize(table.size() - std::min(table.size(), ids.size()));
  }
  holder->blocks_most = std::max(holder->blocks_most, static_cast<std::uint32_t>(table.size()));
}

// `block` has new holders, or new content.
void RunRecorder::settle(std::uint32_t id, Block& block, std::uint32_t owner) {
  BlockState state = BlockState::kFree;
  if (block.tables > 1) {
    state = BlockState::kShared;
  } else if (block.tables == 1) {
    state = block.committed ? BlockState::kCommitted : BlockState::kReserved;
  } else if (block.holds > 0) {
    state = block.taken ? BlockState::kTaken : BlockState::kParked;
  } else {
    owner = kNoOwner;
  }
  if (state == block.state && owner == block.owner) return;
  --blocks_in_[static_cast<std::size_t>(block.state)];
  ++blocks_in_[static_cast<std::size_t>(state)];
  block.state = state;
  block.owner = owner;
  map_.change(BlockId{id}, state, owner);
}

void RunRecorder::commit_blocks(Live& live, std::uint32_t rows) {
  const std::size_t upto = std::min<std::size_t>(
      live.table.size(), (std::uint64_t{rows} + options_.block_size - 1) / options_.block_size);
  // Chunks come in order, so what is committed already lies in front.
  for (std::size_t n = upto; n-- > 0;) {
    Block& block = blocks_[index_of(live.table[n])];
    if (block.committed) return;
    block.committed = true;
    settle(index_of(live.table[n]), block, block.owner);
  }
}

// ---- requests --------------------------------------------------------------------------------------

RunRecorder::Live* RunRecorder::find(std::uint32_t request) {
  const auto found = live_.find(request);
  return found == live_.end() ? nullptr : &found->second;
}

// A sequence whose arrival nobody told (a sample of another request) arrives with its first record.
RunRecorder::Live& RunRecorder::live(std::uint32_t request) {
  if (Live* const found = find(request)) return *found;
  on_arrival(request, now_.at_ns);
  return live_[request];
}

void RunRecorder::begin_attempt(std::uint32_t request, Live& live, std::int64_t at_ns) {
  live.track = trace_.add_track(requests_, "requests");
  trace_.begin(live.track, at_ns, fmt::format("request {}.{}", request, live.attempt),
               {{TraceWord::kRequest, request}});
  trace_.begin(live.track, at_ns, TraceWord::kQueued);
}

void RunRecorder::end_attempt(Live& live) {
  trace_.end(live.track, now_.at_ns);  // queued, prefill or decode
  trace_.end(live.track, now_.at_ns);
}

void RunRecorder::stop_waiting(Live& live) {
  if (live.waits_from) {
    for (std::size_t i = 0; i < kWaits; ++i) {
      live.waited_ns[i] += waits_ns_[i] - (*live.waits_from)[i];
    }
  }
  live.waits_from.reset();
  --now_[Column::kWaiting];
  if (live.preempted_at_ns < 0) return;
  live.preempted_ns += now_.at_ns - live.preempted_at_ns;
  live.preempted_at_ns = -1;
  --now_[Column::kPreempted];
}

void RunRecorder::admit(std::uint32_t, Live& live) {
  if (live.phase != Phase::kWaiting) return;
  stop_waiting(live);
  live.phase = Phase::kPrefill;
  ++now_[Column::kRunning];
  trace_.end(live.track, now_.at_ns);
  trace_.begin(live.track, now_.at_ns, TraceWord::kPrefill,
               {{TraceWord::kPromptTokens, live.prompt}}, live.flow);
  live.flow = 0;
}

void RunRecorder::chunk(Live& live, std::uint32_t first, std::uint32_t count) {
  if (first < live.rows_high) live.recomputed += std::min(first + count, live.rows_high) - first;
  live.rows = first + count;
  commit_blocks(live, live.rows);
}

void RunRecorder::join(std::uint32_t request) {
  Live& joined = live(request);
  if (joined.phase == Phase::kDecode) return;  // it sat out, or drafts came and went
  joined.phase = Phase::kDecode;
  commit_blocks(joined, UINT32_MAX);
  trace_.end(joined.track, now_.at_ns);
  trace_.begin(joined.track, now_.at_ns, TraceWord::kDecode);
}

void RunRecorder::preempt(const Record& record) {
  Live& victim = live(record.sequence);
  preemption_ = {record.sequence, victim.attempt, record.count, record.aux, 0};
  ++now_[Column::kPreemptions];
  ++now_[Column::kPreempted];
  ++now_[Column::kWaiting];
  --now_[Column::kRunning];
  ++victim.preemptions;
  // Of H known tokens the last is not computed; each row in flight computes one more.
  const std::uint32_t rows =
      victim.phase == Phase::kDecode ? record.count - 1 + record.aux : victim.rows;
  victim.rows_high = std::max(victim.rows_high, rows);
  victim.phase = Phase::kWaiting;
  victim.preempted_at_ns = now_.at_ns;
  victim.waits_from = waits_ns_;
  victim.rows = 0;
  const std::int64_t owned = std::int64_t{options_.block_ids} - 1 - blocks_in_[0];
  map_.preempted(static_cast<std::uint32_t>(owned));
}

// The victim has let go: its attempt ends here and the next one begins.
void RunRecorder::flush_preemption() {
  if (!preemption_) return;
  const PendingPreemption done = *preemption_;
  preemption_.reset();
  files_[kPreemptionsFile].append(
      fmt::format("{},{},{},{},{},{}\n", seconds(now_.at_ns, kTimePlaces), done.request,
                  done.attempt, done.known, done.in_flight, done.blocks));
  Live& victim = live(done.request);
  victim.flow = ++flows_;
  trace_.instant(victim.track, now_.at_ns, TraceWord::kPreempt,
                 {{TraceWord::kRequest, done.request},
                  {TraceWord::kKnownTokens, done.known},
                  {TraceWord::kRowsInFlight, done.in_flight},
                  {TraceWord::kBlocks, done.blocks}},
                 victim.flow);
  end_attempt(victim);
  ++victim.attempt;
  begin_attempt(done.request, victim, now_.at_ns);
}

void RunRecorder::end(std::uint32_t request, std::string_view reason, std::uint32_t emitted) {
  Live* const found = find(request);
  if (found == nullptr) return;
  if (found->phase == Phase::kWaiting) {
    stop_waiting(*found);
  } else {
    --now_[Column::kRunning];
  }
  end_attempt(*found);
  ++now_[Column::kEnded];
  write_request(request, *found, reason, emitted, true);
  live_.erase(request);
}

void RunRecorder::write_request(std::uint32_t request, const Live& live, std::string_view reason,
                                std::uint32_t emitted, bool ended) {
  std::string row = fmt::format("{},{},{},{},{}", request, seconds(live.arrival_ns, kTimePlaces),
                                live.prompt, emitted, reason);
  const std::int64_t e2el_ns = now_.at_ns - live.arrival_ns;
  const bool token = live.first_token_ns >= 0;
  const std::int64_t ttft_ns = live.first_token_ns - live.arrival_ns;
  row += ended ? ',' + seconds(now_.at_ns, kTimePlaces) : ",";
  row += token ? ',' + ms(ttft_ns) : ",";
  const bool spaced = ended && token && emitted > 1;
  row += spaced
             ? ',' + ms(divide_half_up(static_cast<std::uint64_t>(e2el_ns - ttft_ns), emitted - 1))
             : ",";
  row += ended ? ',' + ms(e2el_ns) : ",";
  std::int64_t queue_ns = 0;
  std::string parts;
  for (const std::int64_t part_ns : live.waited_ns) {
    queue_ns += part_ns;
    parts += ',' + ms(part_ns);
  }
  row += ',' + ms(queue_ns) + parts;
  row += fmt::format(",{},{},{},{}\n", live.preemptions, ms(live.preempted_ns), live.recomputed,
                     live.blocks_most);
  files_[kRequestsFile].append(row);
  ++rows_written_;
}

// ---- steps, copies, drafts -------------------------------------------------------------------------

void RunRecorder::step_done(const Record& record) {
  ++now_[Column::kSteps];
  if (planned_.empty()) return;
  const PlannedStep step = planned_.front();
  planned_.pop_front();
  copies_passed(index_of(Lane::kCompute), step.number);
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
  now_[Column::kBlocksOwned] = std::int64_t{options_.block_ids} - 1 - in(BlockState::kFree);
  now_[Column::kBlocksReserved] = in(BlockState::kReserved);
  now_[Column::kBlocksCommitted] = in(BlockState::kCommitted);
  now_[Column::kBlocksShared] = in(BlockState::kShared);
  now_[Column::kBlocksParked] = in(BlockState::kParked) + in(BlockState::kTaken);
  now_[Column::kStateSlots] = state_slots_.owned();
  now_[Column::kDraftSlots] = draft_slots_.owned();
  if (options_.ledger != nullptr) now_.ledger = options_.ledger->positions_now();
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
  for (std::size_t i = 0; options_.ledger != nullptr && i < LedgerSample::kClasses; ++i) {
    write(kLedgerNames[i], [i](const TimelineRow& row) { return row.ledger.positions[i]; });
  }
}

std::string RunRecorder::recording_json() const {
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
  json.close();
  return json.finish();
}

std::optional<FileFailure> RunRecorder::finish() {
  flush_steps();
  for (auto& [request, unfinished] : live_) {
    if (unfinished.phase == Phase::kWaiting) stop_waiting(unfinished);
    end_attempt(unfinished);
    write_request(request, unfinished, "unfinished", 0, false);
  }
  write_counters();
  map_.finish();
  const auto whole = [this](std::string_view name, const std::string& content) {
    files_[name].open(path_of_(name));
    files_[name].append(content);
  };
  whole("timeline.csv", timeline_csv(timeline_, options_.ledger != nullptr));
  whole("blockmap.json", map_.json(options_.block_size));
  whole("recording.json", recording_json());
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
