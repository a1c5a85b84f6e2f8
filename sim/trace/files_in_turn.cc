#include "sim/trace/files_in_turn.h"

#include <algorithm>

namespace pinfold::sim {
namespace {

std::string_view digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return text.substr(at, end - at);
}

std::string_view without_zeros(std::string_view digits) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

}  // namespace

bool numbers_in_order(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const std::string_view one = digits_at(a, i);
    const std::string_view two = digits_at(b, j);
    if (!one.empty() && !two.empty()) {
      const std::string_view x = without_zeros(one);
      const std::string_view y = without_zeros(two);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      i += one.size();
      j += two.size();
      continue;
    }
    if (a[i] != b[j]) return a[i] < b[j];
    ++i;
    ++j;
  }
  // Equal but for leading zeros or an ending: the shorter first, then by letters.
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;
}

}  // namespace pinfold::sim
