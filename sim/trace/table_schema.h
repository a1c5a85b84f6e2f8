#pragma once
// Formats in which a row is a list of named values: CSV with a header, and JSON objects a line each. A
// format says which name stands for which field of a request and in which unit; the readers
// (sim/trace/csv_rows.h, sim/trace/json_rows.h) do the rest.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/input_error.h"
#include "sim/trace/request.h"
#include "sim/trace/row_reader.h"

namespace pinfold::sim {

/// What a column stands for.
enum class Field : std::uint8_t {
  kArrival,
  kPrompt,
  kOutput,
  kLimit,
  kSamples,
  kPriority,
  kAbort,
  kForkOf,
  kForkAt,
  kSession,
  kDelay,
  kPrefixIds,
  kAccepted,
  kElapsed,  // how long the request took where it was recorded
  kChat,     // Qwen-Bailian: this turn's name, and the one before it
  kParentChat,
  kPrefix,  // prompt tokens before those of kPrompt
  kText,    // a prompt as text: not countable here
};

/// How a time is written: the power of ten that makes it nanoseconds, or as a date.
enum class Clock : std::int8_t { kNs = 0, kUs = 3, kMs = 6, kSeconds = 9, kDate = -1 };

struct TraceColumn {
  std::string name;
  Field field;
  bool required = false;
  Clock clock = Clock::kNs;
  bool quoted = false;  // JSON: a number written as a string
};

/// Tokens that one prefix id may stand for.
inline constexpr std::uint32_t kIdBlockMost = 65'536;

/// How many ids a prompt of p tokens has.
enum class IdRule : std::uint8_t { kCeil, kFloor, kAny };

/// What a row says beside the request's own fields.
struct RowExtras {
  bool has_arrival = false;
  bool has_prompt = false;
  bool has_delay = false;
  bool has_text = false;
  std::optional<std::int64_t> elapsed_ns;
  std::optional<std::int64_t> chat;
  std::optional<std::int64_t> parent_chat;
  std::uint32_t prefix = 0;
};

/// Works out what a row leaves to its neighbours: sessions, delays, missing arrivals. A message is a
/// mistake in the row: what was found there and expected instead.
using RowRule = std::function<std::optional<InputError>(TraceRequest&, const RowExtras&)>;

struct TableSchema {
  std::string format;
  std::vector<TraceColumn> columns;
  std::uint32_t id_block = 0;
  IdRule id_rule = IdRule::kAny;
  RowRule rule{};
  std::string_view
      id_keys{};  // how keys of prefix ids begin that the first line had to show; empty: none
};

/// For each field that several columns can stand for, their bits: a row may have one of them. Texts may be
/// in several places, none of which is counted.
std::vector<std::uint64_t> alternatives(const TableSchema& schema);

/// Fields that hold several numbers.
bool is_list(Field field);

/// Puts a column's text into the request. An error has `found` and `expected` only, and the offending byte
/// of `text` in `column`, counted from 1.
std::optional<InputError> set_field(const TraceColumn& column, std::string_view text,
                                    TraceRequest& request, RowExtras& extras);

/// Adds the prefix to the prompt; an error where 32 bits do not hold both.
std::optional<InputError> add_prefix(TraceRequest& request, const RowExtras& extras);

/// What must hold of a whole row, apart from the format's rule. The error has `found` and `expected`, and
/// the column's name in `key` where one is to blame.
std::optional<InputError> check_row(const TableSchema& schema, std::uint64_t row,
                                    const TraceRequest& request, const RowExtras& extras);

/// A row without an arrival among rows with one, and the other way round. No row has to have one: then all
/// arrive at once.
InputError no_arrival();
InputError first_arrival();

/// What a rule says of an arrival that no time holds.
InputError too_late();

/// A session's name as a number: what it writes if it is an integer, else a hash (XXH3, 64 bits).
std::uint64_t session_number(std::string_view name);

/// `TIMESTAMP, ContextTokens and GeneratedTokens`.
std::string required_columns(const TableSchema& schema);

}  // namespace pinfold::sim
