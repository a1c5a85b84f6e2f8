#include "sim/config/json_reader.h"

#include <doctest/doctest.h>

#include <string>

namespace pinfold::sim {
namespace {

/// The value on one line: `text@line:column`, arrays and objects in their brackets.
std::string tree(const JsonValue& value) {
  std::string text;
  switch (value.kind) {
    case JsonValue::Kind::kArray:
      text = "[";
      for (const JsonValue& item : value.items) text += tree(item) + " ";
      text += "]";
      break;
    case JsonValue::Kind::kObject:
      text = "{";
      for (const JsonMember& member : value.members) {
        text += member.key + "@" + std::to_string(member.position.line) + ":" +
                std::to_string(member.position.column) + "=" + tree(member.value) + " ";
      }
      text += "}";
      break;
    default: text = shown(value);
  }
  return text + "@" + std::to_string(value.position.line) + ":" +
         std::to_string(value.position.column);
}

std::string read(const std::string& text) {
  const Outcome<JsonValue> value = parse_json(text, "c.json");
  return value ? tree(value.value()) : describe(value.error());
}

TEST_CASE("json reader: every kind of value, at its first byte") {
  CHECK(read("5") == "5@1:1");
  CHECK(read("{\n  \"a\": [1, -2.50, \"x\", true, false, null],\n  \"b\": {}\n}") ==
        "{a@2:3=[1@2:9 -2.50@2:12 \"x\"@2:19 true@2:24 false@2:30 null@2:37 ]@2:8 "
        "b@3:3={}@3:8 }@1:1");
}

TEST_CASE("json reader: numbers keep their text") {
  CHECK(read("[1e3, 0.10, 123456789012345678901234567890, -0]") ==
        "[1e3@1:2 0.10@1:7 123456789012345678901234567890@1:13 -0@1:45 ]@1:1");
}

TEST_CASE("json reader: escaped quotes and backslashes do not move the place") {
  CHECK(read(R"({"a\"b": "c\\", "d\\\\": 1})") == "{a\"b@1:2=\"c\\\"@1:10 d\\\\@1:17=1@1:26 }@1:1");
}

TEST_CASE("json reader: comments of both kinds, and not a third") {
  CHECK(read("// one\n/* two\n three */ {} // four") == "{}@3:11");
  CHECK(read("# one\n{}") == "c.json:1:1: found \"#\", expected a JSON value");
  CHECK(read("{} /* open").find("expected a comment as // or /* */") != std::string::npos);
}

TEST_CASE("json reader: a key that comes twice") {
  CHECK(read("{\"a\": 1,\n \"b\": 2, \"a\": 3}") ==
        "c.json:2:10: found a second key \"a\", expected each key once (the first one is in line "
        "1)");
  CHECK(read("{\"a\": {\"x\": 1}, \"b\": {\"x\": 1}}").find("found") == std::string::npos);
}

TEST_CASE("json reader: syntax errors say where, what and what instead") {
  CHECK(read("") == "c.json:1:1: found the end of the file, expected a JSON value");
  CHECK(read(" \n ") == "c.json:2:2: found the end of the file, expected a JSON value");
  CHECK(read("{\"a\": 1") == "c.json:1:8: found the end of the file, expected a comma or }");
  CHECK(read("{\"a\": 1,}") ==
        "c.json:1:9: found \"}\", expected a key in double quotes (no comma behind the last one)");
  CHECK(read("[1,]") ==
        "c.json:1:4: found \"]\", expected a JSON value (no comma behind the last one)");
  CHECK(read("{\"a\": 1 \"b\": 2}") == "c.json:1:9: found \"b\", expected a comma or }");
  CHECK(read("{\"a\" 1}") == "c.json:1:6: found 1, expected a colon");
  CHECK(read("[1 2]") == "c.json:1:4: found 2, expected a comma or ]");
  CHECK(read("{a: 1}") == "c.json:1:2: found \"a\", expected a key in double quotes");
  CHECK(read("{'a': 1}") == "c.json:1:2: found \"'\", expected a key in double quotes");
  CHECK(read("{\"a\": \"x}") == "c.json:1:10: found the end of the file, expected a closing quote");
  CHECK(read("{\"a\": 01}") == "c.json:1:7: found 01, expected a number without a leading zero");
  CHECK(read("{} x") == "c.json:1:4: found \"x\", expected the end of the file");
  CHECK(read("[1e999]") == "c.json:1:2: found 1e999, expected a smaller number");
  CHECK(read("\xff") == "c.json:1:1: found \"\\xff\", expected a JSON value");
  CHECK(read("[\"\x01\"]") ==
        "c.json:1:3: found \"\\x01\", expected a string without control or broken characters");
}

TEST_CASE("json reader: deep nesting is refused before it costs anything") {
  const std::string deep = std::string(64, '[') + std::string(64, ']');
  CHECK(read(deep).find("found") == std::string::npos);
  CHECK(read("[" + deep + "]") ==
        "c.json:1:65: found more than 64 levels of nesting, expected fewer");
}

}  // namespace
}  // namespace pinfold::sim
