#include "sim/trace/read_file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace pinfold::sim {
namespace {

/// A directory that goes when the test ends.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "pinfold-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string file(const std::string& name, const std::string& content) const {
    const std::string path = (path_ / name).string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::string path(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST_CASE("read file: every byte, also none and many") {
  const Scratch scratch;
  const std::string binary("a\0\r\nb", 5);
  CHECK(read_file(scratch.file("five", binary), "a trace").value() == binary);
  CHECK(read_file(scratch.file("empty", ""), "a trace").value().empty());
  const std::string large(1'000'003, 'x');
  CHECK(read_file(scratch.file("large", large), "a trace").value() == large);
}

TEST_CASE("read file: a file whose size is not known before") {
  const Outcome<std::string> text = read_file("/proc/self/status", "a trace");  // says 0 bytes
  REQUIRE(text);
  CHECK(text.value().find("Name:") == 0);
}

TEST_CASE("read file: what is there instead of a file") {
  const Scratch scratch;
  CHECK(describe(read_file(scratch.path("missing"), "a trace").error()) ==
        scratch.path("missing") + ": found no file of this name, expected a trace");
  CHECK(describe(read_file(scratch.path(), "a trace").error()) ==
        scratch.path() + ": found a directory, expected a trace");
  const std::string below = scratch.file("file", "x") + "/y";
  CHECK(describe(read_file(below, "a trace").error()).find("Not a directory") != std::string::npos);
}

TEST_CASE("read file: a file that this user may not read") {
  if (::geteuid() == 0) return;  // root may read everything
  const Scratch scratch;
  const std::string path = scratch.file("secret", "x");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  CHECK(describe(read_file(path, "a trace").error()) ==
        path + ": found a file that this user may not read, expected a trace");
}

}  // namespace
}  // namespace pinfold::sim
