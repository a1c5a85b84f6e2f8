#include "sim/report/file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace pinfold::sim {

FileWriter::~FileWriter() {
  if (file_ >= 0) ::close(file_);
}

void FileWriter::open(const std::string& path) {
  file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ < 0) failure_ = errno;
}

void FileWriter::flush() {
  std::size_t written = 0;
  while (failure_ == 0 && written < buffer_.size()) {
    const ssize_t count = ::write(file_, buffer_.data() + written, buffer_.size() - written);
    if (count >= 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      failure_ = errno;
    }
  }
  buffer_.clear();
}

int FileWriter::close() {
  flush();
  // A full disk may show only here.
  if (file_ >= 0 && ::close(file_) != 0 && failure_ == 0) failure_ = errno;
  file_ = -1;
  return failure_;
}

}  // namespace pinfold::sim
