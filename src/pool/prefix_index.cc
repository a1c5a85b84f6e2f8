#include "pool/prefix_index.h"

#include <string>
#include <utility>

#include "base/mutant.h"

namespace pinfold {
namespace {

constexpr std::size_t kBucketsAtFirst = 64;

std::uint64_t mixed(std::uint64_t value) {
  value ^= value >> 30;
  value *= 0xBF58476D1CE4E5B9u;
  value ^= value >> 27;
  value *= 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

}  // namespace

PrefixIndex::PrefixIndex(std::uint32_t ids, std::uint32_t host_block_ids,
                         std::uint32_t host_state_ids) {
  if (ids == 0) return;
  of_host_[0].assign(host_block_ids, kRootNode);
  of_host_[1].assign(host_state_ids, kRootNode);
  nodes_.resize(1);
  nodes_[0].chain = 0x2545F4914F6CDD1Du;
  buckets_.assign(kBucketsAtFirst, kNoNode);
  of_block_.assign(ids, {kRootNode, kRootNode});
}

std::uint64_t PrefixIndex::chain(PrefixNode parent, std::uint64_t key, std::uint32_t rows) const {
  return mixed(mixed(at(parent).chain + 0x9E3779B97F4A7C15u) ^ key) + rows;
}

PrefixNode PrefixIndex::find(PrefixNode parent, std::uint64_t key, std::uint32_t rows) const {
  for (std::uint32_t n = 1; mutant_is(Mutant::kParentNotVerified) && n < nodes_.size(); ++n) {
    if (nodes_[n].key == key && nodes_[n].rows == rows && nodes_[n].block != kNoBlock)
      return PrefixNode{n};
  }
  const std::uint64_t hash = chain(parent, key, rows);
  for (PrefixNode node = buckets_[hash & (buckets_.size() - 1)]; node != kNoNode;
       node = at(node).next) {
    const Node& found = at(node);
    if (found.parent == parent && found.key == key && found.rows == rows) return node;
  }
  return kNoNode;
}

PrefixNode PrefixIndex::enter(PrefixNode parent, std::uint64_t key, std::uint32_t rows) {
  if (const PrefixNode found = find(parent, key, rows); found != kNoNode) return found;
  if (live_ == buckets_.size()) grow();
  PrefixNode node = unused_;
  if (node == kNoNode) {
    PINFOLD_CHECK(nodes_.size() < UINT32_MAX, "prefix", "more contents than nodes can name");
    node = PrefixNode{static_cast<std::uint32_t>(nodes_.size())};
    nodes_.emplace_back();
  } else {
    unused_ = at(node).next;
  }
  const std::uint64_t hash = chain(parent, key, rows);
  PrefixNode& bucket = bucket_of(hash);
  at(node) = Node{key, hash, parent, bucket, kNoBlock, rows, 0, 0, {}, 0};
  bucket = node;
  ++at(parent).children;
  ++live_;
  return node;
}

void PrefixIndex::grow() {
  buckets_.assign(2 * buckets_.size(), kNoNode);
  for (std::uint32_t index = 1; index < nodes_.size(); ++index) {
    Node& node = nodes_[index];
    if (node.parent == kNoNode) continue;
    PrefixNode& bucket = bucket_of(node.chain);
    node.next = bucket;
    bucket = PrefixNode{index};
  }
}

bool PrefixIndex::attach(PrefixNode node, BlockId block, Part part) {
  if (kMutantsBuild && block == kNoBlock) return false;
  PrefixNode& place = of_block_[index_of(block)][static_cast<std::size_t>(part)];
  if (at(node).block != kNoBlock || place != kRootNode) return false;
  place = node;
  at(node).block = block;
  return true;
}

void PrefixIndex::detach(BlockId block) {
  std::array<PrefixNode, 2>& nodes = of_block_[index_of(block)];
  for (PrefixNode& node : nodes) {
    if (node == kRootNode) continue;
    at(node).block = kNoBlock;
    collect(node);
    node = kRootNode;
  }
}

void PrefixIndex::begin_save(PrefixNode node, PoolKind pool) {
  PINFOLD_CHECK(node != kRootNode && !is_saved(node, pool), "O16", "a content is saved twice");
  at(node).saving |= bit_of(pool);
  hold(node);
}

void PrefixIndex::end_save(PrefixNode node, PoolKind pool, BlockId id) {
  at(node).saving &= static_cast<std::uint8_t>(~bit_of(pool));
  if (id != kNoBlock) {
    at(node).host[tier_of(pool)] = id;
    of_host_[tier_of(pool)][index_of(id)] = node;
  }
  drop(node);
}

void PrefixIndex::detach_host(PoolKind pool, BlockId id) {
  const PrefixNode node = std::exchange(of_host_[tier_of(pool)][index_of(id)], kRootNode);
  if (node == kRootNode) return;
  at(node).host[tier_of(pool)] = kNoBlock;
  collect(node);
}

void PrefixIndex::hold(PrefixNode node) {
  if (node != kRootNode) ++at(node).holders;
}

void PrefixIndex::drop(PrefixNode node) {
  if (node == kRootNode) return;
  PINFOLD_CHECK(at(node).holders > 0, "prefix", "dropped a node that nobody holds");
  --at(node).holders;
  collect(node);
}

// Removes what nothing refers to, from `node` upwards.
void PrefixIndex::collect(PrefixNode node) {
  while (node != kRootNode) {
    Node& gone = at(node);
    const bool on_host = gone.host[0] != kNoBlock || gone.host[1] != kNoBlock;
    if (gone.block != kNoBlock || on_host || gone.children > 0 || gone.holders > 0) return;
    PrefixNode* link = &bucket_of(gone.chain);
    while (*link != node) link = &at(*link).next;
    *link = gone.next;
    const PrefixNode parent = gone.parent;
    gone = Node{};
    gone.next = unused_;
    unused_ = node;
    --live_;
    --at(parent).children;
    node = parent;
  }
}

std::uint64_t PrefixIndex::content_of(BlockId block) const {
  std::uint64_t content = 0;
  for (const PrefixNode node : of_block_[index_of(block)]) {
    if (node != kRootNode) content += chain_of(node);
  }
  return content;
}

std::uint64_t PrefixIndex::host_content_of(PoolKind pool, BlockId id) const {
  const PrefixNode node = of_host_[tier_of(pool)][index_of(id)];
  return node == kRootNode ? 0 : chain_of(node);
}

void PrefixIndex::audit(const Pools& pools, std::uint64_t held) const {
  if (nodes_.empty()) return;
  const Pool& pool = pools.blocks();
  std::array<std::size_t, 2> on_host{};
  std::vector<std::uint32_t> children(nodes_.size());
  std::uint64_t holders = 0;
  std::size_t live = 0;
  std::size_t attached = 0;
  for (std::uint32_t index = 1; index < nodes_.size(); ++index) {
    const Node& node = nodes_[index];
    if (node.parent == kNoNode) continue;
    ++live;
    ++children[static_cast<std::uint32_t>(node.parent)];
    holders += node.holders;
    const std::string name = "content " + std::to_string(index);
    PINFOLD_CHECK(find(node.parent, node.key, node.rows) == PrefixNode{index}, "prefix",
                  name + " is not found");
    for (const PoolKind kind : {PoolKind::kHostBlocks, PoolKind::kHostStates}) {
      const std::size_t tier = tier_of(kind);
      if (node.host[tier] == kNoBlock) continue;
      ++on_host[tier];
      PINFOLD_CHECK(of_host_[tier][index_of(node.host[tier])] == PrefixNode{index}, "O16",
                    name + " names a " + name_of(kind) + " that does not hold it");
      PINFOLD_CHECK(pools.of(kind).keeps(node.host[tier]), "O16",
                    name + " is findable in a free " + name_of(kind));
    }
    const bool saved = node.host[0] != kNoBlock || node.host[1] != kNoBlock;
    PINFOLD_CHECK(node.block != kNoBlock || saved || node.children > 0 || node.holders > 0,
                  "prefix", name + " is kept for nothing");
    if (node.block == kNoBlock) continue;
    ++attached;
    const std::array<PrefixNode, 2>& nodes = of_block_[index_of(node.block)];
    PINFOLD_CHECK(nodes[0] == PrefixNode{index} || nodes[1] == PrefixNode{index}, "prefix",
                  name + " names a block that does not hold it");
    PINFOLD_CHECK(pool.is_idle(node.block) || pool.owners(node.block) > 0, "prefix",
                  name + " is findable in a free block");
  }
  for (std::uint32_t index = 0; index < nodes_.size(); ++index) {
    PINFOLD_CHECK(children[index] == nodes_[index].children, "prefix",
                  "content " + std::to_string(index) + " has other contents below it than it says");
  }
  for (std::uint32_t id = 1; id < of_block_.size(); ++id) {
    std::uint32_t contents = 0;
    for (const PrefixNode node : of_block_[id]) contents += node != kRootNode ? 1 : 0;
    attached -= contents;
    PINFOLD_CHECK(
        (contents > 0) == pool.keeps(BlockId{id}), "prefix",
        "block " + std::to_string(id) + " is kept for " + std::to_string(contents) + " contents");
  }
  PINFOLD_CHECK(attached == 0, "prefix", "blocks and contents name each other one to one");
  for (const PoolKind kind : {PoolKind::kHostBlocks, PoolKind::kHostStates}) {
    const std::vector<PrefixNode>& nodes = of_host_[tier_of(kind)];
    for (std::uint32_t id = 1; id < nodes.size(); ++id) {
      PINFOLD_CHECK((nodes[id] != kRootNode) == pools.of(kind).keeps(BlockId{id}), "O16",
                    std::string(name_of(kind)) + " " + std::to_string(id) +
                        " is kept without a content, or holds one and is not kept");
      if (nodes[id] != kRootNode) --on_host[tier_of(kind)];
    }
    PINFOLD_CHECK(on_host[tier_of(kind)] == 0, "O16",
                  "host ids and contents name each other one to one");
  }
  PINFOLD_CHECK(live == live_, "prefix", "contents were miscounted");
  PINFOLD_CHECK(holders == held, "prefix", "sequences refer to other contents than they hold");
}

}  // namespace pinfold
