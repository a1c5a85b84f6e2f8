#include "pool/prefix_index.h"

#include <string>

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

PrefixIndex::PrefixIndex(std::uint32_t ids) {
  if (ids == 0) return;
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
  at(node) = Node{key, hash, parent, bucket, kNoBlock, rows, 0, 0};
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
    if (gone.block != kNoBlock || gone.children > 0 || gone.holders > 0) return;
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

void PrefixIndex::audit(const Pool& pool, std::uint64_t held) const {
  if (nodes_.empty()) return;
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
    PINFOLD_CHECK(node.block != kNoBlock || node.children > 0 || node.holders > 0, "prefix",
                  name + " is kept for nothing");
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
  PINFOLD_CHECK(live == live_, "prefix", "contents were miscounted");
  PINFOLD_CHECK(holders == held, "prefix", "sequences refer to other contents than they hold");
}

}  // namespace pinfold
