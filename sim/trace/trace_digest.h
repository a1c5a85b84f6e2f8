#pragma once
// Which workload this was, whatever file it came from.

#include <cstdint>
#include <memory>
#include <string>

#include "sim/trace/request.h"

namespace pinfold::sim {

/// XXH3 (64 bits) of requests as they come by.
class TraceDigest {
 public:
  TraceDigest();
  ~TraceDigest();
  TraceDigest(const TraceDigest&) = delete;
  TraceDigest& operator=(const TraceDigest&) = delete;

  void add(const TraceRequest& request);
  /// Of the requests so far, as 16 hexadecimal digits. Arrivals and lengths make it alone where the trace
  /// says nothing else, so that it is the same for one workload in two formats.
  std::string text() const;

 private:
  struct Hashes;
  std::unique_ptr<Hashes> hashes_;
  std::uint64_t count_ = 0;
  bool has_extras_ = false;
};

/// Of a whole trace. Line ends, column order and the day on which the trace was taken do not change it.
std::string trace_digest(const Trace& trace);

}  // namespace pinfold::sim
