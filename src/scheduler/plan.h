#pragma once
// What one step does. A plan is a delta against the batch: a decode row that goes on is in no list. A
// worker mirrors the batch, and a steady row costs nothing per step.

#include <cstdint>
#include <vector>

#include "base/fence.h"
#include "sequence/sequence.h"

namespace pinfold {

/// A device copy that runs in the compute lane ahead of the step's forward. Destination 0: no copy,
/// the source is only released once the step's copies are done. Pool kHostStates: state slot `from` is
/// copied into its copy buffer, from where a transfer moves it to the host.
struct Copy {
  PoolKind pool = PoolKind::kBlocks;
  BlockId from = kNoBlock;
  BlockId to = kNoBlock;
  TokenCount rows;  // rows to move; for a state slot the whole slot, and 0 here
};

/// Prompt rows [first, first + count) of a sequence; `last`: the step yields its next token.
struct Chunk {
  SequenceId sequence{};
  std::uint32_t epoch = 0;
  TokenCount first;
  TokenCount count;
  bool last = false;
  TokenCount tokens_before;  // tokens that reached the host before this step's
  TokenCount recovered{};  // rows before `first` computed again for the layers that no store keeps
};

/// A copy between device and host (rule O16), in order on its lane. Those of one ticket are done
/// together. Lane host-to-device: the destination waits for nothing. Device-to-host: a block may be read
/// at once, a state slot's copy buffer behind the copies of step `after`.
struct Transfer {
  Lane lane = Lane::kHostToDevice;
  Ticket ticket{};
  PoolKind pool = PoolKind::kBlocks;  // or kStateSlots
  BlockId device = kNoBlock;
  BlockId host = kNoBlock;  // of pool kHostBlocks or kHostStates
  StepNumber after{};       // 0: of no step
};

/// A decode row that was not in the last step. It takes part in every step from this one on, one row
/// and one token each, until a plan lists it in `left` or it ends.
struct Joined {
  SequenceId sequence{};
  std::uint32_t epoch = 0;
  TokenCount tokens_before;  // tokens it has yielded or may yield in steps before this one
};

/// A decode row of the last step that is not in this one (sat out, preempted, limit reached, frozen).
struct Left {
  SequenceId sequence{};
  std::uint32_t epoch = 0;
};

/// A decode row that verifies drafts in this step.
struct Drafted {
  SequenceId sequence{};
  std::uint32_t epoch = 0;
  TokenCount drafts;
};

/// Why the head of the queue is not admitted. Run limit and budget are reasons to wait, not answers.
enum class Cause : std::uint8_t {
  kNone,
  kBlocks,    // not enough blocks available
  kSlot,      // no state slot available
  kFence,     // its own last step, or a copy list, has not passed
  kFork,      // a fork that was refused goes first
  kPressure,  // a running sequence was preempted or sat out in this pass
  kRunLimit,  // max_sequences running
  kBudget,    // the step's token budget is used up
  kLoad,      // what it shares is on its way from the host
};

/// Buffers belong to the caller and are reused, so that planning allocates nothing once they have
/// grown.
struct StepPlan {
  bool empty = true;  // nothing to run: no step, the other fields say nothing but `cause`, `ended`
  StepNumber step{};
  Ticket copy_ticket{};  // 0: no copies
  Ticket step_ticket{};
  std::vector<Copy> copies;
  std::vector<Chunk> chunks;
  std::vector<Joined> joined;
  std::vector<Left> left;
  std::vector<Drafted> drafted;
  std::uint32_t decode_rows = 0;     // sequences with a decode row
  std::uint32_t draft_rows = 0;      // draft rows beside them
  std::uint32_t prompt_rows = 0;     // rows of all chunks
  std::uint32_t recovered_rows = 0;  // beside them: computed again behind loaded states
  std::uint64_t context_rows = 0;    // key rows read by decode rows (sum of key lengths)
  Cause cause = Cause::kNone;        // why the head of the queue waits; kNone: the queue is empty

  void clear() {
    empty = true;
    step = StepNumber{};
    copy_ticket = step_ticket = Ticket{};
    copies.clear();
    chunks.clear();
    joined.clear();
    left.clear();
    drafted.clear();
    decode_rows = draft_rows = prompt_rows = recovered_rows = 0;
    context_rows = 0;
    cause = Cause::kNone;
  }
};

/// What one row of a step yielded, where that is not "one token, goes on".
struct RowResult {
  SequenceId sequence{};
  std::uint32_t epoch = 0;  // as planned; an older one than the sequence's is a late result
  TokenCount accepted;      // tokens: 1 + accepted drafts
  bool ended = false;       // the last of them is the end of the output
};

/// A processed step. Sequences that have ended meanwhile may be left out or named: they are ignored.
struct StepResult {
  StepNumber step{};
  bool failed = false;  // nothing of it, or of steps dispatched behind it, is committed
  const RowResult* exceptions = nullptr;
  std::size_t exception_count = 0;
};

/// Why a sequence ended.
enum class EndReason : std::uint8_t { kStop, kLimit, kAborted, kNever };

/// One end, in the order in which they happened.
struct Ended {
  SequenceId sequence{};
  EndReason reason = EndReason::kStop;
  TokenCount prompt;
  TokenCount emitted;
  std::uint32_t preemptions = 0;
};

}  // namespace pinfold
