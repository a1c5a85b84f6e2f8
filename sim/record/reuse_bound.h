#pragma once
// How much reuse a recording could have had: Belady's optimum on its own reference string. It knows what
// will be asked for next, so no order of eviction does better in as many blocks.

#include <cstdint>
#include <map>
#include <vector>

#include "sim/check/prefix_chains.h"
#include "sim/record/journal_file.h"

namespace pinfold::sim {

/// Of the first admissions of all requests, in whole blocks whose rows need not be computed.
struct ReuseBound {
  std::uint64_t looked_for = 0;  // blocks of the prompts, without the last known token's
  std::uint64_t found = 0;       // that were shared, as recorded
  std::uint64_t best = 0;        // that Belady's cache of as many blocks would have had
};

/// One use of a content. `counts`: it could have been found; otherwise it is only written.
struct ContentUse {
  std::uint64_t content = 0;
  bool counts = true;
};

/// The most uses that count and can be hits, in a cache of `capacity` contents in which each use may leave its
/// content or not. O(uses log capacity).
std::uint64_t most_hits(const std::vector<ContentUse>& uses, std::uint64_t capacity);

/// Reads a recording's events in order and keeps its reference string: at each request's first admission the
/// contents of its blocks, from the first one on.
class ReuseString {
 public:
  explicit ReuseString(const JournalHeader& header) : header_(header) {}
  void take(const JournalEvent& event);
  ReuseBound bound() const;

 private:
  struct Waiting {
    std::uint32_t prompt = 0;
    PrefixChains chains;
  };

  JournalHeader header_;
  // By sequence, until its first admission.
  std::map<std::uint32_t, Waiting> waiting_;
  std::uint32_t admitted_ = UINT32_MAX;  // whose hits come next
  std::vector<ContentUse> uses_;
  ReuseBound found_;
};

}  // namespace pinfold::sim
