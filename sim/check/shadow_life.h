#pragma once
// One life of a sequence: from an admission to the next preemption or the end.

#include <cstdint>
#include <vector>

#include "sim/check/shadow_contents.h"

namespace pinfold::sim {

/// Positions below `end` were written by somebody else's life.
struct Inherited {
  std::uint32_t end = 0;
  std::uint32_t writer = kNobody;
  std::uint32_t epoch = 0;
};

/// What a life is made of, as the journal tells it.
struct Life {
  std::uint32_t sequence = kNobody;
  std::uint32_t epoch = 0;
  std::uint32_t processed = 0;  // C on the device: rows of carried out steps, corrected
  std::uint32_t in_flight = 0;  // upper bound of rows of dispatched steps
  std::uint32_t verified = 0;   // positions known to be right as the blocks are now
  bool let_go = false;          // nothing is held; `table` is what steps in flight still use
  std::vector<std::uint32_t> table;
  std::vector<Inherited> inherited;  // whose rows the first positions are, in order of position
  std::uint32_t state = 0;           // state slot, 0: none
  std::uint32_t last_state = 0;      // the one let go with steps in flight
  std::uint32_t draft = 0;           // draft slot
  std::uint64_t last_step = 0;       // the last dispatched step that has a row of it
  std::uint32_t flights = 0;
  std::uint32_t void_flights = 0;  // of those: behind a failed step, they commit nothing
  std::uint32_t void_reach = 0;    // up to where these may still write

  std::uint32_t held_blocks() const {
    return let_go ? 0 : static_cast<std::uint32_t>(table.size());
  }
  std::uint32_t state_in_use() const { return state != 0 ? state : last_state; }

  /// What a reader expects at `position`. `end`: up to where the same life wrote.
  RowTag expected(std::uint32_t position, std::uint32_t& end) const {
    for (const Inherited& part : inherited) {
      if (position >= part.end) continue;
      end = part.end;
      return {RowKind::kData, part.writer, part.epoch, position};
    }
    end = UINT32_MAX;
    return {RowKind::kData, sequence, epoch, position};
  }
  RowTag expected(std::uint32_t position) const {
    std::uint32_t end = 0;
    return expected(position, end);
  }
};

}  // namespace pinfold::sim
