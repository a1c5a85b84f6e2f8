#include "sim/cli/mutants_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/check/mutant_suite.h"
#include "sim/trace/closest_word.h"

namespace pinfold::sim {
namespace {

struct SuiteReport {
  MutantResult sound;
  std::vector<MutantResult> mutants;
  std::vector<std::pair<Check, std::vector<std::string>>>
      only_by;  // bugs that only this check finds

  bool all_caught() const {
    return std::all_of(mutants.begin(), mutants.end(), [](const MutantResult& result) {
      return result.caught() && result.broke.empty();
    });
  }
  bool clean() const { return sound.catches.empty() && sound.broke.empty(); }
  bool every_check_needed() const {
    return std::all_of(only_by.begin(), only_by.end(),
                       [](const auto& entry) { return !entry.second.empty(); });
  }
};

SuiteReport run_suite(const std::vector<MutantName>& names) {
  const std::vector<SuiteWorld> worlds = suite_worlds();
  SuiteReport report;
  report.sound = run_mutant({Mutant::kNone, "", "the sound engine"}, worlds);
  for (const MutantName& name : names) report.mutants.push_back(run_mutant(name, worlds));
  for (std::size_t n = 0; n < kChecks; ++n) {
    const Check check{static_cast<std::uint8_t>(n)};
    if (is_second_opinion(check)) continue;
    std::vector<std::string> only;
    for (const MutantResult& result : report.mutants) {
      const auto opinions =
          std::count_if(result.catches.begin(), result.catches.end(),
                        [](const Catch& one) { return !is_second_opinion(one.check); });
      if (opinions == 1 && result.catches[0].check == check) only.push_back(result.name);
    }
    report.only_by.emplace_back(check, std::move(only));
  }
  return report;
}

std::string others_of(const MutantResult& result) {
  std::string text;
  for (std::size_t n = 1; n < result.catches.size(); ++n) {
    text += (n == 1 ? "" : " ") + name_of(result.catches[n].check);
  }
  return text;
}

void print_text(const SuiteReport& report, bool whole, std::ostream& out) {
  out << fmt::format("{:<28} {:<7} {:>6}  {:<44} {}\n", "mutant", "check", "event", "world",
                     "also found by");
  for (const MutantResult& result : report.mutants) {
    if (!result.broke.empty()) {
      out << fmt::format("{:<28} broke   {}\n", result.name, result.broke);
    } else if (!result.caught()) {
      out << fmt::format("{:<28} missed\n", result.name);
    } else {
      const Catch& first = result.catches.front();
      out << fmt::format("{:<28} {:<7} {:>6}  {:<44} {}\n", result.name, name_of(first.check),
                         first.event, first.world, others_of(result));
    }
  }
  out << fmt::format("\n{:<28} {}\n", "sound engine",
                     report.clean() ? "clean" : report.sound.broke + " NOT CLEAN");
  for (const Catch& one : report.sound.catches) {
    out << fmt::format("  {} in {} at event {}: {}\n", name_of(one.check), one.world, one.event,
                       one.text);
  }
  if (!whole) {
    for (const MutantResult& result : report.mutants) {
      for (const Catch& one : result.catches) {
        out << fmt::format("  {} in {} at event {} ({} worlds): {}\n", name_of(one.check),
                           one.world, one.event, one.worlds, one.text);
      }
    }
    return;
  }
  out << fmt::format("\n{:<7} {}\n", "check", "finds alone");
  for (const auto& [check, only] : report.only_by) {
    const std::string text = only.empty() ? "-" : fmt::format("{}", fmt::join(only, " "));
    out << fmt::format("{:<7} {}\n", name_of(check), text);
  }
  const auto caught = std::count_if(report.mutants.begin(), report.mutants.end(),
                                    [](const MutantResult& result) { return result.caught(); });
  const auto seconded =
      std::count_if(report.mutants.begin(), report.mutants.end(), [](const MutantResult& result) {
        return !result.catches.empty() && is_second_opinion(result.catches.back().check);
      });
  out << fmt::format("\n{} of {} mutants caught, {} of them by the second opinion `owners` too\n",
                     caught, report.mutants.size(), seconded);
}

nlohmann::ordered_json json_of(const MutantResult& result) {
  nlohmann::ordered_json json;
  json["mutant"] = result.name;
  json["what"] = result.what;
  json["caught"] = result.caught();
  if (result.caught()) {
    json["check"] = name_of(result.catches.front().check);
    json["event"] = result.catches.front().event;
    json["world"] = result.catches.front().world;
  } else {
    json["check"] = nullptr;
    json["event"] = nullptr;
  }
  json["broke"] = result.broke;
  json["checks"] = nlohmann::ordered_json::array();
  for (const Catch& one : result.catches) {
    json["checks"].push_back({{"check", name_of(one.check)},
                              {"world", one.world},
                              {"event", one.event},
                              {"worlds", one.worlds},
                              {"finding", one.text}});
  }
  return json;
}

void print_json(const SuiteReport& report, std::ostream& out) {
  nlohmann::ordered_json json;
  json["mutants"] = nlohmann::ordered_json::array();
  for (const MutantResult& result : report.mutants) json["mutants"].push_back(json_of(result));
  json["sound"] = json_of(report.sound);
  json["finds_alone"] = nlohmann::ordered_json::object();
  for (const auto& [check, only] : report.only_by) json["finds_alone"][name_of(check)] = only;
  out << json.dump(2) << '\n';
}

std::optional<MutantName> mutant_named(const std::string& name) {
  for (const MutantName& known : mutant_names()) {
    if (known.name == name) return known;
  }
  return std::nullopt;
}

}  // namespace

ExitCode mutants_command(const MutantsCommand& command, std::ostream& out, std::ostream& err) {
  std::vector<MutantName> names = mutant_names();
  if (command.only) {
    const std::optional<MutantName> only = mutant_named(*command.only);
    if (!only) {
      return fail(err, ExitCode::kUsageError, "--mutant: found no mutant '" + *command.only + "'");
    }
    names = {*only};
  }
  const SuiteReport report = run_suite(names);
  if (command.format == MutantsFormat::kJson) {
    print_json(report, out);
  } else {
    print_text(report, !command.only, out);
  }
  const bool needed = command.only.has_value() || report.every_check_needed();
  if (report.all_caught() && report.clean() && needed) return ExitCode::kOk;
  return fail(err, ExitCode::kCheckFailed,
              !report.clean()        ? "the sound engine is not clean"
              : !report.all_caught() ? "a mutant was missed"
                                     : "a check is the only one to find no mutant");
}

bool choose_mutant([[maybe_unused]] const std::string& name) {
#if defined(PINFOLD_MUTANTS)
  const std::optional<MutantName> mutant = mutant_named(name);
  if (!mutant) return false;
  chosen_mutant = mutant->mutant;
  return true;
#else
  return false;
#endif
}

}  // namespace pinfold::sim
