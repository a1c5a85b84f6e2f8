#pragma once
// Weka's agentic sessions (kv-cache-tester): one JSON object a file, the whole session in it. Blocks of 64
// tokens, full ones only. Ids are local to their file. A sub-agent is a session of its own within the
// file; its times count from its marker, or, in later releases, from the session's start.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sim/trace/line_window.h"
#include "sim/trace/row_reader.h"

namespace pinfold::sim {

/// One file, held in memory. Its ids get `file` times 2^40 added, so that no two files share one. A turn
/// comes `think_time` after the one before it; where that is missing, after the time between the two
/// less `api_time` of the first, where that is there.
class WekaRows final : public RowReader {
 public:
  WekaRows(LineWindow lines, std::string path, std::uint64_t file, std::uint32_t id_block);
  Step next(TraceRequest& request) override;

 private:
  struct Row {
    std::variant<TraceRequest, InputError> content;
    ArrivalPlace place;
  };
  struct Walker;

  LineWindow lines_;
  std::string path_;
  std::uint64_t file_;
  std::vector<Row> rows_;
  std::size_t at_ = 0;
  bool read_ = false;
};

}  // namespace pinfold::sim
