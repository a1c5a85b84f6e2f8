// What lies on the host (rule O16). A save carries a block's rows, or the state that a slot holds ahead of
// a step, to the host when its lane has passed its ticket; a load brings them back. Both are checked like
// a fork's copies: sources and destinations must still be the ones that were named when it was queued.
// What is found on the host is expected by content, as in shadow_prefix.cc.

#include <algorithm>

#include "sim/check/shadow.h"

namespace pinfold::sim {

namespace {

PoolKind host_of(PoolKind device) {
  return device == PoolKind::kStateSlots ? PoolKind::kHostStates : PoolKind::kHostBlocks;
}

}  // namespace

bool Shadow::is_host(PoolKind pool) {
  return pool == PoolKind::kHostBlocks || pool == PoolKind::kHostStates;
}

Shadow::HostId& Shadow::host_id(PoolKind pool, std::uint32_t id) {
  std::vector<HostId>& ids = host_[pool == PoolKind::kHostStates ? 1 : 0];
  if (id >= ids.size()) ids.resize(std::size_t{id} + 1);
  return ids[id];
}

void Shadow::hold_source(const Record& record, PoolKind pool, BlockId id, const char* what) {
  Record of = record;
  of.pool = pool;
  Owned* const source = owned(of, id);
  if (source == nullptr) return;
  if (source->owners == 0 && !is_host(pool)) {
    find("O9 copy source", record.sequence, pool, index_of(id),
         std::string(what) + " of sequence " + std::to_string(record.sequence) + " reads " +
             name_of_id(pool, index_of(id)) + ", which has no owner" +
             name_of_release(source->released, "it"));
  }
  ++source->owners;
  ++source->holds;
}

// ---- saves -------------------------------------------------------------------------------------------

void Shadow::queue_save(const Record& record, std::span<const BlockId> ids) {
  const Life& life = lives_[life_of(record.sequence)];
  const PrefixChains& chains = state_of(record.sequence).chains;
  const std::uint32_t block_size = options_.block_size;
  save_tickets_ = std::max<std::uint64_t>(save_tickets_, record.aux);
  const bool state = record.pool == PoolKind::kStateSlots;
  for (std::size_t n = 0; n + 1 < ids.size(); n += 2) {
    Transfer save;
    save.ticket = record.aux;
    save.pool = record.pool;
    save.device = index_of(ids[n]);
    save.host = index_of(ids[n + 1]);
    save.sequence = record.sequence;
    save.epoch = life.epoch;
    save.step = state ? steps_ + 1 : 0;
    // Where the content ends: the slot holds what the rows dispatched so far leave behind.
    std::uint32_t end = life.processed + life.in_flight;
    if (!state) {
      const auto at = std::find(life.table.begin(), life.table.end(), save.device);
      end = (static_cast<std::uint32_t>(at - life.table.begin()) + 1) * block_size;
      if (at == life.table.end() || life.let_go || life.processed < end) {
        find("O16 save", record.sequence, record.pool, save.device,
             name_of_id(record.pool, save.device) + " is saved for sequence " +
                 std::to_string(record.sequence) + ", whose committed rows are not in it");
      }
      hold_source(record, record.pool, ids[n], "the save");
    }
    save.entry = end / block_size - (end >= block_size ? 1 : 0);
    const bool named = end > 0 && end % block_size == 0 && save.entry < chains.whole.size();
    if (named) save.chain = chains.whole[save.entry];
    if (!named) {
      find("O16 save", record.sequence, record.pool, save.device,
           name_of_id(record.pool, save.device) + " is saved for sequence " +
               std::to_string(record.sequence) + " as what ends at position " +
               std::to_string(end) + ", which has no key");
    }
    for (std::uint32_t position = state ? end - std::min(end, 1u) : end - block_size;
         position < end;) {
      std::uint32_t upto = 0;
      const RowTag row = life.expected(position, upto);
      position = std::min(upto, end);
      save.parts.push_back({position, row.writer, row.epoch});
    }
    if (Owned* const device = owned(record, ids[n])) save.device_issue = device->issue;
    take_host_id(record, host_of(record.pool), save.host);
    transfers_.push_back(std::move(save));
  }
}

// Free until now, its first owner is the save's hold.
void Shadow::take_host_id(const Record& record, PoolKind pool, std::uint32_t id) {
  Record of = record;
  of.pool = pool;
  Owned* const now = owned(of, BlockId{id});
  if (now == nullptr) return;
  if (now->owners != 0 || host_id(pool, id).chain != 0) {
    find("O2 owners", record.sequence, pool, id,
         name_of_id(pool, id) + " is filled by a save of sequence " +
             std::to_string(record.sequence) + " and " +
             (now->owners != 0 ? "has " + std::to_string(now->owners) + " owners"
                               : "can still be found"));
  }
  ++now->owners;
  ++now->holds;
  ++now->issue;
  host_id(pool, id) = {};
}

// Ahead of a step's rows: what its copies stage. `lost`: the step failed, nobody knows what they left.
void Shadow::stage_states(std::uint64_t step, bool lost) {
  for (Transfer& save : transfers_) {
    if (save.step == 0 || save.step > step || save.staged || save.load) continue;
    save.staged = true;
    save.state = state_slots_[save.device].last;
    if (lost) save.state = {RowKind::kLost, save.sequence, save.epoch, 0};
  }
}

void Shadow::run_save(Transfer& save) {
  HostId& host = host_id(host_of(save.pool), save.host);
  if (save.pool == PoolKind::kStateSlots) {
    // Staged in this step's copies, whose result may be on its way still.
    if (!save.staged) save.state = state_slots_[save.device].last;
    host.runs = {{0, save.state}};
  } else {
    const Owned& device = owned_[index_of(save.pool)][save.device];
    if (device.issue != save.device_issue) {
      find("O9 copy source", save.sequence, save.pool, save.device,
           "the save of sequence " + std::to_string(save.sequence) + " reads " +
               name_of_id(save.pool, save.device) +
               ", which was issued again before the save was done" +
               name_of_release(device.released, "it"));
    }
    host.runs.clear();
    contents_.for_each_run(save.device, [&](std::uint32_t begin, std::uint32_t, const RowTag& tag) {
      host.runs.push_back({begin, tag});
    });
  }
  host.saved = true;
  host.chain_to_be = save.chain;
  host.entry = save.entry;
  host.parts = save.parts;
}

// What the host id holds at `row`.
RowTag Shadow::on_host(const HostId& host, std::uint32_t row) {
  RowTag found;
  for (const HostRun& run : host.runs) {
    if (run.begin > row) break;
    found = further(run.tag, row - run.begin);
  }
  return found;
}

// Findable from here on: its save has passed, and it holds what its key says.
void Shadow::stored(const Record& record, std::span<const BlockId> ids) {
  for (const BlockId id : ids) {
    const std::uint32_t index = index_of(id);
    HostId& host = host_id(record.pool, index);
    const auto wrong = [&](const std::string& text) {
      find("O16 save", record.sequence, record.pool, index,
           name_of_id(record.pool, index) + " can be found and " + text);
    };
    if (!host.saved) wrong("its save has not passed");
    host.chain = host.chain_to_be;
    if (host.chain == 0) host.chain = 1;  // nobody's content
    const bool state = record.pool == PoolKind::kHostStates;
    const std::uint32_t first = host.entry * options_.block_size;
    std::uint32_t position = state ? first + options_.block_size - 1 : first;
    for (const Inherited& part : host.parts) {
      for (; position < part.end; ++position) {
        const RowTag wanted{RowKind::kData, part.writer, part.epoch, position};
        if (on_host(host, state ? 0 : position - first) == wanted) continue;
        wrong("does not hold position " + std::to_string(position) + " of sequence " +
              std::to_string(part.writer));
        position = UINT32_MAX;
        break;
      }
      if (position == UINT32_MAX) break;
    }
  }
}

void Shadow::evict_on_host(const Record& record, std::span<const BlockId> ids) {
  for (const BlockId id : ids) {
    const Owned* const was = owned(record, id);
    if (was == nullptr) continue;
    HostId& host = host_id(record.pool, index_of(id));
    if (was->owners > 0 || host.chain == 0) {
      find("prefix evict", record.sequence, record.pool, index_of(id),
           name_of_id(record.pool, index_of(id)) + " is evicted and " +
               (was->owners > 0 ? "has " + std::to_string(was->owners) + " owners"
                                : "cannot be found"));
    }
    host = {};
  }
}

// ---- loads -------------------------------------------------------------------------------------------

void Shadow::queue_load(const Record& record, std::span<const BlockId> ids) {
  const std::uint32_t index = life_of(record.sequence);
  const Life& life = lives_[index];
  const PrefixChains& chains = state_of(record.sequence).chains;
  const PoolKind pool = host_of(record.pool);
  load_tickets_ = std::max<std::uint64_t>(load_tickets_, record.aux);
  state_of(record.sequence).load_ticket = record.aux;
  for (std::size_t n = 0; n + 1 < ids.size(); n += 2) {
    Transfer load;
    load.load = true;
    load.ticket = record.aux;
    load.pool = record.pool;
    load.host = index_of(ids[n]);
    load.device = index_of(ids[n + 1]);
    load.sequence = record.sequence;
    load.epoch = life.epoch;
    const HostId& host = host_id(pool, load.host);
    const auto wrong = [&](const std::string& text) {
      find("O16 load", record.sequence, pool, load.host,
           name_of_id(pool, load.host) + ", loaded for sequence " +
               std::to_string(record.sequence) + ", " + text);
    };
    const auto at = std::find(life.table.begin(), life.table.end(), load.device);
    load.entry = static_cast<std::uint32_t>(at - life.table.begin());
    if (host.chain == 0) {
      wrong("cannot be found");
    } else if (record.pool == PoolKind::kBlocks) {
      const bool same = load.entry == host.entry && load.entry < chains.whole.size() &&
                        chains.whole[load.entry] == host.chain;
      if (!same) wrong("holds another content than block " + std::to_string(load.entry) + " wants");
    }
    load.chain = host.chain;
    load.entry = host.entry;
    load.parts = host.parts;
    hold_source(record, pool, ids[n], "the load");
    load.host_issue = owned_[index_of(pool)][load.host].issue;
    if (const Owned* const device = owned(record, ids[n + 1])) load.device_issue = device->issue;
    transfers_.push_back(std::move(load));
  }
}

void Shadow::run_load(const Transfer& load, bool lost) {
  const PoolKind pool = host_of(load.pool);
  const HostId& host = host_id(pool, load.host);
  const Owned& device = owned_[index_of(load.pool)][load.device];
  const std::string what = "the load for sequence " + std::to_string(load.sequence) + " ";
  if (owned_[index_of(pool)][load.host].issue != load.host_issue) {
    find("O9 copy source", load.sequence, pool, load.host,
         what + "reads " + name_of_id(pool, load.host) +
             ", which was filled again before the load was done");
  }
  if (device.issue != load.device_issue || device.owners == 0) {
    find("O9 copy destination", load.sequence, load.pool, load.device,
         what + "fills " + name_of_id(load.pool, load.device) + ", which was " +
             (device.owners == 0 ? "free" : "issued again") + " before the load was done" +
             name_of_release(device.released, "it"));
  }
  const RowTag leftover{RowKind::kLost, load.sequence, load.epoch, 0};
  if (load.pool == PoolKind::kStateSlots) {
    StateSlot& slot = state_slots_[load.device];
    slot.last = lost ? leftover : on_host(host, 0);
    slot.before = device.released;
    return;
  }
  if (lost) return write_block(load.device, 0, options_.block_size, leftover);
  for (std::size_t n = 0; n < host.runs.size(); ++n) {
    const bool last = n + 1 == host.runs.size();
    write_block(load.device, host.runs[n].begin,
                last ? options_.block_size : host.runs[n + 1].begin, host.runs[n].tag);
  }
}

// The rows are there: whoever runs on expects them from who wrote them.
void Shadow::loaded(const Record& record) {
  Life& life = lives_[life_of(record.sequence)];
  SequenceState& state = state_of(record.sequence);
  if (state.load_ticket > passed_[index_of(Lane::kHostToDevice)]) {
    find("O16 load", record.sequence, PoolKind::kBlocks, 0,
         "sequence " + std::to_string(record.sequence) + " goes on behind ticket " +
             std::to_string(state.load_ticket) + ", and the lane has come to " +
             std::to_string(passed_[index_of(Lane::kHostToDevice)]));
  }
  std::uint32_t begin = life.inherited.empty() ? 0 : life.inherited.back().end;
  std::vector<Transfer> states;
  for (const Transfer& load : done_loads_) {
    if (load.sequence != record.sequence || load.epoch != life.epoch) continue;
    if (load.pool == PoolKind::kStateSlots) {
      const bool same = record.count == (load.entry + 1) * options_.block_size &&
                        load.entry < state.chains.whole.size() &&
                        state.chains.whole[load.entry] == load.chain;
      if (!same) {
        find("O16 load", record.sequence, load.pool, load.device,
             "sequence " + std::to_string(record.sequence) + " goes on from position " +
                 std::to_string(record.count) + " with the state of another prefix");
      }
      states.push_back(load);
      continue;
    }
    for (const Inherited& part : load.parts) {
      if (part.end <= begin) continue;
      const bool goes_on = !life.inherited.empty() && life.inherited.back().writer == part.writer &&
                           life.inherited.back().epoch == part.epoch;
      if (!goes_on) life.inherited.push_back(part);
      life.inherited.back().end = begin = part.end;
    }
  }
  std::erase_if(done_loads_,
                [&](const Transfer& load) { return load.sequence == record.sequence; });
  life.processed = record.count;
  // The state of the same prefix, whoever computed it: the one that its reader's own rows lead to.
  for (const Transfer& load : states) {
    RowTag& last = state_slots_[load.device].last;
    const Inherited& part = load.parts.back();
    const RowTag computed{RowKind::kData, part.writer, part.epoch, record.count - 1};
    if (last == computed) last = life.expected(record.count - 1);
  }
  if (begin >= record.count) return;
  find("O16 load", record.sequence, PoolKind::kBlocks, 0,
       "sequence " + std::to_string(record.sequence) + " counts " + std::to_string(record.count) +
           " rows as loaded, and found or loaded " + std::to_string(begin));
}

// A lane of the store has come as far as a ticket, or will never carry out what it names.
void Shadow::pass_store(Lane lane, std::uint64_t ticket, bool lost) {
  const bool loads = lane == Lane::kHostToDevice;
  const std::uint64_t queued = loads ? load_tickets_ : save_tickets_;
  if (ticket > queued) {
    find("O9 fence", kNobody, PoolKind::kBlocks, 0,
         "lane " + std::to_string(index_of(lane)) + " passed ticket " + std::to_string(ticket) +
             ", and the last one queued is " + std::to_string(queued));
  }
  std::size_t kept = 0;
  for (std::size_t n = 0; n < transfers_.size(); ++n) {
    Transfer& transfer = transfers_[n];
    if (transfer.load != loads || transfer.ticket > ticket) {
      if (kept != n) transfers_[kept] = std::move(transfer);
      ++kept;
      continue;
    }
    if (loads) {
      run_load(transfer, lost);
      const SequenceState& state = state_of(transfer.sequence);
      const bool waits = !state.ended && !lost && state.load_ticket == transfer.ticket;
      if (waits) done_loads_.push_back(std::move(transfer));
    } else if (!lost) {
      run_save(transfer);
    }
  }
  transfers_.resize(kept);
}

// The ticket of a load that still fills it; 0: none.
std::uint64_t Shadow::load_into(PoolKind pool, std::uint32_t id) const {
  for (const Transfer& transfer : transfers_) {
    if (transfer.load && transfer.pool == pool && transfer.device == id) return transfer.ticket;
  }
  return 0;
}

}  // namespace pinfold::sim
