#pragma once
// Whether ids that are let go are the end of a block table.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace pinfold::sim {

/// A record's ids in table order, or in the order of later drops: both name the same blocks.
inline bool are_last_of(std::span<const BlockId> ids, const std::vector<std::uint32_t>& table) {
  if (ids.size() > table.size()) return false;
  const auto same = [](BlockId id, std::uint32_t block) { return index_of(id) == block; };
  const auto from = table.end() - static_cast<std::ptrdiff_t>(ids.size());
  return std::equal(ids.begin(), ids.end(), from, same) ||
         std::equal(ids.rbegin(), ids.rend(), from, same);
}

}  // namespace pinfold::sim
