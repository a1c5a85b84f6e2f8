#pragma once
// The generation state of one request, as the scheduler keeps it.

#include <array>
#include <vector>

#include "base/ids.h"
#include "pool/prefix_index.h"
#include "sequence/need.h"
#include "sequence/request.h"

namespace pinfold {

/// Where a sequence stands. It is in exactly one queue: waiting (kWaiting), the forks' list
/// (kForkSettling, kForkPinned), the loads (kLoading) or the running list (kPrefill, kDecode).
enum class Phase : std::uint8_t {
  kWaiting,       // holds nothing
  kForkSettling,  // a fork whose parent still has rows in flight; holds nothing
  kForkPinned,    // a fork that holds pins on the parent's table and state slot
  kLoading,       // admitted: holds its storage, part of which is on its way from the host
  kPrefill,       // running, prompt rows left to plan
  kDecode,        // running, every prompt row planned
};

/// Rows of one dispatched step whose result has not been processed.
struct Flight {
  StepNumber step{};
  std::uint32_t epoch = 0;  // differs from the sequence's: the sequence was preempted since
  bool decode = false;      // a decode row with its drafts; otherwise a prompt chunk
  TokenCount rows;          // 1 + drafts, or the chunk's rows
  TokenCount tokens;        // tokens it may yield at most
};

/// Steps that may be in flight at once: overlap 2 plus the one being planned.
inline constexpr std::size_t kFlightsMax = 3;

/// A FIFO of at most kFlightsMax flights, oldest first.
class Flights {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Flight& operator[](std::size_t n) const { return items_[n]; }
  const Flight& front() const { return items_[0]; }
  const Flight* begin() const { return items_.data(); }
  const Flight* end() const { return items_.data() + size_; }
  void clear() { size_ = 0; }
  void push(const Flight& flight) {
    if (kMutantsBuild && size_ == kFlightsMax) return;
    PINFOLD_CHECK(size_ < kFlightsMax, "O15", "more steps in flight than any overlap allows");
    items_[size_++] = flight;
  }
  Flight pop() {
    PINFOLD_CHECK(size_ > 0, "O7", "no step of this sequence is in flight");
    if (kMutantsBuild && size_ == 0) return {};
    const Flight flight = items_[0];
    for (std::size_t n = 1; n < size_; ++n) items_[n - 1] = items_[n];
    --size_;
    return flight;
  }

 private:
  std::array<Flight, kFlightsMax> items_{};
  std::size_t size_ = 0;
};

/// What a request's blocks hold, and how far that can be found. Empty where prefixes are not reused.
struct PrefixState {
  static constexpr std::uint32_t kNothing = UINT32_MAX;

  std::vector<std::uint64_t> keys;  // PromptKeys, kept
  TokenCount tail_end;
  std::uint64_t tail = 0;

  std::uint32_t keyed = 0;      // leading blocks whose content is in the index
  PrefixNode node = kRootNode;  // of the last of them
  bool tail_keyed = false;
  std::uint32_t due_at = kNothing;  // C at which there is something to publish
  std::uint32_t saved = 0;          // leading blocks that were offered to the store

  bool empty() const { return keys.empty() && tail_end.value == 0; }
};

/// One request's state. While `steady` is set, history, emitted, processed, in_flight and flights
/// follow from the step clocks (scheduler/steady.cc) and the fields here are out of date.
struct Sequence {
  SequenceId id{};
  RequestSpec spec;
  Phase phase = Phase::kWaiting;
  std::uint32_t epoch = 0;  // number of preemptions so far

  RowCounts rows;               // H, C, F
  TokenCount emitted;           // tokens that have reached the host
  TokenCount tokens_in_flight;  // upper bound of what the flights of this epoch may yield
  TokenCount prompt_end;        // prefill computes rows up to here: H at admission
  Flights flights;
  StepNumber last_step{};  // last dispatched step that reads or writes its storage
  Ticket copy_ticket{};    // copy that fills one of its blocks or its state slot; 0: none

  std::vector<BlockId> table;
  BlockId state = kNoBlock;  // kNoBlock: holds none
  BlockId draft = kNoBlock;

  std::uint64_t join = 0;      // join order: every order in the batch is by this number
  bool in_batch = false;       // had a decode row in the last planned step
  std::uint32_t freezers = 0;  // forks waiting to clone its state slot: it sits out meanwhile

  // Forks: whose rows it shares.
  SequenceId parent{};
  std::uint32_t parent_epoch = 0;
  bool decode_fork = false;  // enters decode: its prompt did not go on beyond the shared rows
  StepNumber fork_step{};    // the step whose copies filled its private storage; 0: not a fork

  PrefixState prefix;

  // What its load waits for, and the rows C that it then has; 0 rows: not loaded since its admission.
  // `loads` is off once a load was lost.
  Ticket load_ticket{};
  TokenCount load_rows;
  bool loads = true;

  // High-water mark of computed rows, for recomputed_tokens; `late_rows` is C of the epoch that a
  // preemption ended, advanced by its late results.
  TokenCount computed_high;
  TokenCount late_rows;

  std::uint32_t exception = 0;  // during one result: 1 + index of its row among the exceptions
  bool stopped = false;         // its output ended with a stop, not at the limit

  std::uint8_t later_causes = 0;  // causes of LATER answers so far, a bit each
  std::uint8_t last_cause = 0;    // the cause last written to the journal
  bool admitted_before = false;

  // The fast path (scheduler/steady.cc).
  bool steady = false;
  std::int64_t steady_processed = 0;  // C == steady_processed + steps done
  std::int64_t steady_emitted = 0;    // tokens emitted == steady_emitted + steps done
  std::uint64_t generation = 0;       // entries of wheel and heap with another one are stale
};

}  // namespace pinfold
