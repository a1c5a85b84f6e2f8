#pragma once
// From a trace's prefix ids to the keys of an engine's blocks, whatever the two block sizes are.

#include <cstdint>
#include <vector>

#include "engine/scheduler.h"
#include "sim/trace/request.h"

namespace pinfold::sim {

/// The rule. Id t stands for the tokens from t * I up to (t + 1) * I, the last one for as many as the
/// prompt has there; the tokens that ids stand for are the covered ones. An engine block that lies within
/// them has a key: the ids that it overlaps, and how many tokens each stands for where that is not I. Since
/// an id stands for all its tokens, two prompts that part inside an id's tokens share nothing of it. The
/// covered tokens behind the last whole block are the tail. Tokens that no id stands for have no key.
class PrefixKeys {
 public:
  /// `id_block` I: tokens of an id, 0 where the trace has none; `block_size` B: of the engine.
  PrefixKeys(std::uint32_t id_block, std::uint32_t block_size)
      : id_block_(id_block), block_size_(block_size) {}

  /// The request's keys; they live until the next call.
  PromptKeys of(const TraceRequest& request);

 private:
  std::uint64_t key_of(const TraceRequest& request, std::uint64_t begin, std::uint64_t end,
                       std::uint64_t covered) const;

  std::uint32_t id_block_;
  std::uint32_t block_size_;
  std::vector<std::uint64_t> keys_;
};

}  // namespace pinfold::sim
