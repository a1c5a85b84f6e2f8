#include "sim/trace/read_file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/unit/scratch_directory.h"

namespace pinfold::sim {
namespace {

TEST_CASE("read file: every byte, also none and many") {
  const test::ScratchDirectory scratch;
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
  const test::ScratchDirectory scratch;
  CHECK(describe(read_file(scratch.path("missing"), "a trace").error()) ==
        scratch.path("missing") + ": found no file of this name, expected a trace");
  CHECK(describe(read_file(scratch.path().string(), "a trace").error()) ==
        scratch.path().string() + ": found a directory, expected a trace");
  const std::string below = scratch.file("file", "x") + "/y";
  CHECK(describe(read_file(below, "a trace").error()).find("Not a directory") != std::string::npos);
}

TEST_CASE("read file: a file that this user may not read") {
  if (::geteuid() == 0) return;  // root may read everything
  const test::ScratchDirectory scratch;
  const std::string path = scratch.file("secret", "x");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  CHECK(describe(read_file(path, "a trace").error()) ==
        path + ": found a file that this user may not read, expected a trace");
}

}  // namespace
}  // namespace pinfold::sim
