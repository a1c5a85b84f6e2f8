#include "sim/gate/suite.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "sim/trace/closest_word.h"
#include "sim/trace/read_file.h"

namespace pinfold::sim {
namespace {

using Kind = JsonValue::Kind;

constexpr std::array<std::string_view, 2> kSuiteMembers{"about", "checks"};
constexpr std::array<std::string_view, 7> kCheckMembers{"name",    "trace",    "config",   "set",
                                                        "require", "baseline", "tolerance"};

class SuiteReader {
 public:
  SuiteReader(const std::string& path, Suite& suite) : path_(path), suite_(suite) {}

  void read(const JsonValue& document) {
    if (document.kind != Kind::kObject) {
      return note(document, "", "an object with the member \"checks\"");
    }
    refuse_others(document, "", kSuiteMembers);
    const JsonValue* const checks = find(document, "checks");
    if (checks == nullptr) {
      return note(document.position, "checks", "nothing", "an array of checks");
    }
    if (checks->kind != Kind::kArray || checks->items.empty()) {
      return note(*checks, "checks", "an array of one or more checks");
    }
    for (std::size_t i = 0; i < checks->items.size(); ++i) {
      read_check(checks->items[i], fmt::format("checks[{}]", i));
    }
  }

 private:
  static const JsonValue* find(const JsonValue& object, std::string_view key) {
    const auto found = std::find_if(object.members.begin(), object.members.end(),
                                    [key](const JsonMember& member) { return member.key == key; });
    return found == object.members.end() ? nullptr : &found->value;
  }

  void note(const TextPosition& position, std::string key, std::string found, std::string expected,
            std::string hint = {}) {
    suite_.errors.push_back({path_, position.line, position.column, std::move(key),
                             std::move(found), std::move(expected), std::move(hint)});
  }
  void note(const JsonValue& value, std::string key, std::string expected) {
    note(value.position, std::move(key), shown(value), std::move(expected));
  }
  /// A mistake inside a member's text.
  void note(const JsonValue& value, const std::string& key, const InputError& error) {
    const std::string place = error.key.starts_with("column ") ? ", " + error.key : "";
    note(value.position, key + place, error.found, error.expected, error.hint);
  }

  void refuse_others(const JsonValue& object, const std::string& place,
                     std::span<const std::string_view> known) {
    for (const JsonMember& member : object.members) {
      if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
      const auto close = closest_word(member.key, known);
      note(member.position, place.empty() ? member.key : place + "." + member.key,
           "an unknown member", fmt::format("one of {}", fmt::join(known, ", ")),
           close ? fmt::format("did you mean {}?", *close) : "");
    }
  }

  std::string beside(const std::string& name) const {
    return (std::filesystem::path(path_).parent_path() / name).lexically_normal().string();
  }

  void read_check(const JsonValue& value, const std::string& place) {
    if (value.kind != Kind::kObject) return note(value, place, "a check: an object");
    refuse_others(value, place, kCheckMembers);
    const std::size_t errors_before = suite_.errors.size();
    CheckSpec check;
    check.place = path_ + ": " + place;
    check.name = text(value, place, "name", "a name");
    for (const CheckSpec& other : suite_.checks) {
      if (!check.name.empty() && other.name == check.name) {
        note(*find(value, "name"), place + ".name", "each name once");
      }
    }
    const std::string trace = text(value, place, "trace", "the path of a request trace");
    if (!trace.empty()) check.trace = beside(trace);
    if (const JsonValue* config = find(value, "config")) {
      read_config(*config, place + ".config", check);
    }
    if (const JsonValue* set = find(value, "set")) read_set(*set, place + ".set", check);
    if (const JsonValue* require = find(value, "require")) {
      read_list(*require, place + ".require", check.requirements, parse_requirements);
    }
    if (const JsonValue* tolerance = find(value, "tolerance")) {
      read_list(*tolerance, place + ".tolerance", check.tolerances, parse_tolerances);
    }
    if (find(value, "baseline") != nullptr) {
      check.baseline = beside(text(value, place, "baseline", "the path of a baseline"));
    }
    if (find(value, "require") == nullptr && !check.baseline) {
      note(value.position, place, "neither \"require\" nor \"baseline\"", "one of them, or both");
    }
    if (check.baseline == std::nullopt && !check.tolerances.empty()) {
      note(*find(value, "tolerance"), place + ".tolerance", "a baseline to be near to");
    }
    // After another mistake in this check it may be the same one again.
    if (suite_.errors.size() == errors_before) check_configuration(value, place, check);
    suite_.checks.push_back(std::move(check));
  }

  /// A text that must be there and not be empty.
  std::string text(const JsonValue& object, const std::string& place, const std::string& key,
                   const std::string& expected) {
    const JsonValue* const value = find(object, key);
    if (value == nullptr) {
      note(object.position, place + "." + key, "nothing", expected);
      return {};
    }
    if (value->kind == Kind::kString && !value->text.empty()) return value->text;
    note(*value, place + "." + key, expected);
    return {};
  }

  void read_config(const JsonValue& value, const std::string& key, CheckSpec& check) {
    if (value.kind != Kind::kArray) return read_document(value, key, check);
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      read_document(value.items[i], fmt::format("{}[{}]", key, i), check);
    }
  }

  void read_document(const JsonValue& value, const std::string& key, CheckSpec& check) {
    if (value.kind == Kind::kObject) {
      check.config.documents.push_back({path_, value});
      return;
    }
    if (value.kind != Kind::kString) {
      return note(value, key, "a configuration: an object, a path, or an array of these");
    }
    const std::string file = beside(value.text);
    const Outcome<std::string> content = read_file(file, "a configuration (JSON)");
    if (!content) return note(value.position, key, describe(content.error()), "");
    Outcome<JsonValue> document = parse_json(content.value(), file);
    if (!document) return note(value.position, key, describe(document.error()), "");
    check.config.documents.push_back({file, std::move(document.value())});
  }

  /// The options become a last document, so that --set beats them.
  void read_set(const JsonValue& value, const std::string& key, CheckSpec& check) {
    if (value.kind != Kind::kObject) {
      return note(value, key, "an object with a value for each option");
    }
    JsonValue document;
    document.kind = Kind::kObject;
    document.position = value.position;
    for (const JsonMember& member : value.members) {
      const Outcome<std::string> option =
          option_text(member.key, member.value, member.position, path_);
      if (option) {
        add_option(document, member);
      } else {
        note(member.value, key + "." + member.key, option.error());
      }
    }
    check.config.documents.push_back({path_, std::move(document)});
  }

  /// "engine.block_size" becomes member "block_size" of member "engine".
  static void add_option(JsonValue& document, JsonMember option) {
    JsonValue* place = &document;
    const std::size_t point = option.key.find('.');
    if (point != std::string::npos) {
      const std::string section = option.key.substr(0, point);
      option.key = option.key.substr(point + 1);
      const auto known = std::find_if(document.members.begin(), document.members.end(),
                                      [&](const JsonMember& one) { return one.key == section; });
      if (known != document.members.end()) {
        place = &known->value;
      } else {
        JsonValue object;
        object.kind = Kind::kObject;
        object.position = option.position;
        document.members.push_back({section, option.position, std::move(object)});
        place = &document.members.back().value;
      }
    }
    place->members.push_back(std::move(option));
  }

  /// A text, or an array of texts, each as the flag of the same name takes it.
  template <class T, class Parse>
  void read_list(const JsonValue& value, const std::string& key, std::vector<T>& place,
                 const Parse& parse) {
    const auto add = [&](const JsonValue& one, const std::string& where) {
      if (one.kind != Kind::kString) {
        return note(one, where, "a text, as behind the flag of this name, or an array of texts");
      }
      const Outcome<std::vector<T>> parsed = parse(one.text, where);
      if (!parsed) return note(one, where, parsed.error());
      place.insert(place.end(), parsed.value().begin(), parsed.value().end());
    };
    if (value.kind != Kind::kArray) return add(value, key);
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      add(value.items[i], fmt::format("{}[{}]", key, i));
    }
  }

  void check_configuration(const JsonValue& value, const std::string& place,
                           const CheckSpec& check) {
    const Outcome<LoadedConfig> loaded = load_config(check.config);
    if (loaded) return;
    const JsonValue* const config = find(value, "config");
    note((config == nullptr ? value : *config).position, place + ".config",
         describe(loaded.error()), "");
  }

  const std::string& path_;
  Suite& suite_;
};

}  // namespace

Suite read_suite(const std::string& path) {
  Suite suite;
  const Outcome<std::string> text = read_file(path, "a suite of checks (JSON)");
  if (!text) {
    suite.errors.push_back(text.error());
    return suite;
  }
  const Outcome<JsonValue> document = parse_json(text.value(), path);
  if (!document) {
    suite.errors.push_back(document.error());
    return suite;
  }
  SuiteReader(path, suite).read(document.value());
  return suite;
}

}  // namespace pinfold::sim
