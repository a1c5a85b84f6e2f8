#pragma once
// Recorded journals: every ownership event of a run as text, one JSON object a line. docs/recording.md is
// the format's manual. What `pinfold run --record` writes, `pinfold replay` performs again on the real pools,
// to the same digest; another engine that writes such a file can be judged by `pinfold replay --verify`.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/scheduler.h"
#include "sim/record/journal_words.h"
#include "sim/trace/input_error.h"

namespace pinfold::sim {

/// The first line: what the events happened to.
struct JournalHeader {
  std::uint32_t block_size = 1;
  std::uint32_t block_ids = 1;  // block 0 counted
  std::uint32_t state_ids = 1;  // 1: the model has no state
  std::uint32_t draft_ids = 1;
  ReleaseOrder release_order = ReleaseOrder::kReverse;
  FreeOrder free_order = FreeOrder::kFifo;
  FenceMode fence = FenceMode::kAlways;
  CopyLane copy_lane = CopyLane::kCompute;
  bool reuse = false;  // of prefixes: blocks without owner may keep their content
  Eviction eviction = Eviction::kLru;
  std::uint32_t host_block_ids = 1;  // places on the host, place 0 counted; 1: no external store
  std::uint32_t host_state_ids = 1;
  std::string made_by;   // whose log it is, in words; may be empty
  std::string workload;  // digests of trace and configuration; may be empty
};

/// The last line: how many events there are, and their digest as 16 hexadecimal digits. A file without it
/// was cut off.
struct JournalEnd {
  std::uint64_t events = 0;
  std::string digest;  // may be empty in another engine's log
};

/// Writes a recorded journal as the run goes. Buffers; flush() or end() write through.
class JournalWriter {
 public:
  /// `out` must outlive it.
  explicit JournalWriter(std::ostream& out) : out_(out) {}

  void header(const JournalHeader& header);
  /// Whole journal records.
  void records(std::span<const std::byte> bytes);
  void end(const JournalEnd& end);

 private:
  void record(const Record& record, const std::byte* ids);
  void flush_if_long();

  std::ostream& out_;
  std::string text_;
};

/// One event as read.
struct JournalEvent {
  std::uint64_t line = 0;
  Record record{};
  std::vector<BlockId> ids;
};

/// Reads a recorded journal event by event, so that a long one needs no memory.
class JournalReader {
 public:
  /// `text` must outlive it; `path` stands in errors.
  JournalReader(std::string_view text, std::string path) : text_(text), path_(std::move(path)) {}

  /// Whether the text looks like a recorded journal rather than an ownership-event file.
  static bool recognises(std::string_view text);

  Outcome<JournalHeader> header();
  /// Fills `event` and returns true; false at the last line, whose content end() then has, or at a mistake.
  bool next(JournalEvent& event);
  const JournalEnd& end() const { return end_; }
  /// Of the line read last, from 1.
  std::uint64_t line() const { return line_; }
  const std::optional<InputError>& error() const { return error_; }

 private:
  std::optional<std::string_view> next_line();
  bool fail(std::uint64_t column, std::string key, std::string found, std::string expected,
            std::string hint = {});

  std::string_view text_;
  std::string path_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 0;
  std::uint64_t events_ = 0;
  JournalEnd end_;
  std::optional<InputError> error_;
};

}  // namespace pinfold::sim
