#include "sim/metrics/prefix_classes.h"

#include <algorithm>
#include <cstring>

namespace pinfold::sim {

void PrefixClasses::arrive(SequenceId id, const TraceRequest& request) {
  if (id_block_ == 0 || request.prefix_ids.empty()) return;
  Live& live = live_[id];
  live.prompt = request.prompt;
  live.nodes.reserve(request.prefix_ids.size());
  std::uint32_t above = 0;
  for (std::size_t n = 0; n < request.prefix_ids.size(); ++n) {
    const std::uint64_t begin = std::uint64_t{n} * id_block_;
    if (begin >= request.prompt) break;  // more ids than tokens
    const std::uint32_t tokens =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(request.prompt - begin, id_block_));
    const std::uint32_t next = static_cast<std::uint32_t>(nodes_.size());
    const auto [place, fresh] = places_.try_emplace({above, request.prefix_ids[n], tokens}, next);
    if (fresh) nodes_.push_back({id, false});
    above = place->second;
    live.nodes.push_back(above);
  }
}

std::uint32_t PrefixClasses::end_of(const Live& live, std::size_t place) const {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>((std::uint64_t{place} + 1) * id_block_, live.prompt));
}

// `rows` need not be computed.
void PrefixClasses::count(SequenceId id, Live& live, std::uint32_t rows) {
  live.counted = true;
  std::size_t leading = 0;
  while (leading < live.nodes.size() && nodes_[live.nodes[leading]].first != id) ++leading;
  const std::uint32_t seen_end = leading == 0 ? 0 : end_of(live, leading - 1);
  const std::uint32_t whole_end = seen_end / block_size_ * block_size_;
  bool missed = false;
  for (std::size_t n = 0; n < live.nodes.size(); ++n) {
    const Node& node = nodes_[live.nodes[n]];
    const std::uint32_t end = end_of(live, n);
    const bool partial = end - n * id_block_ < id_block_;
    const bool there = end <= rows || (end == live.prompt && rows + 1 == live.prompt);
    if (node.first == id) {
      ++counts_.fresh;
    } else if (partial) {
      ++counts_.tail;
    } else if (there) {
      ++counts_.hit;
    } else if (!node.written) {
      ++counts_.unfinished;
    } else if (missed) {
      ++counts_.behind_miss;
    } else if (end > whole_end) {
      ++counts_.cut;
    } else {
      ++counts_.evicted;
    }
    missed = missed || !there;
  }
  counts_.ids += live.nodes.size();
  counts_.leading += leading;
}

// Somebody's block with these rows can be found, and so could all before it.
void PrefixClasses::publish(const Live& live, std::uint32_t rows) {
  for (std::size_t n = live.nodes.size(); n > 0; --n) {
    Node& node = nodes_[live.nodes[n - 1]];
    if (end_of(live, n - 1) > rows) continue;
    if (node.written) return;
    node.written = true;
  }
}

void PrefixClasses::consume(std::span<const std::byte> journal) {
  for (std::size_t at = 0; at < journal.size();) {
    Record record;
    std::memcpy(&record, journal.data() + at, sizeof record);
    at += sizeof record + ids_after(record) * sizeof(BlockId);
    const bool matters =
        record.verb == Verb::kChunk || record.verb == Verb::kPublish || record.verb == Verb::kEnd;
    if (!matters) continue;
    const auto found = live_.find(SequenceId{record.sequence});
    if (found == live_.end()) continue;
    Live& live = found->second;
    if (record.verb == Verb::kChunk && !live.counted) {
      count(found->first, live, record.aux);  // its first one starts behind what was there
    } else if (record.verb == Verb::kPublish) {
      publish(live, record.detail == 1 ? live.prompt : (record.aux + record.count) * block_size_);
    } else if (record.verb == Verb::kEnd) {
      live_.erase(found);
    }
  }
}

}  // namespace pinfold::sim
