#include "sim/gate/option_change.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/config/option.h"

namespace pinfold::sim {
namespace {

constexpr std::array<std::string_view, 4> kWhatIsSimulated{"model", "workload", "fault", "cost"};

std::string text_in(const Option& option, const RunConfig& config) {
  return option.has_effect(config) ? value_text(option, config) : "-";
}

}  // namespace

std::vector<OptionChange> option_changes(const RunConfig& old, const RunConfig& now) {
  std::vector<OptionChange> changes;
  for (const Option& option : all_options()) {
    OptionChange change;
    change.old = text_in(option, old);
    change.now = text_in(option, now);
    if (change.old == change.now) continue;
    change.path = std::string(option.path);
    change.engine = option.path != "seed" &&
                    std::find(kWhatIsSimulated.begin(), kWhatIsSimulated.end(), option.section()) ==
                        kWhatIsSimulated.end();
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace pinfold::sim
