// Rows of steps. A result commits what it yields by default, one token a row; a commit record that
// follows corrects that.

#include <utility>

#include "sim/metrics/ledger.h"
#include "sim/metrics/watch.h"

namespace pinfold::sim {
namespace {

// How a result came (Verb::kResult).
constexpr std::uint32_t kFailed = 1;
constexpr std::uint32_t kBehindFailed = 2;

constexpr std::uint64_t step_ticket(std::uint32_t step) { return 2 * std::uint64_t{step}; }

}  // namespace

TableCounts Ledger::rows_of(const Sequence& sequence) const {
  if (!sequence.steady) return sequence.counts;
  const auto processed = static_cast<std::uint32_t>(sequence.steady_processed + done_);
  return {processed + 1, processed, planned_ - done_, planned_ - done_};
}

// ---- one by one ------------------------------------------------------------------------------------

// A fork that waited runs from here on and keeps the slot that it pinned, if it has no other by now.
void Ledger::run(Sequence& sequence) {
  if (!sequence.state_pinned) return;
  state_slots_.adopt(sequence.state);
  sequence.state_pinned = false;
}

// Prefill knows all tokens of the prompt, so the chunk that reaches the last of them yields the next one
// (or ends a sequence that yields none, with the same result).
void Ledger::plan_chunk(Sequence& sequence, const Record& record) {
  run(sequence);
  const bool last = record.aux + record.count == sequence.counts.history;
  sequence.chunk.rows = record.count;
  sequence.chunk.tokens = last ? 1 : 0;
  visit(sequence);
}

void Ledger::visit(Sequence& sequence) {
  if (sequence.visited != kNone) return;
  sequence.visited = static_cast<std::uint32_t>(visited_.size());
  visited_.push_back(place_of(sequence));
}

void Ledger::unvisit(Sequence& sequence) {
  if (sequence.visited == kNone) return;
  const std::uint32_t moved = visited_.back();
  visited_[sequence.visited] = moved;
  sequences_[moved].visited = sequence.visited;
  visited_.pop_back();
  sequence.visited = kNone;
}

void Ledger::dispatch(std::uint32_t step) {
  // Steady rows: the next position of each. With a step in flight it was the rest of a block, taken for
  // this step or before; with none it was the last known token.
  const std::int64_t ahead = ahead_ * block_positions();
  positions_[PositionClass::kSurplus] -= ahead;
  positions_[PositionClass::kTailSlack] += ahead;
  ahead_ = 0;
  const bool settled = planned_ == done_;
  positions_[settled ? PositionClass::kKnownReserve : PositionClass::kTailSlack] -= steady_;
  positions_[PositionClass::kInFlight] += steady_;
  planned_ = step;

  for (std::size_t n = 0; n < visited_.size();) {
    Sequence& sequence = sequences_[visited_[n]];
    Flight flight = std::exchange(sequence.chunk, Flight{});
    if (sequence.in_batch) flight = {0, 1 + sequence.drafts, 1, true};
    sequence.drafts = 0;
    if (flight.rows > 0) {
      PINFOLD_WATCH(sequence.flight_count < kFlightsMax, "ledger", "too many steps in flight");
      flight.step = step;
      sequence.flights[sequence.flight_count++] = flight;
      sequence.counts.in_flight += flight.rows;
      sequence.counts.certain += flight.decode ? 1 : flight.rows;
      recount(sequence);
    }
    if (may_be_steady(sequence)) {
      make_steady(sequence);
    } else if (!sequence.in_batch && sequence.flight_count == 0) {
      unvisit(sequence);
    } else {
      ++n;
    }
  }
}

void Ledger::complete(std::uint32_t step, std::uint32_t outcome) {
  pass(step_ticket(step));
  if (outcome == kFailed) lose_flights();
  if (outcome == kFailed || outcome == kBehindFailed) {
    PINFOLD_WATCH(steady_ == 0, "ledger", "rows are steady across a failed step");
    done_ = step;
    return;
  }
  done_ = step;
  positions_[PositionClass::kInFlight] -= steady_;
  positions_[PositionClass::kCommitted] += steady_;
  if (planned_ == done_) {
    // The token that each row yielded is known; its position is one of the table, or the first beyond.
    const std::int64_t inside = steady_ - crossings_[bucket_at_block_end()];
    positions_[PositionClass::kTailSlack] -= inside;
    positions_[PositionClass::kKnownReserve] += inside;
  }
  for (const std::uint32_t place : visited_) {
    Sequence& sequence = sequences_[place];
    if (sequence.flight_count > 0 && sequence.flights[0].step == step) take_result(sequence);
  }
}

void Ledger::take_result(Sequence& sequence) {
  const Flight flight = sequence.flights[0];
  --sequence.flight_count;
  for (std::uint32_t n = 0; n < sequence.flight_count; ++n) {
    sequence.flights[n] = sequence.flights[n + 1];
  }
  sequence.last_result = flight;
  sequence.last_was_late = sequence.late;
  sequence.counts.history += flight.tokens;
  if (sequence.late) {
    // The rows are gone with its table; the token counts.
    sequence.late = sequence.flight_count > 0;
    return;
  }
  sequence.counts.in_flight -= flight.rows;
  sequence.counts.certain -= flight.decode ? 1 : flight.rows;
  sequence.counts.processed += flight.decode ? 1 : flight.rows;
  recount(sequence);
}

// What the last result yielded, where it is not what it yields by default.
void Ledger::commit(Sequence& sequence, std::uint32_t tokens) {
  const Flight& flight = sequence.last_result;
  sequence.counts.history += tokens - flight.tokens;
  if (flight.decode && !sequence.last_was_late) sequence.counts.processed += tokens - flight.tokens;
  recount(sequence);
}

// A step failed: nothing in flight will be committed.
void Ledger::lose_flights() {
  for (Sequence& sequence : sequences_) {
    if (sequence.steady) make_explicit(sequence);
  }
  for (const std::uint32_t place : visited_) {
    Sequence& sequence = sequences_[place];
    sequence.flight_count = 0;
    sequence.late = false;
    sequence.counts.in_flight = sequence.counts.certain = 0;
    recount(sequence);
  }
}

// ---- all alike -------------------------------------------------------------------------------------

// It has one row without drafts in every step in flight, as many blocks as they need, and none that
// somebody else could count beyond its committed rows.
bool Ledger::may_be_steady(const Sequence& sequence) const {
  if (!sequence.in_batch || sequence.late || sequence.filling > 0) return false;
  const TableCounts& counts = sequence.counts;
  const std::uint32_t steps = planned_ - done_;
  if (sequence.flight_count != steps || counts.in_flight != steps) return false;
  for (std::uint32_t n = 0; n < steps; ++n) {
    if (!sequence.flights[n].decode) return false;
  }
  if (counts.history != counts.processed + 1) return false;
  if (sequence.shared_upto > counts.processed / options_.block_size) return false;
  const std::uint32_t reach = counts.processed + counts.in_flight;
  return sequence.table.size() == (reach + options_.block_size - 1) / options_.block_size;
}

// Of rows whose C + F is a multiple of B.
std::uint32_t Ledger::bucket_at_block_end() const {
  return (options_.block_size - planned_ % options_.block_size) % options_.block_size;
}

void Ledger::make_steady(Sequence& sequence) {
  const std::uint32_t reach = sequence.counts.processed + sequence.counts.in_flight;
  sequence.crossing = static_cast<std::uint32_t>((std::uint64_t{reach} + bucket_at_block_end()) %
                                                 options_.block_size);
  sequence.steady_processed = std::int64_t{sequence.counts.processed} - done_;
  sequence.steady = true;
  ++steady_;
  ++crossings_[sequence.crossing];
  unvisit(sequence);
}

void Ledger::make_explicit(Sequence& sequence) {
  sequence.counts = rows_of(sequence);
  sequence.steady = false;
  --steady_;
  --crossings_[sequence.crossing];
  sequence.flight_count = planned_ - done_;
  for (std::uint32_t n = 0; n < sequence.flight_count; ++n) {
    sequence.flights[n] = {done_ + 1 + n, 1, 1, true};
  }
  sequence.last_result = {done_, 1, 1, true};
  sequence.last_was_late = false;
  // The sums hold these counts already.
  sequence.counted = counts_of(sequence);
  sequence.counted_processed = sequence.counts.processed;
  const std::int64_t surplus = sequence.counted[PositionClass::kSurplus];
  if (surplus > 0) --ahead_;
  visit(sequence);
}

bool Ledger::at_block_end(const Sequence& sequence) const {
  return sequence.crossing == bucket_at_block_end();
}

// A row at the end of its last block takes one for the step being planned.
void Ledger::acquire_steady() {
  if (planned_ == done_) {
    positions_[PositionClass::kKnownReserve] += 1;
    positions_[PositionClass::kTailSlack] += block_positions() - 1;
  } else {
    positions_[PositionClass::kSurplus] += block_positions();
    ++ahead_;
  }
}

}  // namespace pinfold::sim
