#include "sim/cli/pending_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>

#include <cstring>

namespace pinfold::sim {

PendingFile::~PendingFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (named_) ::unlink(temporary().c_str());
}

InputError PendingFile::unwritable(int reason) const {
  InputError error;
  error.path = path_;
  error.found = std::string("a file that cannot be written: ") + std::strerror(reason);
  error.expected = "a file to write";
  return error;
}

std::optional<InputError> PendingFile::open() {
  // A file without a name leaves nothing behind however the program ends; not every file system has them.
  const std::size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  descriptor_ = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (descriptor_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
    descriptor_ = ::open(temporary().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    named_ = descriptor_ >= 0;
  }
  if (descriptor_ < 0) return unwritable(errno);
  return std::nullopt;
}

void PendingFile::write(std::string_view text) {
  while (failure_ == 0 && !text.empty()) {
    const ssize_t count = ::write(descriptor_, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      failure_ = errno;
    }
  }
}

std::optional<InputError> PendingFile::finish() {
  if (failure_ == 0 && !named_) {
    const std::string self = "/proc/self/fd/" + std::to_string(descriptor_);
    ::unlink(temporary().c_str());
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, temporary().c_str(), AT_SYMLINK_FOLLOW) != 0) {
      failure_ = errno;
    } else {
      named_ = true;
    }
  }
  if (::close(descriptor_) != 0 && failure_ == 0) failure_ = errno;
  descriptor_ = -1;
  if (failure_ == 0 && ::rename(temporary().c_str(), path_.c_str()) != 0) failure_ = errno;
  if (failure_ != 0) return unwritable(failure_);
  named_ = false;
  return std::nullopt;
}

}  // namespace pinfold::sim
