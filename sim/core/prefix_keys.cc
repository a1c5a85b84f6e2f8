#include "sim/core/prefix_keys.h"

#include <algorithm>

namespace pinfold::sim {
namespace {

// One of 2^64 pairs of different contents behind the same prefix is taken for equal.
std::uint64_t mixed(std::uint64_t key, std::uint64_t value) {
  key ^= value + 0x9E3779B97F4A7C15u;
  key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9u;
  key = (key ^ (key >> 27)) * 0x94D049BB133111EBu;
  return key ^ (key >> 31);
}

}  // namespace

// Where a block lies among its ids' tokens need not be said: its place in the prompt says it.
std::uint64_t PrefixKeys::key_of(const TraceRequest& request, std::uint64_t begin,
                                 std::uint64_t end, std::uint64_t covered) const {
  const std::uint64_t first = begin / id_block_;
  const std::uint64_t last = (end - 1) / id_block_;
  const std::uint64_t last_tokens = std::min<std::uint64_t>(covered - last * id_block_, id_block_);
  if (first == last && last_tokens == id_block_) return request.prefix_ids[first];
  std::uint64_t key = last - first + 1;
  for (std::uint64_t id = first; id <= last; ++id) key = mixed(key, request.prefix_ids[id]);
  return last_tokens == id_block_ ? key : mixed(key, last_tokens);
}

PromptKeys PrefixKeys::of(const TraceRequest& request) {
  if (id_block_ == 0 || request.prefix_ids.empty()) return {};
  const std::uint64_t covered =
      std::min<std::uint64_t>(request.prompt, request.prefix_ids.size() * id_block_);
  keys_.clear();
  std::uint64_t end = block_size_;
  for (; end <= covered; end += block_size_) {
    keys_.push_back(key_of(request, end - block_size_, end, covered));
  }
  PromptKeys keys{keys_, TokenCount(0), 0};
  if (covered % block_size_ != 0) {
    keys.tail_end = TokenCount(static_cast<std::uint32_t>(covered));
    keys.tail = key_of(request, end - block_size_, covered, covered);
  }
  return keys;
}

}  // namespace pinfold::sim
