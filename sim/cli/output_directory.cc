#include "sim/cli/output_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "sim/cli/interrupt.h"
#include "sim/report/file_writer.h"

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

/// An entry of a directory, there or not, a dangling link included.
bool taken(const fs::path& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() != fs::file_type::not_found;
}

/// Creates `path`, a directory that only one program has at a time, and returns it open and locked, or -1
/// with errno set. One that nobody has locked was left behind: it is emptied.
int lock_new_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) return -1;
  const int lock = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (lock < 0) return -1;
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return -1;
  }
  std::error_code ignored;
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored)) {
    left.push_back(entry.path());
  }
  for (const fs::path& entry : left) fs::remove_all(entry, ignored);
  return lock;
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

Outcome<std::unique_ptr<StagedFiles>> StagedFiles::begin(const std::string& directory) {
  if (auto error = check_output_directory(directory)) return *error;
  std::unique_ptr<StagedFiles> staged(new StagedFiles);
  staged->directory_ = directory;
  std::error_code failure;
  // Without a "/" at the end, which would be one more, empty part of the path.
  fs::path target = (fs::absolute(directory, failure) / "").lexically_normal().parent_path();
  fs::path below;
  if (fs::is_directory(target, failure)) {
    staged->staging_ = (target / ".pinfold.partial").string();
  } else {
    fs::path top = target;
    while (top.has_parent_path() && !fs::exists(top.parent_path(), failure))
      top = top.parent_path();
    below = target.lexically_relative(top);
    staged->staging_ = top.string() + ".partial";
    staged->rename_to_ = top.string();
  }
  staged->lock_ = lock_new_directory(staged->staging_);
  if (staged->lock_ < 0) {
    const int reason = errno;
    std::string found = reason == EWOULDBLOCK ? "another program that is writing into it"
                                              : std::string(std::strerror(reason));
    staged->staging_.clear();
    return unusable(directory, std::move(found));
  }
  staged->files_ = below.empty() || below == "." ? staged->staging_
                                                 : (fs::path(staged->staging_) / below).string();
  fs::create_directories(staged->files_, failure);
  if (failure) return unusable(directory, failure.message());
  return staged;
}

StagedFiles::~StagedFiles() {
  std::error_code ignored;
  if (!staging_.empty()) fs::remove_all(staging_, ignored);
  if (lock_ >= 0) ::close(lock_);
}

std::string StagedFiles::path_of(std::string_view name) const {
  return (fs::path(files_) / name).string();
}

std::optional<InputError> StagedFiles::write(const OutputFile& file) const {
  FileWriter writer(path_of(file.name));
  writer.append(file.content);
  const int reason = writer.close();
  if (reason != 0) return unwritable(directory_, file.name, reason);
  return std::nullopt;
}

std::optional<InputError> StagedFiles::publish() {
  const InterruptsHeld held;
  if (!rename_to_.empty()) {
    // Atomic, and refused where somebody made something else there meanwhile.
    if (::rename(staging_.c_str(), rename_to_.c_str()) != 0) {
      return unusable(directory_, std::strerror(errno));
    }
    staging_.clear();
    return std::nullopt;
  }
  std::error_code failure;
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(files_, failure)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  const fs::path earlier = fs::path(staging_) / "earlier";
  ::mkdir(earlier.c_str(), 0777);
  int reason = 0;
  std::size_t moved = 0;
  for (; moved < names.size() && reason == 0; ++moved) {
    const fs::path to = fs::path(directory_) / names[moved];
    if (fs::is_directory(to, failure)) {
      reason = EISDIR;
    } else {
      // The earlier file stays in place until the new one replaces it.
      if (::link(to.c_str(), (earlier / names[moved]).c_str()) != 0 && errno != ENOENT) {
        reason = errno;
      } else if (::rename(path_of(names[moved]).c_str(), to.c_str()) != 0) {
        reason = errno;
      }
    }
  }
  if (reason == 0) return std::nullopt;
  const InputError error = unwritable(directory_, names[moved - 1], reason);
  while (moved-- > 0) {
    const fs::path to = fs::path(directory_) / names[moved];
    if (taken(earlier / names[moved])) {
      ::rename((earlier / names[moved]).c_str(), to.c_str());
    } else if (!fs::is_directory(to, failure)) {
      ::unlink(to.c_str());
    }
  }
  return error;
}

std::optional<InputError> write_output_files(const std::string& directory,
                                             std::span<const OutputFile> files) {
  auto staged = StagedFiles::begin(directory);
  if (!staged) return staged.error();
  for (const OutputFile& file : files) {
    if (auto error = staged.value()->write(file)) return error;
  }
  return staged.value()->publish();
}

InputError unwritable(const std::string& directory, std::string_view name, int reason) {
  return unusable((fs::path(directory) / name).string(), std::strerror(reason));
}

}  // namespace pinfold::sim
