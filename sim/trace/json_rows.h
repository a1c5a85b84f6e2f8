#pragma once
// JSON Lines: one object a line, its keys found by name. Blank lines are passed over and counted.

#include <cstdint>
#include <memory>
#include <string>

#include "sim/trace/line_window.h"
#include "sim/trace/row_reader.h"
#include "sim/trace/table_schema.h"

namespace pinfold::sim {

class JsonWalk;

class JsonRows final : public RowReader {
 public:
  JsonRows(LineWindow lines, TableSchema schema, std::string path);
  ~JsonRows() override;
  Step next(TraceRequest& request) override;

 private:
  void read(const Line& line, TraceRequest& request);

  LineWindow lines_;
  TableSchema schema_;
  std::string path_;
  std::unique_ptr<JsonWalk> walk_;
  std::uint64_t required_ = 0;  // a bit for each column that must be there
  std::uint64_t rows_ = 0;
};

}  // namespace pinfold::sim
