#pragma once
// A request while it lives, and its sequences: one, or one for each of its samples.

#include <cstdint>
#include <vector>

#include "engine/scheduler.h"
#include "sim/trace/request.h"

namespace pinfold::sim {

/// "Not yet", "it does not wait".
inline constexpr std::int64_t kNotYet = -1;

/// One sequence of a request: what the run knows of it that the scheduler does not.
struct Member {
  std::uint64_t request = 0;  // its number in the trace
  std::uint32_t sample = 0;   // 0: the one that computes the prompt
  std::uint32_t output = 0;   // tokens that it yields itself
  std::int64_t first_token_ns = kNotYet;
  std::int64_t last_token_ns = 0;
  std::int64_t waiting_since_ns = kNotYet;
  std::int64_t waited_ns = 0;
  std::uint64_t join_step = 0;  // its row is in the batch from this step ...
  std::uint64_t left_step = 0;  // ... up to but not including this one; 0: it stays
  std::uint64_t stop_step = 0;  // without drafts: the step that yields its last token; 0: not known
  std::uint32_t stop_version = 0;  // of the entry in Stops that counts
  std::uint32_t stop_epoch = 0;    // epoch of the row that its stop belongs to
  std::uint32_t emitted = 0;       // tokens; counted with drafts only
  std::uint32_t batch_index = 0;   // with drafts: where its row is in the batch
  std::uint32_t verify_rows = 0;   // delivered so far
  bool voided = false;             // its row was in a failed step and has not left the batch yet
};

struct LiveRequest {
  TraceRequest asked;
  std::int64_t arrival_ns = 0;
  std::int64_t first_token_ns = kNotYet;
  bool begun = false;                // `first` exists; a fork may still wait for its parent
  SequenceId first{};                // the member that computes the prompt
  std::vector<SequenceId> others{};  // its forks, in order
  std::uint32_t live = 0;            // members that have not ended
  std::uint32_t unforked = 0;        // samples that wait for the prompt's last row
  bool aborted = false;
  bool never = false;  // a member could never run
  std::uint64_t emitted = 0;
  std::int64_t waited_ns = 0;
  std::int64_t tpot_ns = 0;  // the longest of its members
};

}  // namespace pinfold::sim
