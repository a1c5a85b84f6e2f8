// The books of an external store (rule O16): holds of saves and loads, and what each host id is known to
// hold.

#include <algorithm>

#include "sim/check/journal_books.h"

namespace pinfold::sim {
namespace {

PoolKind host_of(PoolKind device) {
  return device == PoolKind::kStateSlots ? PoolKind::kHostStates : PoolKind::kHostBlocks;
}

}  // namespace

// A block is saved from its owner's table, a state through its slot's copy buffer; where the content ends
// says which key it has.
void JournalBooks::queue_save(const Record& record, std::span<const BlockId> ids) {
  const SequenceBooks& of = at(record.sequence);
  const PoolKind host = host_of(record.pool);
  save_tickets_ = std::max<std::uint64_t>(save_tickets_, record.aux);
  for (std::size_t n = 0; n + 1 < ids.size(); n += 2) {
    std::uint32_t end = of.processed + of.in_flight;
    if (record.pool == PoolKind::kBlocks) {
      IdBooks& source = id_at(record.pool, ids[n]);
      const auto entry = std::find(of.table.begin(), of.table.end(), index_of(ids[n]));
      end = (static_cast<std::uint32_t>(entry - of.table.begin()) + 1) * options_.block_size;
      if (entry == of.table.end() || of.processed < end) {
        find(Check::kI8, record.pool, index_of(ids[n]),
             "is saved for sequence " + std::to_string(record.sequence) + ", which has " +
                 std::to_string(of.processed) + " processed rows: expected one full of them");
      }
      add_owner(record.pool, source, {record.sequence, true, record.aux, Behind::kSave});
    }
    IdBooks& to = id_at(host, ids[n + 1]);
    if (!to.owners.empty() || to.kept != 0) {
      find(Check::kI2, host, index_of(ids[n + 1]),
           "is filled by a save and has " + std::to_string(to.owners.size()) + " owners" +
               (to.kept != 0 ? " or can be found" : ""));
    }
    add_owner(host, to, {record.sequence, true, record.aux, Behind::kSave});
    issue(host, index_of(ids[n + 1]));
    const std::uint32_t blocks = end / options_.block_size;
    const bool named =
        end > 0 && end % options_.block_size == 0 && blocks <= of.chains.whole.size();
    to.whole = named ? of.chains.whole[blocks - 1] : 0;
    to.saved_until = record.aux;
    if (!named) {
      find(Check::kI14, host, index_of(ids[n + 1]),
           "is to hold what ends at position " + std::to_string(end) + " of sequence " +
               std::to_string(record.sequence) + ", which has no key");
    }
  }
}

void JournalBooks::stored(const Record& record, std::span<const BlockId> ids) {
  for (const BlockId id : ids) {
    IdBooks& books = id_at(record.pool, id);
    if (books.saved_until > passed_on(Lane::kDeviceToHost)) {
      find(Check::kI14, record.pool, index_of(id),
           "can be found, and its save waits for ticket " + std::to_string(books.saved_until));
    }
    if (books.kept == 0) books.kept = ++kept_;
  }
}

void JournalBooks::queue_load(const Record& record, std::span<const BlockId> ids) {
  SequenceBooks& of = at(record.sequence);
  const PoolKind host = host_of(record.pool);
  load_tickets_ = std::max<std::uint64_t>(load_tickets_, record.aux);
  of.load_ticket = record.aux;
  for (std::size_t n = 0; n + 1 < ids.size(); n += 2) {
    IdBooks& source = id_at(host, ids[n]);
    if (source.kept == 0) {
      find(Check::kI14, host, index_of(ids[n]),
           "is loaded for sequence " + std::to_string(record.sequence) + " and cannot be found");
    }
    if (record.pool == PoolKind::kBlocks) {
      const auto entry = static_cast<std::size_t>(
          std::find(of.table.begin(), of.table.end(), index_of(ids[n + 1])) - of.table.begin());
      if (entry >= of.chains.whole.size() || of.chains.whole[entry] != source.whole) {
        find(Check::kI14, host, index_of(ids[n]),
             "is loaded for block " + std::to_string(entry) + " of sequence " +
                 std::to_string(record.sequence) + " and holds another content");
      }
    } else {
      of.loaded_state = source.whole;
      of.state_ready = true;
    }
    std::vector<std::uint32_t>& idle = idle_[index_of(host)];
    if (source.owners.empty()) {
      const auto place = std::find(idle.begin(), idle.end(), index_of(ids[n]));
      if (place != idle.end()) idle.erase(place);
    }
    add_owner(host, source, {record.sequence, true, record.aux, Behind::kLoad});
    loads_.push_back({record.pool, index_of(ids[n]), index_of(ids[n + 1]), record.aux});
  }
}

void JournalBooks::loaded(const Record& record) {
  SequenceBooks& of = at(record.sequence);
  if (of.load_ticket > passed_on(Lane::kHostToDevice)) {
    find(Check::kI8, "sequence " + std::to_string(record.sequence) +
                         " goes on, and its load is done at ticket " +
                         std::to_string(of.load_ticket) + "; the lane has come to " +
                         std::to_string(passed_on(Lane::kHostToDevice)));
  }
  const std::uint32_t blocks = record.count / options_.block_size;
  const bool same = blocks > 0 && blocks <= of.chains.whole.size() &&
                    of.chains.whole[blocks - 1] == of.loaded_state;
  if (options_.state_slots && !same) {
    find(Check::kI14, "sequence " + std::to_string(record.sequence) + " goes on behind " +
                          std::to_string(record.count) + " rows with the state of another prefix");
  }
  if (record.count >= of.history) {
    find(Check::kI14, "sequence " + std::to_string(record.sequence) + " has " +
                          std::to_string(record.count) + " rows of its " +
                          std::to_string(of.history) +
                          " known tokens: expected the last one to be computed");
  }
  of.processed = record.count;
}

void JournalBooks::pass_store(Lane lane, std::uint64_t ticket) {
  std::uint64_t& upto = store_passed_[lane == Lane::kDeviceToHost ? 1 : 0];
  upto = std::max(upto, ticket);
  if (lane != Lane::kHostToDevice) return;
  std::erase_if(loads_, [&](const PendingCopy& load) { return load.ticket <= upto; });
}

// What a load still fills is let go behind it alone.
void JournalBooks::judge_load(const Record& record, BlockId id) {
  for (const PendingCopy& load : loads_) {
    if (load.pool != record.pool || load.to != index_of(id)) continue;
    const bool waits = record.verb == Verb::kPark && record.aux >= load.ticket &&
                       static_cast<Behind>(record.detail) == Behind::kLoad;
    if (waits) continue;
    find(Check::kI8, record.pool, load.to,
         "is let go by sequence " + std::to_string(record.sequence) +
             ": the load into it is done at ticket " + std::to_string(load.ticket));
  }
}

}  // namespace pinfold::sim
