#include "sim/trace/line_window.h"

#include <algorithm>
#include <utility>

namespace pinfold::sim {

LineWindow::LineWindow(std::unique_ptr<ByteStream> bytes, std::size_t window)
    : bytes_(std::move(bytes)),
      window_(window),
      buffer_(std::min(window, kFirst) + kPadding, '\0'),
      at_(buffer_.data()),
      end_(at_),
      whole_end_(at_) {}

/// Reads more behind what is left. False where nothing more came.
bool LineWindow::refill() {
  if (at_end_) return false;
  std::size_t have = left();
  const std::size_t before = have;
  if (have * 2 > buffer_.size()) {
    grow(2 * buffer_.size(), have);
  } else if (have > 0) {
    std::memmove(buffer_.data(), at_, have);
  }
  for (;;) {
    const std::size_t room = buffer_.size() - kPadding;
    if (have == room) {
      if (room >= window_) break;
      at_ = buffer_.data();
      grow(window_ + kPadding, have);
      continue;
    }
    const std::size_t got = bytes_->read(buffer_.data() + have, room - have);
    if (got == 0) {
      at_end_ = true;
      break;
    }
    have += got;
  }
  at_ = buffer_.data();
  end_ = at_ + have;
  std::memset(buffer_.data() + have, '\0', kPadding);
  const void* last = have == 0 ? nullptr : ::memrchr(at_, '\n', have);
  whole_end_ = last == nullptr ? at_ : static_cast<const char*>(last) + 1;
  return have > before;
}

/// A buffer of `size` bytes that begins with the `have` bytes from at_ on.
void LineWindow::grow(std::size_t size, std::size_t have) {
  std::vector<char> larger(size, '\0');
  std::memcpy(larger.data(), at_, have);
  buffer_.swap(larger);
}

bool LineWindow::next_after_refill(Line& line) {
  for (;;) {
    const std::size_t searched = left();
    const bool more = refill();
    if (bytes_->error()) return false;
    const auto* end =
        static_cast<const char*>(std::memchr(at_ + searched, '\n', left() - searched));
    if (end != nullptr) return take(line, end), true;
    if (more) continue;
    if (left() == 0) return false;
    final_newline_ = false;
    take(line, end_);
    at_ = end_;  // take() stepped over a line end that is not there
    return true;
  }
}

std::string_view LineWindow::peek() {
  if (left() == 0) refill();
  return {at_, left()};
}

std::string_view LineWindow::rest() {
  while (refill()) {
  }
  const std::string_view all{at_, left()};
  at_ = end_;
  return all;
}

bool LineWindow::only_blank_left() {
  if (left() == 0) refill();
  return std::all_of(at_, end_, [](char letter) { return letter == '\n' || letter == '\r'; });
}

}  // namespace pinfold::sim
