#pragma once
// Columns that line up.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace pinfold::sim {

/// Rows of cells, printed with two blanks between columns: words to the left, numbers to the right. Widths
/// count bytes.
class TextTable {
 public:
  enum class Align : std::uint8_t { kLeft, kRight };

  explicit TextTable(std::vector<Align> columns) : columns_(std::move(columns)) {}

  /// Missing cells at the end are empty.
  void row(std::vector<std::string> cells) {
    cells.resize(columns_.size());
    rows_.push_back(std::move(cells));
  }

  std::string text() const {
    std::vector<std::size_t> widths(columns_.size(), 0);
    for (const std::vector<std::string>& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const std::vector<std::string>& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string blanks(widths[i] - row[i].size(), ' ');
        line += i > 0 ? "  " : "";
        line += columns_[i] == Align::kLeft ? row[i] + blanks : blanks + row[i];
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
    return text;
  }

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace pinfold::sim
