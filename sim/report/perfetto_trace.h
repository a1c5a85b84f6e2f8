#pragma once
// A run as a Perfetto trace: a stream of protobuf TracePackets that https://ui.perfetto.dev opens.

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/report/file_writer.h"

namespace pinfold::sim {

/// A track of the trace: slices on one track nest.
enum class TrackId : std::uint64_t {};

/// Words of events and of their arguments. They are written once, in front, and referred to by number.
enum class TraceWord : std::uint8_t {
  kStep = 1,    // events
  kSteps,       // several, as one slice
  kFailedStep,  // its result was void
  kCopies,
  kQueued,
  kPrefill,
  kDecode,
  kLoading,
  kPreempt,
  kSitOut,
  kRows,  // arguments
  kPromptRows,
  kCount,
  kFirst,
  kKnownTokens,
  kRowsInFlight,
  kBlocks,
  kPromptTokens,
  kRequest,
};
inline constexpr std::size_t kTraceWords = 19;

using TraceArgument = std::pair<TraceWord, std::uint64_t>;

/// Writes packets as they come; Perfetto sorts them by time. Timestamps are simulated nanoseconds.
class PerfettoTrace {
 public:
  explicit PerfettoTrace(const std::string& path);

  TrackId add_process(std::string_view name, std::int32_t pid);
  /// Siblings of one name are drawn as one group.
  TrackId add_track(TrackId parent, std::string_view name);
  TrackId add_counter(TrackId parent, std::string_view name);

  void begin(TrackId track, std::int64_t at_ns, TraceWord name,
             std::initializer_list<TraceArgument> arguments = {}, std::uint64_t flow_from = 0);
  /// A slice with a name of its own.
  void begin(TrackId track, std::int64_t at_ns, std::string_view name,
             std::initializer_list<TraceArgument> arguments = {});
  void end(TrackId track, std::int64_t at_ns);
  /// `flow` is not 0: an arrow to the slice that begins with `flow_from` of that number.
  void instant(TrackId track, std::int64_t at_ns, TraceWord name,
               std::initializer_list<TraceArgument> arguments, std::uint64_t flow = 0);
  void count(TrackId counter, std::int64_t at_ns, std::int64_t value);

  std::uint64_t packets() const { return packets_; }
  /// Returns 0 or an errno.
  int close() { return file_.close(); }

 private:
  struct Event;
  TrackId add(TrackId parent, std::string_view name, bool counter);
  void write(const Event& event);
  void put(const std::string& packet);

  FileWriter file_;
  std::uint64_t tracks_ = 0;
  std::uint64_t packets_ = 0;
  std::string body_, packet_, part_;  // buffers that keep their capacity
};

}  // namespace pinfold::sim
