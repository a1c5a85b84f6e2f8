#include "sim/config/json_writer.h"

#include <doctest/doctest.h>

#include "tests/unit/broken_rule.h"

namespace pinfold::sim {
namespace {

TEST_CASE("json writer: objects, arrays and values, two spaces a level") {
  JsonWriter json;
  json.open_object();
  json.key("a").integer(18446744073709551615U);
  json.key("b").open_array();
  json.number("0.000001");
  json.open_object();
  json.close();
  json.null();
  json.close();
  json.key("c").boolean(true);
  json.key("d").open_array();
  json.close();
  json.key("e").open_object();
  json.key("f").string("g");
  json.close();
  json.close();
  CHECK(json.finish() ==
        "{\n"
        "  \"a\": 18446744073709551615,\n"
        "  \"b\": [\n"
        "    0.000001,\n"
        "    {},\n"
        "    null\n"
        "  ],\n"
        "  \"c\": true,\n"
        "  \"d\": [],\n"
        "  \"e\": {\n"
        "    \"f\": \"g\"\n"
        "  }\n"
        "}\n");
}

TEST_CASE("json writer: strings are escaped") {
  JsonWriter json;
  json.string(
      "a\"b\\c\nd\te\x01"
      "f\xc3\xa4");
  CHECK(json.finish() == "\"a\\\"b\\\\c\\nd\\te\\u0001f\xc3\xa4\"\n");
}

TEST_CASE("json writer: what is left open or closed twice is a violation") {
  CHECK(test::broken_rule([] {
          JsonWriter json;
          json.open_object();
          json.finish();
        }) == "json");
  CHECK(test::broken_rule([] { JsonWriter().close(); }) == "json");
  CHECK(test::broken_rule([] { JsonWriter().key("a"); }) == "json");
}

}  // namespace
}  // namespace pinfold::sim
