#include "sim/cli/output_directory.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/unit/scratch_directory.h"

namespace pinfold::sim {
namespace {

namespace fs = std::filesystem;

std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

const std::array<OutputFile, 2> kFiles{OutputFile{"a.json", "{}\n"}, OutputFile{"b.json", "[]\n"}};

TEST_CASE("output directory: is made when files are written, with parents, and not before") {
  const test::ScratchDirectory scratch;
  const fs::path directory = scratch.path() / "x" / "y";
  CHECK_FALSE(check_output_directory(directory.string()));
  CHECK(names_in(scratch.path()).empty());
  CHECK_FALSE(write_output_files(directory.string(), kFiles));
  CHECK(names_in(directory) == std::vector<std::string>{"a.json", "b.json"});
  CHECK(content_of(directory / "a.json") == "{}\n");
}

TEST_CASE("output directory: files are replaced whole, others stay") {
  const test::ScratchDirectory scratch;
  std::ofstream(scratch.path() / "a.json") << "an older and longer file";
  std::ofstream(scratch.path() / "mine.txt") << "mine";
  CHECK_FALSE(write_output_files(scratch.path().string(), kFiles));
  CHECK(names_in(scratch.path()) == std::vector<std::string>{"a.json", "b.json", "mine.txt"});
  CHECK(content_of(scratch.path() / "a.json") == "{}\n");
}

TEST_CASE("output directory: a file in its place, or on the way to it") {
  const test::ScratchDirectory scratch;
  const std::string file = (scratch.path() / "file").string();
  std::ofstream(file) << "x";
  CHECK(describe(*check_output_directory(file)) ==
        file + ": found a file, expected a directory to write into");
  CHECK(describe(*check_output_directory(file + "/below")) ==
        file + "/below: found " + file + ", which is a file, expected a directory to write into");
  CHECK(describe(*check_output_directory("")) ==
        "-o: found an empty name, expected a directory to write into");
  CHECK(content_of(file) == "x");
}

TEST_CASE("output directory: a directory that this user may not write") {
  if (::geteuid() == 0) return;  // root may write everywhere
  const test::ScratchDirectory scratch;
  fs::permissions(scratch.path(), fs::perms::owner_read | fs::perms::owner_exec);
  CHECK(check_output_directory((scratch.path() / "x").string()));
  fs::permissions(scratch.path(), fs::perms::owner_all);
}

TEST_CASE("output directory: after an error everything is as before") {
  const test::ScratchDirectory scratch;
  std::ofstream(scratch.path() / "a.json") << "earlier";
  // The second file cannot be moved in place: its name is taken by a directory.
  fs::create_directory(scratch.path() / "b.json");
  CHECK(describe(*write_output_files(scratch.path().string(), kFiles)) ==
        (scratch.path() / "b.json").string() +
            ": found Is a directory, expected a directory to write into");
  CHECK(names_in(scratch.path()) == std::vector<std::string>{"a.json", "b.json"});
  CHECK(content_of(scratch.path() / "a.json") == "earlier");
}

TEST_CASE("output directory: nothing is to be seen before all files are complete") {
  const test::ScratchDirectory scratch;
  const fs::path directory = scratch.path() / "x" / "y";
  {
    const auto staged = StagedFiles::begin(directory.string());
    REQUIRE(bool(staged));
    CHECK_FALSE(staged.value()->write(kFiles[0]));
    CHECK(names_in(scratch.path()) == std::vector<std::string>{"x.partial"});
  }
  CHECK(names_in(scratch.path()).empty());  // given up
}

TEST_CASE(
    "output directory: what a killed program left is removed, what a living one writes is not") {
  const test::ScratchDirectory scratch;
  fs::create_directories(scratch.path() / ".pinfold.partial" / "earlier");
  std::ofstream(scratch.path() / ".pinfold.partial" / "half.json") << "{";
  const auto staged = StagedFiles::begin(scratch.path().string());
  REQUIRE(bool(staged));
  const auto second = StagedFiles::begin(scratch.path().string());
  REQUIRE_FALSE(bool(second));
  CHECK(describe(second.error()) == scratch.path().string() +
                                        ": found another program that is writing into it, "
                                        "expected a directory to write into");
  CHECK_FALSE(staged.value()->write(kFiles[1]));
  CHECK_FALSE(staged.value()->publish());
  CHECK(names_in(scratch.path()) == std::vector<std::string>{".pinfold.partial", "b.json"});
}

}  // namespace
}  // namespace pinfold::sim
