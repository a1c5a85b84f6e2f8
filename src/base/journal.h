#pragma once
// The journal: the one observer. A flat, append-only stream of records in the canonical order of
// events; digest, recorder, shadow, ledger, metrics and "first differing event" all read these bytes.
// No virtual call, no callback: the owner drains it when it likes.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/ids.h"

namespace pinfold {

/// What happened. The comment says what `count`, `aux` and the ids of the record hold.
enum class Verb : std::uint8_t {
  kArrive = 1,  // count: prompt; aux: limit
  kAnswer,      // detail: answer and cause; count: blocks asked for; aux: state slots asked for
  kAcquire,     // count: ids, in table order
  kPin,         // count: ids, in table order
  kRelease,     // count: ids, in table order (dropped in the pool's release order)
  kPark,        // count: ids, in the order of their later drops; aux: ticket awaited; detail: whose
                // (Behind: of the compute lane, or of the load that fills them)
  kUnpark,      // count: ids, in the order of the drops; aux: ticket that passed; detail: Behind
  kCopyQueued,  // count 2: from, to (0: release only); aux: rows
  kFork,        // count: rows shared (C); aux: the parent
  kForkMissed,  // the fork became an ordinary request; aux: the parent
  kJoin,        // a decode row joins the batch; count: known tokens (H); aux: processed rows (C)
  kLeave,       // a decode row leaves the batch without an end
  kDrafts,      // count: drafts of this step's row
  kChunk,       // count: rows; aux: first position
  kStep,        // a step is dispatched; count: rows; aux: prompt rows
  kResult,   // a step's result was processed; aux: 1 the step failed, 2 it was behind a failed one
  kCommit,   // exception to "one token, goes on"; count: tokens accepted
  kSitOut,   // a running sequence skips this step; aux: blocks it lacks
  kPreempt,  // count: known tokens kept; aux: rows in flight
  kDemote,   // a waiting fork is requeued with its whole prompt; count: prompt
  kEnd,      // detail: reason; count: tokens emitted
  kPassed,  // the caller reports that a lane passed a ticket; count: lane; aux: ticket; detail 1: it
            // will never carry out what waits for that ticket, and touch nothing of it any more
  // Prefix reuse (src/scheduler/prefixes.cc), where it is on:
  kKeys,  // what a request's blocks hold, behind its kArrive; count: words, a key in two, low word
          // first: of each whole block from the first on, then of the tail; aux: position where the
          // tail ends, 0: no tail
  kHit,  // at admission, behind kAnswer: shares published blocks, each gets an owner (an idle one its
  // first); count: ids, of the table from its first entry on; aux: rows shared so far, the new
  // C; detail 1: one id behind these, whose first rows are copied: kPark and kCopyQueued follow
  kPublish,  // findable from here on, behind the kResult that completed the rows; count: ids, of the
             // table from entry `aux` on; detail 1: one id, of which the tail's rows count
  kEvict,  // idle ids lose their content and are free; the kAcquire or kSave that follows takes them
  // External store (src/scheduler/store.cc), where it is on. Ids come in pairs:
  kSave,  // from device to host; count: ids; aux: ticket of lane device-to-host; pool: of the device's ids.
  // Each destination (free until now) gets its first owner, and each block a further one; all are holds,
  // which a kUnpark of that ticket ends. A state slot gets none: its next step copies it into its buffer,
  // ahead of its rows and behind all steps before, and the save reads that
  kLoad,  // from host to device, behind the kAcquire that took the destinations; count: ids; aux: ticket
  // of lane host-to-device; pool: of the device's ids. Each source gets an owner that is a hold
  kStored,  // host ids that can be found from here on, behind the kPassed of their save; count: ids
  kLoaded,  // the loads of a sequence passed, its prompt goes on; count: rows shared and loaded (C)
};

/// What a hold waits for: `detail` of kPark and kUnpark.
enum class Behind : std::uint16_t {
  kStep,  // a step that may still touch the id, or the copies ahead of it: a ticket of the compute lane
  kCopy,  // a copy that reads it: a ticket of the lane in which copies run
  kSave,  // a save that reads or fills it: a ticket of lane device-to-host
  kLoad,  // a load that reads or fills it: a ticket of lane host-to-device
};

/// One record; ids_after() block ids (for kKeys: words) follow it in the stream.
struct Record {
  Verb verb;
  PoolKind pool;
  std::uint16_t detail;
  std::uint32_t sequence;
  std::uint32_t count;
  std::uint32_t aux;
};
static_assert(sizeof(Record) == 16);

/// Number of block ids that follow a record.
constexpr std::uint32_t ids_after(const Record& record) {
  switch (record.verb) {
    case Verb::kAcquire:
    case Verb::kPin:
    case Verb::kRelease:
    case Verb::kPark:
    case Verb::kUnpark:
    case Verb::kCopyQueued:
    case Verb::kKeys:
    case Verb::kHit:
    case Verb::kPublish:
    case Verb::kEvict:
    case Verb::kSave:
    case Verb::kLoad:
    case Verb::kStored: return record.count;
    default: return 0;
  }
}

/// The stream. Appending costs one copy into a buffer that keeps its capacity; a journal that is
/// switched off costs one branch per record.
class Journal {
 public:
  void set_enabled(bool enabled) { enabled_ = enabled; }
  bool enabled() const { return enabled_; }

  /// Number of records appended so far, also while switched off: the logical event number.
  std::uint64_t events() const { return events_; }

  void append(const Record& record) {
    ++events_;
    if (!enabled_) return;
    write(&record, sizeof record);
  }

  /// `record.count` must be `ids.size()`.
  void append(const Record& record, std::span<const BlockId> ids) {
    ++events_;
    if (!enabled_) return;
    write(&record, sizeof record);
    write(ids.data(), ids.size_bytes());
  }

  /// Bytes appended since the last clear(); records and ids in host byte order (little-endian on
  /// every supported platform).
  std::span<const std::byte> unread() const { return {bytes_.data(), size_}; }
  void clear() { size_ = 0; }

 private:
  void write(const void* from, std::size_t size) {
    if (size == 0) return;
    if (bytes_.size() - size_ < size) bytes_.resize(2 * bytes_.size() + size + 4096);
    std::memcpy(bytes_.data() + size_, from, size);
    size_ += size;
  }

  std::vector<std::byte> bytes_;
  std::size_t size_ = 0;
  std::uint64_t events_ = 0;
  bool enabled_ = false;
};

}  // namespace pinfold
