// Runs a fuzz target over the files of folders, without a fuzzing engine:
//   TARGET FOLDER...
// Files in the order of their names, folders inside not. A file that the target throws at is a failure.

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <vector>

#include "sim/trace/read_file.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

bool holds(const std::filesystem::path& path) {
  const auto text = pinfold::sim::read_file(path.string(), "a file of the corpus");
  if (!text) throw std::runtime_error(describe(text.error()));
  try {
    const std::string& bytes = text.value();
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    return true;
  } catch (const std::exception& found) {
    fmt::print("{}: {}\n", path.string(), found.what());
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  int passed = 0, failed = 0;
  for (int n = 1; n < argc; ++n) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(argv[n])) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) ++(holds(path) ? passed : failed);
  }
  fmt::print("{} passed, {} failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
