#pragma once
// `dynamo.request.trace.v1`: JSON Lines of events, bare or wrapped as {"timestamp":..., "event":{...}}.
// Requests are the events `request_end`, in the order in which they ended; all others are passed over and
// counted. 64-bit rolling hashes of blocks whose size the event says.

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "sim/trace/line_window.h"
#include "sim/trace/row_reader.h"

namespace pinfold::sim {

class JsonWalk;

/// A turn comes its arrival less the end of its session's request before it (`total_time_ms`), at least 0,
/// after that one. One record a session is kept.
class DynamoRows final : public RowReader {
 public:
  DynamoRows(LineWindow lines, std::string path);
  ~DynamoRows() override;
  Step next(TraceRequest& request) override;

 private:
  struct Event;
  Step read(const Line& line, TraceRequest& request);

  LineWindow lines_;
  std::string path_;
  std::unique_ptr<JsonWalk> walk_;
  std::map<std::uint64_t, std::int64_t> ends_;
};

}  // namespace pinfold::sim
