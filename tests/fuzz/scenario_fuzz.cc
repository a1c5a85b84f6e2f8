// Scenario files: the line that says a scenario reads as the same scenario.

#include "sim/explore/scenario_file.h"
#include "tests/fuzz/config_members.h"
#include "tests/fuzz/fuzz_target.h"

namespace pinfold::fuzz {
namespace {

void run(std::string_view text) {
  const auto scenario = sim::parse_scenario(text, "fuzz.json");
  if (!scenario) {
    require(!describe(scenario.error()).empty(), "a mistake is described");
    return;
  }
  const std::string line = sim::scenario_text(scenario.value());
  const auto again = sim::parse_scenario(line, "line.json");
  require(static_cast<bool>(again),
          "a scenario's line is a scenario: " + (again ? "" : describe(again.error())));
  require(sim::scenario_text(again.value()) == line, "a scenario's line says the same when read");
}

}  // namespace

const std::vector<KnownMember>& known_members() {
  static const std::vector<KnownMember> kMembers = [] {
    std::vector<KnownMember> members = config_members("config.");
    const std::vector<std::string> times{"0", "0.5", "1", "2", "1000000000"};
    const std::vector<std::string> counts{"0", "1", "2", "3", "5", "64", "65", "1048576"};
    const std::vector<std::string> names{"\"A\"", "\"B\"", "\"C\"", "\"c\""};
    const std::vector<std::string> lists{"[]", "[0]", "[1, 2]", "[1, 2, 3]", "[1, 0, 1, 0, 1]"};
    const std::vector<std::string> free_or_not{"\"any\"", "\"given\"", "\"any order\""};
    const std::vector<std::string> verdicts{"\"ok\"",     "\"stall\"", "\"violation\"",
                                            "\"proved\"", "\"cycle\"", "\"bounded\""};
    const std::vector<KnownMember> own{
        {"story", names},
        {"source", {"[]", "[\"B1\"]"}},
        {"requests[].name", names},
        {"requests[].arrive_ms", times},
        {"requests[].prompt", counts},
        {"requests[].limit", counts},
        {"requests[].output", counts},
        {"requests[].drafts", counts},
        {"requests[].accepted", lists},
        {"requests[].samples", counts},
        {"requests[].priority", counts},
        {"requests[].fork_of", names},
        {"requests[].fork_at", counts},
        {"requests[].prefix_ids", lists},
        {"requests[].abort_at_ms", times},
        {"faults[].kind", {"\"step_failed\"", "\"step_lost\"", "\"copy_lost\"", "\"copy_delay\""}},
        {"faults[].step", counts},
        {"faults[].delay_ms", times},
        {"explore.arrivals", free_or_not},
        {"explore.stops", free_or_not},
        {"explore.rejections", free_or_not},
        {"explore.aborts", {"\"any\"", "[]", "[\"A\"]", "[\"A\", \"B\"]"}},
        {"explore.faults.step_failed", counts},
        {"explore.faults.step_lost", counts},
        {"explore.faults.copy_lost", counts},
        {"explore.faults.transfer_lost", counts},
        {"expect.verdict", verdicts},
        {"expect.completed", counts},
        {"expect.explore.verdict", verdicts},
        {"expect.explore.check", {"\"I8\"", "\"O12\""}},
        {"expect.explore.counterexample_events", counts},
        {"expect.mutants.m.check", {"\"I8\"", "\"O12\""}},
        {"expect.mutants.m.explore.verdict", verdicts},
    };
    members.insert(members.end(), own.begin(), own.end());
    return members;
  }();
  return kMembers;
}

}  // namespace pinfold::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pinfold::fuzz::run(pinfold::fuzz::text_of(data, size));
  return 0;
}
