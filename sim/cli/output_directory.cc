#include "sim/cli/output_directory.h"

#include <fcntl.h>
#include <unistd.h>
#include <csignal>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

namespace pinfold::sim {
namespace {

namespace fs = std::filesystem;

InputError unusable(const std::string& path, std::string found) {
  InputError error;
  error.path = path;
  error.found = std::move(found);
  error.expected = "a directory to write into";
  return error;
}

/// Holds SIGINT back while temporary files exist.
class InterruptsHeld {
 public:
  InterruptsHeld() {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  ~InterruptsHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  InterruptsHeld(const InterruptsHeld&) = delete;
  InterruptsHeld& operator=(const InterruptsHeld&) = delete;

 private:
  sigset_t before_;
};

/// Files that are removed again unless all of them were renamed.
class TemporaryFiles {
 public:
  ~TemporaryFiles() {
    for (const std::string& path : paths_) ::unlink(path.c_str());
  }
  void add(std::string path) { paths_.push_back(std::move(path)); }

 private:
  std::vector<std::string> paths_;
};

/// Returns 0 or an errno.
int write_file(const std::string& path, const std::string& content) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return errno;
  std::size_t written = 0;
  int failure = 0;
  while (failure == 0 && written < content.size()) {
    const ssize_t count = ::write(file, content.data() + written, content.size() - written);
    if (count >= 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      failure = errno;
    }
  }
  // A full disk may show only here.
  if (::close(file) != 0 && failure == 0) failure = errno;
  return failure;
}

}  // namespace

std::optional<InputError> check_output_directory(const std::string& directory) {
  if (directory.empty()) return unusable("-o", "an empty name");
  std::error_code failure;
  fs::path existing = fs::absolute(directory, failure);
  while (!failure && !fs::exists(existing, failure) && existing.has_parent_path() &&
         existing != existing.parent_path()) {
    existing = existing.parent_path();
  }
  if (failure) return unusable(directory, failure.message());
  if (!fs::is_directory(existing, failure)) {
    const bool itself = fs::equivalent(existing, directory, failure);
    return unusable(directory, itself ? "a file" : existing.string() + ", which is a file");
  }
  if (::access(existing.c_str(), W_OK | X_OK) != 0) {
    return unusable(directory, existing.string() + ", which this user may not write");
  }
  return std::nullopt;
}

std::optional<InputError> write_output_files(const std::string& directory,
                                             std::span<const OutputFile> files) {
  std::error_code failure;
  fs::create_directories(directory, failure);
  if (failure) return unusable(directory, failure.message());

  const InterruptsHeld held;
  TemporaryFiles temporaries;
  const auto path_of = [&](const OutputFile& file) {
    return (fs::path(directory) / file.name).string();
  };
  const auto temporary_of = [&](const OutputFile& file) { return path_of(file) + ".tmp"; };
  for (const OutputFile& file : files) {
    temporaries.add(temporary_of(file));
    const int reason = write_file(temporary_of(file), file.content);
    if (reason != 0) return unusable(path_of(file), std::strerror(reason));
  }
  for (const OutputFile& file : files) {
    if (::rename(temporary_of(file).c_str(), path_of(file).c_str()) != 0) {
      return unusable(path_of(file), std::strerror(errno));
    }
  }
  return std::nullopt;
}

}  // namespace pinfold::sim
