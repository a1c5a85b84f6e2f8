#include "sim/report/request_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/config/decimal.h"
#include "sim/config/json_writer.h"

namespace pinfold::sim {
namespace {

using Kind = TimelineEvent::Kind;

const char* word_of(Kind kind) {
  switch (kind) {
    case Kind::kArrive: return "arrive";
    case Kind::kWait: return "wait";
    case Kind::kLater: return "later";
    case Kind::kAdmit: return "admit";
    case Kind::kLoad: return "load";
    case Kind::kNever: return "never";
    case Kind::kChunk: return "chunk";
    case Kind::kFirstToken: return "first_token";
    case Kind::kDecode: return "decode";
    case Kind::kSitOut: return "sit_out";
    case Kind::kPreempt: return "preempt";
    case Kind::kFork: return "fork";
    case Kind::kForkMissed: return "fork_missed";
    case Kind::kDemote: return "demote";
    case Kind::kEnd: return "end";
  }
  return "?";
}

const char* word_of(Wait wait) {
  switch (wait) {
    case Wait::kBlocks: return "blocks";
    case Wait::kSlot: return "a state slot";
    case Wait::kFence: return "a fence";
    case Wait::kFork: return "a fork";
    case Wait::kRunLimit: return "the run limit";
    case Wait::kBudget: return "the token budget";
    case Wait::kStep: return "the running step to end";
  }
  return "?";
}

const char* word_of(EndReason reason) {
  switch (reason) {
    case EndReason::kStop: return "stop";
    case EndReason::kLimit: return "limit";
    case EndReason::kAborted: return "aborted";
    case EndReason::kNever: return "never";
  }
  return "?";
}

const char* word_of(StoreLoad::State state) {
  switch (state) {
    case StoreLoad::State::kQueued: return "under_way";
    case StoreLoad::State::kPassed: return "passed";
    case StoreLoad::State::kLost: return "given_up";
    case StoreLoad::State::kAborted: return "aborted";
  }
  return "?";
}

EndReason end_reason(const TimelineEvent& event) { return static_cast<EndReason>(event.c); }

/// What happens to one of several sequences; the others happen to the request.
bool has_sample(Kind kind) { return kind != Kind::kArrive && kind != Kind::kFirstToken; }

/// "3 blocks", "1 block".
std::string count(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string asked(const TimelineEvent& event) {
  return event.b == 0 ? count(event.a, "block")
                      : count(event.a, "block") + " and " + count(event.b, "state slot");
}

/// "loads 8 blocks from the external store: 1.5 s, spares 128 tokens".
std::string load_sentence(const StoreLoad& load) {
  std::string what = load.blocks > 0 ? count(load.blocks, "block") : "";
  if (load.states > 0) what += (what.empty() ? "" : " and ") + count(load.states, "state");
  const std::string text = fmt::format("loads {} from the external store: ", what);
  const std::string time = seconds(load.time_ns(), 6) + " s";
  switch (load.state) {
    case StoreLoad::State::kQueued:
      return text + "not there when the run ended, " + time + " later";
    case StoreLoad::State::kPassed:
      return text + fmt::format("{}, spares {}", time, count(load.tokens, "token"));
    case StoreLoad::State::kLost: return text + "given up after " + time;
    case StoreLoad::State::kAborted: return text + "aborted after " + time;
  }
  return "?";
}

std::int64_t sum_of(const std::array<std::int64_t, kWaits>& waited_ns) {
  std::int64_t sum_ns = 0;
  for (const std::int64_t part : waited_ns) sum_ns += part;
  return sum_ns;
}

/// "1.5 s for blocks", or "1.5 s: 1.2 for blocks, 0.3 for the token budget".
std::string parts_of(const std::array<std::int64_t, kWaits>& waited_ns) {
  std::string text = seconds(sum_of(waited_ns), 6) + " s";
  std::string_view before = ": ";
  for (std::size_t i = 0; i < kWaits; ++i) {
    if (waited_ns[i] == 0) continue;
    const char* const reason = word_of(static_cast<Wait>(i));
    if (waited_ns[i] == sum_of(waited_ns)) return fmt::format("{} for {}", text, reason);
    text += fmt::format("{}{} for {}", before, seconds(waited_ns[i], 6), reason);
    before = ", ";
  }
  return text;
}

void write_waits(JsonWriter& json, const std::array<std::int64_t, kWaits>& waited_ns) {
  json.key("wait_ns_by_reason").open_object();
  for (std::size_t i = 0; i < kWaits; ++i) {
    json.key(name_of(static_cast<Wait>(i))).integer(static_cast<std::uint64_t>(waited_ns[i]));
  }
  json.close();
  json.key("wait_ns_total").integer(static_cast<std::uint64_t>(sum_of(waited_ns)));
}

std::string sentence(const TimelineEvent& event) {
  switch (event.kind) {
    case Kind::kArrive:
      return fmt::format("arrives: {}, {}", count(event.a, "prompt token"),
                         count(event.b, "output token"));
    case Kind::kWait: return fmt::format("waits {}", parts_of(event.waited_ns));
    case Kind::kLater:
      return fmt::format("LATER, for {}: it asks for {}", word_of(event.wait), asked(event));
    case Kind::kAdmit: return fmt::format("OK: gets {}", asked(event));
    case Kind::kLoad: return load_sentence(event.load);
    case Kind::kNever: return "NEVER: this pool or engine.max_model_len is too small for it";
    case Kind::kChunk:
      return fmt::format("chunk: prompt positions {} to {} in step {}", event.a,
                         event.a + event.b - 1, event.c);
    case Kind::kFirstToken: return "first token";
    case Kind::kDecode: return fmt::format("decodes, with {} known", count(event.a, "token"));
    case Kind::kSitOut:
      return fmt::format("sits out {} for want of blocks", count(event.a, "step"));
    case Kind::kPreempt:
      return fmt::format("preempted: lets go {}, keeps {}, {} in flight", count(event.c, "block"),
                         count(event.a, "known token"), count(event.b, "row"));
    case Kind::kFork:
      return fmt::format("forked: shares its parent's blocks up to position {}", event.a);
    case Kind::kForkMissed: return "its fork is missed: an ordinary request from here";
    case Kind::kDemote:
      return event.a > 0 ? "starts over: it lets go of everything and waits with its whole prompt"
                         : "demoted: its pins are dropped, it waits with its whole prompt";
    case Kind::kEnd:
      return fmt::format("ends ({}) after {}; it held at most {}", word_of(end_reason(event)),
                         count(event.a, "token"), count(event.b, "block"));
  }
  return "?";
}

void write_event(JsonWriter& json, const TimelineEvent& event) {
  const auto number = [&](std::string_view name, std::uint64_t value) {
    json.key(name).integer(value);
  };
  json.open_object();
  json.key("time_s").number(seconds(event.at_ns, 9));
  json.key("event").string(word_of(event.kind));
  number("sample", event.sample);
  switch (event.kind) {
    case Kind::kArrive:
      number("prompt_tokens", event.a);
      number("output_tokens", event.b);
      break;
    case Kind::kWait: write_waits(json, event.waited_ns); break;
    case Kind::kLater: json.key("reason").string(name_of(event.wait)); [[fallthrough]];
    case Kind::kAdmit:
      number("blocks", event.a);
      number("state_slots", event.b);
      break;
    case Kind::kChunk:
      number("first_position", event.a);
      number("rows", event.b);
      number("step", event.c);
      break;
    case Kind::kLoad:
      number("blocks", event.load.blocks);
      number("states", event.load.states);
      json.key("outcome").string(word_of(event.load.state));
      number("load_ns", static_cast<std::uint64_t>(event.load.time_ns()));
      if (event.load.state == StoreLoad::State::kPassed) number("tokens", event.load.tokens);
      break;
    case Kind::kDecode: number("known_tokens", event.a); break;
    case Kind::kFork: number("tokens", event.a); break;
    case Kind::kSitOut: number("steps", event.a); break;
    case Kind::kPreempt:
      number("known_tokens", event.a);
      number("rows_in_flight", event.b);
      number("blocks", event.c);
      break;
    case Kind::kEnd:
      json.key("reason").string(word_of(end_reason(event)));
      number("tokens", event.a);
      number("blocks_most", event.b);
      break;
    case Kind::kNever:
    case Kind::kFirstToken:
    case Kind::kForkMissed:
    case Kind::kDemote: break;
  }
  json.close();
}

}  // namespace

TimelineEvent& RequestTimeline::add(Sequence& sequence, Kind kind, std::int64_t at_ns) {
  sequence.waits_in = kNoEvent;
  sequence.preempted_in = kNoEvent;
  TimelineEvent& event = events_.emplace_back();
  event.kind = kind;
  event.sample = sequence.sample;
  event.at_ns = at_ns;
  return event;
}

std::vector<TimelineEvent> RequestTimeline::events() const {
  std::vector<TimelineEvent> sorted = events_;
  // A stretch of waiting is told when it is over and stands where it began.
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const TimelineEvent& a, const TimelineEvent& b) { return a.at_ns < b.at_ns; });
  return sorted;
}

std::array<std::int64_t, kWaits> RequestTimeline::waited_ns() const {
  std::array<std::int64_t, kWaits> sum_ns{};
  for (const Sequence& sequence : sequences_) {
    for (std::size_t i = 0; i < kWaits; ++i) sum_ns[i] += sequence.waited_ns[i];
  }
  return sum_ns;
}

std::int64_t RequestTimeline::loading_ns() const {
  std::int64_t sum_ns = 0;
  for (const TimelineEvent& event : events_) {
    if (event.kind == Kind::kLoad) sum_ns += event.load.time_ns();
  }
  return sum_ns;
}

void RequestTimeline::on_arrival(std::uint32_t request, std::int64_t arrival_ns) {
  if (request != request_) return;
  TimelineEvent& event = events_.emplace_back();
  event.kind = Kind::kArrive;
  event.at_ns = arrival_ns;
  event.a = asked_.prompt;
  event.b = asked_.output;
  arrival_ns_ = arrival_ns;
}

// A sample is a fork of the one that computes the prompt: it is in no queue.
void RequestTimeline::on_sequence(SequenceId id, std::uint32_t request, std::uint32_t sample) {
  if (request != request_) return;
  Sequence& added = sequences_.emplace_back();
  added.id = value_of(id);
  added.sample = sample;
  if (sample == 0) enqueue(added, arrival_ns_);
}

void RequestTimeline::on_end(std::uint32_t request, std::int64_t now_ns) {
  if (request != request_ || !sequences_.empty()) return;
  TimelineEvent& event = events_.emplace_back();
  event.kind = Kind::kEnd;
  event.at_ns = now_ns;
  event.c = static_cast<std::uint64_t>(EndReason::kAborted);
}

void RequestTimeline::enqueue(Sequence& sequence, std::int64_t since_ns) {
  sequence.queued = true;
  sequence.told_ns = since_ns;
}

void RequestTimeline::on_wait(Cause cause, std::int64_t from_ns, std::int64_t to_ns) {
  tell_loads(to_ns);
  waits_upto_ns_ = to_ns;
  for (Sequence& sequence : sequences_) {
    if (!sequence.queued) continue;
    // A plan sees what has arrived by its time; what comes behind it waits for the step.
    if (sequence.told_ns <= from_ns) {
      add_wait(sequence, Wait::kStep, from_ns);
      add_wait(sequence, wait_of(cause), to_ns);
    } else {
      add_wait(sequence, Wait::kStep, to_ns);
    }
    // It ended while it waited, and this was the last to be told of it.
    if (sequence.over) sequence.queued = false;
  }
}

// From what was told before. The reason changes with every pass of the scheduler: a stretch of waiting
// is one event.
void RequestTimeline::add_wait(Sequence& sequence, Wait wait, std::int64_t to_ns) {
  if (to_ns <= sequence.told_ns) return;
  const std::int64_t waited_ns = to_ns - sequence.told_ns;
  if (sequence.waits_in == kNoEvent) {
    add(sequence, Kind::kWait, sequence.told_ns);
    sequence.waits_in = events_.size() - 1;
  }
  events_[sequence.waits_in].waited_ns[static_cast<std::size_t>(wait)] += waited_ns;
  sequence.waited_ns[static_cast<std::size_t>(wait)] += waited_ns;
  sequence.told_ns = to_ns;
}

void RequestTimeline::on_first_token(std::uint32_t request, std::int64_t now_ns) {
  if (request != request_) return;
  TimelineEvent& event = events_.emplace_back();
  event.kind = Kind::kFirstToken;
  event.at_ns = now_ns;
}

void RequestTimeline::on_records(std::span<const std::byte> records, std::int64_t now_ns) {
  for (std::size_t at = 0; at < records.size();) {
    Record record;
    std::memcpy(&record, records.data() + at, sizeof record);
    at += sizeof record + ids_after(record) * sizeof(BlockId);
    if (record.verb == Verb::kStep) {
      ++steps_;
      continue;
    }
    const StoreLoad* const load = loads_.take(record, now_ns);
    for (Sequence& sequence : sequences_) {
      if (sequence.over || sequence.id != record.sequence) continue;
      if (load != nullptr) take_load(sequence, *load);
      take(sequence, record, now_ns);
      if (load != nullptr && load->state == StoreLoad::State::kLost)
        events_.back().a = 1;  // what it is demoted for
    }
  }
  tell_loads(now_ns);
}

void RequestTimeline::take(Sequence& sequence, const Record& record, std::int64_t now_ns) {
  switch (record.verb) {
    case Verb::kAnswer: take_answer(sequence, record, now_ns); return;
    case Verb::kAcquire:
    case Verb::kPin:
    case Verb::kHit:
      if (record.pool == PoolKind::kBlocks) sequence.blocks += record.count;
      sequence.blocks_most = std::max(sequence.blocks_most, sequence.blocks);
      return;
    case Verb::kRelease:
    case Verb::kPark:
      // A preempted sequence lets go behind the record that says so.
      if (record.pool != PoolKind::kBlocks) return;
      sequence.blocks -= std::min<std::uint64_t>(sequence.blocks, record.count);
      if (sequence.preempted_in != kNoEvent) events_[sequence.preempted_in].c += record.count;
      return;
    case Verb::kChunk: {
      TimelineEvent& event = add(sequence, Kind::kChunk, now_ns);
      event.a = record.aux;
      event.b = record.count;
      event.c = steps_ + 1;
      return;
    }
    case Verb::kJoin: add(sequence, Kind::kDecode, now_ns).a = record.count; return;
    case Verb::kSitOut: {
      const bool goes_on = !events_.empty() && events_.back().kind == Kind::kSitOut &&
                           events_.back().sample == sequence.sample;
      if (!goes_on) add(sequence, Kind::kSitOut, now_ns);
      ++events_.back().a;
      return;
    }
    case Verb::kPreempt: {
      TimelineEvent& event = add(sequence, Kind::kPreempt, now_ns);
      event.a = record.count;
      event.b = record.aux;
      sequence.preempted_in = events_.size() - 1;
      enqueue(sequence, now_ns);
      return;
    }
    // It holds its parent's blocks and is in no queue, whatever it did before.
    case Verb::kFork:
      sequence.queued = false;
      sequence.waited_ns = {};
      add(sequence, Kind::kFork, now_ns).a = record.count;
      return;
    case Verb::kForkMissed:
      sequence.waited_ns = {};
      add(sequence, Kind::kForkMissed, now_ns);
      enqueue(sequence, now_ns);
      return;
    case Verb::kDemote:
      add(sequence, Kind::kDemote, now_ns);
      enqueue(sequence, now_ns);
      return;
    case Verb::kEnd: {
      // Waits were told up to now before it was heard of.
      if (sequence.queued && waits_upto_ns_ >= now_ns) add_wait(sequence, Wait::kStep, now_ns);
      TimelineEvent& event = add(sequence, Kind::kEnd, now_ns);
      // A sample's first token came out of the prompt's step.
      event.a = std::uint64_t{record.count} + (sequence.sample > 0 ? 1 : 0);
      event.b = sequence.blocks_most;
      event.c = record.detail;
      sequence.over = true;
      sequence.queued = sequence.queued && sequence.told_ns < now_ns;
      return;
    }
    default: return;
  }
}

// What is said of a load that has not ended reaches up to here.
void RequestTimeline::tell_loads(std::int64_t now_ns) {
  for (const Sequence& sequence : sequences_) {
    if (sequence.loads_in != kNoEvent) events_[sequence.loads_in].load.end_ns = now_ns;
  }
}

void RequestTimeline::take_load(Sequence& sequence, const StoreLoad& load) {
  if (sequence.loads_in == kNoEvent) {
    add(sequence, Kind::kLoad, load.since_ns);
    sequence.loads_in = events_.size() - 1;
  }
  StoreLoad& told = events_[sequence.loads_in].load;
  told = load;
  if (load.state == StoreLoad::State::kQueued) {
    told.end_ns = load.since_ns;
  } else {
    sequence.loads_in = kNoEvent;
  }
}

void RequestTimeline::take_answer(Sequence& sequence, const Record& record, std::int64_t now_ns) {
  const auto answer = static_cast<Answer>(record.detail & 0xFF);
  // Taken in by the plan behind its arrival, when waits had been told already.
  if (answer == Answer::kOk && sequence.queued) add_wait(sequence, Wait::kStep, now_ns);
  const Kind kind = answer == Answer::kOk      ? Kind::kAdmit
                    : answer == Answer::kLater ? Kind::kLater
                                               : Kind::kNever;
  TimelineEvent& event = add(sequence, kind, now_ns);
  event.a = record.count;
  event.b = record.aux;
  event.wait = wait_of(static_cast<Cause>(record.detail >> 8));
  if (answer == Answer::kLater) return;
  sequence.queued = false;
  if (answer == Answer::kNever) sequence.waited_ns = {};  // it waited for nothing
}

std::string timeline_text(const RequestTimeline& timeline, const Provenance& provenance) {
  std::string text = fmt::format("Request {} of {}\n", timeline.request(), provenance.trace);
  if (timeline.events().empty()) text += "It never arrived: the run ended before.\n";
  text += fmt::format("{:>16}   event\n", "time (s)");
  for (const TimelineEvent& event : timeline.events()) {
    const std::string of = timeline.samples() > 1 && has_sample(event.kind)
                               ? fmt::format("sample {} ", event.sample)
                               : "";
    text += fmt::format("{:>16}   {}{}\n", seconds(event.at_ns, 6), of, sentence(event));
  }
  text += fmt::format("Waited {}", parts_of(timeline.waited_ns()));
  if (timeline.loading_ns() > 0) {
    text += fmt::format(", then {} s for loads", seconds(timeline.loading_ns(), 6));
  }
  return text + fmt::format("\nConfiguration {}, seed {}, version {}\n", provenance.config_digest,
                            provenance.seed, provenance.version);
}

std::string timeline_json(const RequestTimeline& timeline, const Provenance& provenance) {
  JsonWriter json;
  json.open_object();
  json.key("request").integer(timeline.request());
  json.key("events").open_array();
  for (const TimelineEvent& event : timeline.events()) write_event(json, event);
  json.close();
  write_waits(json, timeline.waited_ns());
  json.key("load_ns_total").integer(static_cast<std::uint64_t>(timeline.loading_ns()));
  json.key("version").string(provenance.version);
  json.key("trace").string(provenance.trace);
  json.key("trace_digest").string(provenance.trace_digest);
  json.key("config_digest").string(provenance.config_digest);
  json.key("seed").integer(provenance.seed);
  json.close();
  return json.finish();
}

}  // namespace pinfold::sim
