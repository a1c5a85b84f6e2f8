#pragma once
// Two results side by side, for people and for programs.

#include <optional>
#include <string>
#include <vector>

#include "sim/gate/figure_change.h"
#include "sim/gate/first_difference.h"
#include "sim/gate/option_change.h"

namespace pinfold::sim {

struct RunComparison {
  std::string a;  // what was compared
  std::string b;
  std::vector<OptionChange> settings;
  std::vector<FigureChange> figures;
  std::optional<FirstDifference> difference{};
  std::vector<std::string> notes;
  bool same = true;
};

std::string compare_text(const RunComparison& compared);
std::string compare_json(const RunComparison& compared);
std::string compare_markdown(const RunComparison& compared);

}  // namespace pinfold::sim
