#include "sim/report/block_map.h"

#include <algorithm>

#include "sim/config/decimal.h"
#include "sim/config/json_writer.h"
#include "sim/report/base64.h"

namespace pinfold::sim {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// LEB128, seven bits a byte, lowest first.
void append_varint(Bytes& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<std::uint8_t>(value | 0x80));
  bytes.push_back(static_cast<std::uint8_t>(value));
}

/// Owners count from 1; 0 is nobody.
std::uint32_t owner_number(std::uint32_t owner) { return owner == kNoOwner ? 0 : owner + 1; }

}  // namespace

const char* name_of(BlockState state) {
  switch (state) {
    case BlockState::kFree: return "free";
    case BlockState::kReserved: return "reserved";
    case BlockState::kCommitted: return "committed";
    case BlockState::kShared: return "shared";
    case BlockState::kParked: return "parked";
    case BlockState::kTaken: return "taken";
    case BlockState::kIdle: return "idle";
  }
  return "?";
}

BlockMap::BlockMap(std::uint32_t ids) : ids_(ids) {
  const std::uint32_t blocks = ids > 1 ? ids - 1 : 1;
  focus_step_ = (blocks + kFocusLanes - 1) / kFocusLanes;
  const std::uint32_t lanes = (blocks + focus_step_ - 1) / focus_step_;
  overview_step_ = (lanes + kOverviewLanes - 1) / kOverviewLanes;
  lanes_.resize(lanes);
  taken_.resize((lanes + overview_step_ - 1) / overview_step_);
}

void BlockMap::advance(std::int64_t now_ns) {
  if (!started_) {
    started_ = true;
    from_ns_ = now_ns_ = now_ns;
    next_column_ns_ = from_ns_ + column_ns_;
  }
  while (next_column_ns_ <= now_ns) {
    if (columns_ == kColumnsMax) {
      merge_columns();
    } else {
      add_column();
    }
  }
  now_ns_ = std::max(now_ns_, now_ns);
}

void BlockMap::add_column() {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    const bool was_taken = taken_[i].state == BlockState::kTaken;
    cells_.push_back(was_taken ? taken_[i] : lanes_[i * overview_step_]);
    taken_[i] = Cell{};
  }
  ++columns_;
  next_column_ns_ += column_ns_;
}

// Two columns become one, which is the later one except for what was taken in the earlier.
void BlockMap::merge_columns() {
  const std::size_t lanes = taken_.size();
  const std::uint32_t pairs = columns_ / 2;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const Cell& earlier = cells_[2 * pair * lanes + lane];
      const Cell& later = cells_[(2 * pair + 1) * lanes + lane];
      const bool keep = earlier.state == BlockState::kTaken && later.state != BlockState::kTaken;
      cells_[pair * lanes + lane] = keep ? earlier : later;
    }
  }
  cells_.resize(pairs * lanes);
  columns_ = pairs;
  column_ns_ *= 2;
  next_column_ns_ = from_ns_ + (std::int64_t{columns_} + 1) * column_ns_;
}

void BlockMap::change(BlockId block, BlockState state, std::uint32_t owner) {
  const std::uint32_t index = index_of(block) - 1;
  if (index % focus_step_ != 0) return;
  const std::uint32_t lane = index / focus_step_;
  const Cell after{state, owner};
  recent_.push_back({now_ns_, lane, lanes_[lane], after});
  if (recent_.size() > kFocusChanges) recent_.pop_front();
  lanes_[lane] = after;
  ++changes_;
  if (state == BlockState::kTaken && lane % overview_step_ == 0)
    taken_[lane / overview_step_] = after;
  if (changes_ == capture_at_) capture();
}

void BlockMap::preempted(std::uint32_t owned) {
  preemptions_.push_back(changes_);
  while (preemptions_.front() + kFocusChanges / 2 < changes_) preemptions_.pop_front();
  score(preemptions_.size(), owned);
}

void BlockMap::occupied(std::uint32_t owned) {
  if (best_preemptions_ == 0) score(0, owned);
}

void BlockMap::score(std::uint64_t preemptions, std::uint32_t owned) {
  const bool better =
      preemptions > best_preemptions_ || (preemptions == best_preemptions_ && owned > best_owned_);
  if (!better) return;
  best_preemptions_ = preemptions;
  best_owned_ = owned;
  best_ns_ = now_ns_;
  capture_at_ = changes_ + kFocusChanges / 2;
}

void BlockMap::capture() {
  capture_at_ = UINT64_MAX;
  focus_.assign(recent_.begin(), recent_.end());
  focus_initial_ = lanes_;
  for (auto change = focus_.rbegin(); change != focus_.rend(); ++change) {
    focus_initial_[change->lane] = change->before;
  }
  focus_from_ns_ = focus_.empty() ? from_ns_ : focus_.front().at_ns;
  focus_to_ns_ = now_ns_;
  focus_peak_ns_ = best_ns_;
  focus_preemptions_ = best_preemptions_;
}

void BlockMap::finish() {
  if (capture_at_ != UINT64_MAX) capture();
  if (started_) advance(now_ns_ + column_ns_);
}

std::string BlockMap::json(std::uint32_t block_size) const {
  JsonWriter json;
  json.open_object();
  json.key("format").integer(1);
  json.key("blocks").integer(ids_ - 1);
  json.key("block_size").integer(block_size);
  json.key("states").open_array();
  for (std::size_t i = 0; i < kBlockStates; ++i) json.string(name_of(static_cast<BlockState>(i)));
  json.close();

  json.key("overview").open_object();
  json.key("from_s").number(seconds(from_ns_, 9));
  json.key("column_s").number(seconds(column_ns_, 9));
  json.key("columns").integer(columns_);
  json.key("columns_max").integer(kColumnsMax);
  json.key("lanes").integer(taken_.size());
  json.key("blocks_per_lane").integer(std::uint64_t{focus_step_} * overview_step_);
  Bytes states;
  Bytes owners;
  for (const Cell& cell : cells_) {
    states.push_back(static_cast<std::uint8_t>(cell.state));
    append_varint(owners, owner_number(cell.owner));
  }
  json.key("states").string(base64(states));
  json.key("owners").string(base64(owners));
  json.close();

  json.key("focus").open_object();
  json.key("from_s").number(seconds(focus_from_ns_, 9));
  json.key("to_s").number(seconds(focus_to_ns_, 9));
  json.key("peak_s").number(seconds(focus_peak_ns_, 9));
  json.key("preemptions").integer(focus_preemptions_);
  json.key("lanes").integer(lanes_.size());
  json.key("blocks_per_lane").integer(focus_step_);
  json.key("changes").integer(focus_.size());
  json.key("changes_max").integer(kFocusChanges);
  states.clear();
  owners.clear();
  for (const Cell& cell : focus_initial_) {
    states.push_back(static_cast<std::uint8_t>(cell.state));
    append_varint(owners, owner_number(cell.owner));
  }
  json.key("initial_states").string(base64(states));
  json.key("initial_owners").string(base64(owners));
  Bytes changes;
  std::int64_t before_ns = focus_from_ns_;
  for (const Change& change : focus_) {
    append_varint(changes, static_cast<std::uint64_t>(change.at_ns - before_ns));
    append_varint(changes, change.lane);
    changes.push_back(static_cast<std::uint8_t>(change.after.state));
    append_varint(changes, owner_number(change.after.owner));
    before_ns = change.at_ns;
  }
  json.key("stream").string(base64(changes));
  json.close();
  json.close();
  return json.finish();
}

}  // namespace pinfold::sim
