// Counts: tokens meet blocks by way of a named conversion only, and no number becomes a count, or a
// count a number, without saying so.
//
// Case 1: tokens and blocks do not add up.
// Expect 1: no match for .operator\+|invalid operands to binary expression
// Case 2: tokens are not less than blocks.
// Expect 2: no match for .operator<|invalid operands to binary expression
// Case 3: tokens do not equal blocks.
// Expect 3: no match for .operator==|invalid operands to binary expression
// Case 4: a number is no count of tokens.
// Expect 4: conversion from .* to non-scalar type|no viable conversion
// Case 5: a number given where tokens are asked for.
// Expect 5: could not convert|no matching function|no viable conversion
// Case 6: a number added to tokens.
// Expect 6: no match for .operator\+|invalid operands to binary expression
// Case 7: blocks given where tokens are asked for.
// Expect 7: could not convert|no matching function
// Case 8: a count is no number.
// Expect 8: cannot convert|no viable conversion
// Case 9: tokens times tokens.
// Expect 9: no match for .operator\*|invalid operands to binary expression
// Case 10: tokens added to blocks in place.
// Expect 10: no match for .operator\+=|no viable overloaded .\+=
// Case 11: blocks kept as tokens.
// Expect 11: conversion from .* to non-scalar type|no viable conversion
// Case 12: tokens compared with a number.
// Expect 12: no match for .operator<|invalid operands to binary expression
// Case 13: a count of blocks made into a block id.
// Expect 13: cannot convert|no viable conversion
// Case 14: a demand for a number of blocks.
// Expect 14: no match for .operator=|no viable overloaded .=

#include "base/counts.h"
#include "base/ids.h"
#include "pool/demand.h"

namespace pinfold {

BlockCount blocks_of(TokenCount tokens) { return blocks_for(tokens, TokenCount(16)); }

// The same wishes, said so that they compile.
TokenCount grown(TokenCount tokens) { return tokens + TokenCount(1); }
bool fits(TokenCount tokens, BlockCount blocks) { return blocks_of(tokens) <= blocks; }
std::uint32_t number_in(TokenCount tokens) { return tokens.value; }
Demand demand_of(std::uint32_t blocks) {
  Demand demand;
  demand.of(PoolKind::kBlocks) = BlockCount(blocks);
  return demand;
}

#if CASE == 1
TokenCount sum(TokenCount tokens, BlockCount blocks) { return tokens + blocks; }
#endif

#if CASE == 2
bool fewer(TokenCount tokens, BlockCount blocks) { return tokens < blocks; }
#endif

#if CASE == 3
bool same(TokenCount tokens, BlockCount blocks) { return tokens == blocks; }
#endif

#if CASE == 4
TokenCount three() {
  TokenCount tokens = 3;
  return tokens;
}
#endif

#if CASE == 5
BlockCount blocks() { return blocks_of(3); }
#endif

#if CASE == 6
TokenCount next(TokenCount tokens) { return tokens + 1; }
#endif

#if CASE == 7
BlockCount blocks(BlockCount blocks) { return blocks_of(blocks); }
#endif

#if CASE == 8
std::uint32_t number(TokenCount tokens) {
  std::uint32_t n = tokens;
  return n;
}
#endif

#if CASE == 9
TokenCount product(TokenCount a, TokenCount b) { return a * b; }
#endif

#if CASE == 10
BlockCount grow(BlockCount blocks, TokenCount tokens) { return blocks += tokens; }
#endif

#if CASE == 11
TokenCount tokens(TokenCount known) {
  TokenCount tokens = blocks_of(known);
  return tokens;
}
#endif

#if CASE == 12
bool few(TokenCount tokens) { return tokens < 3; }
#endif

#if CASE == 13
BlockId last(BlockCount blocks) { return BlockId{blocks}; }
#endif

#if CASE == 14
Demand demand(std::uint32_t blocks) {
  Demand demand;
  demand.of(PoolKind::kBlocks) = blocks;
  return demand;
}
#endif

}  // namespace pinfold
