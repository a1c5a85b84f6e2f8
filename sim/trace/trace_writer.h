#pragma once
// Requests as text: in our own format (sim/trace/plain_trace.h), where what is read back is what was
// written, or as an Azure CSV, which holds arrivals and lengths only.

#include <cstdint>
#include <string>

#include "sim/trace/request.h"

namespace pinfold::sim {

enum class WrittenFormat : std::uint8_t { kJsonLines, kCsv, kAzure };

/// Which fields a CSV needs columns for.
struct UsedFields {
  bool limit = false;
  bool samples = false;
  bool priority = false;
  bool abort = false;
  bool fork = false;
  bool session = false;
  bool delay = false;
  bool prefix_ids = false;
  bool accepted = false;

  void add(const TraceRequest& request);
  static UsedFields all() { return {true, true, true, true, true, true, true, true, true}; }
};

class TraceWriter {
 public:
  /// `used` matters to a CSV only. `id_block` is what the trace's ids stand for, 0 without ids.
  TraceWriter(WrittenFormat format, std::uint32_t id_block, const UsedFields& used);

  /// The line before the first request; empty for JSON Lines.
  std::string header() const;
  /// Adds the request's line to `text`.
  void append(const TraceRequest& request, std::string& text) const;

 private:
  void append_json(const TraceRequest& request, std::string& text) const;
  void append_csv(const TraceRequest& request, std::string& text) const;

  WrittenFormat format_;
  std::string ids_name_;
  UsedFields used_;
};

}  // namespace pinfold::sim
