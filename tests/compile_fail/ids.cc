// Ids: no arithmetic, no numbers in disguise, and no id of one kind for another (rule O2's ids; the
// conversions between numbers and ids are written out with index_of, value_of and braces).
//
// Case 1: a block id has no arithmetic.
// Expect 1: no match for .operator\+|invalid operands to binary expression
// Case 2: a sequence id is no block id.
// Expect 2: cannot convert|cannot initialize
// Case 3: a number is no block id.
// Expect 3: cannot convert|cannot initialize
// Case 4: a block id is no number.
// Expect 4: cannot convert|cannot initialize
// Case 5: a sequence id given where a block id is asked for.
// Expect 5: cannot convert|no matching function
// Case 6: a step number given where a ticket is asked for.
// Expect 6: cannot convert|no matching function
// Case 7: a ticket given where a step number is asked for.
// Expect 7: cannot convert|no matching function
// Case 8: a block id compared with a sequence id.
// Expect 8: no match for .operator==|invalid operands to binary expression
// Case 9: a block id compared with a number.
// Expect 9: no match for .operator==|invalid operands to binary expression
// Case 10: a ticket counted up in place.
// Expect 10: no match for .operator\+\+|no .operator\+\+|cannot increment
// Case 11: a block id as the index of an array.
// Expect 11: no match for .operator\[\]|no viable overloaded operator\[\]|invalid types|not an integer
// Case 12: a block id asked whether it is one.
// Expect 12: could not convert|not contextually convertible
// Case 13: a pool's kind for a lane.
// Expect 13: cannot convert|no matching function
// Case 14: a number where a hold says whose ids it has.
// Expect 14: could not convert|cannot convert|cannot initialize

#include <vector>

#include "base/fence.h"
#include "base/ids.h"
#include "pool/fence_holds.h"
#include "pool/pool.h"

namespace pinfold {

BlockId block_of(std::uint32_t n) { return BlockId{n}; }
std::uint32_t owners_of(const Pool& pool, BlockId block) { return pool.owners(block); }
Fence fence_at(Ticket ticket) { return fence_on(Lane::kCompute, ticket); }
std::uint64_t number_of(StepNumber step) { return value_of(step); }

// The same wishes, said so that they compile.
BlockId after(BlockId block) { return BlockId{index_of(block) + 1}; }
bool is_some_block(BlockId block) { return block != kNoBlock; }
int at(const std::vector<int>& rows, BlockId block) { return rows[index_of(block)]; }
bool is_block(BlockId block, std::uint32_t n) { return index_of(block) == n; }
Fence fence_behind(StepNumber step) { return fence_at(Ticket{value_of(step)}); }
std::uint64_t number_behind(Ticket ticket) { return number_of(StepNumber{value_of(ticket)}); }
bool earlier(Ticket a, Ticket b) { return a < b; }
Hold hold_from(SequenceId sequence) { return {.from = sequence}; }

#if CASE == 1
BlockId next(BlockId block) { return block + 1; }
#endif

#if CASE == 2
BlockId of(SequenceId sequence) {
  BlockId block = sequence;
  return block;
}
#endif

#if CASE == 3
BlockId three() {
  BlockId block = 3;
  return block;
}
#endif

#if CASE == 4
std::uint32_t number(BlockId block) {
  std::uint32_t n = block;
  return n;
}
#endif

#if CASE == 5
std::uint32_t owners(const Pool& pool, SequenceId sequence) { return owners_of(pool, sequence); }
#endif

#if CASE == 6
Fence fence(StepNumber step) { return fence_at(step); }
#endif

#if CASE == 7
std::uint64_t number(Ticket ticket) { return number_of(ticket); }
#endif

#if CASE == 8
bool same(BlockId block, SequenceId sequence) { return block == sequence; }
#endif

#if CASE == 9
bool is_none(BlockId block) { return block == 0; }
#endif

#if CASE == 10
Ticket next(Ticket ticket) { return ++ticket; }
#endif

#if CASE == 11
int row(const std::vector<int>& rows, BlockId block) { return rows[block]; }
#endif

#if CASE == 12
bool is_some(BlockId block) {
  if (block) return true;
  return false;
}
#endif

#if CASE == 13
Fence fence(Ticket ticket) { return fence_on(PoolKind::kBlocks, ticket); }
#endif

#if CASE == 14
Hold hold() { return {.from = 7}; }
#endif

}  // namespace pinfold
