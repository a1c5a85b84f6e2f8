#pragma once
// A trace in several files, read one after the other.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/row_reader.h"

namespace pinfold::sim {

class FilesInTurn final : public RowReader {
 public:
  using Open = std::function<Outcome<std::unique_ptr<RowReader>>(const std::string& path,
                                                                 std::uint64_t number)>;

  /// `open` opens a file and gets its number from 0. A file that cannot be opened is a mistake like one row,
  /// so that reading can go on behind it.
  FilesInTurn(std::vector<std::string> files, Open open, std::uint32_t id_block)
      : files_(std::move(files)), open_(std::move(open)) {
    id_block_ = id_block;
  }

  Step next(TraceRequest& request) override {
    for (;;) {
      if (!rows_) {
        if (number_ == files_.size()) return Step::kEnd;
        Outcome<std::unique_ptr<RowReader>> opened = open_(files_[number_], number_);
        ++number_;
        if (!opened) return bad(opened.error());
        rows_ = std::move(opened.value());
      }
      const Step step = rows_->next(request);
      place_ = rows_->place();
      if (step == Step::kBad) {
        error_ = rows_->error();
        if (rows_->broken()) close();
        return step;
      }
      if (step != Step::kEnd) return step;
      close();
    }
  }

 private:
  void close() {
    blank_lines_ += rows_->blank_lines();
    rows_.reset();
  }

  std::vector<std::string> files_;
  Open open_;
  std::uint64_t number_ = 0;
  std::unique_ptr<RowReader> rows_;
};

/// Names in the order in which people number files: chunk-2 before chunk-10.
bool numbers_in_order(std::string_view a, std::string_view b);

}  // namespace pinfold::sim
