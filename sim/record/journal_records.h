#pragma once
// Going through journal bytes.

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "engine/scheduler.h"

namespace pinfold::sim {

/// Calls `take(record, ids)` for each record of `bytes`, which holds whole ones. `ids` is a buffer for
/// the ids of one record: the bytes need not be aligned.
template <class Take>
void for_each_record(std::span<const std::byte> bytes, std::vector<BlockId>& ids,
                     const Take& take) {
  for (std::size_t at = 0; at < bytes.size();) {
    Record record;
    std::memcpy(&record, bytes.data() + at, sizeof record);
    at += sizeof record;
    ids.resize(ids_after(record));
    if (!ids.empty()) std::memcpy(ids.data(), bytes.data() + at, ids.size() * sizeof(BlockId));
    at += ids.size() * sizeof(BlockId);
    take(record, std::span<const BlockId>(ids));
  }
}

}  // namespace pinfold::sim
