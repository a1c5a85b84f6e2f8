#include "sim/config/resolved_config.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sim/config/json_writer.h"
#include "sim/config/option.h"

namespace pinfold::sim {
namespace {

constexpr std::string_view kDraft07 = "http://json-schema.org/draft-07/schema#";

/// Calls `option(option)` for each, with `open(section)` and `close()` around those of a section.
template <class Open, class Close, class Each>
void for_each_by_section(Open open, Close close, Each each) {
  std::string_view section;
  for (const Option& option : all_options()) {
    if (option.section() != section) {
      if (!section.empty()) close();
      section = option.section();
      if (!section.empty()) open(section);
    }
    each(option);
  }
  if (!section.empty()) close();
}

struct SchemaOfKind {
  JsonWriter& json;

  void range(std::string_view type, std::uint64_t least, std::uint64_t most) const {
    json.key("type").string(type);
    json.key("minimum").integer(least);
    json.key("maximum").integer(most);
  }
  void operator()(const IntegerOption& kind) const { range("integer", kind.least, kind.most); }
  void operator()(const DecimalOption& kind) const { range("number", kind.least, kind.most); }
  void operator()(const MicrosecondOption& kind) const { range("number", 0, kind.most_us); }
  void operator()(const ChoiceOption& kind) const {
    json.key("type").string("string");
    json.key("enum").open_array();
    for (const std::string_view word : kind.words) json.string(word);
    json.close();
  }
  void operator()(const BooleanOption&) const { json.key("type").string("boolean"); }
  void operator()(const ListOption& kind) const {
    json.key("type").string("array");
    json.key("items").open_object();
    range("integer", kind.least, kind.most);
    json.close();
  }
  void operator()(const TextOption&) const { json.key("type").string("string"); }
};

std::string documentation(const Option& option) {
  std::string text(option.description);
  if (!option.unit.empty()) text += fmt::format(" Unit: {}.", option.unit);
  if (option.condition)
    text += fmt::format(" Has an effect only where {}.", option.condition->text);
  return text;
}

}  // namespace

std::string resolved_json(const RunConfig& config) {
  JsonWriter json;
  json.open_object();
  for_each_by_section([&](std::string_view section) { json.key(section).open_object(); },
                      [&] { json.close(); },
                      [&](const Option& option) {
                        if (!option.has_effect(config)) return;
                        json.key(option.name()).number(value_text(option, config));
                      });
  json.close();
  return json.finish();
}

std::string config_digest(const RunConfig& config) {
  const std::string dump = resolved_json(config);
  return fmt::format("{:016x}", XXH3_64bits(dump.data(), dump.size()));
}

std::string config_schema() {
  const RunConfig defaults;
  JsonWriter json;
  const auto open_properties = [&] {
    json.key("type").string("object");
    json.key("additionalProperties").boolean(false);
    json.key("properties").open_object();
  };
  json.open_object();
  json.key("$schema").string(kDraft07);
  json.key("title").string("Pinfold run configuration");
  open_properties();
  json.key("$schema").open_object();
  json.key("type").string("string");
  json.close();
  json.key("include").open_object();
  json.key("description")
      .string(
          "Files that this one is built on and beats; paths relative to it. No two of them may "
          "set the same option, and none may include others.");
  json.key("type").string("array");
  json.key("items").open_object();
  json.key("type").string("string");
  json.close();
  json.close();
  for_each_by_section(
      [&](std::string_view section) {
        json.key(section).open_object();
        open_properties();
      },
      [&] {
        json.close();
        json.close();
      },
      [&](const Option& option) {
        json.key(option.name()).open_object();
        json.key("description").string(documentation(option));
        std::visit(SchemaOfKind{json}, option.kind);
        json.key("default").number(value_text(option, defaults));
        json.close();
      });
  json.close();
  json.close();
  return json.finish();
}

}  // namespace pinfold::sim
