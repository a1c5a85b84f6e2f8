// The fast path: steady rows. A decode row without drafts that took part in every step in flight gains
// one row and one token a step; its counts follow from two step clocks, so it needs no visit:
//   F = planned - done,  C = steady_processed + done,  H = C + 1.
// It needs a block exactly when C + F is a multiple of B, which the wheel of B buckets finds; its last
// row is found by a heap. Whatever else happens to a row makes it explicit again first. With the fast
// path off nothing is ever steady: that is the row-by-row twin, and both write the same bytes.

#include <algorithm>

#include "scheduler/core.h"

namespace pinfold {
namespace {

TokenCount tokens(std::int64_t value) {
  PINFOLD_CHECK(value >= 0, "steady", "a count of a steady row is below zero");
  return TokenCount(static_cast<std::uint32_t>(value));
}

}  // namespace

RowCounts Core::rows_of(const Sequence& sequence) const {
  if (!sequence.steady) return sequence.rows;
  const TokenCount processed = tokens(sequence.steady_processed + static_cast<std::int64_t>(done_));
  return {processed + TokenCount(1), processed,
          TokenCount(static_cast<std::uint32_t>(planned_ - done_))};
}

TokenCount Core::emitted_of(const Sequence& sequence) const {
  if (!sequence.steady) return sequence.emitted;
  return tokens(sequence.steady_emitted + static_cast<std::int64_t>(done_));
}

// The rows that a step visits, in join order: every explicit one, and the steady ones that cross.
void Core::collect_visits(std::uint64_t step) {
  visits_.clear();
  if (!fast_) {
    for (const SlotIndex slot : running_) visits_.push_back({store_[slot].join, slot});
    return;
  }
  retire_limits(step);
  std::vector<WheelEntry>& bucket = wheel_[step % options_.block_size.value];
  auto next = active_.begin();
  std::size_t kept = 0;
  for (std::size_t n = 0; n < bucket.size(); ++n) {
    const WheelEntry entry = bucket[n];
    if (store_[entry.slot].generation != entry.generation) continue;
    bucket[kept++] = entry;
    while (next != active_.end() && store_[*next].join < entry.join) {
      visits_.push_back({store_[*next].join, *next});
      ++next;
    }
    visits_.push_back({entry.join, entry.slot});
  }
  bucket.resize(kept);
  for (; next != active_.end(); ++next) visits_.push_back({store_[*next].join, *next});
}

// Rows whose last row is planned in this step are visited: they end with its result.
void Core::retire_limits(std::uint64_t step) {
  limits_.take_due(step, store_, [&](SlotIndex slot) { make_explicit(slot); });
  limits_.prune(steady_rows_, store_);
}

bool Core::may_be_steady(const Sequence& sequence) const {
  if (sequence.phase != Phase::kDecode || sequence.freezers > 0) return false;
  if (sequence.spec.drafts.value > 0) return false;
  if (value_of(sequence.last_step) != planned_) return false;
  if (sequence.flights.size() != planned_ - done_) return false;
  if (sequence.emitted + sequence.tokens_in_flight >= sequence.spec.limit) return false;
  return std::all_of(sequence.flights.begin(), sequence.flights.end(),
                     [](const Flight& flight) { return flight.decode; });
}

void Core::promote_steady(std::uint64_t step) {
  std::size_t kept = 0;
  for (const SlotIndex slot : active_) {
    if (may_be_steady(store_[slot])) {
      make_steady(slot, step);
    } else {
      active_[kept++] = slot;
    }
  }
  active_.resize(kept);
}

// `step` has just been dispatched with a row of this sequence.
void Core::make_steady(SlotIndex slot, std::uint64_t step) {
  Sequence& sequence = store_[slot];
  const std::uint32_t block_size = options_.block_size.value;
  const std::uint32_t next = (sequence.rows.processed + sequence.rows.in_flight).value;
  const std::int64_t done = static_cast<std::int64_t>(done_);
  sequence.steady = true;
  sequence.steady_processed = std::int64_t{sequence.rows.processed.value} - done;
  sequence.steady_emitted = std::int64_t{sequence.emitted.value} - done;
  ++sequence.generation;
  ++steady_rows_;
  steady_context_ += next;

  // The next step writes position `next`; it crosses when that is a multiple of B.
  const std::uint64_t crossing = step + 1 + (block_size - next % block_size) % block_size;
  std::vector<WheelEntry>& bucket = wheel_[crossing % block_size];
  const WheelEntry entry{sequence.join, sequence.generation, slot};
  auto at = bucket.end();
  while (at != bucket.begin() && (at - 1)->join > entry.join) --at;
  bucket.insert(at, entry);

  const std::uint32_t rows_left =
      (sequence.spec.limit - sequence.emitted - sequence.tokens_in_flight).value;
  limits_.push({step + rows_left, sequence.join, sequence.generation, slot});
  expect_publication(slot);
}

// C == steady_processed + steps done; a fork's shared blocks are due with its first result.
void Core::expect_publication(SlotIndex slot) {
  const Sequence& sequence = store_[slot];
  if (sequence.prefix.due_at == PrefixState::kNothing) return;
  const std::int64_t done = std::int64_t{sequence.prefix.due_at} - sequence.steady_processed;
  const std::uint64_t step =
      std::max(done_ + 1, static_cast<std::uint64_t>(std::max(done, std::int64_t{0})));
  publishers_.push({step, sequence.join, sequence.generation, slot});
}

void Core::make_explicit(SlotIndex slot) {
  Sequence& sequence = store_[slot];
  if (!sequence.steady) return;
  const RowCounts rows = rows_of(sequence);
  sequence.emitted = emitted_of(sequence);
  sequence.rows = rows;
  sequence.computed_high = std::max(sequence.computed_high, rows.processed);
  sequence.tokens_in_flight = rows.in_flight;
  sequence.last_step = StepNumber{planned_};
  sequence.flights.clear();
  for (std::uint64_t step = done_ + 1; step <= planned_; ++step) {
    sequence.flights.push({StepNumber{step}, sequence.epoch, true, TokenCount(1), TokenCount(1)});
  }
  sequence.steady = false;
  ++sequence.generation;
  --steady_rows_;
  steady_context_ -= (rows.processed + rows.in_flight).value;
  const std::size_t at = position_in(active_, sequence.join);
  active_.insert(active_.begin() + static_cast<std::ptrdiff_t>(at), slot);
}

}  // namespace pinfold
