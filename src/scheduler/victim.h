#pragma once
// Whom to preempt. One policy so far: newest.

#include <vector>

#include "sequence/sequence_store.h"

namespace pinfold {

/// Last in, first out: the sequence that joined last. `running` is in join order and not empty; there
/// are no ties, since join numbers are unique. O(1).
inline SlotIndex newest_victim(const std::vector<SlotIndex>& running) {
  PINFOLD_CHECK(!running.empty(), "O6", "there is nobody to preempt");
  return running.back();
}

}  // namespace pinfold
