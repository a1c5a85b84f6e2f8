// Do the cost models give exactly the picoseconds that a second program gives (tests/oracle/step_costs.py)?

#include <doctest/doctest.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "sim/config/device_file.h"
#include "sim/device/forward_time.h"

namespace pinfold::sim {
namespace {

std::string_view text_of(const std::string& name) {
  for (const BuiltInDevice& device : built_in_devices()) {
    if (device.name == name) return device.text;
  }
  FAIL("no built-in device ", name);
  return {};
}

/// "7000+512." is 512 rows behind 7000 others that end their prompt.
Chunk chunk_of(const std::string& text) {
  Chunk chunk;
  const char* const end = text.data() + text.size();
  std::uint32_t past = 0;
  std::uint32_t rows = 0;
  const auto plus = std::from_chars(text.data(), end, past).ptr;
  REQUIRE(*plus == '+');
  const auto point = std::from_chars(plus + 1, end, rows).ptr;
  chunk.first = TokenCount(past);
  chunk.count = TokenCount(rows);
  chunk.last = point != end;
  return chunk;
}

StepPlan plan_of(std::istringstream& words, std::uint64_t& expected) {
  StepPlan plan;
  words >> plan.decode_rows >> plan.draft_rows >> plan.context_rows;
  for (std::string word; words >> word && word != "=";) {
    plan.chunks.push_back(chunk_of(word));
    plan.prompt_rows += plan.chunks.back().count.value;
  }
  words >> expected;
  return plan;
}

TEST_CASE("step costs: exactly those of the second program") {
  const std::filesystem::path root = std::getenv("PINFOLD_SOURCE_ROOT");
  std::ifstream file(root / "tests/golden/step_costs.txt");
  REQUIRE(file.good());
  std::string name;
  DeviceChoice choice;
  std::size_t steps = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    CAPTURE(line);
    std::istringstream words(line);
    std::string first;
    words >> first;
    std::size_t fit = 0;
    while (fit < kFitNames.size() && kFitNames[fit] != first) ++fit;
    if (fit == kFitNames.size()) {  // a new entry
      name = first;
      words >> choice.tensor_parallel_size >> choice.variant;
      continue;
    }
    choice.fit = static_cast<Fit>(fit);
    const DeviceOutcome device = read_device(text_of(name), name, choice);
    REQUIRE(std::holds_alternative<Device>(device));
    std::uint64_t expected = 0;
    const StepPlan plan = plan_of(words, expected);
    CHECK(forward_ps(std::get<Device>(device).forward, load_of(plan), plan) == expected);
    ++steps;
  }
  CHECK(steps > 500);
}

}  // namespace
}  // namespace pinfold::sim
