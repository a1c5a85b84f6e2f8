#pragma once
// CSV with a header line: columns are found by their names, so their order is free and others may stand
// among them. Line ends are LF or CRLF, the last one may be missing, a UTF-8 byte order mark is skipped.
// None of the traces quotes its fields, so a quote is a mistake.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/line_window.h"
#include "sim/trace/row_reader.h"
#include "sim/trace/table_schema.h"

namespace pinfold::sim {

class CsvRows final : public RowReader {
 public:
  /// `lines` stands before the header.
  CsvRows(LineWindow lines, TableSchema schema, std::string path);
  Step next(TraceRequest& request) override;

 private:
  /// A column that is wanted, and where the header has it.
  struct Wanted {
    std::size_t position;
    std::size_t column;  // in the schema
  };

  InputError at(std::uint64_t line, std::uint64_t column, std::string found, std::string expected,
                std::string hint = {}) const;
  std::optional<InputError> header();
  std::optional<InputError> read_header(const Line& line);
  InputError missing_column(const Line& line, const TraceColumn& wanted,
                            const std::vector<std::string_view>& names) const;
  bool quick_row(TraceRequest& request);
  bool quick_date(const char*& at, std::int64_t& ns) const;
  std::optional<InputError> row(const Line& line, TraceRequest& request);
  std::optional<InputError> split(const Line& line);
  InputError wrong_field_count(const Line& line, std::size_t found);
  std::optional<InputError> check_zone(const Line& line, std::string_view field);
  InputError in_field(const Line& line, std::string_view field, const TraceColumn& column,
                      const InputError& part) const;

  LineWindow lines_;
  TableSchema schema_;
  std::string path_;
  std::vector<Wanted> wanted_;  // in the order of the header
  std::vector<std::string_view> fields_;
  std::size_t column_count_ = 0;
  std::uint64_t header_line_ = 0;
  std::uint64_t rows_ = 0;
  bool started_ = false;

  // The usual row has three columns, arrival, prompt and output, and is read in one go.
  bool quick_ = false;
  struct QuickColumn {
    Field field;
    Clock clock;
  };
  std::array<QuickColumn, 3> quick_columns_{};
  // The minute of the newest date that was read in full, `2023-11-16 18:15:`, and what stood behind its
  // seconds: dates of the same minute differ in their seconds only.
  static constexpr std::size_t kMinuteText = 17;
  std::array<char, kMinuteText> minute_{};
  std::int64_t minute_ns_ = 0;
  std::string zone_text_;
  bool minute_known_ = false;
  bool zoned_ = false;
  bool zone_known_ = false;
};

}  // namespace pinfold::sim
