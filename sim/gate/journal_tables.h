#pragma once
// Every sequence's block table, from the journal.

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/scheduler.h"

namespace pinfold::sim {

class JournalTables {
 public:
  void apply(const Record& record, std::span<const BlockId> ids);

  /// Empty for a sequence that holds no block.
  std::span<const BlockId> table_of(std::uint32_t sequence) const;

 private:
  std::map<std::uint32_t, std::vector<BlockId>> tables_;
};

}  // namespace pinfold::sim
