#include "sim/cli/whole_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "sim/cli/interrupt.h"
#include "sim/report/file_writer.h"

namespace pinfold::sim {
namespace {

namespace fs = std::filesystem;

InputError cannot_write(const std::string& flag, const std::string& path, std::string found) {
  InputError error;
  error.path = flag + " " + path;
  error.found = std::move(found);
  error.expected = "a file that can be written";
  return error;
}

InputError cannot_write(const std::string& flag, const std::string& path, int reason) {
  return cannot_write(flag, path, std::string(std::strerror(reason)));
}

}  // namespace

std::optional<InputError> check_whole_file(const std::string& flag, const std::string& path) {
  std::error_code failure;
  if (path.empty()) return cannot_write(flag, path, "an empty name");
  const fs::file_type type = fs::status(path, failure).type();
  if (type == fs::file_type::directory) return cannot_write(flag, path, "a directory");
  if (type != fs::file_type::not_found && type != fs::file_type::regular) {
    return cannot_write(flag, path, "something that is no ordinary file");
  }
  const fs::path folder = fs::absolute(path, failure).parent_path();
  if (!fs::is_directory(folder, failure)) {
    return cannot_write(flag, path, "no directory " + folder.string());
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return cannot_write(flag, path, errno);
  return std::nullopt;
}

std::string partial_of(const std::string& path) { return path + ".partial"; }

std::optional<InputError> publish_whole_file(const std::string& flag, const std::string& path) {
  if (std::rename(partial_of(path).c_str(), path.c_str()) == 0) return std::nullopt;
  const int reason = errno;
  std::remove(partial_of(path).c_str());
  return cannot_write(flag, path, reason);
}

std::optional<InputError> write_whole_file(const std::string& flag, const std::string& path,
                                           std::string_view content) {
  const InterruptsHeld held;
  FileWriter writer(partial_of(path));
  writer.append(content);
  const int reason = writer.close();
  if (reason == 0) return publish_whole_file(flag, path);
  std::remove(partial_of(path).c_str());
  return cannot_write(flag, path, reason);
}

}  // namespace pinfold::sim
