#pragma once
// Live sequences: dense slots that keep their buffers, found by id.

#include <vector>

#include "sequence/sequence.h"

namespace pinfold {

/// Index of a live sequence in its store; reused after the sequence ended.
using SlotIndex = std::uint32_t;
inline constexpr SlotIndex kNoSlot = UINT32_MAX;

/// Sequences by slot and by id. Ids are given in increasing order, so the map is a window of slots
/// that moves along with the oldest live id; memory follows the live ids' span.
class SequenceStore {
 public:
  Sequence& operator[](SlotIndex slot) { return sequences_[slot]; }
  const Sequence& operator[](SlotIndex slot) const { return sequences_[slot]; }

  /// Slot of a live sequence, or kNoSlot.
  SlotIndex find(SequenceId id) const {
    const std::uint32_t value = value_of(id);
    if (value < base_ || value - base_ >= slots_.size()) return kNoSlot;
    return slots_[value - base_];
  }

  /// A fresh sequence with this id, which must be greater than every id before it.
  SlotIndex create(SequenceId id) {
    const std::uint32_t value = value_of(id);
    PINFOLD_CHECK(value >= next_, "ids",
                  "sequence ids must increase: got " + std::to_string(value) + " after " +
                      std::to_string(next_));
    skip_to(value);
    SlotIndex slot;
    if (free_.empty()) {
      slot = static_cast<SlotIndex>(sequences_.size());
      sequences_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
      reset(sequences_[slot]);
    }
    sequences_[slot].id = id;
    slots_.push_back(slot);
    next_ = std::uint64_t{value} + 1;
    ++live_;
    return slot;
  }

  /// Notes an id that was refused at arrival: it is used up.
  void skip(SequenceId id) {
    PINFOLD_CHECK(value_of(id) >= next_, "ids", "sequence ids must increase");
    next_ = std::uint64_t{value_of(id)} + 1;
  }

  void retire(SlotIndex slot) {
    slots_[value_of(sequences_[slot].id) - base_] = kNoSlot;
    ++sequences_[slot].generation;
    sequences_[slot].steady = false;
    free_.push_back(slot);
    --live_;
    while (dead_prefix_ < slots_.size() && slots_[dead_prefix_] == kNoSlot) ++dead_prefix_;
    if (dead_prefix_ > 1024 && dead_prefix_ * 2 > slots_.size()) {
      slots_.erase(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(dead_prefix_));
      base_ += static_cast<std::uint32_t>(dead_prefix_);
      dead_prefix_ = 0;
    }
  }

  std::uint32_t live() const { return live_; }

  /// Calls `visit(slot)` for every live sequence in id order. O(span of live ids).
  template <class Visit>
  void for_each(Visit visit) const {
    for (const SlotIndex slot : slots_) {
      if (slot != kNoSlot) visit(slot);
    }
  }

 private:
  void skip_to(std::uint32_t value) {
    if (live_ == 0) {
      slots_.clear();
      dead_prefix_ = 0;
      base_ = value;
      return;
    }
    while (base_ + slots_.size() < value) slots_.push_back(kNoSlot);
  }

  // Keeps the buffers and the generation: stale wheel entries of the slot's last tenant stay stale.
  static void reset(Sequence& sequence) {
    std::vector<BlockId> table = std::move(sequence.table);
    std::vector<std::uint64_t> keys = std::move(sequence.prefix.keys);
    const std::uint64_t generation = sequence.generation;
    table.clear();
    keys.clear();
    sequence = Sequence{};
    sequence.table = std::move(table);
    sequence.prefix.keys = std::move(keys);
    sequence.generation = generation;
  }

  std::vector<Sequence> sequences_;
  std::vector<SlotIndex> free_;
  std::vector<SlotIndex> slots_;  // by id - base_
  std::size_t dead_prefix_ = 0;   // leading kNoSlot entries of slots_
  std::uint32_t base_ = 0;
  std::uint64_t next_ = 0;
  std::uint32_t live_ = 0;
};

}  // namespace pinfold
