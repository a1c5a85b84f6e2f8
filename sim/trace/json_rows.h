#pragma once
// JSON Lines: one object a line, its keys found by name. Blank lines are passed over and counted.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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
  bool quick_row(TraceRequest& request, RowExtras& extras, std::uint64_t& seen);
  bool quick_value(const TraceColumn& column, const char*& at, TraceRequest& request,
                   RowExtras& extras);
  bool quick_ids(const char*& at, TraceRequest& request);
  void read(const Line& line, TraceRequest& request, RowExtras& extras, std::uint64_t& seen);
  void refuse_late_ids(const char* key) const;
  void finish(TraceRequest& request, const RowExtras& extras, std::uint64_t seen);

  LineWindow lines_;
  TableSchema schema_;
  std::string path_;
  std::unique_ptr<JsonWalk> walk_;
  std::uint64_t required_ = 0;               // a bit for each column that must be there
  std::vector<std::uint64_t> alternatives_;  // bits of columns of which a row has one
  std::optional<bool> arrivals_;             // whether the rows have one, as the first says
  std::uint64_t rows_ = 0;
  bool quick_ = true;               // no name is longer than the window's padding
  std::vector<std::uint64_t> ids_;  // of the row being read the quick way
};

}  // namespace pinfold::sim
