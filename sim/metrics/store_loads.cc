#include "sim/metrics/store_loads.h"

namespace pinfold::sim {

const StoreLoad* StoreLoads::take(const Record& record, std::int64_t now_ns) {
  const auto end = [&](StoreLoad::State state) -> const StoreLoad* {
    const auto found = pending_.find(record.sequence);
    if (found == pending_.end()) return nullptr;
    ended_ = found->second;
    ended_.state = state;
    ended_.end_ns = now_ns;
    pending_.erase(found);
    return &ended_;
  };
  switch (record.verb) {
    case Verb::kAnswer:
      found_by_ = record.sequence;
      found_ = 0;
      return nullptr;
    case Verb::kHit:
      if (record.sequence == found_by_) found_ = record.aux;
      return nullptr;
    case Verb::kLoad: {
      StoreLoad& load = pending_[record.sequence];
      load.since_ns = now_ns;
      load.tokens = record.sequence == found_by_ ? found_ : 0;
      (record.pool == PoolKind::kStateSlots ? load.states : load.blocks) += record.count / 2;
      return &load;
    }
    case Verb::kLoaded: {
      if (end(StoreLoad::State::kPassed) == nullptr) return nullptr;
      ended_.tokens = record.count - ended_.tokens;
      return &ended_;
    }
    case Verb::kDemote: return end(StoreLoad::State::kLost);
    case Verb::kEnd: return end(StoreLoad::State::kAborted);
    default: return nullptr;
  }
}

}  // namespace pinfold::sim
