#include "sim/report/perfetto_trace.h"

#include <array>
#include <initializer_list>
#include <protozero/pbf_writer.hpp>

namespace pinfold::sim {
namespace {

// Field numbers of Perfetto's protos/perfetto/trace, by message.
namespace trace {
constexpr std::uint32_t kPacket = 1;
}
namespace packet {
constexpr std::uint32_t kTimestamp = 8;
constexpr std::uint32_t kSequenceId = 10;  // trusted_packet_sequence_id
constexpr std::uint32_t kTrackEvent = 11;
constexpr std::uint32_t kInternedData = 12;
constexpr std::uint32_t kSequenceFlags = 13;
constexpr std::uint32_t kTrackDescriptor = 60;
}  // namespace packet
namespace descriptor {
constexpr std::uint32_t kUuid = 1;
constexpr std::uint32_t kName = 2;
constexpr std::uint32_t kProcess = 3;
constexpr std::uint32_t kParent = 5;
constexpr std::uint32_t kCounter = 8;
constexpr std::uint32_t kPid = 1;          // of a process
constexpr std::uint32_t kProcessName = 6;  // of a process
constexpr std::uint32_t kUnit = 3;         // of a counter
}  // namespace descriptor
namespace event {
constexpr std::uint32_t kAnnotation = 4;
constexpr std::uint32_t kType = 9;
constexpr std::uint32_t kNameIid = 10;
constexpr std::uint32_t kTrack = 11;
constexpr std::uint32_t kName = 23;
constexpr std::uint32_t kCounterValue = 30;
constexpr std::uint32_t kFlows = 47;
constexpr std::uint32_t kTerminatingFlows = 48;
constexpr std::uint32_t kAnnotationNameIid = 1;
constexpr std::uint32_t kAnnotationUnsigned = 3;
}  // namespace event
namespace interned {
constexpr std::uint32_t kEventNames = 2;
constexpr std::uint32_t kAnnotationNames = 3;
constexpr std::uint32_t kIid = 1;
constexpr std::uint32_t kName = 2;
}  // namespace interned

enum EventType : std::uint8_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounter = 4 };
constexpr std::uint32_t kStateCleared = 1;  // sequence_flags
constexpr std::uint32_t kNeedsState = 2;
constexpr std::int32_t kUnitCount = 2;
constexpr std::uint32_t kSequence = 1;

constexpr std::array<const char*, kTraceWords> kWords{
    "step",           "steps",       "failed step",   "copies",  "queued",
    "prefill",        "decode",      "loading",       "preempt", "sit out",
    "rows",           "prompt_rows", "count",         "first",   "known_tokens",
    "rows_in_flight", "blocks",      "prompt_tokens", "request"};

void add_words(protozero::pbf_writer& to, std::uint32_t field) {
  for (std::uint64_t i = 0; i < kWords.size(); ++i) {
    protozero::pbf_writer word(to, field);
    word.add_uint64(interned::kIid, i + 1);
    word.add_string(interned::kName, kWords[i]);
  }
}

}  // namespace

struct PerfettoTrace::Event {
  EventType type;
  TrackId track;
  std::int64_t at_ns;
  TraceWord word{};
  std::string_view name{};
  std::initializer_list<TraceArgument> arguments{};
  std::uint64_t flow = 0;
  std::uint64_t flow_from = 0;
  std::int64_t value = 0;
};

PerfettoTrace::PerfettoTrace(const std::string& path) : file_(path) {
  packet_.clear();
  protozero::pbf_writer writer(packet_);
  writer.add_uint32(packet::kSequenceId, kSequence);
  writer.add_uint32(packet::kSequenceFlags, kStateCleared);
  {
    protozero::pbf_writer words(writer, packet::kInternedData);
    add_words(words, interned::kEventNames);
    add_words(words, interned::kAnnotationNames);
  }
  put(packet_);
}

void PerfettoTrace::put(const std::string& packet) {
  body_.clear();
  protozero::pbf_writer(body_).add_message(trace::kPacket, packet);
  file_.append(body_);
  ++packets_;
}

TrackId PerfettoTrace::add_process(std::string_view name, std::int32_t pid) {
  packet_.clear();
  protozero::pbf_writer writer(packet_);
  writer.add_uint32(packet::kSequenceId, kSequence);
  {
    protozero::pbf_writer track(writer, packet::kTrackDescriptor);
    track.add_uint64(descriptor::kUuid, ++tracks_);
    protozero::pbf_writer process(track, descriptor::kProcess);
    process.add_int32(descriptor::kPid, pid);
    process.add_string(descriptor::kProcessName, name.data(), name.size());
  }
  put(packet_);
  return TrackId{tracks_};
}

TrackId PerfettoTrace::add_track(TrackId parent, std::string_view name) {
  return add(parent, name, false);
}
TrackId PerfettoTrace::add_counter(TrackId parent, std::string_view name) {
  return add(parent, name, true);
}

TrackId PerfettoTrace::add(TrackId parent, std::string_view name, bool counter) {
  packet_.clear();
  protozero::pbf_writer writer(packet_);
  writer.add_uint32(packet::kSequenceId, kSequence);
  {
    protozero::pbf_writer track(writer, packet::kTrackDescriptor);
    track.add_uint64(descriptor::kUuid, ++tracks_);
    track.add_uint64(descriptor::kParent, static_cast<std::uint64_t>(parent));
    track.add_string(descriptor::kName, name.data(), name.size());
    if (counter) {
      protozero::pbf_writer unit(track, descriptor::kCounter);
      unit.add_enum(descriptor::kUnit, kUnitCount);
    }
  }
  put(packet_);
  return TrackId{tracks_};
}

void PerfettoTrace::write(const Event& event) {
  packet_.clear();
  protozero::pbf_writer writer(packet_);
  writer.add_uint64(packet::kTimestamp, static_cast<std::uint64_t>(event.at_ns));
  writer.add_uint32(packet::kSequenceId, kSequence);
  writer.add_uint32(packet::kSequenceFlags, kNeedsState);
  part_.clear();
  protozero::pbf_writer body(part_);
  body.add_enum(event::kType, event.type);
  body.add_uint64(event::kTrack, static_cast<std::uint64_t>(event.track));
  if (!event.name.empty()) {
    body.add_string(event::kName, event.name.data(), event.name.size());
  } else if (event.word != TraceWord{}) {
    body.add_uint64(event::kNameIid, static_cast<std::uint64_t>(event.word));
  }
  if (event.type == kCounter) body.add_int64(event::kCounterValue, event.value);
  if (event.flow != 0) body.add_fixed64(event::kFlows, event.flow);
  if (event.flow_from != 0) body.add_fixed64(event::kTerminatingFlows, event.flow_from);
  for (const auto& [word, value] : event.arguments) {
    protozero::pbf_writer annotation(body, event::kAnnotation);
    annotation.add_uint64(event::kAnnotationNameIid, static_cast<std::uint64_t>(word));
    annotation.add_uint64(event::kAnnotationUnsigned, value);
  }
  writer.add_message(packet::kTrackEvent, part_);
  put(packet_);
}

void PerfettoTrace::begin(TrackId track, std::int64_t at_ns, TraceWord name,
                          std::initializer_list<TraceArgument> arguments, std::uint64_t flow_from) {
  Event event{kSliceBegin, track, at_ns};
  event.word = name;
  event.arguments = arguments;
  event.flow_from = flow_from;
  write(event);
}

void PerfettoTrace::begin(TrackId track, std::int64_t at_ns, std::string_view name,
                          std::initializer_list<TraceArgument> arguments) {
  Event event{kSliceBegin, track, at_ns};
  event.name = name;
  event.arguments = arguments;
  write(event);
}

void PerfettoTrace::end(TrackId track, std::int64_t at_ns) {
  write(Event{kSliceEnd, track, at_ns});
}

void PerfettoTrace::instant(TrackId track, std::int64_t at_ns, TraceWord name,
                            std::initializer_list<TraceArgument> arguments, std::uint64_t flow) {
  Event event{kInstant, track, at_ns};
  event.word = name;
  event.arguments = arguments;
  event.flow = flow;
  write(event);
}

void PerfettoTrace::count(TrackId counter, std::int64_t at_ns, std::int64_t value) {
  Event event{kCounter, counter, at_ns};
  event.value = value;
  write(event);
}

}  // namespace pinfold::sim
