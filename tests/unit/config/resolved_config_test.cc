#include "sim/config/resolved_config.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/config/json_reader.h"
#include "sim/config/option.h"
#include "sim/config/parse.h"

namespace pinfold::sim {
namespace {

RunConfig config_of(const std::vector<std::string>& overrides) {
  return load_config(std::nullopt, overrides).value();
}

TEST_CASE("resolved configuration: reads back as itself") {
  const std::vector<std::vector<std::string>> cases{
      {},
      {"workload.drafts=3", "engine.slot_factor=1.3", "workload.draft_acceptance_permille=0"},
      {"model.state_slots=true", "model.window_tokens=128", "model.ring_tokens=134",
       "model.compression_ratios=4,16", "cost.state_copy_us=0.000001"},
      {"workload.time_scale=0.123456789", "seed=18446744073709551615"}};
  for (const std::vector<std::string>& overrides : cases) {
    const std::string dump = resolved_json(config_of(overrides));
    const Outcome<RunConfig> again = parse_config(dump, "config.resolved.json");
    REQUIRE_MESSAGE(again, (again ? std::string() : describe(again.error())));
    CHECK(resolved_json(again.value()) == dump);
  }
}

TEST_CASE("resolved configuration: holds what has an effect and nothing else") {
  CHECK(resolved_json(config_of({})).find("slot_factor") == std::string::npos);
  CHECK(resolved_json(config_of({})).find("draft_acceptance") == std::string::npos);
  const std::string drafting = resolved_json(config_of({"workload.drafts=1"}));
  CHECK(drafting.find("\"slot_factor\": 1.2") != std::string::npos);
  CHECK(drafting.find("\"draft_acceptance_permille\": 700") != std::string::npos);
}

TEST_CASE("configuration digest: equal for what runs alike, different for what does not") {
  const std::string digest = config_digest(config_of({}));
  CHECK(digest.size() == 16);
  CHECK(config_digest(config_of({"engine.block_size=16"})) == digest);
  CHECK(config_digest(config_of({"workload.time_scale=1.0"})) == digest);
  CHECK(config_digest(config_of({"engine.block_size=32"})) != digest);
  CHECK(config_digest(config_of({"seed=1"})) != digest);
}

/// Follows member names.
const JsonValue* find(const JsonValue& value, const std::vector<std::string>& path) {
  const JsonValue* at = &value;
  for (const std::string& name : path) {
    const JsonValue* next = nullptr;
    for (const JsonMember& member : at->members) {
      if (member.key == name) next = &member.value;
    }
    if (next == nullptr) return nullptr;
    at = next;
  }
  return at;
}

TEST_CASE("schema: draft-07, every option with description and default, nothing else allowed") {
  const Outcome<JsonValue> schema = parse_json(config_schema(), "schema");
  REQUIRE(schema);
  CHECK(find(schema.value(), {"$schema"})->text == "http://json-schema.org/draft-07/schema#");
  CHECK(find(schema.value(), {"additionalProperties"})->text == "false");
  for (const Option& option : all_options()) {
    CAPTURE(std::string(option.path));
    std::vector<std::string> path{"properties"};
    if (!option.section().empty()) {
      path.insert(path.end(), {std::string(option.section()), "properties"});
    }
    path.emplace_back(option.name());
    const JsonValue* property = find(schema.value(), path);
    REQUIRE(property != nullptr);
    CHECK(find(*property, {"type"}) != nullptr);
    CHECK(find(*property, {"default"}) != nullptr);
    CHECK(find(*property, {"description"})->text.find(option.description) == 0);
  }
  CHECK(
      find(schema.value(), {"properties", "engine", "properties", "block_size", "maximum"})->text ==
      "65536");
  CHECK(find(schema.value(), {"properties", "engine", "properties", "release_order", "enum"})
            ->items.size() == 2);
}

TEST_CASE("option table: paths are unique and sections stand together") {
  std::vector<std::string_view> sections;
  for (const Option& option : all_options()) {
    CHECK(find_option(option.path) == &option);
    if (sections.empty() || sections.back() != option.section()) {
      for (const std::string_view before : sections) CHECK(before != option.section());
      sections.push_back(option.section());
    }
    if (!option.condition) continue;
    for (const std::string_view other : option.condition->depends_on) {
      CHECK(find_option(other) != nullptr);
    }
  }
  CHECK(find_option("engine") == nullptr);
}

}  // namespace
}  // namespace pinfold::sim
