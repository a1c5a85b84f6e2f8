#pragma once
// What outside checks report: which check, at which event, and a sentence for a person.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"

namespace pinfold::sim {

/// The named outside checks: the invariants I1 to I21 (docs/invariants.md) and shadow memory.
enum class Check : std::uint8_t {
  kI1,      // conservation: the pool's own books
  kI2,      // owners: named in the journal, counted by the pool
  kI3,      // a free id is in no table, no dispatched step's reach, no pending copy
  kI4,      // block 0 is never owned, freed, copied or written
  kI5,      // no row is written over a row that another owner counts as committed
  kI6,      // at dispatch a table is exactly its need
  kI7,      // storage of a dispatched step is let go behind that step's fence
  kI8,      // a copy's source is held, and its destination kept, until the copy's fence
  kI9,      // progress; a second victim only for what the first did not give
  kI10,     // answers: NEVER iff it can never fit; LATER names what it waits for
  kI11,     // a refused pass changes nothing
  kI12,     // everybody is in one queue, and who waits holds nothing
  kI13,     // at drain nothing is owned
  kI14,     // a prefix is found only once written, with its content, until it is evicted
  kI15,     // shrink leaves every row that a dispatched step may still write
  kI16,     // a state slot has one writer, and is written before it is read
  kI17,     // tokens are emitted once, in order, whatever happened in between
  kI18,     // gauges and plan counts equal a recount
  kI19,     // same input, same journal
  kI20,     // scheduled - processed == in flight
  kI21,     // what is parked waits for an event that is pending
  kOrder,   // rule O2: ids are issued and come back in the order that the options name
  kShadow,  // what rows and state slots hold (rule O12)
  kOwners,  // owners, slots and fences once more, as shadow memory follows them
};
inline constexpr std::size_t kChecks = 24;

/// "I1", ..., "I21", "order", "shadow", "owners".
inline std::string name_of(Check check) {
  if (check == Check::kOrder) return "order";
  if (check == Check::kShadow) return "shadow";
  if (check == Check::kOwners) return "owners";
  return "I" + std::to_string(static_cast<int>(check) + 1);
}

/// A second opinion judges what other checks judge, with books of its own. It is reported like them, but a
/// bug must be found without it, and no bug is its alone.
inline bool is_second_opinion(Check check) { return check == Check::kOwners; }

struct Finding {
  Check check = Check::kI1;
  std::uint64_t event = 0;            // number of the last journal record before it was found
  std::string text;                   // owners, expected, found
  PoolKind pool = PoolKind::kBlocks;  // of `id`
  std::uint32_t id = 0;               // the block or slot that it is about, 0: none
};

/// The findings of one run: the first of each check in full, the others counted.
class Findings {
 public:
  void add(Check check, std::uint64_t event, std::string text, PoolKind pool = PoolKind::kBlocks,
           std::uint32_t id = 0) {
    if (counts_[static_cast<std::size_t>(check)]++ > 0) return;
    first_.push_back({check, event, std::move(text), pool, id});
  }
  bool empty() const { return first_.empty(); }
  /// The first of each check, in the order in which they were found.
  const std::vector<Finding>& first() const { return first_; }
  std::uint64_t count(Check check) const { return counts_[static_cast<std::size_t>(check)]; }

 private:
  std::vector<Finding> first_;
  std::array<std::uint64_t, kChecks> counts_{};
};

}  // namespace pinfold::sim
