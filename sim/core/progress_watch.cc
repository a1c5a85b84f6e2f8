#include "sim/core/progress_watch.h"

#include <algorithm>
#include <vector>

namespace pinfold::sim {

std::string ProgressWatch::text() const {
  constexpr std::size_t kMost = 8;
  std::vector<std::pair<std::uint32_t, Victim>> worst(victims_.begin(), victims_.end());
  std::stable_sort(worst.begin(), worst.end(),
                   [](const auto& a, const auto& b) { return a.second.times > b.second.times; });
  std::string text = "steps run without progress: " + std::to_string(passes_) +
                     " of them computed only what was lost before, and somebody lost it again";
  for (std::size_t n = 0; n < std::min(worst.size(), kMost); ++n) {
    const auto& [sequence, victim] = worst[n];
    text += "\n  sequence " + std::to_string(sequence) + " was put into the queue again " +
            std::to_string(victim.times) + (victim.times == 1 ? " time" : " times");
    if (victim.taker) text += ", its blocks go to sequence " + std::to_string(*victim.taker);
  }
  if (worst.size() > kMost) {
    text += "\n  and " + std::to_string(worst.size() - kMost) + " more";
  }
  return text;
}

}  // namespace pinfold::sim
