#pragma once
// Rows of a trace file as its format has them, one after the other: what every format's reader gives to
// the policies of sim/trace/trace_input.h.

#include <cstdint>
#include <string_view>

#include "sim/trace/input_error.h"
#include "sim/trace/request.h"

namespace pinfold::sim {

/// Where a row's arrival is written, for messages about the order of rows. Valid until the next row.
struct ArrivalPlace {
  std::uint64_t line = 0;
  std::uint64_t column = 0;  // from 1; 0: the whole line
  std::string_view text;
  std::string_view name;  // of the column or field
};

class RowReader {
 public:
  enum class Step : std::uint8_t {
    kRow,    // a request
    kOther,  // a record that is no request, such as a tool's event
    kEnd,
    kBad,  // a mistake, see error(); unless broken(), the next call goes on behind it
  };

  RowReader() = default;
  virtual ~RowReader() = default;
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;

  /// Fills `request`, every field of it, keeping its buffers' capacity. `arrival_ns` and `abort_ns` are
  /// in the trace's own clock, `fork_of` counts the rows that are requests.
  virtual Step next(TraceRequest& request) = 0;

  const InputError& error() const { return error_; }
  bool broken() const { return broken_; }
  const ArrivalPlace& place() const { return place_; }
  std::uint32_t id_block() const { return id_block_; }
  /// Blank lines passed over so far.
  std::uint64_t blank_lines() const { return blank_lines_; }

 protected:
  Step bad(InputError error) {
    error_ = std::move(error);
    return Step::kBad;
  }
  Step break_off(InputError error) {
    broken_ = true;
    return bad(std::move(error));
  }

  InputError error_;
  ArrivalPlace place_;
  std::uint32_t id_block_ = 0;
  std::uint64_t blank_lines_ = 0;
  bool broken_ = false;
};

/// `request` as a trace that says nothing has it, its buffers' capacity kept.
inline void clear(TraceRequest& request) {
  request.arrival_ns = 0;
  request.prompt = 0;
  request.output = 0;
  request.limit = 0;
  request.samples = 1;
  request.priority = 0;
  request.abort_ns = kNeverNs;
  request.fork_of = kNoRequest;
  request.fork_at = 0;
  request.session = kNoSession;
  request.delay_ns = 0;
  request.prefix_ids.clear();
  request.accepted.clear();
}

}  // namespace pinfold::sim
