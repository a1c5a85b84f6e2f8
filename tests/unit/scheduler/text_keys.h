#pragma once
// Keys of small texts, for tests of reuse.

#include <cstdint>
#include <vector>

#include "engine/scheduler.h"

namespace pinfold::test {

/// Keys of one text's blocks: text * 10, text * 10 + 1, ...; the tail, if it ends inside a block, is
/// named by the text and its end.
struct Text {
  Text(std::uint64_t text, std::uint32_t blocks, std::uint32_t end = 0) : tail_end(end) {
    for (std::uint32_t n = 0; n < blocks; ++n) keys.push_back(text * 10 + n);
    tail = text * 1000 + end;
  }
  operator PromptKeys() const {
    return {keys, TokenCount(tail_end), tail};
  }  // NOLINT: reads as a text

  std::vector<std::uint64_t> keys;
  std::uint32_t tail_end;
  std::uint64_t tail;
};

}  // namespace pinfold::test
