#include "pool/idle_ids.h"

#include <algorithm>
#include <functional>
#include <string>

#include "base/check.h"
#include "base/mutant.h"

namespace pinfold {

IdleIds::IdleIds(std::uint32_t ids, Eviction eviction) : eviction_(eviction), links_(ids) {}

void IdleIds::keep(BlockId id) {
  Link& link = links_[index_of(id)];
  link.age = ++kept_;
}

void IdleIds::add(BlockId id) {
  Link& link = links_[index_of(id)];
  PINFOLD_CHECK(!link.idle, "law 1", "id " + std::to_string(index_of(id)) + " goes idle twice");
  if (kMutantsBuild && link.idle) return;
  link.idle = true;
  ++size_;
  if (eviction_ == Eviction::kFifo) {
    if (link.in_heap) return;
    link.in_heap = true;
    heap_.emplace_back(link.age, id);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    return;
  }
  link.next = 0;
  link.previous = links_[0].previous;
  links_[link.previous].next = index_of(id);
  links_[0].previous = index_of(id);
}

void IdleIds::remove(BlockId id) {
  Link& link = links_[index_of(id)];
  PINFOLD_CHECK(link.idle, "law 1", "id " + std::to_string(index_of(id)) + " is not idle");
  if (kMutantsBuild && !link.idle) return;
  link.idle = false;
  --size_;
  if (eviction_ == Eviction::kFifo) return;
  links_[link.previous].next = link.next;
  links_[link.next].previous = link.previous;
}

BlockId IdleIds::pop() {
  PINFOLD_CHECK(size_ > 0, "O3", "no id is idle");
  if (eviction_ == Eviction::kLru) {
    const BlockId id{links_[0].next};
    remove(id);
    return id;
  }
  while (true) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const BlockId id = heap_.back().second;
    heap_.pop_back();
    links_[index_of(id)].in_heap = false;
    const bool used = !links_[index_of(id)].idle;  // again
    if (used && !mutant_is(Mutant::kEvictsOwned)) continue;
    remove(id);
    return id;
  }
}

std::vector<BlockId> IdleIds::list() const {
  std::vector<BlockId> ids;
  if (eviction_ == Eviction::kLru) {
    if (links_.empty()) return ids;
    for (std::uint32_t id = links_[0].next; id != 0; id = links_[id].next) {
      ids.push_back(BlockId{id});
    }
    return ids;
  }
  for (std::uint32_t id = 1; id < links_.size(); ++id) {
    if (links_[id].idle) ids.push_back(BlockId{id});
  }
  sort_by_age(ids);
  return ids;
}

void IdleIds::sort_by_age(std::vector<BlockId>& ids) const {
  std::sort(ids.begin(), ids.end(), [&](BlockId a, BlockId b) {
    return links_[index_of(a)].age < links_[index_of(b)].age;
  });
}

}  // namespace pinfold
