#pragma once
// The requests of a run: a trace in memory, or a long one as it is read.

#include <memory>
#include <optional>
#include <string>

#include "sim/config/run_config.h"
#include "sim/trace/request.h"
#include "sim/trace/trace_digest.h"
#include "sim/trace/trace_source.h"

namespace pinfold::sim {

/// Passes a trace's requests on, digests them, and refuses arrivals that simulated time cannot hold.
class StreamedTrace final : public RequestSource {
 public:
  StreamedTrace(std::unique_ptr<OpenTraceSource> source, std::string name, const RunConfig& config)
      : source_(std::move(source)), name_(std::move(name)), config_(config) {}

  bool next(TraceRequest& request) override;
  const std::optional<InputError>& error() const override {
    return error_ ? error_ : source_->error();
  }
  std::uint32_t id_block() const override { return source_->id_block(); }

  /// Of what was passed on so far.
  std::string digest() const { return digest_.text(); }

 private:
  std::unique_ptr<OpenTraceSource> source_;
  std::string name_;
  const RunConfig& config_;
  TraceDigest digest_;
  std::optional<InputError> error_;
};

/// Whether `run` reads this trace as it goes instead of whole: standard input, a pipe, a directory, or a
/// file of more than 64 MiB.
bool is_streamed(const std::string& path);

}  // namespace pinfold::sim
