#include "sim/record/reuse_bound.h"

#include <algorithm>
#include <set>
#include <utility>

#include "engine/scheduler.h"

namespace pinfold::sim {
namespace {

constexpr std::uint64_t kNever = UINT64_MAX;

/// Beside each use: the number of the content's next use that counts.
std::vector<std::uint64_t> next_uses(const std::vector<ContentUse>& uses) {
  std::vector<std::uint64_t> next(uses.size(), kNever);
  std::map<std::uint64_t, std::uint64_t> seen;
  for (std::size_t n = uses.size(); n-- > 0;) {
    std::uint64_t& later = seen.try_emplace(uses[n].content, kNever).first->second;
    next[n] = later;
    if (uses[n].counts) later = n;
  }
  return next;
}

}  // namespace

std::uint64_t most_hits(const std::vector<ContentUse>& uses, std::uint64_t capacity) {
  const std::vector<std::uint64_t> next = next_uses(uses);
  std::set<std::pair<std::uint64_t, std::uint64_t>> kept;  // (next use, content)
  std::map<std::uint64_t, std::uint64_t> next_of;
  std::uint64_t hits = 0;
  for (std::size_t n = 0; n < uses.size(); ++n) {
    const std::uint64_t content = uses[n].content;
    if (const auto found = next_of.find(content); found != next_of.end()) {
      hits += uses[n].counts ? 1U : 0U;
      kept.erase({found->second, content});
      next_of.erase(found);
    }
    if (next[n] == kNever || capacity == 0) continue;
    if (kept.size() == capacity) {
      const auto last = std::prev(kept.end());
      if (last->first <= next[n]) continue;  // all others are wanted sooner
      next_of.erase(last->second);
      kept.erase(last);
    }
    kept.emplace(next[n], content);
    next_of[content] = next[n];
  }
  return hits;
}

void ReuseString::take(const JournalEvent& event) {
  const Record& record = event.record;
  const std::uint32_t admitted = std::exchange(admitted_, UINT32_MAX);
  switch (record.verb) {
    case Verb::kArrive: waiting_[record.sequence].prompt = record.count; return;
    case Verb::kKeys:
      waiting_[record.sequence].chains.read(event.ids, record.aux, header_.block_size);
      return;
    case Verb::kEnd: waiting_.erase(record.sequence); return;
    case Verb::kHit:
      if (admitted == record.sequence && record.detail == 0) found_.found += record.count;
      return;
    case Verb::kAnswer: break;
    default: return;
  }
  if ((record.detail & 0xFFU) != static_cast<unsigned>(Answer::kOk)) return;
  const auto found = waiting_.find(record.sequence);
  if (found == waiting_.end()) return;  // again, after a preemption
  const Waiting& of = found->second;
  const std::uint32_t blocks = (std::max(of.prompt, 1U) - 1) / header_.block_size;
  for (std::uint32_t n = 0; n < of.chains.whole.size(); ++n) {
    uses_.push_back({of.chains.whole[n], n < blocks});
    found_.looked_for += n < blocks ? 1U : 0U;
  }
  admitted_ = record.sequence;
  waiting_.erase(found);
}

ReuseBound ReuseString::bound() const {
  ReuseBound bound = found_;
  bound.best = most_hits(uses_, header_.block_ids - 1);
  return bound;
}

}  // namespace pinfold::sim
