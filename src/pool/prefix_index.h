#pragma once
// Which block holds which content: a tree of block keys, for reuse of prefixes. On the device, and on the
// host where an external store is (rule O16): there also the state that belongs to the end of a prefix.
//
// A node stands for the content of one block behind the content of all nodes above it, so a path from
// the root is a prefix. A node is found by (parent, key, rows) and all three are compared: neither a
// collision of hashes nor a key under another parent ever hits. The first block that was attached to a
// node is its block; a node outlives its block while nodes below it, the host or a sequence refer to it,
// so what follows an evicted block is found again once that content has been computed again.
//
// Node numbers depend on history and reach no result; chain_of() names a node's content.

#include <array>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "pool/demand.h"

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
  /// `ids` of the pool of blocks, id 0 counted, 0 where prefixes are not reused; then those of the host's
  /// pools, 0 without a store.
  explicit PrefixIndex(std::uint32_t ids, std::uint32_t host_block_ids = 0,
                       std::uint32_t host_state_ids = 0);

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

  /// Where the host has the node's block, or the state behind it; kNoBlock: nowhere. `pool` is one of the
  /// host's.
  BlockId on_host(PrefixNode node, PoolKind pool) const { return at(node).host[tier_of(pool)]; }
  /// Whether the host has it or a save into it is on its way.
  bool is_saved(PrefixNode node, PoolKind pool) const {
    return on_host(node, pool) != kNoBlock || (at(node).saving & bit_of(pool)) != 0;
  }
  /// A save into the host begins; the node is held until end_save().
  void begin_save(PrefixNode node, PoolKind pool);
  /// The save is over: the content can be found in `id`, or, with kNoBlock, nowhere.
  void end_save(PrefixNode node, PoolKind pool, BlockId id);
  /// The host id's content is gone.
  void detach_host(PoolKind pool, BlockId id);

  PrefixNode parent_of(PrefixNode node) const { return at(node).parent; }

  /// A sequence refers to the node, or no longer does.
  void hold(PrefixNode node);
  void drop(PrefixNode node);

  /// Hash of the whole prefix up to and with this node.
  std::uint64_t chain_of(PrefixNode node) const { return at(node).chain; }
  /// Hash of the contents attached to a block, 0 for none.
  std::uint64_t content_of(BlockId block) const;
  /// Hash of what a host id holds, 0 for nothing.
  std::uint64_t host_content_of(PoolKind pool, BlockId id) const;
  std::size_t nodes() const { return live_; }

  /// Proves the tree against itself and against the pool: attached blocks are owned or idle, idle ones
  /// are attached, on the host likewise. `held` counts the sequences and saves that refer to nodes.
  /// O(nodes + ids).
  void audit(const Pools& pools, std::uint64_t held) const;

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
    std::array<BlockId, 2> host{};  // block and state, as tier_of() counts
    std::uint8_t saving = 0;        // a bit each
  };

  static std::size_t tier_of(PoolKind pool) { return pool == PoolKind::kHostStates ? 1 : 0; }
  static std::uint8_t bit_of(PoolKind pool) {
    return static_cast<std::uint8_t>(1u << tier_of(pool));
  }

  const Node& at(PrefixNode node) const { return nodes_[static_cast<std::uint32_t>(node)]; }
  Node& at(PrefixNode node) { return nodes_[static_cast<std::uint32_t>(node)]; }
  PrefixNode& bucket_of(std::uint64_t chain) { return buckets_[chain & (buckets_.size() - 1)]; }
  std::uint64_t chain(PrefixNode parent, std::uint64_t key, std::uint32_t rows) const;
  void grow();
  void collect(PrefixNode node);

  std::vector<Node> nodes_;                          // [0] is the root
  std::vector<PrefixNode> buckets_;                  // a power of two
  std::vector<std::array<PrefixNode, 2>> of_block_;  // by id: by Part, kRootNode for none
  std::array<std::vector<PrefixNode>, 2> of_host_;   // by host id, kRootNode for none
  PrefixNode unused_ = kNoNode;
  std::size_t live_ = 0;
};

}  // namespace pinfold
