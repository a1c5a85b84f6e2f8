#include "tests/model/ledger_twin.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace pinfold::model {
namespace {

// As DESIGN lists them, strongest first. Numbers of the twin's own, so that it shares nothing.
enum Class : std::uint8_t {
  kCommitted,
  kInFlight,
  kDraftReserve,
  kKnownReserve,
  kSurplus,
  kTailSlack,
  kParked,
  kCachedIdle,
  kFree
};

using Flying = std::deque<MirrorStep>;

/// Drafts of a sequence's rows in flight.
std::uint32_t drafts_in_flight(const Flying& flying, const SequenceView& view) {
  std::uint32_t drafts = 0;
  for (const MirrorStep& step : flying) {
    for (const MirrorRow& row : step.rows) {
      if (row.sequence == view.id && row.epoch == view.epoch) drafts += row.drafts;
    }
  }
  return drafts;
}

bool is_filled(const Flying& flying, BlockId block, std::uint32_t row) {
  for (const MirrorStep& step : flying) {
    if (step.copies_passed) continue;
    for (const Copy& copy : step.copies) {
      if (copy.pool == PoolKind::kBlocks && copy.to == block && row < copy.rows.value) return true;
    }
  }
  return false;
}

Class class_of(const Flying& flying, std::uint32_t block_size, const SequenceView& view,
               std::uint32_t drafts, std::uint32_t position) {
  const std::uint32_t processed = view.rows.processed.value;
  const std::uint32_t reach = processed + view.rows.in_flight.value;
  if (position < processed) {
    const BlockId block = view.table[position / block_size];
    return is_filled(flying, block, position % block_size) ? kInFlight : kCommitted;
  }
  if (position < reach - drafts) return kInFlight;
  if (position < reach) return kDraftReserve;
  const std::uint32_t known = view.rows.history.value;
  if (position < known) return kKnownReserve;
  const std::uint32_t end = std::max(reach, known);
  const std::uint32_t needed = (end + block_size - 1) / block_size;
  return position / block_size < needed ? kTailSlack : kSurplus;
}

std::array<std::uint32_t, 4> recount_slots(const Scheduler& scheduler, PoolKind pool,
                                           BlockId SequenceView::*slot) {
  std::set<BlockId> running, pinned, parked;
  for (const SequenceId id : scheduler.running()) running.insert(scheduler.view(id).*slot);
  for (const SequenceId id : scheduler.waiting_forks()) pinned.insert(scheduler.view(id).*slot);
  for (const Hold& hold : scheduler.holds().holds()) {
    const auto& ids = pool == PoolKind::kStateSlots ? hold.states : hold.drafts;
    parked.insert(ids.begin(), ids.end());
  }
  std::array<std::uint32_t, 4> slots{};
  for (std::uint32_t id = 1; id < scheduler.pools().of(pool).ids(); ++id) {
    const BlockId one{id};
    ++slots[running.count(one) ? 0 : pinned.count(one) ? 1 : parked.count(one) ? 2 : 3];
  }
  return slots;
}

}  // namespace

Recount recount(const Scheduler& scheduler, const Flying& flying) {
  const std::uint32_t block_size = scheduler.options().block_size.value;
  Recount twin;
  std::vector<SequenceId> owners = scheduler.running();
  for (const SequenceId id : scheduler.waiting_forks()) owners.push_back(id);
  // The rows of each block that a table names, painted by the strongest owner.
  std::map<std::uint32_t, std::vector<std::uint8_t>> held;
  for (const SequenceId id : owners) {
    const SequenceView view = scheduler.view(id);
    const std::uint32_t drafts = drafts_in_flight(flying, view);
    for (std::size_t entry = 0; entry < view.table.size(); ++entry) {
      const std::uint32_t block = index_of(view.table[entry]);
      const auto [rows, first] = held.try_emplace(block, block_size, kFree);
      if (!first) twin.saved += block_size;
      for (std::uint32_t row = 0; row < block_size; ++row) {
        std::uint8_t& painted = rows->second[row];
        const auto position = static_cast<std::uint32_t>(entry) * block_size + row;
        painted =
            std::min<std::uint8_t>(painted, class_of(flying, block_size, view, drafts, position));
      }
      if (entry == 0) continue;
      const std::int64_t step = std::int64_t{block} - std::int64_t{index_of(view.table[entry - 1])};
      ++twin.pairs;
      twin.ascending += step == 1;
      twin.descending += step == -1;
    }
  }
  for (const auto& [block, rows] : held) {
    for (const std::uint8_t row : rows) ++twin.positions[row];
  }
  std::set<std::uint32_t> parked;
  for (const Hold& hold : scheduler.holds().holds()) {
    for (const BlockId block : hold.blocks) {
      if (held.count(index_of(block)) == 0) parked.insert(index_of(block));
    }
  }
  const Pool& pool = scheduler.pools().blocks();
  twin.positions[kParked] = static_cast<std::int64_t>(parked.size()) * block_size;
  twin.positions[kCachedIdle] = static_cast<std::int64_t>(pool.idle_list().size()) * block_size;
  twin.positions[kFree] = static_cast<std::int64_t>(pool.free_list().size()) * block_size;
  twin.state_slots = recount_slots(scheduler, PoolKind::kStateSlots, &SequenceView::state);
  twin.draft_slots = recount_slots(scheduler, PoolKind::kDraftSlots, &SequenceView::draft);
  return twin;
}

std::string difference(const sim::Ledger& ledger, const Recount& twin) {
  std::string text;
  const auto compare = [&](const std::string& what, std::int64_t counted, std::int64_t expected) {
    if (counted == expected) return;
    text +=
        what + ": ledger " + std::to_string(counted) + ", twin " + std::to_string(expected) + "; ";
  };
  for (std::size_t n = 0; n < twin.positions.size(); ++n) {
    compare(sim::kPositionClassNames[n], ledger.positions().of[n], twin.positions[n]);
  }
  compare("saved", ledger.saved(), twin.saved);
  compare("pairs", ledger.pairs(), twin.pairs);
  compare("ascending", ledger.ascending(), twin.ascending);
  compare("descending", ledger.descending(), twin.descending);
  for (std::size_t n = 0; n < 4; ++n) {
    const std::string name = sim::kSlotClassNames[n];
    compare("state slots " + name, ledger.state_slots().slots()[n], twin.state_slots[n]);
    compare("draft slots " + name, ledger.draft_slots().slots()[n], twin.draft_slots[n]);
  }
  return text;
}

WatchedLedger::WatchedLedger(const SchedulerOptions& options)
    : ledger_({options.block_size.value, options.block_ids, options.state_ids, options.draft_ids}) {
}

void WatchedLedger::read(World& world) {
  const std::span<const std::byte> unread = world.scheduler.journal().unread();
  ledger_.consume(unread.subspan(read_));
  read_ = unread.size();
  ledger_.advance_to(++now_ns_);
}

void WatchedLedger::take(World& world) {
  read(world);
  world.scheduler.journal().clear();
  read_ = 0;
}

}  // namespace pinfold::model
