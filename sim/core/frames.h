#pragma once
// The steps in flight.

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "engine/scheduler.h"

namespace pinfold::sim {

/// A dispatched step, as far as the result's time and latencies need it.
struct Frame {
  std::uint64_t step = 0;
  std::int64_t planned_ns = 0;
  std::int64_t done_ns = 0;
  bool failed = false;              // its result commits nothing
  std::uint64_t going_on = 0;       // rows that were in the last step too
  std::vector<Joined> joined;       // rows that were not
  std::vector<Chunk> last_chunks;   // prompts that end
  std::vector<SequenceId> leaving;  // sequences whose row is not in the next step
  std::vector<Drafted> rows;        // with drafts: every row of the step
};

/// The steps in flight, oldest first, in frames that are used again.
class Frames {
 public:
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  Frame& front() { return frames_[first_ % kSize]; }
  Frame& back() { return frames_[(first_ + count_ - 1) % kSize]; }
  Frame& operator[](std::size_t n) { return frames_[(first_ + n) % kSize]; }

  /// A cleared frame behind the others.
  Frame& push() {
    PINFOLD_CHECK(count_ < kFlightsMax, "O15", "more steps in flight than any overlap allows");
    ++count_;
    Frame& frame = back();
    frame.failed = false;
    frame.joined.clear();
    frame.last_chunks.clear();
    frame.leaving.clear();
    frame.rows.clear();
    return frame;
  }
  /// The oldest frame leaves; it stays readable until the next push().
  Frame& pop() {
    Frame& frame = front();
    ++first_;
    --count_;
    return frame;
  }

 private:
  static constexpr std::size_t kSize = std::bit_ceil(kFlightsMax);  // so that % is a mask
  std::array<Frame, kSize> frames_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace pinfold::sim
