// A number for what a shadow knows, so that an explorer can tell situations apart.

#include <algorithm>
#include <utility>

#include "sim/check/shadow.h"

namespace pinfold::sim {
namespace {

/// Order matters; SplitMix64's finisher (Steele, Lea, Flood 2014) after each value.
class Mixer {
 public:
  template <class... Values>
  void add(Values... values) {
    (add_one(std::uint64_t{values}), ...);
  }
  void add_list(const std::vector<std::uint32_t>& list) {
    add(list.size());
    for (const std::uint32_t value : list) add(value);
  }
  std::uint64_t value() const { return state_; }

 private:
  void add_one(std::uint64_t value) {
    std::uint64_t mixed = state_ + value + 0x9E3779B97F4A7C15;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB;
    state_ = mixed ^ (mixed >> 31);
  }
  std::uint64_t state_ = 0;
};

constexpr std::uint64_t ahead(std::uint64_t number, std::uint64_t of) {
  return number > of ? number - of : 0;
}

}  // namespace

std::uint64_t Shadow::hash() const {
  if (!settling_open_) return hash_settled();
  Shadow settled = *this;  // the last result is complete as far as anybody knows
  settled.settle();
  return settled.hash_settled();
}

std::uint64_t Shadow::hash_settled() const {
  Mixer mix;
  mix.add(steps_ - done_);
  for (const Lane lane : {Lane::kCompute, Lane::kCopy}) {
    mix.add(ahead(passed_[index_of(lane)], 2 * done_));
  }

  // Lives that somebody still needs, and whose rows these may expect.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> lives;  // (sequence, epoch) -> index
  std::vector<std::uint64_t> writers;
  const auto key = [](std::uint32_t sequence, std::uint32_t epoch) {
    return std::uint64_t{sequence} << 32 | epoch;
  };
  for (std::uint32_t n = 0; n < lives_.size(); ++n) {
    const Life& life = lives_[n];
    if (life.sequence == kNobody) continue;
    const SequenceState& state = sequences_[life.sequence];
    const bool over = state.preempted && state.life == n && life.flights == 0 &&
                      life.held_blocks() == 0 && life.state == 0 && life.draft == 0;
    if (over) continue;
    lives.push_back({key(life.sequence, life.epoch), n});
    writers.push_back(lives.back().first);
    for (const Inherited& part : life.inherited) writers.push_back(key(part.writer, part.epoch));
  }
  for (const auto& of_block : published_) {
    for (const Published& published : of_block) {
      for (const Inherited& part : published.parts) writers.push_back(key(part.writer, part.epoch));
    }
  }
  std::sort(lives.begin(), lives.end());
  std::sort(writers.begin(), writers.end());
  const auto is_expected = [&](const RowTag& tag) {
    return tag.kind == RowKind::kData &&
           std::binary_search(writers.begin(), writers.end(), key(tag.writer, tag.epoch));
  };

  for (const std::vector<Owned>& pool : owned_) {
    for (std::uint32_t id = 0; id < pool.size(); ++id) {
      if (pool[id].owners > 0) mix.add(id, pool[id].owners, pool[id].holds);
    }
    mix.add(pool.size());
  }
  for (std::uint32_t block = 0; block < options_.block_ids; ++block) {
    std::uint32_t run_end = 0;
    RowTag next;  // what would go on with the run before
    contents_.for_each_run(block, [&](std::uint32_t begin, std::uint32_t end, const RowTag& tag) {
      if (!is_expected(tag)) return;
      const bool goes_on = begin == run_end && tag == next;
      if (!goes_on) mix.add(run_end, block, begin, tag.writer, tag.epoch, tag.position);
      run_end = end;
      next = further(tag, end - begin);
    });
    mix.add(run_end);
  }
  for (std::uint32_t block = 0; block < published_.size(); ++block) {
    for (const Published& published : published_[block]) {
      if (published.chain == 0) continue;
      mix.add(block, published.chain, published.entry, published.rows, published.parts.size());
      for (const Inherited& part : published.parts) mix.add(part.end, part.writer, part.epoch);
    }
  }
  for (const StateSlot& slot : state_slots_) {
    const RowTag last = is_expected(slot.last) ? slot.last : RowTag{};
    mix.add(last.writer, last.epoch, last.position);
  }
  for (const DraftSlot& slot : draft_slots_) {
    if (!has_passed(slot.step)) mix.add(slot.user);
    mix.add(has_passed(slot.step) ? 0 : slot.step - done_);
  }
  for (std::uint32_t id = 0; id < sequences_.size(); ++id) {
    const SequenceState& state = sequences_[id];
    if (state.ended || (state.epoch == 0 && !state.preempted && state.drafts == 0)) continue;
    mix.add(id, state.epoch, state.preempted ? 1u : 0u, state.drafts);
  }
  for (const auto& [name, index] : lives) {
    const Life& life = lives_[index];
    mix.add(name, life.processed, life.in_flight, life.let_go ? 1u : 0u, life.state,
            life.last_state, life.draft, has_passed(life.last_step) ? 0 : life.last_step - done_,
            life.flights, life.void_flights, life.void_flights > 0 ? life.void_reach : 0);
    mix.add_list(life.table);
    mix.add(life.inherited.size());
    for (const Inherited& part : life.inherited) mix.add(part.end, part.writer, part.epoch);
  }
  mix.add_list(batch_);
  const auto add_row = [&](const Row& row) {
    mix.add(row.sequence, row.width, row.first, row.chunk ? 1u : 0u, row.is_void ? 1u : 0u);
    if (row.life != kNoLife) mix.add(lives_[row.life].epoch);
  };
  mix.add(chunks_.size());
  for (const Row& row : chunks_) add_row(row);
  for (const Step& step : flying_) {
    mix.add(step.step - done_, step.rows.size());
    for (const Row& row : step.rows) add_row(row);
    for (const VoidReach& reach : step.void_reaches) {
      mix.add(reach.sequence, reach.epoch, reach.begin, reach.end, reach.state);
      mix.add_list(reach.blocks);
    }
  }
  for (const PendingCopy& copy : copies_) {
    const std::vector<Owned>& pool = owned_[index_of(copy.pool)];
    mix.add(ahead(copy.ticket, 2 * done_), index_of(copy.pool), copy.from, copy.to, copy.rows,
            copy.sequence, copy.epoch, copy.passed ? 1u : 0u,
            pool[copy.from].issue == copy.from_issue ? 1u : 0u,
            pool[copy.to].issue == copy.to_issue ? 1u : 0u);
  }
  hash_store([&](std::uint64_t value) { mix.add(value); });
  return mix.value();
}

template <class Add>
void Shadow::hash_store(Add add) const {
  const auto add_parts = [&](const std::vector<Inherited>& parts) {
    add(parts.size());
    for (const Inherited& part : parts) {
      add(part.end);
      add(std::uint64_t{part.writer} << 32 | part.epoch);
    }
  };
  for (const std::vector<HostId>& tier : host_) {
    for (std::uint32_t id = 0; id < tier.size(); ++id) {
      const HostId& host = tier[id];
      if (host.chain == 0 && !host.saved) continue;
      add(id);
      add(host.chain);
      add(host.entry);
      add_parts(host.parts);
      for (const HostRun& run : host.runs) {
        add(std::uint64_t{run.tag.writer} << 32 | run.tag.epoch);
        add(std::uint64_t{run.tag.position} << 32 | run.begin);
      }
    }
  }
  for (const std::vector<Transfer>* list : {&transfers_, &done_loads_}) {
    for (const Transfer& transfer : *list) {
      const Lane lane = transfer.load ? Lane::kHostToDevice : Lane::kDeviceToHost;
      add(ahead(transfer.ticket, passed_[index_of(lane)]));
      add(ahead(transfer.step, done_));
      add(std::uint64_t{transfer.device} << 32 | transfer.host);
      add(std::uint64_t{transfer.sequence} << 32 | transfer.epoch);
      add(std::uint64_t{index_of(transfer.pool)} << 2 | (transfer.load ? 2 : 0) |
          (transfer.staged ? 1 : 0));
    }
  }
}

}  // namespace pinfold::sim
