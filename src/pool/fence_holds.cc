#include "pool/fence_holds.h"

#include <algorithm>
#include <utility>

namespace pinfold {
namespace {

const std::vector<BlockId>& ids_of(const Hold& hold, PoolKind kind) {
  switch (kind) {
    case PoolKind::kBlocks: return hold.blocks;
    case PoolKind::kStateSlots: return hold.states;
    case PoolKind::kDraftSlots: return hold.drafts;
    case PoolKind::kHostBlocks: return hold.host_blocks;
    case PoolKind::kHostStates: break;
  }
  return hold.host_states;
}

void unpark(const Hold& hold, PoolKind kind, Pools& pools, Journal& journal) {
  const std::vector<BlockId>& ids = ids_of(hold, kind);
  if (ids.empty()) return;
  pools.of(kind).unpark(ids);
  // A hold of the library waits for one lane.
  const Ticket ticket = *std::max_element(hold.fence.ticket.begin(), hold.fence.ticket.end());
  journal.append(
      {Verb::kUnpark, kind, static_cast<std::uint16_t>(hold.behind), value_of(hold.from),
       static_cast<std::uint32_t>(ids.size()), static_cast<std::uint32_t>(value_of(ticket))},
      ids);
}

}  // namespace

void FenceHolds::add(Hold hold) { holds_.push_back(std::move(hold)); }

void FenceHolds::advance(const Passed& passed, Pools& pools, Journal& journal) {
  std::size_t kept = 0;
  for (std::size_t n = 0; n < holds_.size(); ++n) {
    const bool stale = mutant_is(Mutant::kStaleEventAccepted) && holds_[n].behind == Behind::kStep;
    if (has_passed(holds_[n].fence, passed) || stale) {
      unpark(holds_[n], PoolKind::kStateSlots, pools, journal);
      unpark(holds_[n], PoolKind::kDraftSlots, pools, journal);
      unpark(holds_[n], PoolKind::kBlocks, pools, journal);
      unpark(holds_[n], PoolKind::kHostBlocks, pools, journal);
      unpark(holds_[n], PoolKind::kHostStates, pools, journal);
    } else {
      if (kept != n) holds_[kept] = std::move(holds_[n]);
      ++kept;
    }
  }
  holds_.resize(kept);
}

bool FenceHolds::has_copies() const {
  for (const Hold& hold : holds_) {
    if (hold.behind == Behind::kCopy) return true;
  }
  return false;
}

const Hold* FenceHolds::first_with(PoolKind kind) const {
  for (const Hold& hold : holds_) {
    if (!ids_of(hold, kind).empty()) return &hold;
  }
  return nullptr;
}

void FenceHolds::audit(const Pools& pools) const {
  for (std::uint32_t index = 0; index < kPoolKinds; ++index) {
    const PoolKind kind{static_cast<std::uint8_t>(index)};
    const Pool& pool = pools.of(kind);
    std::vector<std::uint32_t> entries(pool.ids());
    for (const Hold& hold : holds_) {
      for (const BlockId id : ids_of(hold, kind)) {
        PINFOLD_CHECK(index_of(id) < pool.ids(), "law 2",
                      std::string("a hold names ") + name_of(kind) + " " +
                          std::to_string(index_of(id)) + " outside the pool");
        ++entries[index_of(id)];
      }
    }
    PINFOLD_CHECK(entries[0] == 0, "law 2", std::string("a hold names ") + name_of(kind) + " 0");
    for (std::uint32_t id = 1; id < pool.ids(); ++id) {
      PINFOLD_CHECK(entries[id] == pool.holds(BlockId{id}), "law 2",
                    std::string(name_of(kind)) + " " + std::to_string(id) + " has " +
                        std::to_string(pool.holds(BlockId{id})) + " holds, of which " +
                        std::to_string(entries[id]) + " wait for a fence");
    }
  }
}

}  // namespace pinfold
