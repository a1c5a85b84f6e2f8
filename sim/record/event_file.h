#pragma once
// Ownership-event files: who asks for blocks, who shares them, when a queued copy runs, who lets go.
// configs/labs/README.md is the format's manual. Reading checks everything that one line can show; what
// depends on the events before (a name nobody admitted, a table that does not fit) is replay's to find.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/ownership.h"
#include "sim/config/json_reader.h"
#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// A value and where the file says it.
template <class T>
struct Placed {
  T value{};
  TextPosition at;
};
using PlacedName = Placed<std::string>;
using PlacedCount = Placed<std::uint32_t>;

/// Value stored in one row: stands for the row's keys and values.
using RowValue = std::uint32_t;

/// When a write reaches the rows: at once, or behind the copies queued so far.
enum class WriteOrder : std::uint8_t { kNow, kAfterCopies };

struct AdmitEvent {
  struct Request {
    PlacedName sequence;
    PlacedCount tokens;
  };
  std::vector<Request> requests;
};
struct GrowEvent {
  PlacedName sequence;
  PlacedCount tokens;
};
struct DraftEvent {
  PlacedName sequence;
  PlacedCount tokens;
  PlacedCount drafts;
};
struct CommitEvent {
  PlacedName sequence;
  PlacedCount accepted;
};
struct CheckEvent {
  std::uint32_t blocks = 0;
  std::optional<std::uint32_t> state_slots;
};
struct ForkEvent {
  PlacedName parent;
  PlacedName child;
  PlacedCount processed;
};
struct UnpinEvent {
  PlacedName sequence;
  SourceRelease when = SourceRelease::kNow;
};
struct CopyDoneEvent {
  struct Named {
    PlacedCount from;
    PlacedCount to;
  };
  std::optional<Named> copy;
};
struct FinishEvent {
  PlacedName sequence;
};
struct WriteEvent {
  PlacedName sequence;
  Placed<std::vector<RowValue>> values;
  std::optional<PlacedCount> position;
  WriteOrder when = WriteOrder::kNow;
};
struct ReadEvent {
  PlacedName sequence;
};
struct NoteEvent {
  std::string text;
};

using EventBody =
    std::variant<AdmitEvent, GrowEvent, DraftEvent, CommitEvent, CheckEvent, ForkEvent, UnpinEvent,
                 CopyDoneEvent, FinishEvent, WriteEvent, ReadEvent, NoteEvent>;

struct Event {
  TextPosition at;
  EventBody body;
};

/// kTables shows all tables after each event; kSharing tells a fork's story in sentences.
enum class EventView : std::uint8_t { kTables, kSharing };

struct EventFile {
  std::string path;  // as the user named it
  std::optional<std::string> title;
  EventView view = EventView::kTables;
  OwnershipOptions pool;
  std::vector<Event> events;
};

/// The most tokens a sequence may have in such a file.
inline constexpr std::uint32_t kEventTokensMost = 1'000'000'000;

/// Parses a whole file's text; `path` stands in errors.
Outcome<EventFile> parse_event_file(std::string_view text, const std::string& path);
Outcome<EventFile> read_event_file(const std::string& path);

}  // namespace pinfold::sim
