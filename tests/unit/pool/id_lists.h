#pragma once
// Id lists as a test writes and reads them: ids_of({1, 2, 6}) in, "[1, 2, 6]" out.

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "pool/pool.h"

namespace pinfold::test {

inline std::vector<BlockId> ids_of(std::initializer_list<std::uint32_t> values) {
  std::vector<BlockId> ids;
  for (const std::uint32_t value : values) ids.push_back(BlockId{value});
  return ids;
}

/// As the chapter's labs print a table or a free list.
inline std::string text(std::span<const BlockId> ids) {
  std::string result = "[";
  for (const BlockId id : ids) {
    if (result.size() > 1) result += ", ";
    result += std::to_string(index_of(id));
  }
  return result + "]";
}

inline std::string free_text(const Pool& pool) { return text(pool.free_list()); }

/// Takes `count` ids.
inline std::vector<BlockId> take(Pool& pool, std::uint32_t count) {
  std::vector<BlockId> ids(count);
  pool.take(ids);
  return ids;
}

/// Everything a caller can see of the pool, for "a refusal touches nothing".
inline std::string seen_of(const Pool& pool) {
  std::string result = "free" + free_text(pool);
  for (std::uint32_t id = 1; id < pool.ids(); ++id) {
    result += " " + std::to_string(id) + ":" + std::to_string(pool.owners(BlockId{id})) + "/" +
              std::to_string(pool.holds(BlockId{id}));
  }
  return result + " available " + std::to_string(pool.available().value) + " owned " +
         std::to_string(pool.owned().value) + " parked " + std::to_string(pool.parked().value) +
         " acquired " + std::to_string(pool.acquired()) + " freed " + std::to_string(pool.freed()) +
         " peak " + std::to_string(pool.peak_owned().value);
}

}  // namespace pinfold::test
