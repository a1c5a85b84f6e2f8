#pragma once
// A trace as requests: a reader's rows with times that begin at 0, in order, under the policies for what
// real files do wrong.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/trace/request.h"
#include "sim/trace/row_reader.h"
#include "sim/trace/trace_format.h"

namespace pinfold::sim {

enum class ZeroOutput : std::uint8_t { kPrefillOnly, kDrop };
enum class OnError : std::uint8_t { kStop, kSkip };

struct InputPolicies {
  Unordered unordered = Unordered::kError;
  ZeroOutput zero_output = ZeroOutput::kPrefillOnly;
  OnError on_error = OnError::kStop;
};

/// How often something came up, and the first lines where it did.
struct Sightings {
  static constexpr std::size_t kShown = 10;
  std::uint64_t count = 0;
  std::vector<std::uint64_t> lines;

  void add(std::uint64_t line) {
    ++count;
    if (lines.size() < kShown) lines.push_back(line);
  }
};

/// What a trace's reading came across.
struct TraceNotes {
  std::uint64_t rows = 0;           // records read, whatever became of them
  std::uint64_t other_records = 0;  // of these, no requests: a tool's event
  std::uint64_t blank_lines = 0;
  std::uint64_t segments = 1;        // recordings one behind the other
  Sightings backward;                // rows earlier than one before them
  Sightings zero_outputs;            // requests without output
  std::uint64_t dropped = 0;         // of these, left out
  std::uint64_t equal_times = 0;     // requests that arrive with the one before
  std::uint64_t skipped = 0;         // mistakes passed over
  std::vector<InputError> mistakes;  // the first ten of them
};

/// The source of a run's requests. `arrival_ns` and `abort_ns` count from the first arrival; `fork_of`
/// counts the requests that are given. A fork of a request that was left out is a request like any other.
class TraceInput final : public RequestSource {
 public:
  /// `again` opens the same rows once more, where that is possible: a file is then looked over first to
  /// see whether it must be sorted.
  using Again = std::function<std::unique_ptr<RowReader>()>;

  TraceInput(std::string path, std::unique_ptr<RowReader> rows, InputPolicies policies,
             Again again = {});

  bool next(TraceRequest& request) override;
  const std::optional<InputError>& error() const override { return error_; }
  /// Known from the beginning.
  std::uint32_t id_block() const override { return rows_->id_block(); }

  /// Complete once next() has returned false.
  const TraceNotes& notes() const { return notes_; }

 private:
  bool next_in_order(TraceRequest& request);
  bool next_row(TraceRequest& request);
  bool mistake(const InputError& error);
  bool is_in_order();
  void sort_all();
  void renumber(TraceRequest& request);
  InputError error_here() const;
  InputError late_error() const;
  InputError backward_error() const;

  std::string path_;
  std::unique_ptr<RowReader> rows_;
  InputPolicies policies_;
  Again again_;
  std::optional<InputError> error_;
  TraceNotes notes_;

  bool started_ = false;
  std::uint64_t taken_ = 0;  // rows that were requests, of whatever became of them
  std::uint64_t given_ = 0;
  std::int64_t base_ns_ = 0;
  std::int64_t last_ns_ = 0;
  std::uint64_t last_line_ = 0;
  std::int64_t shift_ns_ = 0;  // of this segment
  // What fork_of needs: the numbers of rows left out, or, after sorting, each row's new number.
  std::vector<std::uint64_t> left_out_;
  std::vector<std::uint64_t> new_numbers_;
  // All requests, where they had to be sorted.
  std::vector<TraceRequest> sorted_;
  std::size_t next_sorted_ = 0;
  bool in_memory_ = false;
  // The first request, read ahead so that the size of id blocks is known.
  TraceRequest first_;
  bool has_first_ = false;
};

/// A whole source in memory; none without a request.
Outcome<Trace> read_all(RequestSource& source, const std::string& name);

}  // namespace pinfold::sim
