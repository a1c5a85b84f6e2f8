#pragma once
// A trace as commands take it: a path and what to do with it.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sim/trace/request.h"
#include "sim/trace/trace_format.h"
#include "sim/trace/trace_input.h"

namespace pinfold::sim {

struct TraceOptions {
  ReaderOptions reader;
  std::optional<Unordered> unordered{};  // without: what the format says
  ZeroOutput zero_output = ZeroOutput::kPrefillOnly;
  OnError on_error = OnError::kStop;

  // In this order: a stretch of time, a share of the sessions, the first few, several times over.
  std::optional<std::int64_t> start_ns{};
  std::optional<std::int64_t> end_ns{};
  std::uint64_t shard = 1;  // from 1
  std::uint64_t shards = 1;
  std::optional<std::uint64_t> limit{};
  std::uint64_t repeat = 1;
};

/// A trace being read. One without a request is a mistake at its end.
class OpenTraceSource final : public RequestSource {
 public:
  OpenTraceSource(std::string path, TraceOptions options)
      : path_(std::move(path)), options_(std::move(options)) {}

  bool next(TraceRequest& request) override;
  const std::optional<InputError>& error() const override {
    return empty_ ? empty_ : source_->error();
  }
  std::uint32_t id_block() const override { return source_->id_block(); }

  const TraceFormat& format() const { return *format_; }
  /// Of the file as far as it was read; once next() has returned false, of all that was needed of it.
  const TraceNotes& notes() const { return input_->notes(); }

  /// Opens the file; before anything else.
  std::optional<InputError> open();

 private:
  std::unique_ptr<RequestSource> open_once();
  InputError no_request() const;

  std::string path_;
  TraceOptions options_;
  const TraceFormat* format_ = nullptr;
  std::unique_ptr<RowReader> rows_;    // opened and not yet used
  const TraceInput* input_ = nullptr;  // inside source_, of the first time
  std::unique_ptr<RequestSource> source_;
  bool any_ = false;                 // a request was passed on
  std::optional<InputError> empty_;  // none was
};

/// Opens a trace of any format. It must have a request: a mistake in the first is one here.
Outcome<std::unique_ptr<OpenTraceSource>> open_trace(const std::string& path,
                                                     const TraceOptions& options);

/// The same in memory.
Outcome<Trace> read_trace(const std::string& path, const TraceOptions& options);

}  // namespace pinfold::sim
