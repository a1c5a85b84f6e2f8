// Reuse of prefixes. A block is found by the keys of everything up to its end (pool/prefix_index.h) once
// the step that wrote its last position has completed (decision 14); the first block with a content is
// the one that is found. At admission, also after a preemption, a request shares the leading blocks that
// are found; a running one never looks again. At least its last known token is computed: a block that it
// would share to the end, or of which it knows the first rows only, is copied into one of its own.
//
// With state slots a prefix is found up to a boundary whose state the host has (store.cc); without a
// store nothing is (core.cc). Profile `vllm-v1`, which finds blocks at allocation, is not
// built.

#include <algorithm>

#include "scheduler/core.h"
#include "scheduler/tickets.h"

namespace pinfold {

void Core::remember_keys(Sequence& sequence, const PromptKeys& keys) {
  if (!reuse_ || keys.empty()) return;
  const std::uint32_t block_size = options_.block_size.value;
  PINFOLD_CHECK(keys.tail_end.value == 0 || keys.tail_end.value % block_size != 0, "prefix",
                "a tail ends inside a block");
  PINFOLD_CHECK(keys.tail_end.value / block_size <= keys.blocks.size(), "prefix",
                "the blocks before a tail have keys");
  PrefixState& prefix = sequence.prefix;
  prefix.keys.assign(keys.blocks.begin(), keys.blocks.end());
  prefix.tail_end = keys.tail_end;
  prefix.tail = keys.tail;
  words_.clear();
  const auto add = [&](std::uint64_t key) {
    words_.push_back(BlockId{static_cast<std::uint32_t>(key)});
    words_.push_back(BlockId{static_cast<std::uint32_t>(key >> 32)});
  };
  for (const std::uint64_t key : keys.blocks) add(key);
  if (keys.tail_end.value > 0) add(keys.tail);
  note_ids(Verb::kKeys, PoolKind::kBlocks, sequence, words_, keys.tail_end.value);
}

// ---- hits ------------------------------------------------------------------------------------------

// The leading blocks of the known tokens that can be found, and the one behind them whose first rows can.
// Pure.
Core::Prefix Core::find_prefix(const Sequence& sequence, Found& hits) const {
  const PrefixState& keys = sequence.prefix;
  const std::uint32_t block_size = options_.block_size.value;
  const std::uint32_t known = sequence.rows.history.value;
  // The last known token is computed.
  const std::uint32_t most = mutant_is(Mutant::kLastTokenNotComputed) ? known : known - 1;
  Prefix prefix;
  hits.blocks.clear();
  hits.host.clear();
  hits.path.clear();
  const auto found = [&](std::uint64_t key, std::uint32_t rows) {
    const PrefixNode node = prefixes_.find(prefix.node, key, rows);
    if (node == kNoNode) return kNoNode;
    const BlockId block = prefixes_.block_of(node);
    if (block == kNoBlock || !pools_.blocks().can_pin(std::span(&block, 1))) return kNoNode;
    return node;
  };
  std::uint32_t count = 0;
  const std::uint32_t named = static_cast<std::uint32_t>(keys.keys.size());
  PrefixNode tail = kNoNode;
  while (count < named && (count + 1) * block_size <= known) {
    const PrefixNode node = found(keys.keys[count], block_size);
    if (node == kNoNode) break;
    if ((count + 1) * block_size > most) {
      tail = node;
      break;
    }
    hits.blocks.push_back(prefixes_.block_of(node));
    hits.path.push_back(node);
    prefix.node = node;
    ++count;
  }
  const std::uint32_t end = keys.tail_end.value;
  std::uint32_t rows = most;
  if (tail == kNoNode && end > 0 && end <= known && end / block_size == count) {
    tail = found(keys.tail, end % block_size);
    rows = std::min(end, most);
  }
  prefix.blocks = BlockCount(count);
  prefix.rows = TokenCount(count * block_size);
  // One list of copy sources at a time: a tail is not worth waiting for.
  if (tail != kNoNode && rows > count * block_size && !holds_.has_copies()) {
    prefix.tail = prefixes_.block_of(tail);
    prefix.rows = TokenCount(rows);
  }
  if (store_on_ && sequence.loads) {
    find_on_host(sequence, prefix, hits);
  } else if (options_.state == Switch::kOn) {
    hits.blocks.clear();
    prefix = Prefix{};
  }
  for (const BlockId block : hits.blocks) {
    if (pools_.blocks().is_idle(block)) prefix.revived += BlockCount(1);
  }
  return prefix;
}

// What is taken from the pool: fresh blocks, and idle ones that are no longer available. A tail's source
// may be one id more than an admission without reuse asks for; then it is left out, so that reuse never
// makes a request wait.
Demand Core::demand_behind(const Sequence& sequence, Prefix& prefix) const {
  const Pool& pool = pools_.blocks();
  Demand demand = demand_of(sequence);
  BlockCount& blocks = demand.of(PoolKind::kBlocks);
  blocks -= prefix.blocks;
  if (!mutant_is(Mutant::kRevivedNotInDemand)) blocks += prefix.revived;
  if (prefix.tail == kNoBlock || !pool.is_idle(prefix.tail)) return demand;
  if (blocks < pool.available()) {
    blocks += BlockCount(1);
  } else {
    prefix.tail = kNoBlock;
    prefix.rows = TokenCount(prefix.blocks.value * options_.block_size.value);
  }
  return demand;
}

TokenCount Core::shared_rows(const Prefix& prefix) const {
  return TokenCount(prefix.blocks.value * options_.block_size.value);
}

// The pins come first: what is taken afterwards may evict. As with a fork's, the pin on a tail's source
// passes to the release list: copy-on-write of a found block.
void Core::share_prefix(Pass& pass, Sequence& sequence, const Prefix& prefix,
                        std::span<const BlockId> blocks) {
  sequence.table.assign(blocks.begin(), blocks.end());
  if (!blocks.empty()) {
    note_ids(Verb::kHit, PoolKind::kBlocks, sequence, blocks,
             prefix.blocks.value * options_.block_size.value);
    pools_.blocks().share(blocks);
  }
  if (prefix.tail != kNoBlock) {
    const std::span<const BlockId> tail(&prefix.tail, 1);
    journal_.append({Verb::kHit, PoolKind::kBlocks, 1, value_of(sequence.id), 1, prefix.rows.value},
                    tail);
    pools_.blocks().share(tail);
    note_ids(Verb::kPark, PoolKind::kBlocks, sequence, tail,
             static_cast<std::uint32_t>(value_of(copy_ticket(pass.step))));
    pools_.blocks().park(tail);
    step_copies_.blocks.push_back(prefix.tail);
    step_copies_.from = sequence.id;
  }
  const bool loads = prefix.from_host();
  const TokenCount there = loads ? shared_rows(prefix) : prefix.rows;
  sequence.rows.processed = there;
  sequence.computed_high = std::max(sequence.computed_high, there);
  start_publishing(sequence, prefix.blocks, prefix.node);
  sequence.prefix.saved = (prefix.blocks + prefix.loads).value;
}

// The destination parks behind the copy if its owner goes first (rule O9).
void Core::copy_tail(Pass& pass, Sequence& sequence, const Prefix& prefix) {
  const TokenCount shared = shared_rows(prefix);
  queue_block_copy(pass.plan, sequence, prefix.tail, sequence.table[prefix.blocks.value],
                   prefix.rows - shared);
  sequence.copy_ticket = copy_ticket(pass.step);
  sequence.fork_step = StepNumber{pass.step};
}

void Core::book_prefix(const Sequence& sequence, const Prefix& prefix) {
  const std::uint32_t known = sequence.rows.history.value;
  const std::uint32_t rows = prefix.rows.value - prefix.loads.value * options_.block_size.value;
  if (sequence.admitted_before) {
    stats_.resume_queries += known;
    stats_.resume_hits += rows;
    return;
  }
  stats_.prefix_queries += known;
  stats_.prefix_hits += rows;
  stats_.prefix_blocks += blocks_for(sequence.rows.history, options_.block_size).value;
  stats_.prefix_block_hits += prefix.blocks.value;
  if (prefix.tail != kNoBlock) ++stats_.prefix_tail_hits;
}

void Core::forget(const Sequence& taker, std::span<const BlockId> evicted) {
  note_ids(Verb::kEvict, PoolKind::kBlocks, taker, evicted);
  for (const BlockId id : evicted) {
    if (!mutant_is(Mutant::kEvictedStillFound)) prefixes_.detach(id);
  }
  stats_.evicted += evicted.size();
}

// ---- publishing ------------------------------------------------------------------------------------

void Core::start_publishing(Sequence& sequence, BlockCount keyed, PrefixNode node) {
  PrefixState& prefix = sequence.prefix;
  prefix.keyed = keyed.value;
  prefix.node = node;
  prefix.tail_keyed = false;
  prefixes_.hold(node);
  find_due(prefix);
}

void Core::stop_publishing(Sequence& sequence) {
  PrefixState& prefix = sequence.prefix;
  prefixes_.drop(prefix.node);
  prefix.keyed = 0;
  prefix.saved = 0;
  prefix.node = kRootNode;
  prefix.due_at = PrefixState::kNothing;
}

void Core::find_due(PrefixState& prefix) const {
  const std::uint32_t block_size = options_.block_size.value;
  prefix.due_at = PrefixState::kNothing;
  if (prefix.keyed < prefix.keys.size()) prefix.due_at = (prefix.keyed + 1) * block_size;
  const std::uint32_t end = prefix.tail_end.value;
  if (!prefix.tail_keyed && end > 0 && end / block_size == prefix.keyed) prefix.due_at = end;
}

// In join order, whatever path a row is on.
void Core::publish_due(std::uint64_t step) {
  publishers_.take_due(step, store_, [&](SlotIndex slot) { publish_due_.push_back(slot); });
  publishers_.prune(steady_rows_, store_);
  std::sort(publish_due_.begin(), publish_due_.end(),
            [&](SlotIndex a, SlotIndex b) { return store_[a].join < store_[b].join; });
  for (const SlotIndex slot : publish_due_) {
    publish(store_[slot]);
    if (store_[slot].steady) expect_publication(slot);
  }
  publish_due_.clear();
}

void Core::publish(Sequence& sequence) {
  PrefixState& prefix = sequence.prefix;
  const std::uint32_t block_size = options_.block_size.value;
  std::uint32_t processed = rows_of(sequence).processed.value;
  if (mutant_is(Mutant::kHitOnUnwritten)) processed += rows_of(sequence).in_flight.value;
  std::uint32_t first = prefix.keyed;  // of the blocks that became findable and are not noted yet
  const auto note_run = [&] {
    const std::span<const BlockId> run =
        std::span(sequence.table).subspan(first, prefix.keyed - first);
    if (run.empty()) return;
    note_ids(Verb::kPublish, PoolKind::kBlocks, sequence, run, first);
    stats_.published += run.size();
  };
  while (prefix.due_at <= processed) {
    if (prefix.due_at % block_size != 0) {
      note_run();
      first = prefix.keyed;
      publish_tail(sequence);
    } else {
      const BlockId block = sequence.table[prefix.keyed];
      const PrefixNode node = prefixes_.enter(prefix.node, prefix.keys[prefix.keyed], block_size);
      prefixes_.hold(node);
      prefixes_.drop(prefix.node);
      prefix.node = node;
      if (prefixes_.attach(node, block, Part::kWhole)) {
        pools_.blocks().keep(block);
        ++prefix.keyed;
      } else {
        // Somebody else's block holds it: this one is not findable.
        note_run();
        first = ++prefix.keyed;
      }
    }
    find_due(prefix);
  }
  note_run();
  if (store_on_) save_blocks(sequence);
}

void Core::publish_tail(Sequence& sequence) {
  PrefixState& prefix = sequence.prefix;
  prefix.tail_keyed = true;
  const BlockId block = sequence.table[prefix.keyed];
  const std::uint32_t rows = prefix.tail_end.value % options_.block_size.value;
  const PrefixNode node = prefixes_.enter(prefix.node, prefix.tail, rows);
  prefixes_.hold(node);
  if (prefixes_.attach(node, block, Part::kTail)) {
    pools_.blocks().keep(block);
    journal_.append({Verb::kPublish, PoolKind::kBlocks, 1, value_of(sequence.id), 1, prefix.keyed},
                    std::span(&block, 1));
    ++stats_.published;
  }
  prefixes_.drop(node);
}

}  // namespace pinfold
