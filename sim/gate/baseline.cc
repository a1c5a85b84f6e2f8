#include "sim/gate/baseline.h"

#include <algorithm>

#include "sim/config/json_object.h"
#include "sim/config/json_writer.h"
#include "sim/config/parse.h"
#include "sim/config/resolved_config.h"

namespace pinfold::sim {
namespace {

using Kind = JsonValue::Kind;

constexpr std::string_view kMark = "pinfold_baseline";
constexpr std::uint64_t kFormat = 1;

void write(JsonWriter& json, const JsonValue& value) {
  switch (value.kind) {
    case Kind::kNull: return json.null();
    case Kind::kBoolean: return json.boolean(value.text == "true");
    case Kind::kNumber: return json.number(value.text);
    case Kind::kString: return json.string(value.text);
    case Kind::kArray:
      json.open_array();
      for (const JsonValue& item : value.items) write(json, item);
      return json.close();
    case Kind::kObject:
      json.open_object();
      for (const JsonMember& member : value.members) {
        json.key(member.key);
        write(json, member.value);
      }
      return json.close();
  }
}

void add_figure(std::vector<ReportField>& figures, std::string name, const JsonValue& value) {
  ReportField::Kind kind = ReportField::Kind::kNone;
  if (value.kind == Kind::kString) kind = ReportField::Kind::kText;
  if (value.kind == Kind::kNumber || value.kind == Kind::kBoolean)
    kind = ReportField::Kind::kNumber;
  figures.push_back({std::move(name), kind, kind == ReportField::Kind::kNone ? "" : value.text});
}

bool is_scalar(const JsonValue& value) {
  return value.kind != Kind::kArray && value.kind != Kind::kObject;
}

void add_figures(std::vector<ReportField>& figures, const std::string& place,
                 const JsonValue& object) {
  for (const JsonMember& member : object.members) {
    if (is_scalar(member.value)) add_figure(figures, place + member.key, member.value);
    add_figures(figures, place + member.key + ".", member.value);
  }
}

/// Where the run was made, which says nothing about it.
bool is_place(const ReportField& figure) {
  return figure.name == "version" || figure.name == "trace" || figure.name == "device.source";
}

}  // namespace

std::string baseline_json(const RunConfig& config, const Provenance& provenance,
                          std::vector<ReportField> figures) {
  figures.erase(std::remove_if(figures.begin(), figures.end(), is_place), figures.end());
  JsonWriter json;
  json.open_object();
  json.key(kMark).integer(kFormat);
  json.key("version").string(provenance.version);
  json.key("trace_digest").string(provenance.trace_digest);
  json.key("config");
  write(json, parse_json(resolved_json(config), "the configuration").value());
  json.key("figures").open_object();
  for (const ReportField& figure : figures) {
    json.key(figure.name);
    switch (figure.kind) {
      case ReportField::Kind::kNumber: json.number(figure.text); break;
      case ReportField::Kind::kText: json.string(figure.text); break;
      case ReportField::Kind::kNone: json.null(); break;
    }
  }
  json.close();
  json.close();
  return json.finish();
}

Outcome<Baseline> parse_baseline(std::string_view text, const std::string& path) {
  const Outcome<JsonValue> document = parse_json(text, path);
  if (!document) return document.error();
  if (!is_baseline(document.value())) {
    InputError error;
    error.path = path;
    error.found = "no baseline";
    error.expected = "a file that `pinfold check --accept` wrote";
    return error;
  }
  JsonMistake mistake{path, {}};
  JsonObject object(document.value(), "", mistake);
  Baseline baseline;
  object.integer(kMark, kFormat, kFormat);
  baseline.version = object.text("version");
  baseline.trace_digest = object.text("trace_digest");
  const JsonValue& config = object.member("config");
  const JsonValue& figures = object.member("figures");
  object.refuse_others();
  if (!mistake.error && figures.kind != Kind::kObject) {
    mistake.note(figures, "figures", "an object with a value for each figure");
  }
  for (const JsonMember& member : figures.members) {
    if (mistake.error || is_scalar(member.value)) continue;
    mistake.note(member.value, "figures." + member.key, "a number, a text or null");
  }
  if (mistake.error) return *mistake.error;
  ConfigSources sources;
  sources.documents.push_back({path, config});
  Outcome<LoadedConfig> loaded = load_config(sources);
  if (!loaded) return loaded.error();
  baseline.config = std::move(loaded.value().config);
  for (const JsonMember& member : figures.members) {
    add_figure(baseline.figures, member.key, member.value);
  }
  return baseline;
}

bool is_baseline(const JsonValue& document) {
  return std::any_of(document.members.begin(), document.members.end(),
                     [](const JsonMember& member) { return member.key == kMark; });
}

std::vector<ReportField> figures_of(const JsonValue& object) {
  std::vector<ReportField> figures;
  add_figures(figures, "", object);
  return figures;
}

}  // namespace pinfold::sim
