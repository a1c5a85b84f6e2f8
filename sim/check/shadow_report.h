#pragma once
// What the shadow reports, and how a person reads it.

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "sim/check/shadow_contents.h"
#include "sim/check/shadow_life.h"

namespace pinfold::sim {

/// One broken rule. `text` says everything; the other fields say it again for programs.
struct ShadowFinding {
  std::string rule;                   // "O12 visible rows", "O9 release", ...
  std::uint64_t event = 0;            // number of the record that showed it
  std::string text;                   // a read: reader, position, expected, found, writer, release
  std::uint32_t sequence = kNobody;   // who read, or did what is not allowed
  PoolKind pool = PoolKind::kBlocks;  // of `id`
  std::uint32_t id = 0;               // the block or slot it is about, 0: none
  std::uint32_t position = 0;         // the first wrong position of a read
  RowTag expected;                    // of a read
  WrittenRow found;                   // of a read
  Release since;                      // of its block after that was written, if any
};

/// "sequence 3", "sequence 3 in epoch 1".
std::string name_of_life(std::uint32_t sequence, std::uint32_t epoch);
/// "block 5".
std::string name_of_id(PoolKind pool, std::uint32_t id);
/// What a row holds, and who wrote it: "position 4 of sequence 3".
std::string name_of_row(const RowTag& tag);
/// "; sequence 1 had released block 5 at event 40", or that nobody had: of an id that is used wrongly.
std::string name_of_release(const Release& release, const std::string& what);

/// A read of a row that rule O12 does not allow; row `row` of block `id` holds `position`.
std::string wrong_row_text(const ShadowFinding& finding, std::uint32_t epoch, std::uint64_t step,
                           std::uint32_t row);
/// A read of a state slot that holds something else.
std::string wrong_state_text(const ShadowFinding& finding, std::uint32_t epoch, std::uint64_t step);

}  // namespace pinfold::sim
