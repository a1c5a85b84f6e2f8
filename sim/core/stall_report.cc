#include "sim/core/stall_report.h"

#include <utility>

namespace pinfold::sim {
namespace {

std::uint32_t size_of(const std::vector<BlockId>& ids) {
  return static_cast<std::uint32_t>(ids.size());
}

/// The last lane of a fence that has something to wait for.
void set_fence(const Fence& fence, Lane& lane, std::uint64_t& ticket) {
  for (const Lane one : {Lane::kCompute, Lane::kCopy, Lane::kHostToDevice, Lane::kDeviceToHost}) {
    if (value_of(fence.ticket[index_of(one)]) == 0) continue;
    lane = one;
    ticket = value_of(fence.ticket[index_of(one)]);
  }
}

StallHolder holder_of(const SequenceView& view) {
  StallHolder holder;
  holder.kind = view.phase == Phase::kForkPinned ? StallHolder::Kind::kWaitingFork
                                                 : StallHolder::Kind::kRunning;
  holder.sequence = value_of(view.id);
  holder.blocks = static_cast<std::uint32_t>(view.table.size());
  holder.state_slots = view.state == kNoBlock ? 0 : 1;
  holder.draft_slots = view.draft == kNoBlock ? 0 : 1;
  return holder;
}

std::string fence_text(Lane lane, std::uint64_t ticket) {
  return std::string("ticket ") + std::to_string(ticket) + " of the " + name_of(lane) + " lane";
}

std::string text_of(const StallWaiter& waiter) {
  std::string text =
      "sequence " + std::to_string(waiter.sequence) + " waits for " + word_of(waiter.cause);
  if (waiter.lacking > 0) {
    text += " (" + std::to_string(waiter.lacking) + " " + name_of(waiter.pool) + "s short)";
  }
  if (waiter.ticket > 0) text += " (" + fence_text(waiter.lane, waiter.ticket) + ")";
  if (waiter.has_holder) text += ", held by sequence " + std::to_string(waiter.holder);
  return text;
}

std::string text_of(const StallHolder& holder) {
  const std::string who = "sequence " + std::to_string(holder.sequence);
  std::string text;
  switch (holder.kind) {
    case StallHolder::Kind::kRunning: text = who + " holds "; break;
    case StallHolder::Kind::kWaitingFork: text = who + ", a waiting fork, pins "; break;
    case StallHolder::Kind::kLoading: text = who + ", which is being loaded, holds "; break;
    case StallHolder::Kind::kFence:
      text = fence_text(holder.lane, holder.ticket) + " holds " + who + "'s ";
      break;
  }
  text += std::to_string(holder.blocks) + " blocks";
  if (holder.state_slots > 0) text += ", " + std::to_string(holder.state_slots) + " state slots";
  if (holder.draft_slots > 0) text += ", " + std::to_string(holder.draft_slots) + " draft slots";
  if (!holder.preemptible()) text += "; cannot be preempted";
  return text;
}

template <class Items>
void add_lines(std::string& text, const Items& items, std::size_t most) {
  for (std::size_t n = 0; n < items.size(); ++n) {
    if (n == most) {
      text += "\n  and " + std::to_string(items.size() - most) + " more";
      return;
    }
    text += "\n  " + text_of(items[n]);
  }
}

}  // namespace

const char* word_of(Cause cause) {
  switch (cause) {
    case Cause::kNone: return "nothing";
    case Cause::kBlocks: return "blocks";
    case Cause::kSlot: return "a slot";
    case Cause::kFence: return "a fence";
    case Cause::kFork: return "a waiting fork";
    case Cause::kPressure: return "the head of the queue";
    case Cause::kRunLimit: return "the run limit";
    case Cause::kBudget: return "the token budget";
    case Cause::kLoad: return "its load";
  }
  return "?";
}

const char* name_of(Lane lane) {
  switch (lane) {
    case Lane::kCompute: return "compute";
    case Lane::kCopy: return "copy";
    case Lane::kHostToDevice: return "host-to-device";
    case Lane::kDeviceToHost: return "device-to-host";
  }
  return "?";
}

StallReport stall_report(const Scheduler& scheduler, std::string what) {
  StallReport report;
  report.what = std::move(what);
  for (const WaitReason& reason : scheduler.explain_wait()) {
    StallWaiter waiter;
    waiter.sequence = value_of(reason.sequence);
    waiter.cause = reason.cause;
    waiter.pool = reason.pool;
    waiter.lacking = reason.lacking.value;
    waiter.has_holder = reason.has_holder;
    waiter.holder = value_of(reason.holder);
    set_fence(reason.fence, waiter.lane, waiter.ticket);
    report.waiters.push_back(waiter);
  }
  for (const SequenceId id : scheduler.running()) {
    report.holders.push_back(holder_of(scheduler.view(id)));
  }
  for (const SequenceId id : scheduler.waiting_forks()) {
    const StallHolder holder = holder_of(scheduler.view(id));
    if (holder.kind == StallHolder::Kind::kWaitingFork) report.holders.push_back(holder);
  }
  for (const SequenceId id : scheduler.loading()) {
    report.holders.push_back(holder_of(scheduler.view(id)));
    report.holders.back().kind = StallHolder::Kind::kLoading;
  }
  for (const Hold& hold : scheduler.holds().holds()) {
    // The sources of loads lie on the host.
    if (hold.blocks.empty() && hold.states.empty() && hold.drafts.empty()) continue;
    StallHolder holder;
    holder.kind = StallHolder::Kind::kFence;
    holder.sequence = value_of(hold.from);
    holder.blocks = size_of(hold.blocks);
    holder.state_slots = size_of(hold.states);
    holder.draft_slots = size_of(hold.drafts);
    set_fence(hold.fence, holder.lane, holder.ticket);
    report.holders.push_back(holder);
  }
  return report;
}

std::string describe(const StallReport& report, std::size_t most) {
  std::string text = report.what;
  add_lines(text, report.waiters, most);
  add_lines(text, report.holders, most);
  return text;
}

}  // namespace pinfold::sim
