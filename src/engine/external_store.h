#pragma once
// Rule O16: hooks to save and load state at 128-token boundaries. The default store does nothing. For an
// engine with a store of its own; the one that the scheduler runs itself is scheduler/store.cc.
//
// When an engine calls them:
//   load   once per admission (a first chunk in a new epoch), before it dispatches the step, with the
//          last boundary below the prompt's end. A store that has those rows fills them and says so. The
//          scheduler does not start a prompt beyond row 0 yet, so what is loaded is computed once more.
//   save   after on_step_complete, for each boundary that the committed count C of a sequence crossed
//          (boundaries_crossed), while the sequence still owns its table and slot. The rows below the
//          boundary are then a committed prefix (rule O12); a rejected draft never lies below it. After
//          a preemption C starts at 0 and crosses the same boundaries again.
// The window in the state slot may have moved on by then: by the rows of the same chunk, or by rows in
// flight. window_is_whole (engine/state_layout.h) says whether it can still be cut; longer rings keep
// more of them, which is what extra prefill state is for.

#include <cstdint>
#include <span>

#include "base/counts.h"
#include "base/ids.h"

namespace pinfold {

/// Token positions from one boundary to the next.
inline constexpr TokenCount kStoreInterval{128};

/// Multiples of `interval`, rising: `first`, `first + interval`, ...; `count` of them.
struct Boundaries {
  TokenCount first;
  std::uint32_t count = 0;
  TokenCount interval = kStoreInterval;

  /// `n` must be below count.
  TokenCount operator[](std::uint32_t n) const {
    PINFOLD_CHECK(n < count, "O16",
                  "boundary " + std::to_string(n) + " of " + std::to_string(count));
    return first + TokenCount(n * interval.value);
  }
  friend bool operator==(const Boundaries&, const Boundaries&) = default;
};

/// The boundaries b with before < b <= after, for two processed counts of one sequence. A count that
/// fell (a preemption) crosses none. `interval` must not be 0.
constexpr Boundaries boundaries_crossed(TokenCount before, TokenCount after,
                                        TokenCount interval = kStoreInterval) {
  PINFOLD_CHECK(interval.value > 0, "O16", "boundaries 0 positions apart");
  if (after <= before) return {TokenCount(0), 0, interval};
  const std::uint32_t passed = before.value / interval.value;
  const std::uint32_t count = after.value / interval.value - passed;
  if (count == 0) return {TokenCount(0), 0, interval};
  return {TokenCount((passed + 1) * interval.value), count, interval};
}

/// The first `rows` rows of a sequence and where they lie. Valid during the call.
struct StoredPrefix {
  SequenceId sequence{};
  TokenCount rows;     // a boundary
  TokenCount written;  // C + F before the result, rejected drafts included: for window_is_whole
  std::span<const BlockId> table;
  BlockId state = kNoBlock;  // kNoBlock: the model has no state
};

/// An external key-value store. Contract: the sequence owns the prefix during the call, and a store reads
/// and writes it during the call only: work on a lane of its own would need a hold behind its own fence
/// (rule O9), which the scheduler does not offer yet. It changes no count and no table.
class ExternalStore {
 public:
  virtual ~ExternalStore() = default;

  /// `prefix.rows` became a committed boundary.
  virtual void save(const StoredPrefix& prefix) = 0;

  /// Fills rows of the prefix; returns how many, a boundary, 0 for none.
  virtual TokenCount load(const StoredPrefix& prefix) = 0;
};

/// The default: keeps nothing, has nothing.
class NoExternalStore final : public ExternalStore {
 public:
  void save(const StoredPrefix&) override {}
  TokenCount load(const StoredPrefix&) override { return TokenCount(0); }
};

}  // namespace pinfold
