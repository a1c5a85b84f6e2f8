#pragma once
// Which block holds which content: a tree of block keys, for reuse of prefixes.
//
// A node stands for the content of one block behind the content of all nodes above it, so a path from
// the root is a prefix. A node is found by (parent, key, rows) and all three are compared: neither a
// collision of hashes nor a key under another parent ever hits. The first block that was attached to a
// node is its block; a node outlives its block while nodes below it or a sequence refer to it, so what
// follows an evicted block is found again once that content has been computed again.
//
// Node numbers depend on history and reach no result; chain_of() names a node's content.

#include <array>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "pool/pool.h"

namespace pinfold {

/// Number of a node.
enum class PrefixNode : std::uint32_t {};
/// The empty prefix.
inline constexpr PrefixNode kRootNode{0};
inline constexpr PrefixNode kNoNode{UINT32_MAX};

/// Of a block: all its rows, or the first ones, where a prompt ends inside it.
enum class Part : std::uint8_t { kWhole, kTail };

/// The tree, over plain vectors. A regular value. find() and enter() are O(1) on average.
class PrefixIndex {
 public:
  /// `ids` of the pool, id 0 counted; 0 where prefixes are not reused.
  explicit PrefixIndex(std::uint32_t ids);

  /// The node below `parent` for a block with this key, of which the first `rows` rows count; kNoNode
  /// if there is none.
  PrefixNode find(PrefixNode parent, std::uint64_t key, std::uint32_t rows) const;
  /// The same, made if there is none. The caller attaches a block or holds the node at once.
  PrefixNode enter(PrefixNode parent, std::uint64_t key, std::uint32_t rows);

  /// Its block, or kNoBlock.
  BlockId block_of(PrefixNode node) const { return at(node).block; }
  /// Makes the node's content findable in `block`, as its whole content or that of its first rows. False,
  /// and nothing changes, if the content has a block or the block such a content already.
  bool attach(PrefixNode node, BlockId block, Part part);
  /// The block's content is gone.
  void detach(BlockId block);

  /// A sequence refers to the node, or no longer does.
  void hold(PrefixNode node);
  void drop(PrefixNode node);

  /// Hash of the whole prefix up to and with this node.
  std::uint64_t chain_of(PrefixNode node) const { return at(node).chain; }
  /// Hash of the contents attached to a block, 0 for none.
  std::uint64_t content_of(BlockId block) const;
  std::size_t nodes() const { return live_; }

  /// Proves the tree against itself and against the pool: attached blocks are owned or idle, idle ones
  /// are attached. `held` counts the sequences that refer to nodes. O(nodes + ids).
  void audit(const Pool& pool, std::uint64_t held) const;

 private:
  struct Node {
    std::uint64_t key = 0;
    std::uint64_t chain = 0;
    PrefixNode parent = kNoNode;  // kNoNode: the root, or not in use
    PrefixNode next = kNoNode;    // in its bucket, or among the unused
    BlockId block = kNoBlock;
    std::uint32_t rows = 0;
    std::uint32_t children = 0;
    std::uint32_t holders = 0;
  };

  const Node& at(PrefixNode node) const { return nodes_[static_cast<std::uint32_t>(node)]; }
  Node& at(PrefixNode node) { return nodes_[static_cast<std::uint32_t>(node)]; }
  PrefixNode& bucket_of(std::uint64_t chain) { return buckets_[chain & (buckets_.size() - 1)]; }
  std::uint64_t chain(PrefixNode parent, std::uint64_t key, std::uint32_t rows) const;
  void grow();
  void collect(PrefixNode node);

  std::vector<Node> nodes_;                          // [0] is the root
  std::vector<PrefixNode> buckets_;                  // a power of two
  std::vector<std::array<PrefixNode, 2>> of_block_;  // by id: by Part, kRootNode for none
  PrefixNode unused_ = kNoNode;
  std::size_t live_ = 0;
};

}  // namespace pinfold
