// What events do and say, and which of them cannot happen. The labs themselves are in tests/golden.
#include "sim/record/replay.h"

#include <doctest/doctest.h>

#include "tests/unit/record/event_lines.h"

namespace pinfold::sim {
namespace {

using test::lines_of;
using test::mistake_in;
using test::shown_by;

constexpr std::string_view kTables =
    R"({"pinfold_events": 1, "pool": {"num_blocks": 8, "block_size": 4}})";
constexpr std::string_view kSharing =
    R"({"pinfold_events": 1, "view": "sharing", "pool": {"num_blocks": 5, "block_size": 4}})";
constexpr std::string_view kAdmitA =
    R"({"event": "admit", "sequences": [{"sequence": "A", "tokens": 6}]})";
constexpr std::string_view kForkOfA =
    R"({"event": "fork", "parent": "A", "child": "C", "processed": 6})";

ReplayOutput output_of(std::initializer_list<std::string_view> lines) {
  const std::string text = lines_of(lines);
  const auto file = parse_event_file(text, "lab");
  REQUIRE(bool(file));
  const auto output = replay(file.value());
  REQUIRE_MESSAGE(bool(output), (output ? "" : describe(output.error())));
  return output.value();
}

// --- What is shown --------------------------------------------------------------------------------

TEST_CASE("replay: a refused admission is part of its sentence") {
  CHECK(shown_by({kTables,
                  R"({"event": "admit", "sequences": [{"sequence": "A", "tokens": 20},)"
                  R"( {"sequence": "B", "tokens": 9}, {"sequence": "N", "tokens": 29}]})"}) ==
        "admit A(20), B(9), N(29); B: LATER; N: NEVER   A=[1, 2, 3, 4, 5]   free=[6, 7]\n");
}

TEST_CASE("replay: who was told LATER keeps its place in the line of tables") {
  const std::string shown = shown_by(
      {kTables,
       R"({"event": "admit", "sequences": [{"sequence": "A", "tokens": 20}, {"sequence": "B", "tokens": 9}]})",
       R"({"event": "admit", "sequences": [{"sequence": "D", "tokens": 1}]})",
       R"({"event": "finish", "sequence": "A"})",
       R"({"event": "admit", "sequences": [{"sequence": "B", "tokens": 9}]})"});
  CHECK(shown.find("B=[7, 5, 4] D=[6]") != std::string::npos);
}

TEST_CASE("replay: accepted drafts are counted in words") {
  const auto committed = [](std::string_view draft, std::string_view commit) {
    const std::string shown = shown_by({kTables, kAdmitA, draft, commit});
    return shown.substr(0, shown.find("   A=", shown.rfind("\n", shown.size() - 2)))
        .substr(shown.rfind("\n", shown.size() - 2) + 1);
  };
  const std::string three = R"({"event": "draft", "sequence": "A", "tokens": 6, "drafts": 3})";
  const std::string one = R"({"event": "draft", "sequence": "A", "tokens": 6, "drafts": 1})";
  const auto commit = [](int accepted) {
    return R"({"event": "commit", "sequence": "A", "accepted": )" + std::to_string(accepted) + "}";
  };
  CHECK(committed(three, commit(0)).find("drafts rejected; A at 7") == 0);
  CHECK(committed(three, commit(2)).find("2 of 3 drafts accepted; A at 9") == 0);
  CHECK(committed(three, commit(3)).find("drafts accepted; A at 10") == 0);
  CHECK(committed(one, commit(0)).find("draft rejected; A at 7") == 0);
  CHECK(committed(one, commit(1)).find("draft accepted; A at 8") == 0);
}

TEST_CASE("replay: numbers up to twelve are words, one is singular") {
  const auto draft = [](int drafts) {
    return shown_by({R"({"pinfold_events": 1, "pool": {"num_blocks": 9, "block_size": 4}})",
                     kAdmitA,
                     R"({"event": "draft", "sequence": "A", "tokens": 6, "drafts": )" +
                         std::to_string(drafts) + "}"});
  };
  CHECK(draft(1).find("A at 6, one draft reserved") != std::string::npos);
  CHECK(draft(12).find("A at 6, twelve drafts reserved") != std::string::npos);
  CHECK(draft(13).find("A at 6, 13 drafts reserved") != std::string::npos);
  CHECK(shown_by({kTables, R"({"event": "check", "blocks": 1, "state_slots": 1})"}) ==
        "admission check for 1 block and 1 state slot: NEVER\n");
}

TEST_CASE("replay: free order lifo issues the block that was freed last") {
  const std::string shown = shown_by(
      {R"({"pinfold_events": 1, "pool": {"num_blocks": 6, "block_size": 4, "free_order": "lifo"}})",
       R"({"event": "admit", "sequences": [{"sequence": "A", "tokens": 8}]})",
       R"({"event": "finish", "sequence": "A"})"});
  CHECK(shown.find("A finishes              free=[1, 2, 3, 4, 5]") != std::string::npos);
}

TEST_CASE("replay: a wait and its end are one line only if nothing stands between them") {
  const std::string_view full =
      R"({"event": "admit", "sequences": [{"sequence": "A", "tokens": 16}]})";
  const std::string_view fork = R"({"event": "fork", "parent": "A", "child": "C", "processed": 8})";
  const std::string_view writer =
      R"({"event": "admit", "sequences": [{"sequence": "W", "tokens": 1}]})";
  const std::string_view unpin = R"({"event": "unpin", "sequence": "C", "when": "now"})";
  const std::string_view finish = R"({"event": "finish", "sequence": "A"})";
  CHECK(shown_by({kSharing, full, fork, unpin, writer, finish, writer}) ==
        "fork: A=[1, 2, 3, 4] C=[1, 2] refs 1:2 2:2 3:2 4:2 copy=[]\n"
        "W waits\n"
        "A finishes: free=[4, 3]; shared [1, 2] kept\n"
        "W receives block 4\n");
  CHECK(shown_by({kSharing, full, fork, finish, writer, writer, unpin, writer}) ==
        "fork: A=[1, 2, 3, 4] C=[1, 2] refs 1:2 2:2 3:2 4:2 copy=[]\n"
        "A finishes: free=[]; shared [1, 2] kept\n"
        "W waits; receives block 4\n");
  CHECK(shown_by({kSharing, full, fork, writer}) ==
        "fork: A=[1, 2, 3, 4] C=[1, 2] refs 1:2 2:2 3:2 4:2 copy=[]\nW waits\n");
}

TEST_CASE("replay: a waiting fork goes on after its parent has ended") {
  CHECK(shown_by({kSharing,
                  R"({"event": "admit", "sequences": [{"sequence": "A", "tokens": 6},)"
                  R"( {"sequence": "B", "tokens": 8}]})",
                  kForkOfA, R"({"event": "finish", "sequence": "A"})",
                  R"({"event": "finish", "sequence": "B"})", kForkOfA}) ==
        "fork: A=[1, 2] C=[1, 2] refs 1:2 2:2 waits\n"
        "A finishes: free=[]; shared [1, 2] kept\n"
        "B finishes: free=[4, 3]\n"
        "fork: C=[1, 4] refs 1:1 2:1 4:1 copy=[(2, 4)]\n");
}

TEST_CASE("replay: with state, a fork's slots are told like its blocks") {
  CHECK(shown_by({R"({"pinfold_events": 1, "view": "sharing",)"
                  R"( "pool": {"num_blocks": 5, "block_size": 4, "num_state_slots": 3}})",
                  kAdmitA, kForkOfA, R"({"event": "finish", "sequence": "A"})"}) ==
        "fork: A=[1, 2] C=[1, 3] refs 1:2 2:2 3:1 copy=[(2, 3)] slots A=1 C=2 refs 1:2 2:1 "
        "copy=[(1, 2)]\n"
        "A finishes: free=[4]; shared [1] kept; slots free=[]\n");
}

// --- Rows -----------------------------------------------------------------------------------------

TEST_CASE("replay: a tail that is read before its copy has run is wrong") {
  const ReplayOutput output = output_of(
      {kTables, kAdmitA, R"({"event": "write", "sequence": "A", "values": [1, 2, 3, 4, 5, 6]})",
       kForkOfA, R"({"event": "read", "sequence": "C"})", R"({"event": "copy_done"})",
       R"({"event": "read", "sequence": "C"})"});
  REQUIRE(output.reads.size() == 2);
  CHECK_FALSE(output.reads[0].correct);
  CHECK_FALSE(output.reads[0].rows.at(4).has_value());
  CHECK(output.reads[1].correct);
  CHECK(output.reads[1].expected == std::vector<RowValue>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("replay: what was written for rejected drafts is no data") {
  const ReplayOutput output = output_of(
      {kTables, kAdmitA, R"({"event": "write", "sequence": "A", "values": [1, 2, 3, 4, 5, 6]})",
       R"({"event": "draft", "sequence": "A", "tokens": 6, "drafts": 2})",
       R"({"event": "write", "sequence": "A", "values": [70, 80]})",
       R"({"event": "commit", "sequence": "A", "accepted": 1})",
       R"({"event": "read", "sequence": "A"})"});
  CHECK(output.reads.at(0).expected == std::vector<RowValue>{1, 2, 3, 4, 5, 6, 70});
}

TEST_CASE("replay: a queued write runs behind the copies that were queued before it, not before") {
  const ReplayOutput output = output_of(
      {R"({"pinfold_events": 1, "pool": {"num_blocks": 8, "block_size": 4}})", kAdmitA,
       R"({"event": "write", "sequence": "A", "values": [1, 2, 3, 4, 5, 6]})", kForkOfA,
       R"({"event": "fork", "parent": "A", "child": "E", "processed": 6})",
       R"({"event": "write", "sequence": "A", "values": [55], "position": 4, "when": "after_copies"})",
       R"({"event": "copy_done"})", R"({"event": "read", "sequence": "A"})",
       R"({"event": "copy_done"})", R"({"event": "read", "sequence": "A"})",
       R"({"event": "read", "sequence": "E"})"});
  CHECK(output.reads.at(0).rows.at(4) == 5u);
  CHECK_FALSE(output.reads.at(0).correct);
  CHECK(output.reads.at(1).rows.at(4) == 55u);
  CHECK(output.reads.at(1).correct);
  CHECK(output.reads.at(2).correct);
}

// --- The end --------------------------------------------------------------------------------------

TEST_CASE("replay: the result holds tables, free lists, held blocks and copies that have not run") {
  const ReplayOutput output = output_of(
      {R"({"pinfold_events": 1, "pool": {"num_blocks": 5, "block_size": 4, "num_state_slots": 4}})",
       kAdmitA, kForkOfA, R"({"event": "finish", "sequence": "A"})"});
  REQUIRE(output.tables.size() == 1);
  CHECK(output.tables[0].sequence == "C");
  CHECK(output.tables[0].blocks == std::vector<BlockId>{BlockId{1}, BlockId{3}});
  CHECK(output.tables[0].slot == BlockId{2});
  CHECK(output.blocks.free == std::vector<BlockId>{BlockId{4}});
  CHECK(output.blocks.held == std::vector<BlockId>{BlockId{2}});
  REQUIRE(output.slots.has_value());
  CHECK(output.slots->held == std::vector<BlockId>{BlockId{1}});
  CHECK(output.copies_not_run == 2);
}

// --- Events that cannot happen ----------------------------------------------------------------------

TEST_CASE("replay: a sequence must be known and live") {
  CHECK(mistake_in(
            lines_of({kTables, kAdmitA, R"({"event": "grow", "sequence": "a", "tokens": 8})"})) ==
        "lab:3:31: found \"a\", a sequence that no event before admits or forks, expected a "
        "sequence of an "
        "earlier event (did you mean \"A\"?)");
  CHECK(mistake_in(lines_of({kTables, kAdmitA, R"({"event": "finish", "sequence": "A"})",
                             R"({"event": "read", "sequence": "A"})"})) ==
        "lab:4:31: found \"A\", which finished in line 3, expected a live sequence");
  CHECK(mistake_in(lines_of({kTables, kAdmitA, R"({"event": "finish", "sequence": "A"})",
                             R"({"event": "finish", "sequence": "A"})"})) ==
        "lab:4:33: found \"A\", which finished in line 3, expected a live sequence or a waiting "
        "fork");
  CHECK(mistake_in(lines_of(
            {kTables, R"({"event": "admit", "sequences": [{"sequence": "A", "tokens": 29}]})",
             R"({"event": "grow", "sequence": "A", "tokens": 30})"})) ==
        "lab:3:31: found \"A\", which was told NEVER, expected a live sequence");
}

TEST_CASE("replay: a name is admitted once, or again with its length after LATER") {
  CHECK(mistake_in(lines_of({kTables, kAdmitA, kAdmitA})) ==
        "lab:3:47: found \"A\", which is live, expected a new name, or a sequence that was told "
        "LATER");
  CHECK(
      mistake_in(lines_of(
          {kTables,
           R"({"event": "admit", "sequences": [{"sequence": "A", "tokens": 28}, {"sequence": "B", "tokens": 2}]})",
           R"({"event": "admit", "sequences": [{"sequence": "B", "tokens": 3}]})"})) ==
      "lab:3:62: found 3, expected 2, the length that was told LATER");
}

TEST_CASE("replay: growth needs the blocks it takes") {
  CHECK(mistake_in(
            lines_of({kTables, kAdmitA, R"({"event": "grow", "sequence": "A", "tokens": 29})"})) ==
        "lab:3:46: found 29 positions, for which A needs 6 blocks more, expected at most 5 blocks "
        "more, "
        "which is what is free");
  // Experiment 1: in the chapter's pool six drafts at length 11 do not fit, five do.
  const std::string six = lines_of(
      {kTables,
       R"({"event": "admit", "sequences": [{"sequence": "A", "tokens": 9}, {"sequence": "B", "tokens": 9}]})",
       R"({"event": "draft", "sequence": "A", "tokens": 11, "drafts": 6})"});
  CHECK(mistake_in(six) ==
        "lab:3:61: found 17 positions, for which A needs 2 blocks more, expected at most 1 block "
        "more, "
        "which is what is free");
}

TEST_CASE("replay: a history does not shrink and drafts are committed before it grows") {
  CHECK(mistake_in(
            lines_of({kTables, kAdmitA, R"({"event": "grow", "sequence": "A", "tokens": 5})"})) ==
        "lab:3:46: found 5, expected 6 tokens or more: A has them (a history does not shrink)");
  const std::string_view draft = R"({"event": "draft", "sequence": "A", "tokens": 6, "drafts": 2})";
  CHECK(mistake_in(lines_of(
            {kTables, kAdmitA, draft, R"({"event": "grow", "sequence": "A", "tokens": 7})"})) ==
        "lab:4:1: found an event that adds tokens, expected \"commit\" first: A has 2 drafts "
        "reserved");
  CHECK(mistake_in(lines_of(
            {kTables, kAdmitA, draft, R"({"event": "commit", "sequence": "A", "accepted": 3})"})) ==
        "lab:4:50: found 3, expected at most 2 drafts: so many are reserved");
  CHECK(mistake_in(lines_of(
            {kTables, kAdmitA, R"({"event": "commit", "sequence": "A", "accepted": 0})"})) ==
        "lab:3:1: found \"commit\", though A has no drafts, expected \"draft\" first");
}

TEST_CASE("replay: a fork has a live parent, a new name, and rows that the parent has") {
  CHECK(
      mistake_in(lines_of({kTables, kAdmitA,
                           R"({"event": "fork", "parent": "A", "child": "C", "processed": 7})"})) ==
      "lab:3:61: found 7, expected at most 6 tokens: so many has A");
  CHECK(
      mistake_in(lines_of({kTables, kAdmitA,
                           R"({"event": "fork", "parent": "A", "child": "A", "processed": 6})"})) ==
      "lab:3:43: found \"A\", which is live, expected a new name, or a fork that waits");
  const std::string waiting = lines_of(
      {R"({"pinfold_events": 1, "pool": {"num_blocks": 3, "block_size": 4}})", kAdmitA, kForkOfA});
  CHECK(mistake_in(waiting) == "none");
  CHECK(mistake_in(waiting + R"({"event": "fork", "parent": "A", "child": "C", "processed": 5})") ==
        "lab:4:29: found \"A\" at 5, expected \"A\" at 6: so C forked, and waits");
  CHECK(mistake_in(waiting + R"({"event": "grow", "sequence": "C", "tokens": 7})") ==
        "lab:4:31: found \"C\", a fork that waits with its pins, expected a live sequence");
  CHECK(mistake_in(waiting + R"({"event": "unpin", "sequence": "C", "when": "now"})") ==
        "lab:4:32: found \"C\", which has no release list, expected a fork whose list has not been "
        "released yet");
}

TEST_CASE("replay: only the oldest queued copy can be done, and its ids are in the pool") {
  CHECK(mistake_in(lines_of({kTables, kAdmitA, R"({"event": "copy_done"})"})) ==
        "lab:3:1: found \"copy_done\", though no copy is queued, expected a \"fork\" that queues "
        "one first");
  const std::string forked = lines_of({kTables, kAdmitA, kForkOfA});
  CHECK(mistake_in(forked + R"({"event": "copy_done", "from": 2, "to": 4})") ==
        "lab:4:32: found copy (2, 4), expected copy (2, 3), the oldest that has not run (copies "
        "run in the "
        "order in which they were queued)");
  CHECK(mistake_in(forked + R"({"event": "copy_done", "from": 2, "to": 8})") ==
        "lab:4:41: found block 8, expected an id from 1 to 7 (id 0 is never issued)");
  CHECK(mistake_in(forked + R"({"event": "copy_done", "from": 0, "to": 3})") ==
        "lab:4:32: found block 0, expected an id from 1 to 7 (id 0 is never issued)");
}

TEST_CASE("replay: rows are written without gaps and inside the table") {
  CHECK(mistake_in(
            lines_of({kTables, kAdmitA,
                      R"({"event": "write", "sequence": "A", "values": [1], "position": 1})"})) ==
        "lab:3:64: found position 1, expected at most 0, the first row without a value");
  CHECK(mistake_in(lines_of(
            {kTables, kAdmitA,
             R"({"event": "write", "sequence": "A", "values": [1, 2, 3, 4, 5, 6, 7, 8, 9]})"})) ==
        "lab:3:47: found rows up to position 8, expected at most 7: the table of A has 2 blocks of "
        "4 rows");
  CHECK(mistake_in(lines_of({kTables, kAdmitA, R"({"event": "read", "sequence": "A"})"})) ==
        "lab:3:31: found a read by \"A\", which has no rows, expected a sequence that wrote or "
        "shares rows");
}

}  // namespace
}  // namespace pinfold::sim
