#pragma once
// What became of the ids of a trace's prompts: found, or why not.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "engine/scheduler.h"
#include "sim/trace/request.h"

namespace pinfold::sim {

/// Each id of each admitted prompt is in exactly one class, by what held when its request was first
/// admitted. "Seen": an earlier arrival had it, behind the same ids.
struct PrefixCounts {
  std::uint64_t ids = 0;
  std::uint64_t hit = 0;          // its rows were there (at least all but the prompt's last one)
  std::uint64_t unfinished = 0;   // seen, but no step that wrote it had completed
  std::uint64_t behind_miss = 0;  // seen and written, behind one that was not there
  std::uint64_t evicted = 0;      // seen and written, and gone since
  std::uint64_t cut = 0;          // seen and written, in a block that reaches beyond what was seen
  std::uint64_t tail = 0;         // seen, for fewer tokens than an id stands for: a prompt's last
  std::uint64_t fresh = 0;        // not seen
  std::uint64_t leading =
      0;  // those with nothing unseen before them: what waiting for nothing would hit
  friend bool operator==(const PrefixCounts&, const PrefixCounts&) = default;
};

/// Follows a run by its journal. Memory follows the different ids of the trace.
class PrefixClasses {
 public:
  PrefixClasses(std::uint32_t id_block, std::uint32_t block_size)
      : id_block_(id_block), block_size_(block_size) {}

  /// A request arrives, as this sequence. Forks are not followed: they have their parent's rows.
  void arrive(SequenceId id, const TraceRequest& request);

  /// Whole records, in order.
  void consume(std::span<const std::byte> journal);

  const PrefixCounts& counts() const { return counts_; }

 private:
  struct Node {
    SequenceId first{};    // who had it first
    bool written = false;  // once findable
  };
  /// A request from its arrival to its end.
  struct Live {
    std::vector<std::uint32_t> nodes;  // by place in the prompt
    std::uint32_t prompt = 0;
    bool counted = false;
  };
  using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>;  // node above, id, tokens

  std::uint32_t end_of(const Live& live, std::size_t place) const;
  void count(SequenceId id, Live& live, std::uint32_t rows);
  void publish(const Live& live, std::uint32_t rows);

  std::uint32_t id_block_;
  std::uint32_t block_size_;
  std::map<Key, std::uint32_t> places_;
  std::vector<Node> nodes_{Node{}};  // [0] stands above every first id
  std::map<SequenceId, Live> live_;
  PrefixCounts counts_;
};

}  // namespace pinfold::sim
