#pragma once
// Rule O11: output records. A pool constructs result objects in place and destroys them on release;
// whoever keeps one clones it first. Cloning makes a new object with an owner of its own, unlike
// pinning, which adds an owner to the same block.
//
// Lifecycle of a record:
//   live       constructed; its handle reads it
//   releasing  on the release list behind a fence; still readable, because readers queued before the
//              fence may still use it
//   released   destroyed; its storage is issued again, and its handle is refused from now on
//
// Law: live + releasing + free == capacity.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fence.h"
#include "scheduler/plan.h"

namespace pinfold {

/// Names one record of one pool. The generation counts the tenants of a place in the pool; it is never
/// used twice, so a handle kept too long can not read its successor.
struct RecordHandle {
  std::uint32_t place = 0;
  std::uint64_t generation = 0;
  friend bool operator==(const RecordHandle&, const RecordHandle&) = default;
};

/// A fixed number of records. Allocates at construction only (what a record allocates is its own
/// affair). Misuse of a handle throws InvariantViolation of rule O11 and changes nothing; "no room" is
/// an answer. Costs: O(1), sync() O(records being released).
template <class Record>
class RecordPool {
 public:
  explicit RecordPool(std::uint32_t capacity)
      : storage_(std::make_unique<Storage[]>(capacity)), places_(capacity) {
    free_.reserve(capacity);
    releasing_.reserve(capacity);
    for (std::uint32_t place = capacity; place > 0; --place) free_.push_back(place - 1);
  }
  ~RecordPool() {
    for (std::uint32_t place = 0; place < capacity(); ++place) {
      if (places_[place].state != State::kFree) std::destroy_at(record(place));
    }
  }
  RecordPool(const RecordPool&) = delete;  // handles name places of this pool
  RecordPool& operator=(const RecordPool&) = delete;

  std::uint32_t capacity() const { return static_cast<std::uint32_t>(places_.size()); }
  std::uint32_t free() const { return static_cast<std::uint32_t>(free_.size()); }
  std::uint32_t releasing() const { return static_cast<std::uint32_t>(releasing_.size()); }
  std::uint32_t live() const { return capacity() - free() - releasing(); }

  /// Constructs a record in place from `arguments`; none if all places are taken.
  template <class... Arguments>
  [[nodiscard]] std::optional<RecordHandle> make(Arguments&&... arguments) {
    if (free_.empty()) return std::nullopt;
    const std::uint32_t place = free_.back();
    // Braces: a record may be an aggregate. If the constructor throws, the place stays free.
    ::new (static_cast<void*>(storage_[place].bytes)) Record{std::forward<Arguments>(arguments)...};
    free_.pop_back();
    places_[place].state = State::kLive;
    return RecordHandle{place, places_[place].generation};
  }

  /// The record. The reference is good until release() or the sync() that releases it.
  Record& at(RecordHandle handle) {
    check_readable(handle);
    return *record(handle.place);
  }
  const Record& at(RecordHandle handle) const {
    check_readable(handle);
    return *record(handle.place);
  }

  /// A copy with an owner of its own, which outlives the release.
  Record clone(RecordHandle handle) const { return at(handle); }

  /// Destroys a live record now: nobody may read it any more.
  void release(RecordHandle handle) {
    check_live(handle);
    destroy(handle.place);
  }

  /// Destroys live records at the first sync() after `fence` has passed (rule O9). Until then they can
  /// be read, and releasing them again is a violation; the handles before a faulty one stay queued.
  void release_after(const Fence& fence, std::span<const RecordHandle> handles) {
    for (const RecordHandle handle : handles) {
      check_live(handle);
      places_[handle.place].state = State::kReleasing;
      releasing_.push_back({fence, handle.place});
    }
  }

  /// Destroys the records whose fence has passed, in the order in which they were queued.
  void sync(const Passed& passed) {
    std::size_t kept = 0;
    for (const Releasing& entry : releasing_) {
      if (has_passed(entry.fence, passed)) {
        destroy(entry.place);
      } else {
        releasing_[kept++] = entry;
      }
    }
    releasing_.resize(kept);
  }

 private:
  enum class State : std::uint8_t { kFree, kLive, kReleasing };
  struct Place {
    std::uint64_t generation = 0;  // its present or, while free, its next tenant's
    State state = State::kFree;
  };
  struct Releasing {
    Fence fence{};
    std::uint32_t place = 0;
  };
  struct Storage {
    alignas(Record) std::byte bytes[sizeof(Record)];
  };

  Record* record(std::uint32_t place) const {
    return std::launder(static_cast<Record*>(static_cast<void*>(storage_[place].bytes)));
  }

  static std::string name_of(RecordHandle handle) {
    return "output record " + std::to_string(handle.place) + " of generation " +
           std::to_string(handle.generation);
  }

  void check_readable(RecordHandle handle) const {
    PINFOLD_CHECK(handle.place < capacity(), "O11", name_of(handle) + " is outside the pool");
    const Place& place = places_[handle.place];
    PINFOLD_CHECK(place.generation == handle.generation, "O11",
                  name_of(handle) + " was released; clone a record to keep it");
    PINFOLD_CHECK(place.state != State::kFree, "O11", name_of(handle) + " was never made");
  }

  void check_live(RecordHandle handle) const {
    check_readable(handle);
    PINFOLD_CHECK(places_[handle.place].state == State::kLive, "O11",
                  name_of(handle) + " is being released already");
  }

  void destroy(std::uint32_t place) {
    std::destroy_at(record(place));
    places_[place].state = State::kFree;
    ++places_[place].generation;
    free_.push_back(place);
  }

  std::unique_ptr<Storage[]> storage_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> free_;  // the last one is issued next
  std::vector<Releasing> releasing_;
};

/// Most tokens that one step yields for one request: its own and 15 accepted drafts.
inline constexpr std::uint32_t kOutputTokensMax = 16;

/// What one processed step yielded for one request. Holds its tokens in place, so that a pool of these
/// allocates nothing after construction.
struct RequestOutput {
  SequenceId sequence{};
  std::uint32_t epoch = 0;  // of the row that yielded them
  std::array<std::uint32_t, kOutputTokensMax> token_ids{};
  std::uint32_t token_count = 0;
  std::optional<EndReason> reason{};  // set on a request's last record

  std::span<const std::uint32_t> tokens() const { return std::span(token_ids).first(token_count); }
  void push(std::uint32_t token) {
    PINFOLD_CHECK(token_count < kOutputTokensMax, "O11", "more tokens than a record holds");
    token_ids[token_count++] = token;
  }
};

using OutputRecords = RecordPool<RequestOutput>;

}  // namespace pinfold
