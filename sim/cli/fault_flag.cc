#include "sim/cli/fault_flag.h"

#include <vector>

#include "sim/cli/flag_value.h"

namespace pinfold::sim {
namespace {

/// A fault of `--fault`, the option it sets, and its value where none is given (nullptr: one is needed).
struct NamedFault {
  const char* name;
  const char* option;
  const char* value;
};
constexpr NamedFault kFaults[] = {{"copy_delay", "fault.copy_delay_us", nullptr},
                                  {"copy_lost", "fault.copy_lost", "1"},
                                  {"load_lost", "fault.load_lost", "1"},
                                  {"save_lost", "fault.save_lost", "1"},
                                  {"step_failed", "fault.step_failed_permille", "10"},
                                  {"abort_storm", "fault.abort_storm_permille", "500"}};

}  // namespace

FlagValue fault_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  std::vector<std::string> known;
  for (const NamedFault& fault : kFaults) {
    known.emplace_back(fault.name);
    if (name != fault.name) continue;
    if (equals == std::string::npos && fault.value == nullptr) {
      throw UsageError{"--fault " + text + ": found no value, expected " + name + "=MICROSECONDS"};
    }
    const std::string value = equals == std::string::npos ? fault.value : text.substr(equals + 1);
    return {fault.option, value, "--fault " + text};
  }
  throw UsageError{"--fault: found " + in_quotes(name) + ", expected one of " + in_a_row(known) +
                   did_you_mean(name, known)};
}

}  // namespace pinfold::sim
