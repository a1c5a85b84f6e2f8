#include "sim/metrics/slot_ledger.h"

#include "sim/metrics/watch.h"

namespace pinfold::sim {
namespace {

constexpr std::size_t index_of(SlotClass slot_class) {
  return static_cast<std::size_t>(slot_class);
}

}  // namespace

SlotLedger::SlotLedger(std::uint32_t ids) : owners_(ids) {
  now_[index_of(SlotClass::kFree)] = ids - 1;
}

SlotClass SlotLedger::class_of(const Owners& owners) {
  for (std::size_t n = 0; n < owners.size(); ++n) {
    if (owners[n] > 0) return static_cast<SlotClass>(n);
  }
  return SlotClass::kFree;
}

void SlotLedger::change(std::uint32_t slot, SlotClass owner, bool more) {
  PINFOLD_WATCH(slot > 0 && slot < owners_.size(), "ledger", "a slot outside its pool");
  Owners& owners = owners_[slot];
  std::uint32_t& count = owners[index_of(owner)];
  PINFOLD_WATCH(more || count > 0, "ledger", "a slot loses an owner that it does not have");
  --now_[index_of(class_of(owners))];
  count = more ? count + 1 : count - 1;
  ++now_[index_of(class_of(owners))];
}

void SlotLedger::acquire(std::uint32_t slot) {
  change(slot, SlotClass::kRunning, true);
  const std::uint32_t owned = now_[0] + now_[1] + now_[2];
  if (owned > at_peak_[0] + at_peak_[1] + at_peak_[2]) at_peak_ = now_;
}

void SlotLedger::pin(std::uint32_t slot) { change(slot, SlotClass::kPinned, true); }

void SlotLedger::adopt(std::uint32_t slot) {
  change(slot, SlotClass::kRunning, true);
  change(slot, SlotClass::kPinned, false);
}

void SlotLedger::release(std::uint32_t slot, SlotClass owner) { change(slot, owner, false); }

void SlotLedger::park(std::uint32_t slot, SlotClass owner) {
  change(slot, SlotClass::kParked, true);
  change(slot, owner, false);
}

void SlotLedger::unpark(std::uint32_t slot) { change(slot, SlotClass::kParked, false); }

void SlotLedger::advance_by(std::uint64_t ns) {
  for (std::size_t n = 0; n < kSlotClasses; ++n) slot_ns_[n] += PositionNs{now_[n]} * ns;
  duration_ns_ += ns;
}

SlotTotals SlotLedger::totals() const {
  SlotTotals totals;
  totals.usable = owners_.size() - 1;
  totals.slot_ns = slot_ns_;
  totals.capacity_ns = PositionNs{totals.usable} * duration_ns_;
  totals.at_peak = at_peak_;
  PositionNs all = 0;
  for (const PositionNs part : slot_ns_) all += part;
  PINFOLD_WATCH(all == totals.capacity_ns, "ledger", "slot-time does not sum to the capacity");
  return totals;
}

}  // namespace pinfold::sim
