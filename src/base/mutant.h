#pragma once
// Mutants: named ownership bugs of a few lines each, for `pinfold-mutants`. That program is the
// same sources compiled a second time with PINFOLD_MUTANTS and without checks; it proves that the
// outside checks find what they are there for. In the library mutant_is() is constant false and a
// marker leaves no instruction behind.

#include <cstddef>
#include <cstdint>

namespace pinfold {

// clang-format off
/// Each line: the enumerator, the name on the command line, what the bug is.
#define PINFOLD_MUTANT_LIST(X) \
  X(kEarlyRelease, "early_release", "a fork's copy source is released before the copy's fence") \
  X(kSourceUnpinned, "source_unpinned", "the same, only while the parent still owns the source") \
  X(kUnfencedFinish, "unfenced_finish", "a request that ends releases what steps in flight still write") \
  X(kUnfencedPreemption, "unfenced_preemption", "a victim releases what steps in flight still write") \
  X(kUnfencedAbort, "unfenced_abort", "an aborted request releases what steps in flight still write") \
  X(kFenceStoredEarly, "fence_stored_early", "a release list waits for the step before the one it names") \
  X(kFencePromisedEarly, "fence_promised_early", "storage of a step parks behind the copies ahead of it") \
  X(kStaleEventAccepted, "stale_event_accepted", "a fence passes on the event of the step before") \
  X(kParkedWithoutEvent, "parked_without_event", "storage parks behind a step that was never dispatched") \
  X(kShrinkOnOptimisticCount, "shrink_on_optimistic_count", "a table shrinks as if all drafts in flight were rejected") \
  X(kShrinkUnordered, "shrink_unordered", "the same, where no fences are used") \
  X(kStaleResultAccepted, "stale_result_accepted", "a late result is taken for one of the new epoch") \
  X(kInFlightMiscounted, "in_flight_miscounted", "a verify row counts as one row in flight") \
  X(kPartialTake, "partial_take", "a refused request keeps the blocks that were there") \
  X(kSlotKeptAfterRefusal, "slot_kept_after_refusal", "a request takes its state slot, is refused blocks, keeps the slot") \
  X(kRefusalForgetsDrafts, "refusal_forgets_drafts", "a refused request is changed: it drafts no more") \
  X(kListedTwice, "listed_twice", "one block stands in a release list twice") \
  X(kPinOfFree, "pin_of_free", "a fork pins a block that is on the free list") \
  X(kSharedStateInPlace, "shared_state_in_place", "a fork writes into its parent's state slot") \
  X(kAdoptedStateInPlace, "adopted_state_in_place", "a fork keeps a state slot without asking who else owns it") \
  X(kSharedBlockInPlace, "shared_block_in_place", "a fork writes into the shared tail: no copy") \
  X(kTailOfLeavingParent, "tail_of_leaving_parent", "the same, where the parent has planned its last row") \
  X(kCopyBlockNotAsked, "copy_block_not_asked", "the block of a tail copy is missing from the demand") \
  X(kDraftsBeyondTable, "drafts_beyond_table", "a verify row is planned with room for one row") \
  X(kInFlightNotNeeded, "in_flight_not_needed", "rows in flight are missing from the need") \
  X(kBlockZeroIssued, "block_zero_issued", "block 0 is on the first free list") \
  X(kBlockZeroCopied, "block_zero_copied", "a source that is only released is listed as block 0") \
  X(kBlockZeroInTable, "block_zero_in_table", "a table grows by block 0") \
  X(kPreemptsForParked, "preempts_for_parked", "victims are taken although parked blocks would do") \
  X(kDestinationFreed, "destination_freed", "a copy's destination is let go without waiting for the copy") \
  X(kLeakOnFinish, "leak_on_finish", "one block of a finished request stays owned") \
  X(kSlotLeakedOnAbort, "slot_leaked_on_abort", "the state slot of an aborted request stays owned") \
  X(kPinLeakedOnDemotion, "pin_leaked_on_demotion", "a demoted fork keeps one pin") \
  X(kForwardRelease, "forward_release", "tables are released front to back against the options") \
  X(kNeedOneTooMany, "need_one_too_many", "the last token is counted as if it were written") \
  X(kLastTokenWritten, "last_token_written", "the same, at arrival: an exact fit is NEVER") \
  X(kSurplusKept, "surplus_kept", "blocks beyond the need are not given back") \
  X(kGrowthAccumulates, "growth_accumulates", "growth takes a block more than the shortfall, where there is plenty") \
  X(kChunkAdmitted, "chunk_admitted", "admission asks for the first chunk's blocks only") \
  X(kOwnersClamped, "owners_clamped", "an owner count stops at 2") \
  X(kFreeIdLost, "free_id_lost", "the last id behind a fence never reaches a well filled free list") \
  X(kDraftPinnedTwice, "draft_pinned_twice", "a draft slot gets two owners and loses two") \
  X(kPromptLosesOwner, "prompt_loses_owner", "an unfinished prompt that missed a step is never continued") \
  X(kVictimLeavesQueues, "victim_leaves_queues", "a victim in prefill is put into no queue") \
  X(kWaitingHolder, "waiting_holder", "a victim keeps its draft slot while it waits") \
  X(kLaterOnEmptyPool, "later_on_empty_pool", "LATER although nobody holds anything") \
  X(kLimitPassed, "limit_passed", "a request ends one token after its limit") \
  X(kLateTokenTwice, "late_token_twice", "a late token is committed twice") \
  X(kResumeFromPrompt, "resume_from_prompt", "a resumed request prefills its prompt only") \
  X(kFailedStepCommitted, "failed_step_committed", "rows of a failed step are committed") \
  X(kForkOfUncommitted, "fork_of_uncommitted", "a fork shares rows that are still in flight") \
  X(kStateMovedOn, "state_moved_on", "a state slot is cloned while rows of its owner are in flight") \
  X(kDestinationListed, "destination_listed", "a release list names the copies' destinations too") \
  X(kTailCopyShort, "tail_copy_short", "a tail copy moves one row too few") \
  X(kContextForgotten, "context_forgotten", "a plan's context leaves out the rows it adds") \
  X(kUnseededDrafts, "unseeded_drafts", "drafts depend on what ran before in the process") \
  X(kHitOnUnwritten, "hit_on_unwritten", "a block can be found while the rows that fill it are in flight") \
  X(kParentNotVerified, "parent_not_verified", "a content is found by its own key, whatever is before it") \
  X(kEvictedStillFound, "evicted_still_found", "an evicted content can still be found") \
  X(kEvictsOwned, "evicts_owned", "under FIFO an idle id that is in use again is evicted") \
  X(kRevivedTwice, "revived_twice", "an idle block that is found stays idle") \
  X(kRevivedNotInDemand, "revived_not_in_demand", "idle blocks that are found are missing from the demand") \
  X(kLastTokenNotComputed, "last_token_not_computed", "the last known token is shared, not computed") \
  X(kRefusalKeepsPins, "refusal_keeps_pins", "a refused request keeps an owner of what it found") \
  X(kAdoptsPublished, "adopts_published", "a fork writes into a tail that can be found") \
  X(kSaveSourceUnpinned, "save_source_unpinned", "a block that is being saved may be issued again") \
  X(kStoredTooEarly, "stored_too_early", "a content on the host can be found while its save is queued") \
  X(kStateOfLaterRows, "state_of_later_rows", "the state behind a boundary is saved a few rows later") \
  X(kFailedSaveStored, "failed_save_stored", "a state that a failed step staged can be found") \
  X(kLoadSourceUnpinned, "load_source_unpinned", "what is loaded may be evicted from the host meanwhile") \
  X(kLoadNotAwaited, "load_not_awaited", "a request runs while its rows are on their way") \
  X(kLoadDestinationFreed, "load_destination_freed", "an aborted request releases what its load still fills") \
  X(kStateLeftBehind, "state_left_behind", "a prefix is shared beyond the last boundary with a state") \
  X(kLoadsHoldEverything, "loads_hold_everything", "a load takes its rows' blocks first and the rest when it has passed")
// clang-format on

enum class Mutant : std::uint8_t {
  kNone,
#define PINFOLD_MUTANT(id, name, what) id,
  PINFOLD_MUTANT_LIST(PINFOLD_MUTANT)
#undef PINFOLD_MUTANT
};

#if defined(PINFOLD_MUTANTS)
inline constexpr bool kMutantsBuild = true;
/// The bug that is on: the one global of that program, set between runs.
inline Mutant chosen_mutant = Mutant::kNone;
inline bool mutant_is(Mutant mutant) { return chosen_mutant == mutant; }
/// 1 on every other call in the process, 0 otherwise and where there is no choice.
inline std::uint32_t odd_call(std::size_t most) {
  static std::uint32_t calls = 0;
  return ++calls % 2 == 1 && most > 1 ? 1 : 0;
}
#else
inline constexpr bool kMutantsBuild = false;
constexpr bool mutant_is(Mutant) { return false; }
constexpr std::uint32_t odd_call(std::size_t) { return 0; }
#endif

}  // namespace pinfold
