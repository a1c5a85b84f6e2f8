#include "sim/sweep/sweep_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "sim/config/json_reader.h"
#include "sim/trace/closest_word.h"
#include "sim/trace/read_file.h"

namespace pinfold::sim {
namespace {

using Kind = JsonValue::Kind;

constexpr std::array<std::string_view, 10> kMembers{
    "learnt", "traces", "config", "grid", "linked", "list", "seeds", "hold", "figures", "front"};

/// A key of the grid, or nothing where it was wrong.
struct GridKey {
  std::string path;
  std::vector<std::string> values;
  const JsonMember* member = nullptr;
  bool taken = false;  // by a group of linked keys
};

class SweepFileReader {
 public:
  SweepFileReader(const std::string& path, SweepFile& result) : path_(path), result_(result) {}

  void read(const JsonValue& document) {
    if (document.kind != Kind::kObject) {
      return note(document, "", "an object with what to sweep");
    }
    for (const JsonMember& member : document.members) check_member(member);
    if (const JsonValue* value = find(document, "learnt")) read_learnt(*value);
    if (const JsonValue* value = find(document, "traces")) {
      read_traces(*value);
    } else {
      note(document, "traces", "an array of paths", "", "nothing");
    }
    if (const JsonValue* value = find(document, "config")) read_config(*value);
    if (const JsonValue* value = find(document, "grid")) read_grid(*value);
    if (const JsonValue* value = find(document, "linked")) read_linked(*value);
    for (const GridKey& key : grid_) add_axis(key);
    if (const JsonValue* value = find(document, "list")) read_list(*value);
    if (const JsonValue* value = find(document, "seeds")) read_seeds(*value);
    if (const JsonValue* value = find(document, "hold")) read_hold(*value);
    if (const JsonValue* value = find(document, "figures")) {
      read_figures(*value, "figures", result_.spec.figures);
    }
    if (const JsonValue* value = find(document, "front")) {
      read_figures(*value, "front", result_.spec.front);
    }
  }

 private:
  static const JsonValue* find(const JsonValue& object, std::string_view key) {
    for (const JsonMember& member : object.members) {
      if (member.key == key) return &member.value;
    }
    return nullptr;
  }

  void note(const TextPosition& position, std::string key, std::string found, std::string expected,
            std::string hint = {}) {
    result_.errors.push_back(InputError{.path = path_,
                                        .line = position.line,
                                        .column = position.column,
                                        .key = std::move(key),
                                        .found = std::move(found),
                                        .expected = std::move(expected),
                                        .hint = std::move(hint)});
  }
  void note(const JsonValue& value, std::string key, std::string expected, std::string hint = {},
            std::string found = {}) {
    note(value.position, std::move(key), found.empty() ? shown(value) : std::move(found),
         std::move(expected), std::move(hint));
  }
  void note(const InputError& error, std::string key) {
    InputError placed = error;
    placed.path = path_;
    placed.key = std::move(key);
    result_.errors.push_back(std::move(placed));
  }

  void check_member(const JsonMember& member) {
    if (std::find(kMembers.begin(), kMembers.end(), member.key) != kMembers.end()) return;
    const auto close = closest_word(member.key, kMembers);
    note(member.position, member.key, "an unknown member",
         fmt::format("one of {}", fmt::join(kMembers, ", ")),
         close ? fmt::format("did you mean {}?", *close) : "");
  }

  /// The items of an array that must have some; none after a mistake.
  const std::vector<JsonValue>& items(const JsonValue& value, const std::string& key,
                                      const std::string& expected) {
    static const std::vector<JsonValue> kNone;
    if (value.kind != Kind::kArray) {
      note(value, key, expected);
      return kNone;
    }
    if (value.items.empty()) note(value, key, expected, "", "an empty array");
    return value.items;
  }

  /// Paths in the file are relative to it.
  std::string beside(const std::string& name) const {
    return (std::filesystem::path(path_).parent_path() / name).lexically_normal().string();
  }

  void read_learnt(const JsonValue& value) {
    if (value.kind == Kind::kString) {
      result_.spec.learnt = value.text;
      return;
    }
    const std::string expected = "a text, or an array of its lines";
    const std::vector<JsonValue>& lines = items(value, "learnt", expected);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].kind != Kind::kString) {
        return note(lines[i], fmt::format("learnt[{}]", i), "a line of text");
      }
      result_.spec.learnt += (i > 0 ? "\n" : "") + lines[i].text;
    }
  }

  void read_traces(const JsonValue& value) {
    const std::vector<JsonValue>& paths = items(value, "traces", "an array of paths");
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const std::string key = fmt::format("traces[{}]", i);
      if (paths[i].kind != Kind::kString || paths[i].text.empty()) {
        note(paths[i], key, "the path of a request trace");
        continue;
      }
      bool known = false;
      for (const SweepTrace& trace : result_.spec.traces) known |= trace.name == paths[i].text;
      if (known) note(paths[i], key, "each trace once");
      std::error_code unknown;
      if (std::filesystem::status(beside(paths[i].text), unknown).type() ==
          std::filesystem::file_type::not_found) {
        note(paths[i].position, key, "no file of this name", "a request trace",
             fmt::format("looked for {}", beside(paths[i].text)));
      }
      result_.spec.traces.push_back({paths[i].text, beside(paths[i].text)});
    }
  }

  void read_config(const JsonValue& value) {
    if (value.kind != Kind::kArray) return read_document(value, "config");
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      read_document(value.items[i], fmt::format("config[{}]", i));
    }
  }

  void read_document(const JsonValue& value, const std::string& key) {
    std::vector<ConfigDocument>& documents = result_.spec.base.documents;
    if (value.kind == Kind::kObject) {
      documents.push_back({path_, value});
      return;
    }
    if (value.kind != Kind::kString) {
      return note(value, key, "a configuration: an object, a path, or an array of these");
    }
    const std::string file = beside(value.text);
    const Outcome<std::string> text = read_file(file, "a configuration (JSON)");
    if (!text) return note(value.position, key, describe(text.error()), "");
    const Outcome<JsonValue> document = parse_json(text.value(), file);
    if (!document) {
      result_.errors.push_back(document.error());
      return;
    }
    if (document.value().kind != Kind::kObject) {
      return note(value.position, key, file + ", which is no object", "a configuration");
    }
    documents.push_back({file, document.value()});
  }

  /// The value as a flag says it; nothing after a mistake.
  std::optional<std::string> value_of(const std::string& path, const JsonValue& value,
                                      const TextPosition& key_position, const std::string& key) {
    const Outcome<std::string> text = option_text(path, value, key_position, path_);
    if (text) return text.value();
    note(text.error(), key);
    return std::nullopt;
  }

  void read_grid(const JsonValue& value) {
    if (value.kind != Kind::kObject) {
      return note(value, "grid", "an object with an array of values for each option");
    }
    if (value.members.empty()) return note(value, "grid", "at least one option", "", "no option");
    for (const JsonMember& member : value.members) read_grid_key(member);
  }

  void read_grid_key(const JsonMember& member) {
    const std::string key = fmt::format("grid.{}", member.key);
    GridKey grid;
    grid.path = member.key;
    grid.member = &member;
    // An unknown option is said once, not for each of its values.
    const std::size_t errors = result_.errors.size();
    const std::vector<JsonValue>& values = items(member.value, key, "an array of values");
    for (std::size_t i = 0; i < values.size() && result_.errors.size() == errors; ++i) {
      const std::string place = fmt::format("{}[{}]", key, i);
      const auto text = value_of(member.key, values[i], member.position, place);
      if (!text) break;
      if (std::find(grid.values.begin(), grid.values.end(), *text) != grid.values.end()) {
        note(values[i], place, "each value once");
      }
      grid.values.push_back(*text);
    }
    grid_.push_back(std::move(grid));
  }

  void read_linked(const JsonValue& value) {
    const std::string expected = "an array of groups of keys of the grid";
    const std::vector<JsonValue>& groups = items(value, "linked", expected);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      read_group(groups[i], fmt::format("linked[{}]", i));
    }
  }

  void read_group(const JsonValue& value, const std::string& place) {
    const std::string expected = "an array of two or more keys of the grid";
    if (value.kind != Kind::kArray || value.items.size() < 2) {
      return note(value, place, expected);
    }
    std::vector<const GridKey*> keys;
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const JsonValue& item = value.items[i];
      const std::string key = fmt::format("{}[{}]", place, i);
      GridKey* found = nullptr;
      for (GridKey& candidate : grid_) {
        if (item.kind == Kind::kString && candidate.path == item.text) found = &candidate;
      }
      if (found == nullptr) return note(item, key, "a key of the grid");
      if (found->taken) return note(item, key, "each key in one group, once");
      found->taken = true;
      if (found->values.size() != found->member->value.items.size()) return;  // has been said
      if (!keys.empty() && keys[0]->values.size() != found->values.size()) {
        return note(
            item, key,
            fmt::format("as many values as {} has, {}", keys[0]->path, keys[0]->values.size()), "",
            fmt::format("{} values of {}", found->values.size(), found->path));
      }
      keys.push_back(found);
    }
    linked_.push_back(keys);
  }

  /// The axes keep the grid's order: a group stands where its first key does.
  void add_axis(const GridKey& key) {
    std::vector<const GridKey*> keys;
    if (!key.taken) keys.push_back(&key);
    for (const std::vector<const GridKey*>& group : linked_) {
      if (group.front() == &key) keys = group;
    }
    if (keys.empty()) return;
    SweepAxis axis;
    for (const GridKey* one : keys) axis.name += (axis.name.empty() ? "" : "+") + one->path;
    for (std::size_t i = 0; i < key.values.size(); ++i) {
      std::vector<Setting> step;
      step.reserve(keys.size());
      for (const GridKey* one : keys) step.push_back({one->path, one->values[i]});
      axis.steps.push_back(std::move(step));
    }
    result_.spec.axes.push_back(std::move(axis));
  }

  void read_list(const JsonValue& value) {
    SweepAxis axis;
    axis.name = "list";
    const std::vector<JsonValue>& entries = items(value, "list", "an array of settings");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::string place = fmt::format("list[{}]", i);
      if (entries[i].kind != Kind::kObject) {
        note(entries[i], place, "an object with a value for each option");
        continue;
      }
      std::vector<Setting> step;
      for (const JsonMember& member : entries[i].members) {
        const std::string key = fmt::format("{}.{}", place, member.key);
        const auto text = value_of(member.key, member.value, member.position, key);
        if (text) step.push_back({member.key, *text});
      }
      if (step.size() != entries[i].members.size()) continue;
      if (std::find(axis.steps.begin(), axis.steps.end(), step) != axis.steps.end()) {
        note(entries[i], place, "each entry once", "", "the same settings again");
      }
      axis.steps.push_back(std::move(step));
    }
    result_.spec.axes.push_back(std::move(axis));
  }

  void read_seeds(const JsonValue& value) {
    const std::vector<JsonValue>& seeds = items(value, "seeds", "an array of integers");
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      const std::string place = fmt::format("seeds[{}]", i);
      const auto text = value_of("seed", seeds[i], seeds[i].position, place);
      if (!text) continue;
      std::vector<std::string>& known = result_.spec.seeds;
      if (std::find(known.begin(), known.end(), *text) != known.end()) {
        note(seeds[i], place, "each seed once");
      }
      known.push_back(*text);
    }
  }

  void read_hold(const JsonValue& value) {
    const bool word = value.kind == Kind::kString;
    if (word && value.text == "memory") {
      result_.spec.hold = Hold::kMemory;
    } else if (word && value.text == "blocks") {
      result_.spec.hold = Hold::kBlocks;
    } else {
      note(value, "hold", "\"memory\" or \"blocks\"");
    }
  }

  void read_figures(const JsonValue& value, const std::string& member,
                    std::vector<std::string>& figures) {
    const std::vector<JsonValue>& names = items(value, member, "an array of figures");
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string place = fmt::format("{}[{}]", member, i);
      if (names[i].kind != Kind::kString) {
        note(names[i], place, "the name of a figure");
        continue;
      }
      if (auto error = check_figure(names[i].text)) {
        error->line = names[i].position.line;
        error->column = names[i].position.column;
        note(*error, place);
      } else if (std::find(figures.begin(), figures.end(), names[i].text) != figures.end()) {
        note(names[i], place, "each figure once");
      }
      figures.push_back(names[i].text);
    }
  }

  const std::string& path_;
  SweepFile& result_;
  std::vector<GridKey> grid_;
  std::vector<std::vector<const GridKey*>> linked_;
};

}  // namespace

SweepFile read_sweep_file(const std::string& path) {
  SweepFile result;
  const Outcome<std::string> text = read_file(path, "a sweep (JSON)");
  if (!text) {
    result.errors.push_back(text.error());
    return result;
  }
  const Outcome<JsonValue> document = parse_json(text.value(), path);
  if (!document) {
    result.errors.push_back(document.error());
    return result;
  }
  SweepFileReader(path, result).read(document.value());
  for (InputError& error : check_spec(result.spec, path)) {
    // Where something was wrong nothing may be left that varies.
    if (error.key.empty() && !result.errors.empty()) continue;
    result.errors.push_back(std::move(error));
  }
  return result;
}

}  // namespace pinfold::sim
