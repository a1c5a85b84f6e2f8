// External store (rule O16): contents of blocks are kept on the host, and with state slots the state that
// belongs to the end of a prefix. Everything up to a boundary is saved once its rows are committed, and
// loaded at admission by whoever finds it there. A state comes back without what no store keeps
// (rule O14): the first chunk behind a load computes the rows of that window again.
//
// A save or a load is a copy like any other (rule O9): whatever it reads or fills has an owner until its
// lane has passed its ticket. A save never waits: without room it does not take place. A load takes the
// whole demand of its admission first (rules O3 and O5), so that two loads cannot hold what the other
// one needs, and nobody is its victim: whoever lacks blocks sits out until it has passed.

#include <algorithm>

#include "scheduler/core.h"
#include "scheduler/tickets.h"

namespace pinfold {

// ---- loads -----------------------------------------------------------------------------------------

// What the host has behind the blocks that were found on the device, up to a boundary; with state the
// last boundary whose state it has, since a prefix is shared only up to where every kind of storage has
// it. Pure.
void Core::find_on_host(const Sequence& sequence, Prefix& prefix, Found& found) const {
  const PrefixState& keys = sequence.prefix;
  const std::uint32_t block_size = options_.block_size.value;
  const std::uint32_t most = sequence.rows.history.value - 1;  // the last known token is computed
  const std::uint32_t step = options_.store_interval.value / block_size;
  const Pool& host = pools_.of(PoolKind::kHostBlocks);
  const std::uint32_t shared = prefix.blocks.value;
  const std::uint32_t named = static_cast<std::uint32_t>(keys.keys.size());
  found.host.clear();
  std::uint32_t count = shared;
  for (PrefixNode node = prefix.node; count < named && (count + 1) * block_size <= most; ++count) {
    node = prefixes_.find(node, keys.keys[count], block_size);
    if (node == kNoNode) break;
    const BlockId id = prefixes_.on_host(node, PoolKind::kHostBlocks);
    if (id == kNoBlock || !host.can_pin(std::span(&id, 1))) break;
    found.host.push_back(id);
    found.path.push_back(node);
  }
  std::uint32_t end = count / step * step;
  if (options_.state == Switch::kOn && !mutant_is(Mutant::kStateLeftBehind)) {
    const Pool& states = pools_.of(PoolKind::kHostStates);
    for (; end > 0; end -= step) {
      const BlockId image = prefixes_.on_host(found.path[end - 1], PoolKind::kHostStates);
      if (image == kNoBlock || !states.can_pin(std::span(&image, 1))) continue;
      prefix.image = image;
      break;
    }
    found.blocks.resize(std::min(shared, end));
    prefix.tail = kNoBlock;
  }
  prefix.blocks = BlockCount(static_cast<std::uint32_t>(found.blocks.size()));
  prefix.node = prefix.blocks.value == 0 ? kRootNode : found.path[prefix.blocks.value - 1];
  found.host.resize(end > shared ? end - shared : 0);
  prefix.loads = BlockCount(static_cast<std::uint32_t>(found.host.size()));
  if (prefix.loads.value > 0) prefix.tail = kNoBlock;
  if (prefix.tail == kNoBlock) {
    prefix.rows = TokenCount((prefix.blocks + prefix.loads).value * block_size);
  }
}

// The request holds everything it needs and waits for its loads alone.
void Core::queue_load(SlotIndex slot, const Prefix& prefix, const Found& found) {
  Sequence& sequence = store_[slot];
  const Ticket ticket{++load_tickets_};
  const std::uint32_t aux = static_cast<std::uint32_t>(value_of(ticket));
  Hold hold;
  hold.fence = fence_on(Lane::kHostToDevice, ticket);
  hold.behind = Behind::kLoad;
  hold.from = sequence.id;
  const auto load = [&](PoolKind device, PoolKind host, std::span<const BlockId> from,
                        std::span<const BlockId> to, std::vector<BlockId>& held) {
    if (from.empty()) return;
    words_.clear();
    for (std::size_t n = 0; n < from.size(); ++n) {
      words_.push_back(from[n]);
      words_.push_back(to[n]);
      transfers_.push_back({Lane::kHostToDevice, ticket, device, to[n], from[n], StepNumber{}});
    }
    note_ids(Verb::kLoad, device, sequence, words_, aux);
    if (mutant_is(Mutant::kLoadSourceUnpinned)) return;
    pools_.of(host).share(from);
    pools_.of(host).park(from);
    held.assign(from.rbegin(), from.rend());  // the first ones are evicted last
  };
  const std::span<const BlockId> to = std::span(sequence.table).subspan(prefix.blocks.value);
  load(PoolKind::kBlocks, PoolKind::kHostBlocks, found.host, to, hold.host_blocks);
  if (prefix.image != kNoBlock) {
    load(PoolKind::kStateSlots, PoolKind::kHostStates, std::span(&prefix.image, 1),
         std::span(&sequence.state, 1), hold.host_states);
  }
  holds_.add(std::move(hold));
  ++stats_.loads;
  sequence.load_ticket = ticket;
  sequence.load_rows = prefix.rows;
  sequence.phase = Phase::kLoading;
  loading_.push_back(slot);
  if (mutant_is(Mutant::kLoadNotAwaited)) end_loads(ticket, false);
}

// A loaded state lacks what no store keeps until a row behind the load has been computed: the chunk that
// begins there computes it again first, and meanwhile nobody can fork it.
TokenCount Core::rows_to_recover(const Sequence& sequence) const {
  if (options_.state == Switch::kOff) return TokenCount(0);
  const TokenCount written = sequence.rows.processed + sequence.rows.in_flight;
  if (written != sequence.load_rows) return TokenCount(0);
  return std::min(options_.recovered_rows, written);
}

// In order of admission. A load that never came leaves rows that nobody knows: its request starts over
// and computes them.
void Core::end_loads(Ticket ticket, bool lost) {
  while (!loading_.empty() && store_[loading_.front()].load_ticket <= ticket) {
    const SlotIndex slot = loading_.front();
    if (lost) {
      requeue_unloaded(slot);
      continue;
    }
    Sequence& sequence = store_[slot];
    if (mutant_is(Mutant::kLoadsHoldEverything)) {
      const BlockCount rest = blocks_for(sequence.rows.history, options_.block_size) -
                              BlockCount(static_cast<std::uint32_t>(sequence.table.size()));
      if (rest > pools_.blocks().available()) break;
      acquire_blocks(sequence, rest);
    }
    loading_.erase(loading_.begin());
    const TokenCount loaded = sequence.load_rows - sequence.rows.processed;
    stats_.loaded_rows += loaded.value;
    stats_.loaded_blocks += full_blocks_in(loaded, options_.block_size).value;
    if (options_.state == Switch::kOn) ++stats_.loaded_states;
    sequence.rows.processed = sequence.load_rows;
    sequence.computed_high = std::max(sequence.computed_high, sequence.load_rows);
    note(Verb::kLoaded, sequence, sequence.load_rows.value);
    join_running(slot, Phase::kPrefill);
    publish(sequence);
  }
}

void Core::requeue_unloaded(SlotIndex slot) {
  loading_.erase(std::find(loading_.begin(), loading_.end(), slot));
  Sequence& sequence = store_[slot];
  ++stats_.loads_lost;
  note(Verb::kDemote, sequence, sequence.rows.history.value);
  let_go(sequence);
  sequence.rows.processed = TokenCount(0);
  sequence.loads = false;
  sequence.phase = Phase::kWaiting;
  waiting_.insert(sequence, slot);
}

// ---- saves -----------------------------------------------------------------------------------------

void Core::forget_on_host(const Sequence& taker, PoolKind pool, std::span<const BlockId> evicted) {
  if (evicted.empty()) return;
  note_ids(Verb::kEvict, pool, taker, evicted);
  for (const BlockId id : evicted) prefixes_.detach_host(pool, id);
  stats_.host_evicted += evicted.size();
}

// The blocks up to the last boundary that C has passed. Their rows are committed, and whoever owns them
// later, the content stays: the save's hold keeps them from being issued again.
void Core::save_blocks(Sequence& sequence) {
  PrefixState& prefix = sequence.prefix;
  const std::uint32_t step = options_.store_interval.value / options_.block_size.value;
  const std::uint32_t end = prefix.keyed / step * step;
  if (end <= prefix.saved) return;
  std::vector<PrefixNode>& nodes = found_.path;
  nodes.resize(end - prefix.saved);
  PrefixNode node = prefix.node;
  for (std::uint32_t entry = prefix.keyed; entry > prefix.saved; --entry) {
    if (entry <= end) nodes[entry - 1 - prefix.saved] = node;
    node = prefixes_.parent_of(node);
  }
  Pool& host = pools_.of(PoolKind::kHostBlocks);
  const Ticket ticket{save_tickets_ + 1};
  Hold hold;
  words_.clear();
  for (std::uint32_t entry = prefix.saved; entry < end; ++entry) {
    const PrefixNode content = nodes[entry - prefix.saved];
    if (prefixes_.is_saved(content, PoolKind::kHostBlocks)) continue;
    const BlockId from = sequence.table[entry];
    // An id counts a bounded number of owners.
    if (host.available().value == 0 || !pools_.blocks().can_pin(std::span(&from, 1))) {
      ++stats_.saves_refused;
      continue;
    }
    BlockId to = kNoBlock;
    if (host.take(std::span(&to, 1)) > 0) {
      forget_on_host(sequence, PoolKind::kHostBlocks, std::span(&to, 1));
    }
    host.park(std::span(&to, 1));
    if (!mutant_is(Mutant::kSaveSourceUnpinned)) {
      pools_.blocks().share(std::span(&from, 1));
      pools_.blocks().park(std::span(&from, 1));
      hold.blocks.push_back(from);
    }
    hold.host_blocks.push_back(to);
    words_.push_back(from);
    words_.push_back(to);
    prefixes_.begin_save(content, PoolKind::kHostBlocks);
    saves_.push_back({ticket, content, PoolKind::kHostBlocks, to, 0, false});
    transfers_.push_back({Lane::kDeviceToHost, ticket, PoolKind::kBlocks, from, to, StepNumber{}});
  }
  prefix.saved = end;
  if (words_.empty()) return;
  save_tickets_ = value_of(ticket);
  note_ids(Verb::kSave, PoolKind::kBlocks, sequence, words_,
           static_cast<std::uint32_t>(value_of(ticket)));
  hold.fence = fence_on(Lane::kDeviceToHost, ticket);
  hold.behind = Behind::kSave;
  hold.from = sequence.id;
  // As a table is released: the first ones are evicted last.
  std::reverse(hold.blocks.begin(), hold.blocks.end());
  std::reverse(hold.host_blocks.begin(), hold.host_blocks.end());
  holds_.add(std::move(hold));
  if (mutant_is(Mutant::kStoredTooEarly)) end_saves(ticket, false);
}

// The state that the slot holds ahead of the step being planned, if that is the state of a boundary whose
// content has a name: the step stages it before it writes on.
void Core::save_state(Pass& pass, Sequence& sequence, std::uint32_t position) {
  const PrefixState& prefix = sequence.prefix;
  const std::uint32_t interval = options_.store_interval.value;
  const std::uint32_t blocks = position / options_.block_size.value;
  const bool boundary = position > 0 && position % interval == 0;
  if (boundary == mutant_is(Mutant::kStateOfLaterRows)) return;
  // A fork's, which this step's copies fill: its parent's was saved where it was worth it.
  if (sequence.copy_ticket == copy_ticket(pass.step)) return;
  if (blocks < prefix.keyed || blocks > prefix.keys.size() || blocks == 0) return;
  for (const Flight& flight : sequence.flights) {
    if (flight.decode && flight.rows.value > 1) return;  // drafts: nobody knows the count yet
  }
  Pool& host = pools_.of(PoolKind::kHostStates);
  const bool staging =
      staged_[index_of(sequence.state)] > passed_.upto[index_of(Lane::kDeviceToHost)];
  PrefixNode node = prefix.node;
  for (std::uint32_t entry = prefix.keyed; entry < blocks && node != kNoNode; ++entry) {
    node = prefixes_.find(node, prefix.keys[entry], options_.block_size.value);
  }
  if (node != kNoNode && prefixes_.is_saved(node, PoolKind::kHostStates)) return;
  if (staging || host.available().value == 0) {
    ++stats_.saves_refused;
    return;
  }
  const Ticket ticket{++save_tickets_};
  BlockId to = kNoBlock;
  if (host.take(std::span(&to, 1)) > 0) {
    forget_on_host(sequence, PoolKind::kHostStates, std::span(&to, 1));
  }
  host.park(std::span(&to, 1));
  // Behind the eviction, which removes contents that nobody refers to.
  node = prefix.node;
  for (std::uint32_t entry = prefix.keyed; entry < blocks; ++entry) {
    node = prefixes_.enter(node, prefix.keys[entry], options_.block_size.value);
  }
  prefixes_.begin_save(node, PoolKind::kHostStates);
  saves_.push_back({ticket, node, PoolKind::kHostStates, to, pass.step, false});
  staged_[index_of(sequence.state)] = ticket;
  const std::array<BlockId, 2> ids{sequence.state, to};
  note_ids(Verb::kSave, PoolKind::kStateSlots, sequence, ids,
           static_cast<std::uint32_t>(value_of(ticket)));
  Hold hold;
  hold.fence = fence_on(Lane::kDeviceToHost, ticket);
  hold.behind = Behind::kSave;
  hold.from = sequence.id;
  hold.host_states.push_back(to);
  holds_.add(std::move(hold));
  pass.plan.stages.push_back({PoolKind::kStateSlots, sequence.state, to, TokenCount(position)});
  transfers_.push_back({Lane::kDeviceToHost, ticket, PoolKind::kStateSlots, sequence.state, to,
                        StepNumber{pass.step}});
}

// With state a chunk ends at a boundary whose state is not kept yet: only there it can be saved.
TokenCount Core::cut_at_boundary(const Sequence& sequence, TokenCount first,
                                 TokenCount count) const {
  if (!stores_states() || sequence.prefix.empty()) return count;
  const PrefixState& prefix = sequence.prefix;
  const std::uint32_t interval = options_.store_interval.value;
  const std::uint32_t block_size = options_.block_size.value;
  const std::uint32_t end = (first + count).value;
  const std::uint32_t named = static_cast<std::uint32_t>(prefix.keys.size()) * block_size;
  const std::uint32_t boundary = std::min(end, named) / interval * interval;
  if (boundary <= first.value) return count;
  PrefixNode node = prefix.node;
  for (std::uint32_t entry = prefix.keyed; entry < boundary / block_size; ++entry) {
    node = prefixes_.find(node, prefix.keys[entry], block_size);
    if (node == kNoNode) return TokenCount(boundary) - first;
  }
  const bool saved = prefixes_.is_saved(node, PoolKind::kHostStates);
  return saved ? count : TokenCount(boundary) - first;
}

// What the copies of a failed step staged is nobody's state.
void Core::void_saves(std::uint64_t step) {
  for (Save& save : saves_) {
    if (save.step >= step) save.is_void = true;
  }
}

// Contents are findable before their holds end, so that their places are kept.
void Core::end_saves(Ticket ticket, bool lost) {
  std::size_t ended = 0;
  words_.clear();
  PoolKind pool =
      PoolKind::kHostBlocks;  // of these words: contents that can be found, not noted yet
  const auto note_stored = [&] {
    if (words_.empty()) return;
    const auto count = static_cast<std::uint32_t>(words_.size());
    journal_.append({Verb::kStored, pool, 0, 0, count, 0}, words_);
    words_.clear();
  };
  for (; ended < saves_.size() && saves_[ended].ticket <= ticket; ++ended) {
    const Save& save = saves_[ended];
    PINFOLD_CHECK(lost || save.step <= done_ + 1, "O16",
                  "what step " + std::to_string(save.step - 1) +
                      " wrote was saved before the result of that step");
    const bool whole = !lost && !save.is_void;
    if (whole) {
      pools_.of(save.pool).keep(save.host);
      if (save.pool != pool) note_stored();
      pool = save.pool;
      words_.push_back(save.host);
      ++(save.pool == PoolKind::kHostBlocks ? stats_.saved_blocks : stats_.saved_states);
    } else {
      ++stats_.saves_lost;
    }
    prefixes_.end_save(save.node, save.pool, whole ? save.host : kNoBlock);
  }
  note_stored();
  saves_.erase(saves_.begin(), saves_.begin() + static_cast<std::ptrdiff_t>(ended));
}

}  // namespace pinfold
