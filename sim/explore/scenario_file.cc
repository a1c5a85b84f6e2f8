#include "sim/explore/scenario_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "sim/config/decimal_text.h"
#include "sim/config/json_object.h"
#include "sim/config/json_writer.h"
#include "sim/config/option.h"
#include "sim/config/parse.h"
#include "sim/trace/closest_word.h"
#include "sim/trace/read_file.h"

namespace pinfold::sim {
namespace {

constexpr std::uint32_t kTokensMost = 1u << 20;
constexpr std::uint64_t kCountMost = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t kNanosecondsPerMillisecond = 1'000'000;
constexpr std::uint64_t kMillisecondsMost = 1'000'000'000;  // 11 days
constexpr std::uint32_t kDraftsMost = 8;
constexpr std::size_t kRequestsMost = 10'000;
constexpr std::size_t kNameMost = 32;

constexpr std::array kFaultKinds{FaultKind::kStepFailed, FaultKind::kStepLost, FaultKind::kCopyLost,
                                 FaultKind::kCopyDelay};
constexpr std::array kFreeFaults{FaultKind::kStepFailed, FaultKind::kStepLost, FaultKind::kCopyLost,
                                 FaultKind::kTransferLost};
constexpr std::array<std::string_view, 5> kVerdicts{"proved", "violation", "stall", "cycle",
                                                    "bounded"};

std::string one_of(std::span<const std::string_view> words) {
  return fmt::format("one of {}", fmt::join(words, ", "));
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::optional<std::string_view> close = closest_word(word, candidates);
  return close ? fmt::format("did you mean {}?", *close) : std::string();
}

bool is_name(std::string_view name) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return !name.empty() && name.size() <= kNameMost &&
         name.find_first_not_of(kLetters) == std::string_view::npos;
}

/// Whether somebody gave a configuration for a scenario: no member of it but an option's section, and those.
bool is_configuration(const JsonValue& document) {
  if (document.kind != JsonValue::Kind::kObject || document.members.empty()) return false;
  const std::span<const Option> options = all_options();
  return std::all_of(
      document.members.begin(), document.members.end(), [&](const JsonMember& member) {
        return member.key == "include" || member.key == "$schema" ||
               std::any_of(options.begin(), options.end(), [&](const Option& option) {
                 return option.section() == member.key || option.path == member.key;
               });
      });
}

class ScenarioReader {
 public:
  ScenarioReader(const std::string& path, std::span<const std::string> overrides)
      : overrides_(overrides) {
    mistake_.file = path;
    scenario_.path = path;
  }

  Outcome<Scenario> read(const JsonValue& document) {
    JsonObject root(document, "", mistake_);
    if (is_configuration(document)) {
      mistake_.note(document, "", "a scenario", "--config takes it, beside a trace");
      mistake_.error->found = "a configuration";
    }
    scenario_.story = root.text("story");
    if (root.has("source")) {
      read_texts(root.array("source"), "source", scenario_.sources);
    }
    const JsonValue& config = root.member("config");
    if (!mistake_.error) {
      Outcome<RunConfig> parsed = parse_config(config, mistake_.file, overrides_);
      if (!parsed) {
        InputError error = parsed.error();
        if (!error.key.empty() && error.key != "config") error.key = "config." + error.key;
        return error;
      }
      scenario_.config = std::move(parsed.value());
    }
    read_requests(root.array("requests"), root.member("requests"));
    if (root.has("faults")) read_faults(root.array("faults"));
    if (root.has("explore")) read_explore(root.member("explore"));
    if (root.has("expect")) read_expect(root.member("expect"));
    root.refuse_others();
    if (mistake_.error) return *mistake_.error;
    return std::move(scenario_);
  }

 private:
  void read_texts(const std::vector<JsonValue>& items, const std::string& path,
                  std::vector<std::string>& texts) {
    for (const JsonValue& item : items) {
      if (item.kind != JsonValue::Kind::kString) {
        mistake_.note(item, fmt::format("{}[{}]", path, texts.size()), "a string");
        return;
      }
      texts.push_back(item.text);
    }
  }

  // --- requests -----------------------------------------------------------------------------------

  void read_requests(const std::vector<JsonValue>& items, const JsonValue& array) {
    if (items.empty() || items.size() > kRequestsMost) {
      mistake_.note(array, "requests", fmt::format("from 1 to {} requests", kRequestsMost));
    }
    for (const JsonValue& item : items) {
      if (mistake_.error) return;
      read_request(item);
    }
  }

  void read_request(const JsonValue& item) {
    const std::string path = fmt::format("requests[{}]", scenario_.requests.size());
    JsonObject object(item, path, mistake_);
    ScenarioRequest asked;
    TraceRequest& request = asked.request;
    asked.name = read_new_name(object);
    if (object.has("arrive_ms")) request.arrival_ns = nanoseconds(object, "arrive_ms");
    if (!scenario_.requests.empty() &&
        request.arrival_ns < scenario_.requests.back().request.arrival_ns) {
      mistake_.note(object.member("arrive_ms"), object.path_of("arrive_ms"),
                    "requests in order of arrival");
    }
    request.prompt = count(object, "prompt", 1, kTokensMost);
    const bool known = scenario_.config.workload.stop == StopMode::kKnown;
    if (object.has("limit")) request.limit = count(object, "limit", 1, kTokensMost);
    if (object.has("output") || request.limit == 0) {
      request.output = count(object, "output", 0, kTokensMost);
    } else {
      request.output = request.limit;
    }
    if (request.limit != 0 && known && request.limit != request.output) {
      mistake_.note(object.member("limit"), object.path_of("limit"),
                    "no other limit than the output where workload.stop is known");
    }
    if (request.limit != 0 && request.output > request.limit) {
      mistake_.note(object.member("output"), object.path_of("output"),
                    fmt::format("at most the limit of {}", request.limit));
    }
    asked.drafts = scenario_.config.workload.drafts;
    if (object.has("drafts")) {
      asked.drafts = count(object, "drafts", 0, kDraftsMost);
      if (asked.drafts > scenario_.config.workload.drafts) {
        mistake_.note(
            object.member("drafts"), object.path_of("drafts"),
            fmt::format("at most workload.drafts = {}", scenario_.config.workload.drafts));
      }
    }
    if (object.has("accepted")) {
      for (const std::uint64_t drafts : object.integers("accepted", 0, asked.drafts)) {
        request.accepted.push_back(static_cast<std::uint8_t>(drafts));
      }
    }
    if (object.has("samples")) request.samples = count(object, "samples", 1, 64);
    if (object.has("priority")) request.priority = count(object, "priority", 0, kCountMost);
    read_fork(object, request);
    if (object.has("prefix_ids")) read_prefix(object, request);
    if (object.has("abort_at_ms")) {
      request.abort_ns = nanoseconds(object, "abort_at_ms");
      if (request.abort_ns < request.arrival_ns) {
        mistake_.note(object.member("abort_at_ms"), object.path_of("abort_at_ms"),
                      "a time after its arrival");
      }
    }
    object.refuse_others();
    scenario_.requests.push_back(std::move(asked));
  }

  void read_fork(JsonObject& object, TraceRequest& request) {
    if (!object.has("fork_of")) {
      if (object.has("fork_at")) {
        mistake_.note(object.member("fork_at"), object.path_of("fork_at"),
                      "it only beside fork_of");
      }
      return;
    }
    request.fork_of = request_named(object.member("fork_of"), object.path_of("fork_of"));
    if (object.has("fork_at")) request.fork_at = count(object, "fork_at", 0, kTokensMost);
    if (request.samples > 1) {
      mistake_.note(object.member("samples"), object.path_of("samples"), "1 where it is a fork");
    }
  }

  // One id for each block of the prompt from its beginning; the last block may hold fewer tokens.
  void read_prefix(JsonObject& object, TraceRequest& request) {
    request.prefix_ids = object.integers("prefix_ids", 0, kCountMost);
    if (mistake_.error) return;
    const auto refuse = [&](const std::string& expected) {
      mistake_.note(object.member("prefix_ids"), object.path_of("prefix_ids"), expected);
    };
    if (!scenario_.config.prefix.reuse) refuse("it only where prefix.reuse is on");
    const std::uint64_t most = (std::uint64_t{request.prompt} - 1) / block_size() + 1;
    if (request.prefix_ids.empty() || request.prefix_ids.size() > most) {
      refuse(fmt::format("from 1 to {} ids: the prompt has so many blocks of {} tokens", most,
                         block_size()));
    }
  }
  std::uint32_t block_size() const { return scenario_.config.engine.block_size; }

  std::string read_new_name(JsonObject& object) {
    const std::string name = object.text("name");
    if (mistake_.error) return name;
    const auto wrong = [&](const std::string& expected) {
      mistake_.note(object.member("name"), object.path_of("name"), expected);
    };
    if (!is_name(name)) wrong("1 to 32 letters, digits, _, - or .");
    for (const ScenarioRequest& other : scenario_.requests) {
      if (other.name == name) wrong("a name that no other request has");
    }
    return name;
  }

  /// Number of a request that stands before.
  std::size_t request_named(const JsonValue& value, const std::string& path) {
    std::vector<std::string_view> names;
    for (std::size_t n = 0; n < scenario_.requests.size(); ++n) {
      const std::string& name = scenario_.requests[n].name;
      if (value.kind == JsonValue::Kind::kString && value.text == name) return n;
      names.push_back(name);
    }
    mistake_.note(value, path, "the name of a request before it", did_you_mean(value.text, names));
    return 0;
  }

  std::uint32_t count(JsonObject& object, std::string_view key, std::uint64_t least,
                      std::uint64_t most) {
    return static_cast<std::uint32_t>(object.integer(key, least, most));
  }

  std::int64_t nanoseconds(JsonObject& object, std::string_view key) {
    const JsonValue& value = object.member(key);
    const std::optional<Rational> ms =
        value.kind == JsonValue::Kind::kNumber ? parse_decimal(value.text) : std::nullopt;
    if (ms && ms->numerator / ms->denominator <= kMillisecondsMost &&
        kNanosecondsPerMillisecond % static_cast<std::int64_t>(ms->denominator) == 0) {
      return static_cast<std::int64_t>(ms->numerator) *
             (kNanosecondsPerMillisecond / static_cast<std::int64_t>(ms->denominator));
    }
    mistake_.note(value, object.path_of(key),
                  fmt::format("milliseconds from 0 to {}, whole nanoseconds", kMillisecondsMost));
    return 0;
  }

  // --- faults and freedom -------------------------------------------------------------------------

  FaultKind fault_named(const JsonValue& value, const std::string& word, const std::string& path,
                        std::span<const FaultKind> kinds) {
    std::vector<std::string_view> names;
    for (const FaultKind kind : kinds) {
      if (word == name_of(kind)) return kind;
      names.emplace_back(name_of(kind));
    }
    mistake_.note(value, path, one_of(names), did_you_mean(word, names));
    return FaultKind::kStepFailed;
  }

  void read_faults(const std::vector<JsonValue>& items) {
    for (const JsonValue& item : items) {
      JsonObject object(item, fmt::format("faults[{}]", scenario_.faults.size()), mistake_);
      Fault fault;
      const std::string kind = object.text("kind");
      if (mistake_.error) return;
      fault.kind = fault_named(object.member("kind"), kind, object.path_of("kind"), kFaultKinds);
      fault.step = object.integer("step", 1, kCountMost);
      if (fault.kind == FaultKind::kCopyDelay) fault.delay_ns = nanoseconds(object, "delay_ms");
      object.refuse_others();
      if (mistake_.error) return;
      scenario_.faults.push_back(fault);
    }
  }

  Freedom freedom(JsonObject& object, std::string_view key, std::string_view any) {
    if (!object.has(key)) return Freedom::kGiven;
    const std::string word = object.text(key);
    if (word == any) return Freedom::kAny;
    const std::array<std::string_view, 2> words{any, "given"};
    if (word != "given") {
      mistake_.note(object.member(key), object.path_of(key), one_of(words),
                    did_you_mean(word, words));
    }
    return Freedom::kGiven;
  }

  void read_explore(const JsonValue& value) {
    JsonObject object(value, "explore", mistake_);
    ExploreOptions& explore = scenario_.explore;
    explore.arrivals = freedom(object, "arrivals", "any order");
    explore.stops = freedom(object, "stops", "any");
    if (explore.stops == Freedom::kAny && scenario_.config.workload.stop == StopMode::kKnown) {
      mistake_.note(object.member("stops"), "explore.stops", "given where workload.stop is known");
    }
    explore.rejections = freedom(object, "rejections", "any");
    if (object.has("aborts")) read_aborts(object.member("aborts"));
    if (object.has("faults")) {
      JsonObject faults = object.object("faults");
      for (const JsonMember& member : object.member("faults").members) {
        if (mistake_.error) return;
        const std::string path = faults.path_of(member.key);
        const FaultKind kind = fault_named(member.value, member.key, path, kFreeFaults);
        const std::uint64_t most = faults.integer(member.key, 0, 8);
        explore.faults.emplace_back(kind, static_cast<std::uint32_t>(most));
      }
    }
    object.refuse_others();
  }

  void read_aborts(const JsonValue& value) {
    ExploreOptions& explore = scenario_.explore;
    if (value.kind == JsonValue::Kind::kString && value.text == "any") {
      explore.abort_any = true;
      return;
    }
    if (value.kind != JsonValue::Kind::kArray) {
      mistake_.note(value, "explore.aborts", "\"any\" or an array of requests' names");
      return;
    }
    for (const JsonValue& item : value.items) {
      const std::string path = fmt::format("explore.aborts[{}]", explore.aborts.size());
      explore.aborts.push_back(request_named(item, path));
      if (mistake_.error) return;
    }
  }

  // --- expectations -------------------------------------------------------------------------------

  void read_expect(const JsonValue& value) {
    JsonObject object(value, "expect", mistake_);
    if (object.has("mutants")) {
      object.object("mutants");
      for (const JsonMember& mutant : object.member("mutants").members) {
        const std::string path = fmt::format("expect.mutants.{}", mutant.key);
        scenario_.mutants.emplace_back(mutant.key, expectation(mutant.value, path, true));
        if (mistake_.error) return;
      }
    }
    scenario_.expect = expectation(value, "expect", false);
  }

  Expectation expectation(const JsonValue& value, const std::string& path, bool of_mutant) {
    Expectation expect;
    JsonObject object(value, path, mistake_);
    for (const JsonMember& member : value.members) {
      if (mistake_.error) return expect;
      if (member.key == "mutants" && !of_mutant) continue;
      if (member.key == "check" && of_mutant) {
        expect.check = object.text("check");
      } else if (member.key == "explore") {
        expect.explore = exploration(member.value, object.path_of("explore"));
      } else if (member.value.kind == JsonValue::Kind::kObject) {
        for (const JsonMember& inner : member.value.members) {
          const std::string name = fmt::format("{}.{}", member.key, inner.key);
          expect.values.push_back(expected_value(inner.value, name, path));
        }
      } else {
        expect.values.push_back(expected_value(member.value, member.key, path));
      }
    }
    return expect;
  }

  ExpectedValue expected_value(const JsonValue& value, const std::string& name,
                               const std::string& path) {
    const bool text = value.kind == JsonValue::Kind::kString;
    const bool null = value.kind == JsonValue::Kind::kNull;
    if (!text && !null && value.kind != JsonValue::Kind::kNumber) {
      mistake_.note(value, fmt::format("{}.{}", path, name), "a number, a text or null");
    }
    if (name == "verdict") {
      constexpr std::array<std::string_view, 3> kRunVerdicts{"ok", "stall", "violation"};
      if (std::find(kRunVerdicts.begin(), kRunVerdicts.end(), value.text) == kRunVerdicts.end()) {
        mistake_.note(value, fmt::format("{}.{}", path, name), one_of(kRunVerdicts),
                      did_you_mean(value.text, kRunVerdicts));
      }
    }
    return {name, null ? std::string() : value.text, text};
  }

  ExpectedExploration exploration(const JsonValue& value, const std::string& path) {
    ExpectedExploration expected;
    JsonObject object(value, path, mistake_);
    if (object.has("verdict")) {
      expected.verdict = object.text("verdict");
      if (std::find(kVerdicts.begin(), kVerdicts.end(), *expected.verdict) == kVerdicts.end()) {
        mistake_.note(object.member("verdict"), object.path_of("verdict"), one_of(kVerdicts),
                      did_you_mean(*expected.verdict, kVerdicts));
      }
    }
    if (object.has("check")) expected.check = object.text("check");
    if (object.has("counterexample_events")) {
      expected.counterexample_events = object.integer("counterexample_events", 0, kCountMost);
    }
    object.refuse_others();
    return expected;
  }

  std::span<const std::string> overrides_;
  JsonMistake mistake_;
  Scenario scenario_;
};

}  // namespace

Outcome<Scenario> parse_scenario(std::string_view text, const std::string& path,
                                 std::span<const std::string> overrides) {
  const Outcome<JsonValue> document = parse_json(text, path);
  if (!document) return document.error();
  return parse_scenario(document.value(), path, overrides);
}

Outcome<Scenario> parse_scenario(const JsonValue& document, const std::string& path,
                                 std::span<const std::string> overrides) {
  return ScenarioReader(path, overrides).read(document);
}

Outcome<Scenario> read_scenario(const std::string& path, std::span<const std::string> overrides) {
  const Outcome<std::string> text = read_file(path, "a scenario (JSON)");
  if (!text) return text.error();
  return parse_scenario(text.value(), path, overrides);
}

// ---- writing ---------------------------------------------------------------------------------------

namespace {

/// An object's members as they come.
class Members {
 public:
  void add(std::string_view key, const std::string& value) {
    text_ += fmt::format("{}{}: {}", text_.empty() ? "" : ", ", json_string(key), value);
  }
  std::string object() const { return "{" + text_ + "}"; }
  bool empty() const { return text_.empty(); }

 private:
  std::string text_;
};

std::string config_text(const RunConfig& config) {
  const RunConfig defaults;
  Members sections;
  Members section;
  std::string_view name;
  const auto close = [&] {
    if (!section.empty()) sections.add(name, section.object());
    section = Members{};
  };
  for (const Option& option : all_options()) {
    if (option.section() != name) close();
    name = option.section();
    const std::string value = value_text(option, config);
    if (value == value_text(option, defaults) || !option.has_effect(config)) continue;
    if (name.empty()) {
      sections.add(option.name(), value);
    } else {
      section.add(option.name(), value);
    }
  }
  close();
  return sections.object();
}

std::string request_text(const Scenario& scenario, const ScenarioRequest& asked) {
  const TraceRequest& request = asked.request;
  Members members;
  members.add("name", json_string(asked.name));
  const auto milliseconds = [](std::int64_t ns) {
    return decimal_text(
        {static_cast<std::uint64_t>(ns), static_cast<std::uint64_t>(kNanosecondsPerMillisecond)});
  };
  if (request.arrival_ns != 0) members.add("arrive_ms", milliseconds(request.arrival_ns));
  members.add("prompt", std::to_string(request.prompt));
  if (request.output != request.limit || request.limit == 0)
    members.add("output", std::to_string(request.output));
  if (request.limit != 0) members.add("limit", std::to_string(request.limit));
  if (asked.drafts != scenario.config.workload.drafts) {
    members.add("drafts", std::to_string(asked.drafts));
  }
  if (!request.accepted.empty()) {
    members.add("accepted", fmt::format("[{}]", fmt::join(request.accepted, ", ")));
  }
  if (request.samples > 1) members.add("samples", std::to_string(request.samples));
  if (request.priority != 0) members.add("priority", std::to_string(request.priority));
  if (!request.prefix_ids.empty()) {
    members.add("prefix_ids", fmt::format("[{}]", fmt::join(request.prefix_ids, ", ")));
  }
  if (request.fork_of != kNoRequest) {
    members.add("fork_of", json_string(scenario.requests[request.fork_of].name));
    members.add("fork_at", std::to_string(request.fork_at));
  }
  if (request.abort_ns != kNeverNs) members.add("abort_at_ms", milliseconds(request.abort_ns));
  return members.object();
}

std::string explore_text(const Scenario& scenario) {
  const ExploreOptions& explore = scenario.explore;
  Members members;
  if (explore.arrivals == Freedom::kAny) members.add("arrivals", json_string("any order"));
  if (explore.stops == Freedom::kAny) members.add("stops", json_string("any"));
  if (explore.rejections == Freedom::kAny) members.add("rejections", json_string("any"));
  if (explore.abort_any) members.add("aborts", json_string("any"));
  if (!explore.aborts.empty()) {
    std::vector<std::string> names;
    for (const std::size_t n : explore.aborts)
      names.push_back(json_string(scenario.requests[n].name));
    members.add("aborts", fmt::format("[{}]", fmt::join(names, ", ")));
  }
  if (!explore.faults.empty()) {
    Members faults;
    for (const auto& [kind, most] : explore.faults) {
      faults.add(name_of(kind), std::to_string(most));
    }
    members.add("faults", faults.object());
  }
  return members.object();
}

}  // namespace

std::string scenario_text(const Scenario& scenario) {
  Members members;
  members.add("story", json_string(scenario.story));
  if (!scenario.sources.empty()) {
    std::vector<std::string> sources;
    for (const std::string& source : scenario.sources) sources.push_back(json_string(source));
    members.add("source", fmt::format("[{}]", fmt::join(sources, ", ")));
  }
  members.add("config", config_text(scenario.config));
  std::vector<std::string> requests;
  for (const ScenarioRequest& asked : scenario.requests) {
    requests.push_back(request_text(scenario, asked));
  }
  members.add("requests", fmt::format("[{}]", fmt::join(requests, ", ")));
  if (!scenario.faults.empty()) {
    std::vector<std::string> faults;
    for (const Fault& fault : scenario.faults) {
      Members one;
      one.add("kind", json_string(name_of(fault.kind)));
      one.add("step", std::to_string(fault.step));
      if (fault.kind == FaultKind::kCopyDelay) {
        one.add("delay_ms", decimal_text({static_cast<std::uint64_t>(fault.delay_ns),
                                          static_cast<std::uint64_t>(kNanosecondsPerMillisecond)}));
      }
      faults.push_back(one.object());
    }
    members.add("faults", fmt::format("[{}]", fmt::join(faults, ", ")));
  }
  if (const std::string explore = explore_text(scenario); explore != "{}") {
    members.add("explore", explore);
  }
  return members.object();
}

bool is_scenario_file(const std::string& path) {
  if (!path.ends_with(".json")) return false;
  const Outcome<std::string> text = read_file(path, "a scenario");
  if (!text) return true;  // whoever reads it says what is wrong
  const std::string_view start = std::string_view(text.value()).substr(0, 64 * 1024);
  const auto has = [&](std::string_view key) { return start.find(key) != std::string_view::npos; };
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && start[first] == '[') return false;
  // Session traces have requests too, of other keys.
  return !has("\"requests\"") || has("\"story\"") || has("\"config\"") || has("\"expect\"") ||
         has("\"arrive_ms\"");
}

}  // namespace pinfold::sim
