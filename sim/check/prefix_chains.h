#pragma once
// What the blocks of a request hold, as its keys say: each block's key chained to all before it.

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace pinfold::sim {

/// The contents of one request's blocks, from the words of Verb::kKeys. Two contents are taken for equal
/// if their chains are: 64 bits, mixed otherwise than in the library. A chain is never 0.
struct PrefixChains {
  std::vector<std::uint64_t> whole;  // of each whole block from the first on
  std::uint64_t tail = 0;            // of the first rows of a block; 0: none
  std::uint32_t tail_end = 0;        // the position where they end

  /// `ends_at`: where the tail ends, 0: no tail.
  void read(std::span<const BlockId> words, std::uint32_t ends_at, std::uint32_t block_size) {
    *this = {};
    const std::size_t keys = words.size() / 2;
    const std::size_t tails = ends_at > 0 ? 1 : 0;
    const auto key = [&](std::size_t n) {
      return index_of(words[2 * n]) | std::uint64_t{index_of(words[2 * n + 1])} << 32;
    };
    for (std::size_t n = 0; n + tails < keys; ++n) {
      whole.push_back(chained(n == 0 ? 1 : whole.back(), key(n), block_size));
    }
    const std::size_t entry = ends_at / block_size;
    if (tails == 0 || keys == 0 || entry > whole.size()) return;
    tail = chained(entry == 0 ? 1 : whole[entry - 1], key(keys - 1), ends_at % block_size);
    tail_end = ends_at;
  }

 private:
  static std::uint64_t chained(std::uint64_t before, std::uint64_t key, std::uint64_t rows) {
    std::uint64_t state = before * 0xD1342543DE82EF95u + key;
    state = (state ^ (state >> 32)) * 0xDABA0B6EB09322E3u + rows;
    state = (state ^ (state >> 29)) * 0xDABA0B6EB09322E3u;
    return (state ^ (state >> 32)) | 1;
  }
};

}  // namespace pinfold::sim
