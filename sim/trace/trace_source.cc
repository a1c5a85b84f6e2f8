#include "sim/trace/trace_source.h"

#include <utility>

#include "sim/trace/trace_transforms.h"

namespace pinfold::sim {
namespace {

/// Gives `error` and nothing else.
class BrokenSource final : public RequestSource {
 public:
  explicit BrokenSource(InputError error) : error_(std::move(error)) {}
  bool next(TraceRequest&) override { return false; }
  const std::optional<InputError>& error() const override { return error_; }
  std::uint32_t id_block() const override { return 0; }

 private:
  std::optional<InputError> error_;
};

}  // namespace

std::optional<InputError> OpenTraceSource::open() {
  if (options_.repeat > 1 && path_ == "-") {
    InputError error;
    error.path = "--repeat";
    error.found = "a trace on standard input, which can be read only once";
    error.expected = "a file";
    return error;
  }
  Outcome<OpenedTrace> opened = open_rows(path_, options_.reader);
  if (!opened) return opened.error();
  format_ = opened.value().format;
  rows_ = std::move(opened.value().rows);
  if (options_.repeat > 1) {
    source_ = std::make_unique<Repeated>([this] { return open_once(); }, options_.repeat);
  } else {
    source_ = open_once();
  }
  return source_->error();
}

bool OpenTraceSource::next(TraceRequest& request) {
  if (source_->next(request)) return any_ = true;
  if (!any_ && !source_->error()) empty_ = no_request();
  return false;
}

InputError OpenTraceSource::no_request() const {
  InputError error;
  error.path = path_;
  error.found = "no request";
  error.expected = "at least one";
  const auto leaves_out = [&](bool given, const char* flag) {
    if (given) error.hint += std::string(error.hint.empty() ? "left out by " : ", ") + flag;
  };
  const TraceNotes& notes = input_->notes();
  leaves_out(options_.start_ns.has_value(), "--start");
  leaves_out(options_.end_ns.has_value(), "--end");
  leaves_out(options_.shards > 1, "--shard");
  leaves_out(notes.skipped > 0, "--on-error skip");
  leaves_out(notes.dropped > 0, "--zero-output drop");
  return error;
}

std::unique_ptr<RequestSource> OpenTraceSource::open_once() {
  if (!rows_) {
    Outcome<OpenedTrace> opened = open_rows(path_, options_.reader);
    if (!opened) return std::make_unique<BrokenSource>(opened.error());
    rows_ = std::move(opened.value().rows);
  }
  TraceInput::Again again;
  if (path_ != "-") {
    again = [path = path_, reader = options_.reader]() -> std::unique_ptr<RowReader> {
      Outcome<OpenedTrace> opened = open_rows(path, reader);
      if (!opened) return nullptr;
      return std::move(opened.value().rows);
    };
  }
  const InputPolicies policies{.unordered = options_.unordered.value_or(format_->order),
                               .zero_output = options_.zero_output,
                               .on_error = options_.on_error};
  auto input = std::make_unique<TraceInput>(path_, std::move(rows_), policies, std::move(again));
  rows_ = nullptr;
  input_ = input.get();
  std::unique_ptr<RequestSource> source = std::move(input);
  if (options_.start_ns || options_.end_ns) {
    source = std::make_unique<TimeWindow>(std::move(source), options_.start_ns.value_or(0),
                                          options_.end_ns.value_or(kNeverNs));
  }
  if (options_.shards > 1) {
    source = std::make_unique<Shard>(std::move(source), options_.shard, options_.shards);
  }
  if (options_.limit) {
    source = std::make_unique<FirstRequests>(std::move(source), *options_.limit);
  }
  return source;
}

Outcome<std::unique_ptr<OpenTraceSource>> open_trace(const std::string& path,
                                                     const TraceOptions& options) {
  auto source = std::make_unique<OpenTraceSource>(path, options);
  if (auto error = source->open()) return *error;
  return source;
}

Outcome<Trace> read_trace(const std::string& path, const TraceOptions& options) {
  Outcome<std::unique_ptr<OpenTraceSource>> source = open_trace(path, options);
  if (!source) return source.error();
  return read_all(*source.value(), path);
}

}  // namespace pinfold::sim
