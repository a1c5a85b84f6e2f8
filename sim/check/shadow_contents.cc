#include "sim/check/shadow_contents.h"

#include <algorithm>

namespace pinfold::sim {
namespace {

// Whether `row` at `begin` goes on where the run that starts with `run` at `run_begin` ends.
bool goes_on(const WrittenRow& run, std::uint32_t run_begin, const WrittenRow& row,
             std::uint32_t begin) {
  return row.before == run.before && row.tag == further(run.tag, begin - run_begin);
}

}  // namespace

std::uint32_t BlockContents::new_run(const Run& run) {
  if (free_ == kNone) {
    runs_.push_back(run);
    return static_cast<std::uint32_t>(runs_.size() - 1);
  }
  const std::uint32_t index = free_;
  free_ = runs_[index].next;
  runs_[index] = run;
  return index;
}

void BlockContents::remove_after(std::uint32_t index) {
  const std::uint32_t removed = runs_[index].next;
  runs_[index].next = runs_[removed].next;
  runs_[removed].next = free_;
  free_ = removed;
}

void BlockContents::write(std::uint32_t block, std::uint32_t begin, std::uint32_t end,
                          const RowTag& first, const Release& before) {
  if (begin >= end) return;
  const WrittenRow row{first, before};
  if (!extend(block, begin, end, row)) overlay(block, begin, end, row);
}

// The common cases in place: a whole block is written, or a run grows over what follows it.
bool BlockContents::extend(std::uint32_t block, std::uint32_t begin, std::uint32_t end,
                           const WrittenRow& row) {
  std::uint32_t& head = heads_[block];
  if (begin == 0 && end == block_size_) {
    if (head == kNone) head = new_run({});
    while (runs_[head].next != kNone) remove_after(head);
    runs_[head].row = row;
    return true;
  }
  if (begin == 0 || head == kNone) return false;
  std::uint32_t at = head;
  while (end_of(runs_[at]) < begin) at = runs_[at].next;
  Run& run = runs_[at];
  if (end_of(run) != begin || !goes_on(run.row, run.begin, row, begin)) return false;
  while (end_of(runs_[run.next]) <= end) {
    remove_after(at);
    if (run.next == kNone) return true;
  }
  Run& following = runs_[run.next];
  if (following.begin < end) {
    following.row.tag = further(following.row.tag, end - following.begin);
    following.begin = end;
  }
  if (goes_on(run.row, run.begin, following.row, following.begin)) remove_after(at);
  return true;
}

// The general case: the list is written anew.
void BlockContents::overlay(std::uint32_t block, std::uint32_t begin, std::uint32_t end,
                            const WrittenRow& row) {
  scratch_.clear();
  const auto each = [&](auto use) {
    if (heads_[block] == kNone) use(0, block_size_, WrittenRow{});
    for (std::uint32_t n = heads_[block]; n != kNone; n = runs_[n].next) {
      use(runs_[n].begin, end_of(runs_[n]), runs_[n].row);
    }
  };
  each([&](std::uint32_t from, std::uint32_t, const WrittenRow& was) {
    if (from < begin) collect(from, was);
  });
  collect(begin, row);
  each([&](std::uint32_t from, std::uint32_t upto, const WrittenRow& was) {
    if (upto <= end) return;
    const std::uint32_t cut = std::max(from, end);
    collect(cut, {further(was.tag, cut - from), was.before});
  });
  store(block);
}

void BlockContents::copy(std::uint32_t from, std::uint32_t to, std::uint32_t rows,
                         const Release& before) {
  if (from == to) return;
  if (heads_[from] == kNone) {
    write(to, 0, rows, RowTag{}, before);
    return;
  }
  for (std::uint32_t n = heads_[from]; n != kNone; n = runs_[n].next) {
    const Run run = runs_[n];  // writing may move the runs
    const std::uint32_t end = std::min(end_of(run), rows);
    if (run.begin < end) write(to, run.begin, end, run.row.tag, before);
  }
}

// Runs of one history in a row are one, so that equal contents are equal lists.
void BlockContents::collect(std::uint32_t begin, const WrittenRow& row) {
  if (!scratch_.empty()) {
    const Run& last = scratch_.back();
    if (goes_on(last.row, last.begin, row, begin)) return;
  }
  scratch_.push_back({begin, kNone, row});
}

void BlockContents::store(std::uint32_t block) {
  if (heads_[block] == kNone) heads_[block] = new_run({});
  std::uint32_t at = heads_[block];
  for (std::size_t n = 0; n < scratch_.size(); ++n) {
    if (n > 0) {
      if (runs_[at].next == kNone) {
        const std::uint32_t added = new_run({});
        runs_[at].next = added;
      }
      at = runs_[at].next;
    }
    const std::uint32_t next = runs_[at].next;
    runs_[at] = scratch_[n];
    runs_[at].next = next;
  }
  while (runs_[at].next != kNone) remove_after(at);
  scratch_.clear();  // so that copies of this object copy nothing of it
}

WrittenRow BlockContents::at(std::uint32_t block, std::uint32_t row) const {
  std::uint32_t n = heads_[block];
  if (n == kNone) return {};
  while (end_of(runs_[n]) <= row) n = runs_[n].next;
  return {further(runs_[n].row.tag, row - runs_[n].begin), runs_[n].row.before};
}

std::uint32_t BlockContents::first_other(std::uint32_t block, std::uint32_t begin,
                                         std::uint32_t end, const RowTag& first) const {
  std::uint32_t n = heads_[block];
  if (n == kNone) return begin;
  while (end_of(runs_[n]) <= begin) n = runs_[n].next;
  for (std::uint32_t row = begin; row < end; n = runs_[n].next) {
    const RowTag wanted = further(first, row - begin);
    if (further(runs_[n].row.tag, row - runs_[n].begin) != wanted) return row;
    row = end_of(runs_[n]);
  }
  return end;
}

}  // namespace pinfold::sim
