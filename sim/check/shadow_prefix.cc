// Contents that outlive their owner. A block is findable once its rows were written by completed steps or
// copies (decision 14); whoever finds it expects its rows as they were published, from who wrote them
// then, so that every read of them is checked like a fork's. Finding a block is checked by itself too.

#include <algorithm>

#include "sim/check/shadow.h"

namespace pinfold::sim {

// Of the block's rows [first, first + rows) of `as`'s positions: the first that does not hold what `as`
// expects there, counted from the block's beginning; the end if there is none.
std::uint32_t Shadow::first_wrong(std::uint32_t block, std::uint32_t first, std::uint32_t rows,
                                  const Life& as) const {
  for (std::uint32_t row = 0; row < rows;) {
    std::uint32_t end = 0;
    const RowTag wanted = as.expected(first + row, end);
    const std::uint32_t upto = std::min(rows, end - first);
    const std::uint32_t other = contents_.first_other(block, row, upto, wanted);
    if (other < upto) return other;
    row = upto;
  }
  return rows;
}

void Shadow::publish(const Record& record, std::span<const BlockId> ids) {
  if (published_.empty()) published_.resize(options_.block_ids);
  const Life& life = lives_[life_of(record.sequence)];
  const PrefixChains& chains = state_of(record.sequence).chains;
  const bool tail = record.detail == 1;
  for (std::uint32_t n = 0; n < ids.size(); ++n) {
    const std::uint32_t block = index_of(ids[n]);
    if (owned(record, ids[n]) == nullptr) continue;
    const std::uint32_t entry = record.aux + n;
    const std::uint32_t first = entry * options_.block_size;
    const std::string what = name_of_id(PoolKind::kBlocks, block) + ", published as block " +
                             std::to_string(entry) + " of sequence " +
                             std::to_string(record.sequence) + ", ";
    const bool named = tail ? chains.tail != 0 && chains.tail_end / options_.block_size == entry
                            : entry < chains.whole.size();
    if (!named) {
      find("prefix publish", record.sequence, PoolKind::kBlocks, block, what + "has no key");
      continue;
    }
    const std::uint32_t end = tail ? chains.tail_end : first + options_.block_size;
    const bool held = !life.let_go && entry < life.table.size() && life.table[entry] == block;
    if (!held) {
      find("prefix publish", record.sequence, PoolKind::kBlocks, block,
           what + "is not in its table");
    } else if (life.processed < end) {
      find("prefix publish", record.sequence, PoolKind::kBlocks, block,
           what + "is computed up to position " + std::to_string(life.processed) + " of " +
               std::to_string(end));
    } else if (const std::uint32_t wrong = first_wrong(block, first, end - first, life);
               wrong < end - first) {
      find("prefix publish", record.sequence, PoolKind::kBlocks, block,
           what + "does not hold its position " + std::to_string(first + wrong));
    }
    Published& published = published_[block][tail ? kTail : kWhole];
    published = {tail ? chains.tail : chains.whole[entry], entry, end - first, {}};
    for (std::uint32_t position = first; position < end;) {
      std::uint32_t upto = 0;
      const RowTag row = life.expected(position, upto);
      position = std::min(upto, end);
      published.parts.push_back({position, row.writer, row.epoch});
    }
  }
}

void Shadow::evict(const Record& record, std::span<const BlockId> ids) {
  for (const BlockId id : ids) {
    const Owned* const was = owned(record, id);
    if (was == nullptr) continue;
    const std::uint32_t block = index_of(id);
    if (was->owners > 0 || !is_published(block)) {
      find("prefix evict", record.sequence, PoolKind::kBlocks, block,
           name_of_id(PoolKind::kBlocks, block) + " is evicted and " +
               (was->owners > 0 ? "has " + std::to_string(was->owners) + " owners"
                                : "is not published"));
    }
    if (!published_.empty()) published_[block] = {};
  }
}

// The source of a tail's copy stands in the table until the kPark that follows.
void Shadow::hit(const Record& record, std::span<const BlockId> ids) {
  const std::uint32_t index = take_part(record);
  const std::uint32_t block_size = options_.block_size;
  for (const BlockId id : ids) {
    Owned* const now = owned(record, id);
    if (now == nullptr) continue;
    const std::uint32_t block = index_of(id);
    const auto entry = static_cast<std::uint32_t>(lives_[index].table.size());
    hit_block(record, block, entry);
    ++now->owners;
    readers_.add(block, {index, entry});
    lives_[index].table.push_back(block);
  }
  Life& life = lives_[index];
  life.processed = record.aux;
  if (record.aux > life.table.size() * block_size) {
    find("prefix hit", record.sequence, PoolKind::kBlocks, 0,
         "sequence " + std::to_string(record.sequence) + " counts " + std::to_string(record.aux) +
             " rows as found in " + std::to_string(life.table.size()) + " blocks");
  }
}

void Shadow::hit_block(const Record& record, std::uint32_t block, std::uint32_t entry) {
  const PrefixChains& chains = state_of(record.sequence).chains;
  const std::uint32_t first = entry * options_.block_size;
  const std::uint32_t rows = std::min(std::max(record.aux, first) - first, options_.block_size);
  const std::string what = name_of_id(PoolKind::kBlocks, block) + ", found for block " +
                           std::to_string(entry) + " of sequence " +
                           std::to_string(record.sequence) + ", ";
  const auto wrong = [&](const std::string& text) {
    find("prefix hit", record.sequence, PoolKind::kBlocks, block, what + text);
  };
  if (!is_published(block)) return wrong("is not published");
  const bool copied = record.detail == 1;
  const Published& whole = published_[block][kWhole];
  const Published& tail = published_[block][kTail];
  const bool is_whole = entry < chains.whole.size() && whole.chain == chains.whole[entry];
  const bool is_tail = copied && chains.tail != 0 && tail.chain == chains.tail;
  if (!is_whole && !is_tail) return wrong("holds another content");
  const Published& found = is_whole ? whole : tail;
  if (found.entry != entry || rows > found.rows) {
    return wrong("counts " + std::to_string(rows) + " rows as found, and " +
                 std::to_string(found.rows) + " are published");
  }
  Life& life = lives_[life_of(record.sequence)];
  std::uint32_t begin = life.inherited.empty() ? 0 : life.inherited.back().end;
  for (const Inherited& part : found.parts) {
    const std::uint32_t end = std::min(part.end, first + rows);
    if (end <= begin) continue;
    const bool goes_on = !life.inherited.empty() && life.inherited.back().writer == part.writer &&
                         life.inherited.back().epoch == part.epoch;
    if (!goes_on) life.inherited.push_back(part);
    life.inherited.back().end = begin = end;
  }
  if (const std::uint32_t other = first_wrong(block, first, rows, life); other < rows) {
    wrong("was overwritten at row " + std::to_string(other) + " since it was published");
  }
}

}  // namespace pinfold::sim
