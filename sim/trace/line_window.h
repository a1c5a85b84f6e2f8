#pragma once
// Lines of a stream in windows: whole lines side by side in one buffer, so that a reader can look at
// bytes in place and memory does not grow with the file. A line may be as long as it likes: the window
// grows to hold it.

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/trace/byte_stream.h"

namespace pinfold::sim {

/// A line without its end (LF or CRLF).
struct Line {
  std::uint64_t number = 0;  // from 1
  std::string_view text;
};

class LineWindow {
 public:
  /// Readable bytes behind every line, for readers that look at several bytes at a time.
  static constexpr std::size_t kPadding = 64;
  static constexpr std::size_t kWindow = std::size_t{1} << 20;
  /// A file that fits into this takes no more.
  static constexpr std::size_t kFirst = std::size_t{1} << 14;

  explicit LineWindow(std::unique_ptr<ByteStream> bytes, std::size_t window = kWindow);

  /// The next line; false at the end or after a mistake of the stream. It stays where it is until the
  /// call after the next refill, so only the newest line may be looked at.
  bool next(Line& line) {
    const auto* end = static_cast<const char*>(std::memchr(at_, '\n', left()));
    if (end == nullptr) return next_after_refill(line);
    take(line, end);
    return true;
  }

  // For readers that recognise a usual line by themselves: bytes from here to whole_end() are whole lines.
  const char* at() const { return at_; }
  const char* whole_end() const { return whole_end_; }
  /// Goes on behind the line end that stands before `next`; returns the number of the line passed.
  std::uint64_t pass_line(const char* next) {
    at_ = next;
    return ++number_;
  }

  /// What has been read and not passed yet: the first window before anything was taken. Reads it where
  /// nothing is there yet.
  std::string_view peek();
  /// All the rest as one text.
  std::string_view rest();
  /// True if only line ends follow, as far as the window reaches.
  bool only_blank_left();

  std::uint64_t number() const { return number_; }
  bool final_newline() const { return final_newline_; }
  const std::optional<InputError>& error() const { return bytes_->error(); }

 private:
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  void take(Line& line, const char* end) {
    line.text = {at_, static_cast<std::size_t>(end - at_)};
    if (line.text.ends_with('\r')) line.text.remove_suffix(1);
    line.number = ++number_;
    at_ = end + 1;
  }
  bool next_after_refill(Line& line);
  bool refill();
  void grow(std::size_t size, std::size_t have);

  std::unique_ptr<ByteStream> bytes_;
  std::size_t window_;
  std::vector<char> buffer_;
  const char* at_;
  const char* end_;        // of what has been read
  const char* whole_end_;  // behind the last line end before end_
  std::uint64_t number_ = 0;
  bool at_end_ = false;
  bool final_newline_ = true;
};

}  // namespace pinfold::sim
