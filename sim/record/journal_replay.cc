#include "sim/record/journal_replay.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "engine/ownership.h"
#include "sim/config/json_writer.h"
#include "sim/record/digest.h"

namespace pinfold::sim {
namespace {

std::array<PoolOptions, kPoolKinds> pool_options(const JournalHeader& header) {
  const auto pool = [&](PoolKind kind, std::uint32_t ids, bool keeps = false) {
    return PoolOptions{ids, header.release_order, header.free_order, kind, keeps, header.eviction};
  };
  return {pool(PoolKind::kBlocks, header.block_ids, header.reuse),
          pool(PoolKind::kStateSlots, header.state_ids),
          pool(PoolKind::kDraftSlots, header.draft_ids),
          pool(PoolKind::kHostBlocks, header.host_block_ids, header.host_block_ids > 1),
          pool(PoolKind::kHostStates, header.host_state_ids, header.host_state_ids > 1)};
}

std::vector<std::uint32_t> numbers(std::span<const BlockId> ids) {
  std::vector<std::uint32_t> numbers;
  for (const BlockId id : ids) numbers.push_back(index_of(id));
  return numbers;
}

class Performer {
 public:
  explicit Performer(const JournalHeader& header) : pools_(pool_options(header)) {}

  /// Empty, or what happened instead.
  std::string apply(const JournalEvent& event) {
    Pool& pool = pools_.of(event.record.pool);
    try {
      switch (event.record.verb) {
        case Verb::kAcquire: return take(pool, event.ids);
        case Verb::kPin: pool.pin(event.ids); break;
        case Verb::kRelease: pool.release(event.ids); break;
        case Verb::kPark: pool.park(event.ids); break;
        case Verb::kUnpark: pool.unpark(event.ids); break;
        case Verb::kHit: pool.share(event.ids); break;
        case Verb::kSave: return save(event);
        case Verb::kLoad: load(event); break;
        case Verb::kPublish:
        case Verb::kStored:
          for (const BlockId id : event.ids) pool.keep(id);
          break;
        default: break;  // says what somebody decided; the pools do not see it
      }
    } catch (const InvariantViolation& violation) {
      return violation.what();
    }
    return {};
  }

  const Pools& pools() const { return pools_; }

 private:
  static std::string take(Pool& pool, const std::vector<BlockId>& ids) {
    std::vector<BlockId> issued(ids.size());
    pool.take(issued);
    if (issued == ids) return {};
    return fmt::format("the pool issues [{}], the recording has [{}]",
                       fmt::join(numbers(issued), ", "), fmt::join(numbers(ids), ", "));
  }

  static PoolKind host_of(PoolKind device) {
    return device == PoolKind::kStateSlots ? PoolKind::kHostStates : PoolKind::kHostBlocks;
  }

  // A state slot is read through its copy buffer and gets no owner.
  std::string save(const JournalEvent& event) {
    Pool& host = pools_.of(host_of(event.record.pool));
    for (std::size_t n = 0; n + 1 < event.ids.size(); n += 2) {
      const std::string instead = take(host, {event.ids[n + 1]});
      if (!instead.empty()) return instead;
      host.park(std::span(&event.ids[n + 1], 1));
      if (event.record.pool != PoolKind::kBlocks) continue;
      pools_.blocks().share(std::span(&event.ids[n], 1));
      pools_.blocks().park(std::span(&event.ids[n], 1));
    }
    return {};
  }

  void load(const JournalEvent& event) {
    Pool& host = pools_.of(host_of(event.record.pool));
    for (std::size_t n = 0; n + 1 < event.ids.size(); n += 2) {
      host.share(std::span(&event.ids[n], 1));
      host.park(std::span(&event.ids[n], 1));
    }
  }

  Pools pools_;
};

}  // namespace

Outcome<JournalOutcome> replay_journal(std::string_view text, const std::string& path) {
  JournalReader reader(text, path);
  const Outcome<JournalHeader> header = reader.header();
  if (!header) return header.error();
  JournalOutcome outcome;
  JournalReplay& replay = outcome.replay;
  replay.header = header.value();
  replay.count_by_verb.resize(all_verbs().size());
  Performer performer(header.value());
  Digest digest;
  ReuseString reuse(header.value());
  JournalEvent event;
  while (outcome.agrees && reader.next(event)) {
    ++replay.events;
    ++replay.count_by_verb[static_cast<std::size_t>(event.record.verb) - 1];
    const std::string instead = performer.apply(event);
    if (!instead.empty()) {
      outcome.agrees = false;
      outcome.difference = {
          event.line, replay.events,
          fmt::format("{} of {}s by {}: {}", word_of(event.record.verb), name_of(event.record.pool),
                      event.record.sequence, instead)};
      break;
    }
    if (replay.header.reuse) reuse.take(event);
    digest.update(std::as_bytes(std::span(&event.record, 1)));
    digest.update(std::as_bytes(std::span(event.ids)));
  }
  if (reader.error()) return *reader.error();
  const Pool& blocks = performer.pools().blocks();
  replay.blocks_acquired = blocks.acquired();
  replay.blocks_owned = blocks.owned().value;
  replay.peak_owned = blocks.peak_owned().value;
  if (replay.header.reuse) replay.reuse = reuse.bound();
  replay.digest = fmt::format("{:016x}", digest.value());
  if (outcome.agrees && !reader.end().digest.empty() && reader.end().digest != replay.digest) {
    outcome.agrees = false;
    outcome.difference = {
        0, replay.events,
        fmt::format("the digest is {}, the recording's {}", replay.digest, reader.end().digest)};
  }
  return outcome;
}

std::string journal_text(const JournalOutcome& outcome) {
  const JournalReplay& replay = outcome.replay;
  std::string text = fmt::format("{:<24}{}\n", "Recorded by:", replay.header.made_by);
  text += fmt::format("{:<24}{}\n", "Workload:", replay.header.workload);
  text += fmt::format("{:<24}{} of {} positions, {} state slots\n",
                      "Usable blocks:", replay.header.block_ids - 1, replay.header.block_size,
                      replay.header.state_ids - 1);
  text += fmt::format("{:<24}{}\n", "Events:", replay.events);
  for (std::size_t n = 0; n < replay.count_by_verb.size(); ++n) {
    if (replay.count_by_verb[n] == 0) continue;
    text += fmt::format("  {:<22}{}\n", word_of(all_verbs()[n]), replay.count_by_verb[n]);
  }
  text += fmt::format("{:<24}{}\n", "Blocks acquired:", replay.blocks_acquired);
  text += fmt::format("{:<24}{}\n", "Peak owned blocks:", replay.peak_owned);
  text += fmt::format("{:<24}{}\n", "Owned at the end:", replay.blocks_owned);
  if (replay.reuse) {
    const ReuseBound& reuse = *replay.reuse;
    text += fmt::format("{:<24}{}\n", "Prefix blocks wanted:", reuse.looked_for);
    text += fmt::format("{:<24}{} on the device\n", "  found:", reuse.found);
    text += fmt::format("{:<24}{} with the best order of eviction (Belady)\n",
                        "  at most:", reuse.best);
  }
  text += fmt::format("{:<24}{}\n", "Digest:", replay.digest);
  return text;
}

std::string journal_json(const JournalOutcome& outcome) {
  const JournalReplay& replay = outcome.replay;
  JsonWriter json;
  json.open_object();
  json.key("made_by").string(replay.header.made_by);
  json.key("workload").string(replay.header.workload);
  json.key("agrees").boolean(outcome.agrees);
  if (!outcome.agrees) {
    json.key("first_difference").open_object();
    json.key("line").integer(outcome.difference.line);
    json.key("event").integer(outcome.difference.event);
    json.key("text").string(outcome.difference.text);
    json.close();
  }
  json.key("events").integer(replay.events);
  json.key("events_by_verb").open_object();
  for (std::size_t n = 0; n < replay.count_by_verb.size(); ++n) {
    json.key(word_of(all_verbs()[n])).integer(replay.count_by_verb[n]);
  }
  json.close();
  json.key("blocks").open_object();
  json.key("usable").integer(replay.header.block_ids - 1);
  json.key("acquired").integer(replay.blocks_acquired);
  json.key("peak_owned").integer(replay.peak_owned);
  json.key("owned_at_the_end").integer(replay.blocks_owned);
  json.close();
  if (replay.reuse) {
    json.key("prefix_blocks").open_object();
    json.key("asked_for").integer(replay.reuse->looked_for);
    json.key("found").integer(replay.reuse->found);
    json.key("belady_bound").integer(replay.reuse->best);
    json.close();
  }
  json.key("digest").string(replay.digest);
  json.close();
  return json.finish();
}

}  // namespace pinfold::sim
