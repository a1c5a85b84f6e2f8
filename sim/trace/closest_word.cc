#include "sim/trace/closest_word.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace pinfold::sim {
namespace {

/// ASCII only: std::tolower would ask the locale.
char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

/// Restricted Damerau-Levenshtein distance, three rows of the usual table.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                           lower(a[i - 2]) == lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string_view> closest_word(std::string_view word,
                                             std::span<const std::string_view> candidates) {
  std::optional<std::string_view> best;
  std::size_t best_distance = 0;
  for (const std::string_view candidate : candidates) {
    const std::size_t most = std::max<std::size_t>(1, candidate.size() / 3);
    // Each letter that one has more is an edit.
    const auto [shorter, longer] = std::minmax({word.size(), candidate.size()});
    if (longer - shorter > most) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > most) continue;
    if (best && distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::optional<std::string_view> closest_beginning(std::string_view word,
                                                  std::span<const std::string_view> candidates) {
  constexpr std::size_t kLeast = 4;
  if (word.size() < kLeast) return std::nullopt;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() <= word.size()) continue;
    if (edit_distance(word, candidate.substr(0, word.size())) <= 1) return candidate;
  }
  return std::nullopt;
}

}  // namespace pinfold::sim
