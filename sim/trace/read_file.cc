#include "sim/trace/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>

#include <cstring>

namespace pinfold::sim {
namespace {

/// Closes the descriptor on every way out.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

InputError unreadable(const std::string& path, int reason, const std::string& wanted) {
  InputError error;
  error.path = path;
  error.expected = wanted;
  if (reason == ENOENT) {
    error.found = "no file of this name";
  } else if (reason == EACCES) {
    error.found = "a file that this user may not read";
  } else if (reason == EISDIR) {
    error.found = "a directory";
  } else {
    error.found = std::string("a file that cannot be read: ") + std::strerror(reason);
  }
  return error;
}

}  // namespace

Outcome<std::string> read_file(const std::string& path, const std::string& wanted) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0) return unreadable(path, errno, wanted);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) return unreadable(path, errno, wanted);
  if (S_ISDIR(status.st_mode)) return unreadable(path, EISDIR, wanted);

  // One byte more than the size, so that the end of a regular file is seen without growing the text;
  // a pipe says size 0 and grows.
  std::string text;
  text.resize(static_cast<std::size_t>(status.st_size) + 1);
  std::size_t size = 0;
  for (;;) {
    if (size == text.size()) text.resize(2 * text.size() + 65'536);
    const ssize_t got = ::read(file.number(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(path, errno, wanted);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

}  // namespace pinfold::sim
