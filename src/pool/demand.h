#pragma once
// Atomic admission over all pools (rule O3): count first, then take; a refusal touches nothing.

#include <array>
#include <span>

#include "pool/pool.h"

namespace pinfold {

/// What one admission, fork or growth needs, per pool.
struct Demand {
  std::array<BlockCount, kPoolKinds> need{};

  BlockCount& of(PoolKind kind) { return need[index_of(kind)]; }
  BlockCount of(PoolKind kind) const { return need[index_of(kind)]; }
};

/// kNever: waiting would not help. kLater: it would.
enum class Answer : std::uint8_t { kOk, kLater, kNever };

/// The answer and the pool that decided it (kBlocks when OK).
struct Availability {
  Answer answer = Answer::kOk;
  PoolKind pool = PoolKind::kBlocks;
};

/// All pools of an engine. A pool that the model does not use has 1 id, so 0 usable.
class Pools {
 public:
  /// `options` in the order of PoolKind, each of its own kind.
  explicit Pools(const std::array<PoolOptions, kPoolKinds>& options)
      : pools_{Pool(options[0]), Pool(options[1]), Pool(options[2]), Pool(options[3]),
               Pool(options[4])} {
    for (std::uint32_t index = 0; index < kPoolKinds; ++index) {
      PINFOLD_CHECK(index_of(pools_[index].kind()) == index, "O3",
                    std::string("a pool of kind ") + name_of(pools_[index].kind()) +
                        " stands at place " + std::to_string(index));
    }
  }

  Pool& of(PoolKind kind) { return pools_[index_of(kind)]; }
  const Pool& of(PoolKind kind) const { return pools_[index_of(kind)]; }
  Pool& blocks() { return of(PoolKind::kBlocks); }
  const Pool& blocks() const { return of(PoolKind::kBlocks); }

  /// Rule O3 over all pools at once: NEVER (more than a pool could ever issue) wins over LATER (more
  /// than is available) wins over OK. Blocks free but no slot is LATER. Pure, O(pools).
  Availability answer(const Demand& demand) const {
    Availability result;
    for (const Pool& pool : pools_) {
      const BlockCount need = demand.of(pool.kind());
      if (need > pool.usable()) return {Answer::kNever, pool.kind()};
      if (need > pool.available() && result.answer == Answer::kOk) {
        result = {Answer::kLater, pool.kind()};
      }
    }
    return result;
  }

  void audit() const {
    for (const Pool& pool : pools_) pool.audit();
  }

 private:
  std::array<Pool, kPoolKinds> pools_;
};

}  // namespace pinfold
