#include "sim/report/explore_report.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "sim/config/json_writer.h"
#include "sim/explore/schedule_file.h"

namespace pinfold::sim {
namespace {

/// What happened somewhere, by the journal: the kinds of decision that an exploration has covered.
constexpr std::array<std::pair<Verb, const char*>, 10> kRecords{{
    {Verb::kPreempt, "preempt"},
    {Verb::kSitOut, "sit_out"},
    {Verb::kPark, "park"},
    {Verb::kUnpark, "unpark"},
    {Verb::kFork, "fork"},
    {Verb::kForkMissed, "fork_missed"},
    {Verb::kDemote, "demote"},
    {Verb::kCopyQueued, "copy"},
    {Verb::kDrafts, "drafts"},
    {Verb::kEnd, "end"},
}};

std::uint64_t records(const ExploreResult& result, Verb verb) {
  return result.verbs[static_cast<std::size_t>(verb)];
}

}  // namespace

std::vector<std::string> differences(const ExpectedExploration& expected,
                                     const ExploreResult& result) {
  std::vector<std::string> texts;
  const auto compare = [&](const char* what, const std::string& found, const std::string& wanted) {
    if (found == wanted) return;
    texts.push_back(fmt::format("{}: found {}, expected {}", what, found, wanted));
  };
  if (expected.verdict) compare("verdict", name_of(result.verdict), *expected.verdict);
  if (expected.check) {
    compare("check", result.check.empty() ? "none" : result.check, *expected.check);
  }
  if (expected.counterexample_events) {
    compare("counterexample_events", std::to_string(result.path.size()),
            std::to_string(*expected.counterexample_events));
  }
  return texts;
}

std::string explore_text(const ExploreReport& report) {
  const ExploreResult& result = *report.result;
  std::string text = fmt::format("Verdict:       {}\n", name_of(result.verdict));
  if (result.verdict == ExploreVerdict::kProved) {
    text += "               every order keeps every rule, and in every order everybody ends\n";
  }
  if (!result.check.empty())
    text += fmt::format("Broken:        {}: {}\n", result.check, result.text);
  text += fmt::format("States:        {}\n", result.states);
  text += fmt::format("Transitions:   {}\n", result.transitions);
  text += fmt::format("Depth:         {}\n", result.depth);
  if (result.not_expanded > 0) {
    text += fmt::format(
        "Not covered:   what follows on {} states at depth {}; cycles were not looked for\n",
        result.not_expanded, result.depth);
  }
  text += "Events:       ";
  for (std::size_t kind = 0; kind < kEventKinds; ++kind) {
    if (result.events[kind] == 0) continue;
    text += fmt::format(" {} {}", name_of(EventKind(kind)), result.events[kind]);
  }
  text += "\nRecords:      ";
  for (const auto& [verb, name] : kRecords) {
    if (records(result, verb) > 0) text += fmt::format(" {} {}", name, records(result, verb));
  }
  text += fmt::format("\nOutcomes:      {}\n", result.outcomes.size());
  if (!report.walked->told.empty()) {
    const auto lines = schedule_lines(
        fmt::format("Counter-example, {} events:", result.path.size()), *report.walked);
    for (const std::string& line : lines) text += line + '\n';
  }
  for (const std::string& line : report.differences) {
    text += "Expectation:   " + line + '\n';
  }
  text += fmt::format("Scenario:      {}\nConfig digest: {}\npinfold:       {}\n", report.scenario,
                      report.config_digest, report.version);
  return text;
}

std::string explore_json(const ExploreReport& report) {
  const ExploreResult& result = *report.result;
  JsonWriter json;
  json.open_object();
  json.key("verdict").string(name_of(result.verdict));
  const auto text_or_null = [&](const char* key, const std::string& text) {
    json.key(key);
    if (text.empty()) {
      json.null();
    } else {
      json.string(text);
    }
  };
  text_or_null("check", result.check);
  text_or_null("text", result.text);
  json.key("states").integer(result.states);
  json.key("transitions").integer(result.transitions);
  json.key("depth").integer(result.depth);
  json.key("ended_states").integer(result.over);
  json.key("not_expanded").integer(result.not_expanded);
  json.key("reduced").boolean(report.reduced);
  json.key("events").open_object();
  for (std::size_t kind = 0; kind < kEventKinds; ++kind) {
    json.key(name_of(EventKind(kind))).integer(result.events[kind]);
  }
  json.close();
  json.key("records").open_object();
  for (const auto& [verb, name] : kRecords) json.key(name).integer(records(result, verb));
  json.close();
  json.key("outcomes").open_array();
  for (const auto& [actor, reason, emitted] : result.outcomes) {
    constexpr std::array<const char*, 4> kReasons{"stop", "limit", "aborted", "never"};
    json.open_object();
    json.key("request").string(report.stage->actors[actor].name);
    json.key("reason").string(kReasons[static_cast<std::size_t>(reason)]);
    json.key("tokens").integer(emitted);
    json.close();
  }
  json.close();
  const bool broken =
      result.verdict != ExploreVerdict::kProved && result.verdict != ExploreVerdict::kBounded;
  json.key("counterexample_events");
  if (broken) {
    json.integer(result.path.size());
  } else {
    json.null();
  }
  json.key("counterexample").open_array();
  for (const std::string& told : report.walked->told) json.string(told);
  json.close();
  json.key("waits").open_array();
  if (broken) {
    for (const std::string& text : report.walked->waits) json.string(text);
  }
  json.close();
  if (report.compared) {
    json.key("differences").open_array();
    for (const std::string& text : report.differences) json.string(text);
    json.close();
  }
  json.key("scenario").string(report.scenario);
  json.key("config_digest").string(report.config_digest);
  json.key("version").string(report.version);
  json.close();
  return json.finish();
}

std::string walked_json(const std::string& title, const Walked& walked) {
  JsonWriter json;
  json.open_object();
  json.key("title").string(title);
  json.key("events").open_array();
  for (std::size_t n = 0; n < walked.told.size(); ++n) {
    json.open_object();
    json.key("story").string(walked.told[n]);
    json.key("tables").string(walked.shown[n]);
    json.close();
  }
  json.close();
  json.key("verdict").string(walked.finding ? "violation" : walked.stalled ? "stall" : "ok");
  json.key("check");
  if (walked.finding) {
    json.string(walked.finding->check);
  } else {
    json.null();
  }
  json.key("text");
  if (walked.finding) {
    json.string(walked.finding->text);
  } else {
    json.null();
  }
  json.key("waits").open_array();
  for (const std::string& text : walked.waits) json.string(text);
  json.close();
  json.close();
  return json.finish();
}

}  // namespace pinfold::sim
