#include "sim/gate/journal_tables.h"

#include <algorithm>

namespace pinfold::sim {

void JournalTables::apply(const Record& record, std::span<const BlockId> ids) {
  if (record.pool != PoolKind::kBlocks) return;
  switch (record.verb) {
    case Verb::kAcquire:
    case Verb::kHit:
    case Verb::kPin: {
      std::vector<BlockId>& table = tables_[record.sequence];
      table.insert(table.end(), ids.begin(), ids.end());
      return;
    }
    case Verb::kRelease:
    case Verb::kPark: {
      const auto found = tables_.find(record.sequence);
      if (found == tables_.end()) return;
      std::vector<BlockId>& table = found->second;
      // A sequence lets go of the end of its table, or of all.
      for (std::size_t n = ids.size(); n-- > 0;) {
        const auto place = std::find(table.rbegin(), table.rend(), ids[n]);
        if (place != table.rend()) table.erase(std::next(place).base());
      }
      if (table.empty()) tables_.erase(found);
      return;
    }
    default: return;  // tables stay as they are
  }
}

std::span<const BlockId> JournalTables::table_of(std::uint32_t sequence) const {
  const auto found = tables_.find(sequence);
  if (found == tables_.end()) return {};
  return found->second;
}

}  // namespace pinfold::sim
