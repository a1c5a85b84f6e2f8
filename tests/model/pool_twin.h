#pragma once
// The reference twin of the pool (rule O2): written from the rule's text and the chapter, for reading
// and not for speed. It shares nothing with the pool but the id type.
//
// The free list is a linked list threaded through the records, ended by id 0, as in the chapter.
// Nothing is counted in advance: what is available, owned or parked is found by walking, so the twin
// cannot count an id that it has not linked. Owners are kept as the two kinds that rule O9 tells
// apart, entries of tables and holds of fences, and not as a total and a part of it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"

namespace pinfold::model {

enum class TwinWalk : std::uint8_t { kLastToFirst, kFirstToLast };
enum class TwinIssue : std::uint8_t { kLongestFree, kLatestFreed };

struct TwinOptions {
  std::uint32_t ids = 1;  // the never-issued 0 counts
  TwinWalk walk = TwinWalk::kLastToFirst;
  TwinIssue issue = TwinIssue::kLongestFree;
};

/// The rule that an operation broke; empty if it kept all of them.
using Broken = std::string;

class PoolTwin {
 public:
  explicit PoolTwin(const TwinOptions& options) : options_(options), records_(options.ids) {
    // Lowest first in both orders: linking at the front turns the order round.
    for (std::uint32_t n = 1; n < options.ids; ++n) {
      link(options.issue == TwinIssue::kLongestFree ? n : options.ids - n);
    }
    freed_ = 0;
  }

  /// All or nothing: too few free ids break O3.
  Broken take(std::span<BlockId> out) {
    std::uint32_t listed = first_;
    for (std::size_t n = 0; n < out.size(); ++n) {
      if (listed == 0) return "O3";
      listed = records_[listed].next;
    }
    for (BlockId& id : out) id = BlockId{unlink_first()};
    return {};
  }

  /// All or nothing: the records are put back as they were when one id cannot be pinned.
  Broken pin(std::span<const BlockId> ids) {
    const std::vector<Record> before = records_;
    for (const BlockId id : ids) {
      const bool live = is_issuable(id) && owners(id) > 0;
      if (!live || owners(id) == kMostOwners) {
        records_ = before;
        return "O2";
      }
      ++at(id).tables;
    }
    return {};
  }

  /// Up to the first fault: the drops before it stand.
  Broken release(std::span<const BlockId> table) {
    const bool last_to_first = options_.walk == TwinWalk::kLastToFirst;
    for (std::size_t n = 0; n < table.size(); ++n) {
      const BlockId id = last_to_first ? table[table.size() - 1 - n] : table[n];
      if (!is_issuable(id)) return "O2";
      if (at(id).tables == 0) return "O2";
      --at(id).tables;
      if (owners(id) == 0) link(index_of(id));
    }
    return {};
  }

  /// Up to the first fault.
  Broken park(std::span<const BlockId> ids) {
    for (const BlockId id : ids) {
      if (!is_issuable(id)) return "O2";
      if (at(id).tables == 0) return "O9";
      --at(id).tables;
      ++at(id).fences;
    }
    return {};
  }

  /// Up to the first fault, in the order given whatever the walk.
  Broken unpark(std::span<const BlockId> ids) {
    for (const BlockId id : ids) {
      if (!is_issuable(id)) return "O2";
      if (at(id).fences == 0) return "O9";
      --at(id).fences;
      if (owners(id) == 0) link(index_of(id));
    }
    return {};
  }

  std::uint32_t ids() const { return options_.ids; }
  std::uint32_t owners(BlockId id) const { return at(id).tables + at(id).fences; }
  std::uint32_t holds(BlockId id) const { return at(id).fences; }
  std::uint64_t acquired() const { return acquired_; }
  std::uint64_t freed() const { return freed_; }
  std::uint64_t peak_owned() const { return peak_owned_; }

  /// In the order of issue. Ends after as many ids as there are, even if a fault made a circle.
  std::vector<BlockId> free_list() const {
    std::vector<BlockId> list;
    for (std::uint32_t id = first_; id != 0 && list.size() < options_.ids; id = records_[id].next) {
      list.push_back(BlockId{id});
    }
    return list;
  }

  std::uint32_t available() const { return static_cast<std::uint32_t>(free_list().size()); }

  std::uint32_t owned() const {
    std::uint32_t count = 0;
    for (const Record& record : records_) {
      if (record.tables > 0 || record.fences > 0) ++count;
    }
    return count;
  }

  std::uint32_t parked() const {
    std::uint32_t count = 0;
    for (const Record& record : records_) {
      if (record.tables == 0 && record.fences > 0) ++count;
    }
    return count;
  }

  /// The twin has no second book to prove itself against.
  void audit() const {}

 protected:
  static constexpr std::uint32_t kMostOwners = 65535;

  struct Record {
    std::uint32_t tables = 0;  // owners that are entries of tables, or pins
    std::uint32_t fences = 0;  // owners that wait for a fence
    std::uint32_t next = 0;    // the free id behind this one; 0 ends the list
  };

  bool is_issuable(BlockId id) const { return id != kNoBlock && index_of(id) < options_.ids; }
  Record& at(BlockId id) { return records_[index_of(id)]; }
  const Record& at(BlockId id) const { return records_[index_of(id)]; }

  /// A freed id goes to the back, or to the front where the latest freed is issued first.
  void link(std::uint32_t id) {
    ++freed_;
    const bool to_front = options_.issue == TwinIssue::kLatestFreed;
    records_[id].next = to_front ? first_ : 0;
    if (first_ == 0) {
      first_ = id;
      last_ = id;
    } else if (to_front) {
      first_ = id;
    } else {
      records_[last_].next = id;
      last_ = id;
    }
  }

  std::uint32_t unlink_first() {
    const std::uint32_t id = first_;
    first_ = records_[id].next;
    records_[id].next = 0;
    records_[id].tables = 1;
    ++acquired_;
    peak_owned_ = std::max(peak_owned_, acquired_ - freed_);
    return id;
  }

  TwinOptions options_;
  std::vector<Record> records_;  // by id; 0 stays empty
  std::uint32_t first_ = 0;      // 0: the list is empty
  std::uint32_t last_ = 0;
  std::uint64_t acquired_ = 0;
  std::uint64_t freed_ = 0;
  std::uint64_t peak_owned_ = 0;
};

}  // namespace pinfold::model
