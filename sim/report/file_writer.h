#pragma once
// A file written from front to back, in pieces, while something else goes on.

#include <string>
#include <string_view>

namespace pinfold::sim {

/// Buffers what is appended. The first failure (a full disk) is kept and everything after it ignored, so
/// that a writer in the middle of a run need not look: close() tells.
class FileWriter {
 public:
  FileWriter() = default;
  explicit FileWriter(const std::string& path) { open(path); }
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  void open(const std::string& path);
  void append(std::string_view text) {
    buffer_.append(text);
    if (buffer_.size() >= kBufferBytes) flush();
  }
  /// Writes what is left and closes. Returns 0 or the errno of the first failure.
  int close();

 private:
  void flush();

  static constexpr std::size_t kBufferBytes = 1 << 16;
  int file_ = -1;
  int failure_ = 0;
  std::string buffer_;
};

}  // namespace pinfold::sim
