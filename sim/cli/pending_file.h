#pragma once
// A file that is written piece by piece and appears under its name only once it is complete.

#include <optional>
#include <string>
#include <string_view>

#include "sim/trace/input_error.h"

namespace pinfold::sim {

class PendingFile {
 public:
  explicit PendingFile(std::string path) : path_(std::move(path)) {}
  /// Without finish() nothing is left.
  ~PendingFile();
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  std::optional<InputError> open();
  /// A failure is remembered for finish().
  void write(std::string_view text);
  std::optional<InputError> finish();

 private:
  InputError unwritable(int reason) const;
  std::string temporary() const { return path_ + ".tmp"; }

  std::string path_;
  int descriptor_ = -1;
  int failure_ = 0;
  bool named_ = false;  // the temporary file has a name that must go
};

}  // namespace pinfold::sim
