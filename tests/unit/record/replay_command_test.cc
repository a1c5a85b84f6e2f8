// `pinfold replay` as a function: exit codes, and that it writes the whole result or one message.
#include "sim/record/replay_command.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace pinfold::sim {
namespace {

/// A folder that is gone after the test.
class ScratchFolder {
 public:
  ScratchFolder() : path_(std::filesystem::temp_directory_path() / "pinfold_replay_command_test") {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string path() const { return path_.string(); }
  std::string file(const std::string& name, std::string_view text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

struct Run {
  int code;
  std::string out;
  std::string err;
};

Run run(const ReplayOptions& options) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_replay(options, out, err);
  return {code, out.str(), err.str()};
}

Run run(const std::string& path) { return run(ReplayOptions{.path = path}); }

constexpr std::string_view kLab =
    R"({"pinfold_events": 1, "title": "a \"lab\"", "pool": {"num_blocks": 4, "block_size": 4}}
{"event": "admit", "sequences": [{"sequence": "A", "tokens": 6}]}
{"event": "write", "sequence": "A", "values": [7]}
{"event": "check", "blocks": 2}
{"event": "read", "sequence": "A"}
)";

TEST_CASE("replay command: text goes to the output alone") {
  const ScratchFolder folder;
  const Run result = run(folder.file("lab.jsonl", kLab));
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  CHECK(result.out ==
        "a \"lab\"\n"
        "  admit A(6)   A=[1, 2]   free=[3]\n"
        "  A writes [7] at 0\n"
        "  admission check for 2 blocks: LATER\n"
        "  A reads [7]: correct=True\n");
}

TEST_CASE("replay command: JSON is one object with lines, tables, pools, checks and reads") {
  const ScratchFolder folder;
  const Run result = run({.path = folder.file("lab.jsonl", kLab),
                          .format = ReplayOptions::Format::kJson,
                          .verify = false});
  CHECK(result.code == 0);
  std::string packed;
  for (const char letter : result.out) {
    if (letter != ' ' && letter != '\n') packed += letter;
  }
  CHECK(packed.find(R"("events":4,"lines":["a\"lab\"","admitA(6)A=[1,2]free=[3]",)") !=
        std::string::npos);
  CHECK(packed.find(R"("tables":[{"sequence":"A","blocks":[1,2]}],"blocks":{"free":[3],"held":[]},)"
                    R"("checks":[{"blocks":2,"state_slots":0,"answer":"LATER"}],)"
                    R"("reads":[{"sequence":"A","correct":true,"rows":[7],"expected":[7]}],)"
                    R"("copies_not_run":0})") != std::string::npos);
}

TEST_CASE(
    "replay command: a bad file gives exit code 1, one line on the error stream and no output") {
  const ScratchFolder folder;
  const std::string good(kLab);
  struct BadFile {
    std::string path;
    std::string message;
  };
  const std::string wanted = ", expected an ownership-event file";
  const BadFile bad_files[] = {
      {folder.path() + "/absent.jsonl", "found no file of this name" + wanted + "\n"},
      {folder.path(), "found a directory" + wanted + "\n"},
      {folder.file("empty.jsonl", ""), "found an empty file" + wanted},
      {folder.file("cut.jsonl", good.substr(0, good.size() - 8)),
       ":5:28: found the end of the line"},
      {folder.file("last.jsonl", good + "{\"event\": \"finish\", \"sequence\": \"B\"}\n"),
       ":6:33: found \"B\", a sequence that no event before admits or forks"},
      {folder.file("binary.jsonl", std::string("\x7f\0ELF\n", 6)), ":1:1: found "},
  };
  for (const BadFile& bad : bad_files) {
    CAPTURE(bad.path);
    const Run result = run(bad.path);
    CHECK(result.code == 1);
    CHECK(result.out.empty());
    CHECK(result.err.find("pinfold: error: " + bad.path) == 0);
    CAPTURE(result.err);
    CHECK(result.err.find(bad.message) != std::string::npos);
    CHECK(result.err.find('\n') == result.err.size() - 1);
  }
}

TEST_CASE("replay command: --verify places a read that is not correct") {
  const ScratchFolder folder;
  // A's tail is let go before the copy, B writes into it: A's child reads B's row. 4 = row 0 of block 2.
  const std::string path =
      folder.file("early.jsonl",
                  R"({"pinfold_events": 1, "pool": {"num_blocks": 4, "block_size": 4}}
{"event": "admit", "sequences": [{"sequence": "A", "tokens": 5}]}
{"event": "write", "sequence": "A", "values": [1, 2, 3, 4, 5]}
{"event": "fork", "parent": "A", "child": "C", "processed": 5}
{"event": "finish", "sequence": "A"}
{"event": "unpin", "sequence": "C", "when": "now"}
{"event": "admit", "sequences": [{"sequence": "B", "tokens": 1}]}
{"event": "write", "sequence": "B", "values": [9]}
{"event": "copy_done"}
{"event": "read", "sequence": "C"}
)");
  const Run result = run({.path = path, .format = ReplayOptions::Format::kText, .verify = true});
  CHECK(result.code == 3);
  CHECK(result.err.find(path +
                        ":9: I8 copy: the copy from block 2 to 3 for C moves 9 as position 4: "
                        "expected 5") != std::string::npos);
  CHECK(result.err.find("    block 2 was unpinned before its copy ran, by C in line 6\n"
                        "    block 2 was issued to B in line 7\n"
                        "    row 0 of block 2 was written by B in line 8\n") != std::string::npos);
  CHECK(result.out.find(":10: O12 visible rows: C reads position 4, row 0 of block 3: expected 5, "
                        "found 9\n") != std::string::npos);
  const Run shown = run(path);
  CHECK(shown.code == 0);  // only --verify judges
}

}  // namespace
}  // namespace pinfold::sim
