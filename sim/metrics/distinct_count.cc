#include "sim/metrics/distinct_count.h"

#include <utility>

#include "sim/core/draw.h"

namespace pinfold::sim {
namespace {

constexpr std::size_t kSlots = 2 * DistinctCount::kExact;

}  // namespace

void DistinctCount::add(std::uint64_t number) {
  // A bijection: equal hashes are equal numbers.
  const std::uint64_t hash = mix64(number);
  if ((hash & ((std::uint64_t{1} << level_) - 1)) != 0) return;
  if (slots_.empty()) slots_.assign(kSlots, 0);
  if (!insert(hash)) return;
  if (++kept_ > kExact) thin_out();
}

/// False if it was there.
bool DistinctCount::insert(std::uint64_t hash) {
  if (hash == 0) return !std::exchange(has_zero_, true);
  for (std::size_t slot = hash >> 43;; slot = (slot + 1) % kSlots) {
    if (slots_[slot] == hash) return false;
    if (slots_[slot] != 0) continue;
    slots_[slot] = hash;
    return true;
  }
}

void DistinctCount::thin_out() {
  ++level_;
  const std::uint64_t ending = (std::uint64_t{1} << level_) - 1;
  std::vector<std::uint64_t> before(kSlots, 0);
  before.swap(slots_);
  kept_ = has_zero_ ? 1 : 0;
  for (const std::uint64_t hash : before) {
    if (hash != 0 && (hash & ending) == 0 && insert(hash)) ++kept_;
  }
}

}  // namespace pinfold::sim
