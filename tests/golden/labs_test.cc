// The labs under configs/labs, word for word. The expected texts of 09 and 10 are the chapter's printed
// output, the others follow from its rules by hand; all were written before the labs were first run.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "sim/record/replay.h"

namespace pinfold::sim {
namespace {

std::filesystem::path source_root() {
  const char* root = std::getenv("PINFOLD_SOURCE_ROOT");
  return root == nullptr ? std::filesystem::current_path() : std::filesystem::path(root);
}

/// Each run of spaces as one, none at either end of a line.
std::string collapsed(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string joined;
    for (std::string word; words >> word;) joined += (joined.empty() ? "" : " ") + word;
    result += joined + "\n";
  }
  return result;
}

std::string golden(const std::string& name) {
  std::ifstream file(source_root() / "tests/golden/labs" / (name + ".txt"));
  REQUIRE_MESSAGE(file.good(), name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

ReplayOutput replayed(const std::string& name) {
  const auto file = read_event_file((source_root() / "configs/labs" / (name + ".jsonl")).string());
  REQUIRE_MESSAGE(bool(file), (file ? "" : describe(file.error())));
  const auto output = replay(file.value());
  REQUIRE_MESSAGE(bool(output), (output ? "" : describe(output.error())));
  return output.value();
}

void check_lab(const std::string& name) {
  std::string text;
  for (const std::string& line : replayed(name).lines) text += line + "\n";
  CHECK(collapsed(text) == collapsed(golden(name)));
}

/// The line that begins with `start`, collapsed.
std::string line_of(const ReplayOutput& output, const std::string& start) {
  for (const std::string& line : output.lines) {
    const std::string words = collapsed(line);
    if (words.find(start) == 0) return words;
  }
  return "no such line";
}

// --- The chapter's runs ---------------------------------------------------------------------------

TEST_CASE("lab 09: blocks") { check_lab("09_blocks"); }

TEST_CASE("lab 10: the tail pin released before the queued copy") {
  check_lab("10_share_early");
  CHECK_FALSE(replayed("10_share_early").reads.at(0).correct);
}

TEST_CASE("lab 10: the tail pin released after the queued copy") {
  check_lab("10_share_late");
  CHECK(replayed("10_share_late").reads.at(0).correct);
}

TEST_CASE("lab 10: released early, with the writer queued behind the copy") {
  check_lab("10_share_ordered");
  CHECK(replayed("10_share_ordered").reads.at(0).correct);
}

// --- The experiments of section 4.6 -----------------------------------------------------------------

TEST_CASE("experiment 1: five drafts at length 11 add one block, six add two") {
  check_lab("ex1_five_drafts");
  check_lab("ex1_six_drafts");
  // Four blocks are positions 0..15: 11 + 5 = 16 fit, 11 + 6 = 17 do not.
  CHECK(replayed("ex1_five_drafts").tables.at(0).blocks.size() == 4);
  CHECK(replayed("ex1_six_drafts").tables.at(0).blocks.size() == 5);
}

TEST_CASE(
    "experiment 2: at eight processed tokens nothing is copied and early release is harmless") {
  for (const char* name : {"ex2_parent_8_early", "ex2_parent_10_early"}) {
    check_lab(name);
    CHECK(line_of(replayed(name), "fork:").find("copy=[]") != std::string::npos);
    CHECK(replayed(name).reads.at(0).correct);
  }
}

TEST_CASE("experiment 3: the next block is 7 either way, the second one differs") {
  check_lab("ex3_reverse");
  check_lab("ex3_forward");
  const auto reverse = replayed("ex3_reverse").tables.at(1);
  const auto forward = replayed("ex3_forward").tables.at(1);
  CHECK(reverse.blocks == std::vector<BlockId>{BlockId{7}, BlockId{5}});
  CHECK(forward.blocks == std::vector<BlockId>{BlockId{7}, BlockId{3}});
}

TEST_CASE("experiment 4: five sequences run and six slots are owned") {
  check_lab("ex4_slots_held");
}

TEST_CASE("every lab has its expected output, and every expected output its lab") {
  const auto stems = [](const std::filesystem::path& folder, const std::string& extension) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == extension) names.insert(entry.path().stem().string());
    }
    return names;
  };
  CHECK(stems(source_root() / "configs/labs", ".jsonl") ==
        stems(source_root() / "tests/golden/labs", ".txt"));
}

}  // namespace
}  // namespace pinfold::sim
