#pragma once
// Who reads a block: for each block, the table entries that name it. Most blocks have one; the others
// of shared blocks lie in one ordered set, so that no block has storage of its own.

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

namespace pinfold::sim {

/// One entry of one block table.
struct BlockReader {
  std::uint32_t life = 0;   // whose table
  std::uint32_t entry = 0;  // where in it
  friend bool operator==(const BlockReader&, const BlockReader&) = default;
};

/// The entries of all tables, by block. Ids must be in range.
class BlockReaders {
 public:
  explicit BlockReaders(std::uint32_t block_ids) : firsts_(block_ids) {}

  void add(std::uint32_t block, const BlockReader& reader) {
    Readers& of_block = firsts_[block];
    if (of_block.count++ == 0) {
      of_block.first = reader;
    } else {
      others_.insert({block, reader.life, reader.entry});
    }
  }

  /// `reader` must have been added.
  void remove(std::uint32_t block, const BlockReader& reader) {
    Readers& of_block = firsts_[block];
    --of_block.count;
    if (of_block.first != reader) {
      others_.erase({block, reader.life, reader.entry});
    } else if (of_block.count > 0) {
      const auto next = others_.lower_bound({block, 0, 0});
      of_block.first = {std::get<1>(*next), std::get<2>(*next)};
      others_.erase(next);
    }
  }

  template <class Use>
  void for_each(std::uint32_t block, Use use) const {
    const Readers& of_block = firsts_[block];
    if (of_block.count == 0) return;
    use(of_block.first);
    if (of_block.count == 1) return;
    for (auto next = others_.lower_bound({block, 0, 0});
         next != others_.end() && std::get<0>(*next) == block; ++next) {
      use(BlockReader{std::get<1>(*next), std::get<2>(*next)});
    }
  }

 private:
  struct Readers {
    BlockReader first;
    std::uint32_t count = 0;
  };
  std::vector<Readers> firsts_;
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> others_;
};

}  // namespace pinfold::sim
