#pragma once
// TraceLab's rounds: JSON Lines, one model call a line, with the times of what went in and came out.

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "sim/trace/line_window.h"
#include "sim/trace/row_reader.h"

namespace pinfold::sim {

class JsonWalk;

/// There is no arrival in the file: a round arrives with the last of its inputs (`user_message`,
/// `tool_result`), or with its first event where it has none. Its delay is that time less the last
/// event of its session's round before it, at least 0. One record a session is kept. No hashes.
class TraceLabRows final : public RowReader {
 public:
  TraceLabRows(LineWindow lines, std::string path);
  ~TraceLabRows() override;
  Step next(TraceRequest& request) override;

 private:
  void read(const Line& line, TraceRequest& request);

  LineWindow lines_;
  std::string path_;
  std::unique_ptr<JsonWalk> walk_;
  std::map<std::uint64_t, std::int64_t> ends_;
};

}  // namespace pinfold::sim
