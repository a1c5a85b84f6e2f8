#include "sim/trace/trace_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "sim/trace/time_sum.h"

namespace pinfold::sim {
TraceInput::TraceInput(std::string path, std::unique_ptr<RowReader> rows, InputPolicies policies,
                       Again again)
    : path_(std::move(path)),
      rows_(std::move(rows)),
      policies_(policies),
      again_(std::move(again)) {
  if (policies_.unordered == Unordered::kSort && !is_in_order()) sort_all();
  has_first_ = next_in_order(first_);
}

bool TraceInput::next(TraceRequest& request) {
  if (!has_first_) return next_in_order(request);
  has_first_ = false;
  std::swap(request, first_);
  return true;
}

/// One pass over the rows. False if they can be read only once.
bool TraceInput::is_in_order() {
  if (!again_) return false;
  const std::unique_ptr<RowReader> rows = again_();
  if (!rows) return false;
  TraceRequest request;
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  for (;;) {
    switch (rows->next(request)) {
      case RowReader::Step::kRow:
        if (request.arrival_ns < last_ns) return false;
        last_ns = request.arrival_ns;
        break;
      case RowReader::Step::kOther: break;
      case RowReader::Step::kEnd: return true;
      case RowReader::Step::kBad:
        if (rows->broken() || policies_.on_error == OnError::kStop) return true;
    }
  }
}

void TraceInput::sort_all() {
  in_memory_ = true;
  TraceRequest request;
  std::int64_t latest_ns = std::numeric_limits<std::int64_t>::min();
  while (next_row(request)) {
    if (request.arrival_ns < latest_ns) notes_.backward.add(rows_->place().line);
    latest_ns = std::max(latest_ns, request.arrival_ns);
    sorted_.push_back(request);
  }
  std::vector<std::uint64_t> order(sorted_.size());
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::uint64_t a, std::uint64_t b) {
    return sorted_[a].arrival_ns < sorted_[b].arrival_ns;
  });
  new_numbers_.resize(order.size());
  std::vector<TraceRequest> ordered;
  ordered.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    new_numbers_[order[i]] = i;
    ordered.push_back(std::move(sorted_[order[i]]));
  }
  sorted_ = std::move(ordered);
  for (TraceRequest& one : sorted_) {
    if (one.fork_of != kNoRequest) one.fork_of = new_numbers_[one.fork_of];
  }
  new_numbers_ = {};
}

/// Remembers a mistake. True if reading goes on.
bool TraceInput::mistake(const InputError& error) {
  if (policies_.on_error == OnError::kStop) {
    error_ = error;
    return false;
  }
  ++notes_.skipped;
  if (notes_.mistakes.size() < Sightings::kShown) notes_.mistakes.push_back(error);
  return true;
}

/// The next request of the file, under the policies for mistakes and outputs of 0.
bool TraceInput::next_row(TraceRequest& request) {
  while (!error_) {
    const RowReader::Step step = rows_->next(request);
    if (step == RowReader::Step::kEnd) break;
    if (step == RowReader::Step::kBad) {
      // A file that says nothing at all is no row that could be passed over.
      if (rows_->broken() && notes_.rows == 0) {
        error_ = rows_->error();
        break;
      }
      if (!rows_->broken()) {
        ++notes_.rows;
        left_out_.push_back(taken_++);
      }
      if (!mistake(rows_->error()) || rows_->broken()) break;
      continue;
    }
    ++notes_.rows;
    if (step == RowReader::Step::kOther) {
      ++notes_.other_records;
      continue;
    }
    const std::uint64_t number = taken_++;
    if (request.output == 0) {
      notes_.zero_outputs.add(rows_->place().line);
      if (policies_.zero_output == ZeroOutput::kDrop) {
        ++notes_.dropped;
        left_out_.push_back(number);
        continue;
      }
    }
    if (request.fork_of != kNoRequest) renumber(request);
    return true;
  }
  notes_.blank_lines = rows_->blank_lines();
  return false;
}

/// `fork_of` among the rows that are given, before any sorting.
void TraceInput::renumber(TraceRequest& request) {
  const auto after = std::lower_bound(left_out_.begin(), left_out_.end(), request.fork_of);
  if (after != left_out_.end() && *after == request.fork_of) {
    request.fork_of = kNoRequest;
    request.fork_at = 0;
    return;
  }
  request.fork_of -= static_cast<std::uint64_t>(after - left_out_.begin());
}

bool TraceInput::next_in_order(TraceRequest& request) {
  for (;;) {
    if (in_memory_) {
      if (error_ || next_sorted_ == sorted_.size()) return false;
      request = std::move(sorted_[next_sorted_++]);
    } else if (!next_row(request)) {
      return false;
    }
    const std::int64_t row_ns = request.arrival_ns;
    if (!started_) {
      started_ = true;
      base_ns_ = row_ns;
      last_ns_ = row_ns;
    } else if (row_ns < last_ns_) {
      notes_.backward.add(rows_->place().line);
      if (policies_.unordered == Unordered::kSegments) {
        ++notes_.segments;
        shift_ns_ = time_sum(shift_ns_, last_ns_ - row_ns).value_or(kLatestNs);
      } else {
        if (!mistake(backward_error())) return false;
        left_out_.push_back(taken_ - 1);
        continue;
      }
    } else if (row_ns == last_ns_) {
      ++notes_.equal_times;
    }
    last_ns_ = row_ns;
    last_line_ = rows_->place().line;
    // Segments one behind the other may come to any time.
    const auto arrival_ns = time_sum(row_ns - base_ns_, shift_ns_);
    if (!arrival_ns || *arrival_ns > kLatestNs) {
      if (!mistake(late_error())) return false;
      left_out_.push_back(taken_ - 1);
      continue;
    }
    request.arrival_ns = *arrival_ns;
    if (request.abort_ns != kNeverNs) {
      request.abort_ns = time_sum(request.abort_ns, shift_ns_ - base_ns_).value_or(kNeverNs);
    }
    ++given_;
    return true;
  }
}

InputError TraceInput::error_here() const {
  const ArrivalPlace& place = rows_->place();
  InputError error;
  error.path = path_;
  error.line = place.line;
  error.column = place.column;
  return error;
}

InputError TraceInput::late_error() const {
  InputError error = error_here();
  error.found = "a time more than 146 years after the first";
  error.expected = "at most 146 years";
  return error;
}

InputError TraceInput::backward_error() const {
  const ArrivalPlace& place = rows_->place();
  InputError error = error_here();
  error.found = fmt::format("{}, earlier than line {}",
                            place.text.empty() ? "a time" : in_quotes(place.text), last_line_);
  error.expected = fmt::format("rows in order of {}", place.name);
  error.hint = "sort the rows, or have --on-unordered sort do it";
  return error;
}

Outcome<Trace> read_all(RequestSource& source, const std::string& name) {
  Trace trace;
  trace.name = name;
  TraceRequest request;
  while (source.next(request)) trace.requests.push_back(request);
  if (source.error()) return *source.error();
  trace.id_block = source.id_block();
  if (!trace.requests.empty()) return trace;
  InputError error;
  error.path = name;
  error.found = "no request";
  error.expected = "at least one";
  return error;
}

}  // namespace pinfold::sim
