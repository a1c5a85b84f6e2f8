#include "pool/pool.h"

#include <algorithm>
#include <bit>

namespace pinfold {
namespace {

// The count fits the record; one more owner than this is a violation, never a wrap.
constexpr std::uint16_t kOwnersMax = UINT16_MAX;
constexpr std::uint32_t kIdsMax = std::uint32_t{1} << 31;  // the ring's size must fit 32 bits

}  // namespace

Pool::Pool(const PoolOptions& options)
    : options_(options), idle_(options.reuse ? options.ids : 0, options.eviction) {
  PINFOLD_CHECK(options.ids >= 1, "O2", "a pool counts the never-issued id 0");
  PINFOLD_CHECK(options.ids <= kIdsMax, "O2", "a pool of " + std::to_string(options.ids) + " ids");
  owners_.resize(options.ids);
  if (options.reuse) kept_.resize(options.ids);
  ring_.resize(std::bit_ceil(options.ids));
  mask_ = static_cast<std::uint32_t>(ring_.size()) - 1;
  free_count_ = options.ids - 1;
  // LIFO issues from the back, so the lowest id is placed there: both orders start with id 1.
  const bool fifo = options.free_order == FreeOrder::kFifo;
  for (std::uint32_t n = 0; n < free_count_; ++n)
    ring_[n] = BlockId{fifo ? n + 1 : free_count_ - n};
  if (mutant_is(Mutant::kBlockZeroIssued) && options.kind == PoolKind::kBlocks) ring_[0] = kNoBlock;
}

std::string Pool::describe(BlockId id) const {
  const Owners& owners = owners_[index_of(id)];
  return std::string(name_of(options_.kind)) + " " + std::to_string(index_of(id)) + " with " +
         std::to_string(owners.all) + " owners, " + std::to_string(owners.holds) + " of them holds";
}

void Pool::throw_outside(BlockId id) const {
  const std::string name = name_of(options_.kind);
  if (id == kNoBlock) throw InvariantViolation("O2", name + " 0 is never issued");
  throw InvariantViolation("O2", name + " " + std::to_string(index_of(id)) +
                                     " is outside a pool of " + std::to_string(options_.ids));
}

void Pool::throw_owners(const char* rule, const char* what, BlockId id) const {
  throw InvariantViolation(rule, what + describe(id));
}

std::uint32_t Pool::owners(BlockId id) const { return owners_[checked_index(id)].all; }
std::uint32_t Pool::holds(BlockId id) const { return owners_[checked_index(id)].holds; }

std::size_t Pool::take(std::span<BlockId> out) {
  PINFOLD_CHECK(out.size() <= available().value, "O3",
                "asked for " + std::to_string(out.size()) + " of " +
                    std::to_string(available().value) + " available ids: count first, then take");
  if (kMutantsBuild && out.size() > available().value) {
    std::fill(out.begin() + available().value, out.end(), kNoBlock);
    out = out.first(available().value);
  }
  const std::uint32_t count = std::min(static_cast<std::uint32_t>(out.size()), free_count_);
  const bool fifo = options_.free_order == FreeOrder::kFifo;
  const std::uint32_t first = fifo ? head_ : head_ + free_count_ - count;
  for (std::uint32_t n = 0; n < count; ++n) {
    const BlockId id = ring_[(first + (fifo ? n : count - 1 - n)) & mask_];
    Owners& owners = owners_[index_of(id)];
    if (!kMutantsBuild && owners.all != 0) [[unlikely]]
      throw_owners("O2", "on the free list: ", id);
    owners.all = 1;
    out[n] = id;
  }
  if (fifo) head_ += count;
  free_count_ -= count;
  for (std::size_t n = count; n < out.size(); ++n) {
    const BlockId id = idle_.pop();
    Owners& owners = owners_[index_of(id)];
    if (!kMutantsBuild && owners.all != 0) [[unlikely]]
      throw_owners("O2", "evicted with owners: ", id);
    kept_[index_of(id)] = 0;
    owners.all = 1;
    out[n] = id;
  }
  acquired_ += out.size();
  peak_owned_ = std::max(peak_owned_, owned().value);
  return out.size() - count;
}

void Pool::keep(BlockId id) {
  PINFOLD_CHECK(options_.reuse, "prefix", "this pool keeps no content");
  const Owners& owners = owners_[checked_index(id)];
  if (kMutantsBuild && owners.all == 0) return;
  if (owners.all == 0) [[unlikely]]
    throw_owners("prefix", "content of a free id is kept: ", id);
  if (kept_[index_of(id)] != 0) return;
  kept_[index_of(id)] = 1;
  idle_.keep(id);
}

void Pool::share(std::span<const BlockId> ids) {
  for (const BlockId id : ids) {
    const Owners& owners = owners_[checked_index(id)];
    if (!kMutantsBuild && owners.all == 0 && !is_idle(id)) [[unlikely]]
      throw_owners("O2", "share of free ", id);
    if (owners.all == kOwnersMax) [[unlikely]]
      throw_owners("O2", "too many pins of ", id);
  }
  for (const BlockId id : ids) {
    Owners& owners = owners_[index_of(id)];
    if (owners.all == 0) {
      if (!mutant_is(Mutant::kRevivedTwice)) idle_.remove(id);
      ++revived_;
    } else if (owners.holds == owners.all) {
      --parked_;  // a parked id is owned by a table again
    }
    ++owners.all;
  }
  peak_owned_ = std::max(peak_owned_, owned().value);
}

bool Pool::can_pin(std::span<const BlockId> ids) const {
  return std::all_of(ids.begin(), ids.end(), [&](BlockId id) { return owners(id) < kOwnersMax; });
}

void Pool::pin(std::span<const BlockId> ids) {
  for (const BlockId id : ids) {
    if (!kMutantsBuild && owners_[checked_index(id)].all == 0) [[unlikely]]
      throw_owners("O2", "pin of free ", id);
  }
  for (std::size_t n = 0; n < ids.size(); ++n) {
    Owners& owners = owners_[index_of(ids[n])];
    if (owners.all == kOwnersMax) [[unlikely]] {
      // Found only here, as a list may name an id more than once and be longer than the largest count.
      for (const BlockId id : ids.first(n)) unpin(id);
      throw_owners("O2", "too many pins of ", ids[n]);
    }
    if (mutant_is(Mutant::kOwnersClamped) && owners.all >= 2) continue;
    if (kMutantsBuild && owners.all == 0) ++parked_;
    if (owners.holds == owners.all) --parked_;  // a parked id is owned by a table again
    ++owners.all;
  }
}

void Pool::unpin(BlockId id) {
  Owners& owners = owners_[index_of(id)];
  --owners.all;
  if (owners.holds == owners.all) ++parked_;
}

void Pool::push_free(BlockId id) {
  if (keeps(id)) {
    idle_.add(id);
    ++freed_;
    return;
  }
  ring_[(head_ + free_count_) & mask_] = id;
  ++free_count_;
  ++freed_;
}

void Pool::drop(BlockId id) {
  Owners& owners = owners_[checked_index(id)];
  if (kMutantsBuild && owners.all == owners.holds) return;
  if (owners.all == owners.holds) [[unlikely]]
    throw_owners("O2", "release without an owner of ", id);
  --owners.all;
  if (owners.all == 0) {
    push_free(id);
  } else if (owners.all == owners.holds) {
    ++parked_;
  }
}

template <class Next>
std::size_t Pool::free_sole(std::size_t count, std::uint32_t sole, Next next) {
  if (options_.reuse) return 0;  // each id may go idle instead
  const std::uint32_t first = head_ + free_count_;
  std::size_t freed = 0;
  for (; freed < count; ++freed) {
    const BlockId id = next(freed);
    const std::uint32_t index = index_of(id);
    if (index - 1 >= options_.ids - 1) break;  // the one-by-one path says what is wrong
    if (std::bit_cast<std::uint32_t>(owners_[index]) != sole) break;
    owners_[index] = Owners{};
    ring_[(first + static_cast<std::uint32_t>(freed)) & mask_] = id;
  }
  free_count_ += static_cast<std::uint32_t>(freed);
  freed_ += freed;
  return freed;
}

void Pool::release(std::span<const BlockId> table) {
  const bool reverse =
      options_.release_order == ReleaseOrder::kReverse && !mutant_is(Mutant::kForwardRelease);
  const auto nth = [&](std::size_t n) { return table[reverse ? table.size() - 1 - n : n]; };
  for (std::size_t done = 0; done < table.size();) {
    done += free_sole(table.size() - done, std::bit_cast<std::uint32_t>(Owners{1, 0}),
                      [&](std::size_t n) { return nth(done + n); });
    if (done < table.size()) drop(nth(done++));
  }
}

void Pool::park(std::span<const BlockId> ids) {
  for (const BlockId id : ids) {
    Owners& owners = owners_[checked_index(id)];
    if (kMutantsBuild && owners.all == owners.holds) continue;
    if (owners.all == owners.holds) [[unlikely]]
      throw_owners("O9", "park without an owner of ", id);
    ++owners.holds;
    if (owners.holds == owners.all) ++parked_;
  }
}

void Pool::unpark_one(BlockId id) {
  Owners& owners = owners_[checked_index(id)];
  if (kMutantsBuild && owners.holds == 0) return;
  if (owners.holds == 0) [[unlikely]]
    throw_owners("O9", "a fence released without a hold ", id);
  if (owners.holds == owners.all) --parked_;
  --owners.holds;
  --owners.all;
  if (owners.all == 0) {
    push_free(id);
  } else if (owners.all == owners.holds) {
    ++parked_;
  }
}

void Pool::unpark(std::span<const BlockId> ids) {
  for (std::size_t done = 0; done < ids.size();) {
    const std::size_t freed =
        free_sole(ids.size() - done, std::bit_cast<std::uint32_t>(Owners{1, 1}),
                  [&](std::size_t n) { return ids[done + n]; });
    parked_ -= static_cast<std::uint32_t>(freed);  // a sole owner that is a hold: parked
    done += freed;
    if (done < ids.size()) unpark_one(ids[done++]);
  }
  if (mutant_is(Mutant::kFreeIdLost) && free_count_ > 170) --free_count_;
}

std::vector<BlockId> Pool::free_list() const {
  std::vector<BlockId> list(free_count_);
  for (std::uint32_t n = 0; n < free_count_; ++n) {
    const bool fifo = options_.free_order == FreeOrder::kFifo;
    list[n] = ring_[(head_ + (fifo ? n : free_count_ - 1 - n)) & mask_];
  }
  return list;
}

std::vector<BlockId> Pool::kept_list() const {
  std::vector<BlockId> list;
  for (std::uint32_t id = 1; id < kept_.size(); ++id) {
    if (kept_[id] != 0) list.push_back(BlockId{id});
  }
  if (options_.eviction == Eviction::kFifo) idle_.sort_by_age(list);
  return list;
}

void Pool::audit() const {
  std::vector<bool> listed(options_.ids);
  for (const BlockId id : free_list()) {
    PINFOLD_CHECK(owners(id) == 0, "law 1", describe(id) + " is on the free list");
    PINFOLD_CHECK(!listed[index_of(id)], "law 1", describe(id) + " is on the free list twice");
    listed[index_of(id)] = true;
  }
  std::uint32_t idle_ids = 0;
  for (const BlockId id : idle_list()) {
    PINFOLD_CHECK(owners(id) == 0, "law 1", describe(id) + " is idle");
    PINFOLD_CHECK(!listed[index_of(id)], "law 1",
                  describe(id) + " is idle and free, or idle twice");
    PINFOLD_CHECK(keeps(id), "law 1", describe(id) + " is idle and holds nothing");
    listed[index_of(id)] = true;
    ++idle_ids;
  }
  PINFOLD_CHECK(idle_ids == idle_.size(), "law 1", std::to_string(idle_ids) + " ids are idle");
  std::uint32_t owned_ids = 0;
  std::uint32_t parked_ids = 0;
  for (std::uint32_t index = 1; index < options_.ids; ++index) {
    const Owners& owners = owners_[index];
    const BlockId id{index};
    PINFOLD_CHECK((owners.all == 0) == listed[index], "law 1", describe(id) + " is in no state");
    PINFOLD_CHECK(owners.holds <= owners.all, "law 2", describe(id));
    if (owners.all > 0) ++owned_ids;
    if (owners.all > 0 && owners.all == owners.holds) ++parked_ids;
  }
  PINFOLD_CHECK(owners_[0].all == 0, "O2", "id 0 has owners");
  PINFOLD_CHECK(owned_ids == owned().value, "law 1",
                std::to_string(owned_ids) + " ids have owners");
  PINFOLD_CHECK(acquired_ + revived_ == freed_ + owned_ids, "law 3",
                std::to_string(acquired_) + " ids were issued, " + std::to_string(revived_) +
                    " revived, " + std::to_string(freed_) + " came back and " +
                    std::to_string(owned_ids) + " are owned");
  PINFOLD_CHECK(parked_ids == parked_, "law 2", std::to_string(parked_ids) + " ids are parked");
}

}  // namespace pinfold
