// What one line of an ownership-event file may say, and the message for each way to get it wrong.
#include "sim/record/event_file.h"

#include <doctest/doctest.h>

#include "tests/unit/record/event_lines.h"

namespace pinfold::sim {
namespace {

using test::lines_of;
using test::mistake_in;

constexpr std::string_view kHeader =
    R"({"pinfold_events": 1, "pool": {"num_blocks": 8, "block_size": 4}})";

EventFile parsed(std::string_view text) {
  Outcome<EventFile> file = parse_event_file(text, "lab");
  REQUIRE_MESSAGE(bool(file), (file ? "" : describe(file.error())));
  return file.value();
}

/// The mistake in one event line behind the header, without "lab:2:".
std::string mistake_in_event(std::string_view line) {
  const std::string message = mistake_in(lines_of({kHeader, line}));
  CHECK(message.substr(0, 6) == "lab:2:");
  return message.substr(6);
}

// --- What is read ---------------------------------------------------------------------------------

TEST_CASE("event file: a header says the pool and how its free list is kept") {
  const EventFile file = parsed(
      R"({"pinfold_events": 1, "title": "T", "view": "sharing", "pool": {"num_blocks": 9,)"
      R"( "block_size": 3, "release_order": "forward", "free_order": "lifo", "num_state_slots": 5}})");
  CHECK(file.path == "lab");
  CHECK(file.title == "T");
  CHECK(file.view == EventView::kSharing);
  CHECK(file.pool.num_blocks == 9);
  CHECK(file.pool.block_size == TokenCount(3));
  CHECK(file.pool.num_state_slots == 5u);
  CHECK(file.pool.release_order == ReleaseOrder::kForward);
  CHECK(file.pool.free_order == FreeOrder::kLifo);
}

TEST_CASE("event file: the defaults are the chapter's") {
  const EventFile file = parsed(kHeader);
  CHECK_FALSE(file.title.has_value());
  CHECK(file.view == EventView::kTables);
  CHECK_FALSE(file.pool.num_state_slots.has_value());
  CHECK(file.pool.release_order == ReleaseOrder::kReverse);
  CHECK(file.pool.free_order == FreeOrder::kFifo);
}

TEST_CASE("event file: comments, empty lines and a missing last line end are no mistake") {
  const std::string text = "// first\n\n  // second\r\n" + std::string(kHeader) +
                           "\r\n\n{\"event\": \"note\", \"text\": \"x\"}";
  const EventFile file = parsed(text);
  REQUIRE(file.events.size() == 1);
  CHECK(file.events[0].at.line == 6);
  CHECK(std::get<NoteEvent>(file.events[0].body).text == "x");
}

TEST_CASE("event file: an event keeps where its values stand") {
  const EventFile file =
      parsed(lines_of({kHeader, R"({"event": "grow", "sequence": "A", "tokens": 8})"}));
  const auto& grow = std::get<GrowEvent>(file.events.at(0).body);
  CHECK(grow.sequence.value == "A");
  CHECK(grow.sequence.at.line == 2);
  CHECK(grow.sequence.at.column == 31);
  CHECK(grow.tokens.value == 8);
  CHECK(grow.tokens.at.column == 46);
}

// --- Mistakes about the whole file -----------------------------------------------------------------

TEST_CASE("event file: an empty file says so") {
  CHECK(mistake_in("") ==
        "lab: found an empty file, expected an ownership-event file, which begins with "
        "{\"pinfold_events\": 1, ...}");
  CHECK(mistake_in("// only this\n\n")
            .find("found no header, only comments and empty lines, expected") != std::string::npos);
}

TEST_CASE("event file: the first object must be the header, and the only one") {
  CHECK(mistake_in("{\"event\": \"check\", \"blocks\": 4}\n") ==
        "lab:1:1: found an object without \"pinfold_events\", expected the header "
        "{\"pinfold_events\": 1, \"pool\": {...}} (it comes first in an ownership-event file)");
  CHECK(mistake_in("[1]\n").find("lab:1:1: found an array, expected the header") == 0);
  CHECK(mistake_in("TIMESTAMP,ContextTokens\n").find("lab:1:1: found ") == 0);
  CHECK(mistake_in(lines_of({kHeader, kHeader})) ==
        "lab:2:1: found a second header, expected an event");
}

TEST_CASE("event file: a version that is not 1 is refused") {
  CHECK(mistake_in(R"({"pinfold_events": 2, "pool": {"num_blocks": 8, "block_size": 4}})") ==
        "lab:1:20: pinfold_events: found 2, expected a whole number from 1 to 1");
}

TEST_CASE("event file: a last line that is cut off is told from one that is broken") {
  const std::string cut = std::string(kHeader) + "\n{\"event\": \"grow\", \"seq";
  const std::string message = mistake_in(cut);
  CHECK(message.find("lab:2:23: found the end of the line") == 0);
  CHECK(message.find("(the last line has no line end: the file seems to be cut off)") !=
        std::string::npos);
  CHECK(mistake_in(lines_of({"{\"pinfold_events\": 1,", "\"pool\": {}}"})) ==
        "lab:1:22: found the end of the line, expected a key in double quotes (one object on "
        "each line)");
}

TEST_CASE("event file: two objects on one line are one too many") {
  CHECK(mistake_in(std::string(kHeader) + " {}\n") ==
        "lab:1:67: found \"{\", expected the end of the line (one object on each line)");
}

TEST_CASE("event file: header mistakes") {
  CHECK(mistake_in(R"({"pinfold_events": 1})") ==
        "lab:1:1: found no key \"pool\", expected \"pool\": an object");
  CHECK(mistake_in(R"({"pinfold_events": 1, "pool": 8})") ==
        "lab:1:31: pool: found 8, expected an object");
  CHECK(mistake_in(R"({"pinfold_events": 1, "pool": {"num_blocks": 8, "blok_size": 4}})") ==
        "lab:1:49: pool: found unknown key \"blok_size\", expected one of num_blocks, block_size, "
        "release_order, free_order, num_state_slots (did you mean \"block_size\"?)");
  CHECK(mistake_in(R"({"pinfold_events": 1, "pool": {"num_blocks": 0, "block_size": 4}})") ==
        "lab:1:46: num_blocks: found 0, expected a whole number from 1 to 1000000");
  CHECK(mistake_in(R"({"pinfold_events": 1, "pool": {"num_blocks": 8, "block_size": 0}})") ==
        "lab:1:63: block_size: found 0, expected a whole number from 1 to 65536");
  CHECK(
      mistake_in(
          R"({"pinfold_events": 1, "view": "table", "pool": {"num_blocks": 8, "block_size": 4}})") ==
      "lab:1:31: view: found \"table\", expected one of \"tables\", \"sharing\" (did you mean "
      "\"tables\"?)");
  CHECK(
      mistake_in(
          R"({"pinfold_events": 1, "pool": {"num_blocks": 8, "block_size": 4, "free_order": "filo"}})")
          .find("free_order: found \"filo\", expected one of \"fifo\", \"lifo\"") !=
      std::string::npos);
  CHECK(
      mistake_in(
          R"({"pinfold_events": 1, "title": "a\nb", "pool": {"num_blocks": 8, "block_size": 4}})") ==
      "lab:1:32: title: found \"a\\nb\", expected a string without control characters");
}

// --- Mistakes in an event --------------------------------------------------------------------------

TEST_CASE("event file: an event must be an object with a known word") {
  CHECK(mistake_in_event("[]") == "1: found an array, expected an event object");
  CHECK(mistake_in_event("7") == "1: found 7, expected an event object");
  CHECK(mistake_in_event(R"({"sequence": "A"})")
            .find("1: found no key \"event\", expected \"event\": one of "
                  "\"admit\", \"grow\"") == 0);
  const std::string message =
      mistake_in_event(R"({"event": "grwo", "sequence": "A", "tokens": 8})");
  CHECK(message.find("11: event: found \"grwo\", expected one of \"admit\", \"grow\", \"draft\"") ==
        0);
  CHECK(message.find("(did you mean \"grow\"?)") != std::string::npos);
  CHECK(mistake_in_event(R"({"event": 3})").find("11: event: found 3, expected one of \"admit\"") ==
        0);
}

TEST_CASE("event file: an unknown key is an error with a suggestion") {
  CHECK(mistake_in_event(R"({"event": "grow", "sequnce": "A", "tokens": 8})") ==
        "19: found unknown key \"sequnce\", expected one of event, sequence, tokens (did you mean "
        "\"sequence\"?)");
  CHECK(mistake_in_event(R"({"event": "admit", "sequences": [{"sequence": "A", "token": 6}]})") ==
        "52: sequences[0]: found unknown key \"token\", expected one of sequence, tokens (did you "
        "mean "
        "\"tokens\"?)");
}

TEST_CASE("event file: a key that is missing or comes twice is an error") {
  CHECK(mistake_in_event(R"({"event": "grow", "sequence": "A"})") ==
        "1: found no key \"tokens\", expected \"tokens\": a whole number from 1 to 1000000000");
  CHECK(mistake_in_event(R"({"event": "copy_done", "from": 3})") ==
        "1: found no key \"to\", expected \"to\": a whole number from 0 to 1000000");
  CHECK(mistake_in_event(R"({"event": "grow", "sequence": "A", "tokens": 8, "tokens": 9})")
            .find("49: found a second key \"tokens\", expected each key once") == 0);
}

TEST_CASE("event file: a count is a whole number in its range and nothing else") {
  const auto tokens = [](std::string_view value) {
    return mistake_in_event(R"({"event": "grow", "sequence": "A", "tokens": )" +
                            std::string(value) + "}");
  };
  const std::string expected = ", expected a whole number from 1 to 1000000000";
  for (const char* value :
       {"-1", "0", "8.0", "1e3", "1000000001", "99999999999999999999", "true", "null"}) {
    CHECK(tokens(value) == "46: tokens: found " + std::string(value) + expected);
  }
  CHECK(tokens("\"8\"") == "46: tokens: found \"8\"" + expected);
  CHECK(tokens("[8]") == "46: tokens: found an array" + expected);
}

TEST_CASE("event file: a name is 1 to 32 plain letters") {
  const auto finish = [](const std::string& name) {
    return mistake_in_event(R"({"event": "finish", "sequence": )" + name + "}");
  };
  const std::string expected = ", expected a name of 1 to 32 letters, digits, '_', '-' or '.'";
  CHECK(finish("\"\"") == "33: sequence: found \"\"" + expected);
  CHECK(finish("\"a b\"") == "33: sequence: found \"a b\"" + expected);
  CHECK(finish("7") == "33: sequence: found 7" + expected);
  const std::string longest(32, 'x');
  CHECK(finish("\"" + longest + "x\"") == "33: sequence: found \"" + longest + "x\"" + expected);
  CHECK(parsed(lines_of({kHeader, R"({"event": "finish", "sequence": ")" + longest + "\"}"}))
            .events.size() == 1);
}

TEST_CASE("event file: lists have at least one item, each of its kind") {
  CHECK(mistake_in_event(R"({"event": "admit", "sequences": []})") ==
        "33: sequences: found an empty array, expected an array of objects with \"sequence\" and "
        "\"tokens\", at least one");
  CHECK(mistake_in_event(R"({"event": "admit", "sequences": ["A"]})") ==
        "34: sequences[0]: found \"A\", expected an object");
  CHECK(mistake_in_event(R"({"event": "write", "sequence": "A", "values": 5})") ==
        "47: values: found 5, expected an array of row values, at least one");
  CHECK(mistake_in_event(R"({"event": "write", "sequence": "A", "values": [5, -6]})") ==
        "51: values: found -6, expected a whole number from 0 to 2147483647");
}

TEST_CASE("event file: a choice is one of its words") {
  CHECK(mistake_in_event(R"({"event": "unpin", "sequence": "A", "when": "after_copy"})") ==
        "45: when: found \"after_copy\", expected one of \"now\", \"after_copies\" (did you mean "
        "\"after_copies\"?)");
  CHECK(mistake_in_event(R"({"event": "unpin", "sequence": "A"})") ==
        "1: found no key \"when\", expected \"when\": one of \"now\", \"after_copies\"");
}

TEST_CASE("event file: nesting without end is refused") {
  const std::string message = mistake_in(std::string(100'000, '['));
  CHECK(message.find("lab:1:65: found more than 64 levels of nesting") == 0);
}

}  // namespace
}  // namespace pinfold::sim
