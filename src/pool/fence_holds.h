#pragma once
// Deferred release (rule O9): ids whose owner is gone but that queued work may still read or write.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/fence.h"
#include "base/journal.h"
#include "pool/demand.h"

namespace pinfold {

/// What one release list waits with: ids per pool, each list in the order of its later drops.
struct Hold {
  Fence fence{};
  SequenceId from{};              // whose ids these were, for reports
  Behind behind = Behind::kStep;  // what the ticket belongs to
  std::vector<BlockId> states{};  // dropped first
  std::vector<BlockId> drafts{};  // then these
  std::vector<BlockId> blocks{};  // then these
  std::vector<BlockId> host_blocks{};
  std::vector<BlockId> host_states{};
};

/// The release lists that wait for a fence. Law: an id's holds in its pool == its entries here.
class FenceHolds {
 public:
  /// Queues `hold`, whose ids the pools already count as holds (Pool::park).
  void add(Hold hold);

  /// Drops every hold whose fence has passed, in the order in which the holds were added: states,
  /// then draft slots, then blocks, then what lies on the host. O(holds) when something passes.
  void advance(const Passed& passed, Pools& pools, Journal& journal);

  bool empty() const { return holds_.empty(); }
  const std::vector<Hold>& holds() const { return holds_; }
  /// True while the sources of a queued copy wait: the profile `deepinfer` allows one such list.
  bool has_copies() const;
  /// The hold that will release ids of `kind` first, as far as the order of adding tells.
  const Hold* first_with(PoolKind kind) const;

  /// Proves the law against the pools. O(ids of the pools).
  void audit(const Pools& pools) const;

 private:
  std::vector<Hold> holds_;
};

}  // namespace pinfold
