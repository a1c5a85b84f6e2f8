#include "tests/bench/anchor_loop.h"

#include <algorithm>
#include <array>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace pinfold::bench {
namespace {

constexpr std::uint32_t kBlock = 16;
constexpr std::uint32_t kRunning = 256;
constexpr std::uint32_t kBudget = 2048;
constexpr std::uint32_t kIds = 1u << 18;
constexpr std::uint32_t kTableMax = 1024;
constexpr std::int64_t kBaseNs = 8'000'000;
constexpr std::int64_t kRowNs = 20'000;
constexpr std::int64_t kPromptNs = 40'000;

struct Row {
  std::uint32_t request;
  std::uint32_t length;
  std::uint32_t left;
  std::uint32_t blocks;
  std::uint32_t prompt_left;
  std::uint32_t table;  // which row of the table storage
};

class Anchor {
 public:
  explicit Anchor(const sim::Trace& trace)
      : trace_(trace), ring_(kIds), tables_(kRunning * kTableMax) {
    for (std::uint32_t id = 0; id < kIds; ++id) ring_[id] = id;
    tail_ = kIds;
    for (std::uint32_t n = kRunning; n-- > 0;) free_tables_.push_back(n);
  }

  AnchorResult run() {
    const std::vector<sim::TraceRequest>& requests = trace_.requests;
    while (next_ < requests.size() || !prompts_.empty() || !rows_.empty()) {
      if (prompts_.empty() && rows_.empty()) now_ = std::max(now_, requests[next_].arrival_ns);
      step();
    }
    result_.digest = hash_;
    return result_;
  }

 private:
  void note(std::uint32_t kind, std::uint32_t request, std::uint32_t count) {
    const std::array<std::uint64_t, 3> record{static_cast<std::uint64_t>(now_),
                                              std::uint64_t{kind} << 32 | request, count};
    hash_ = XXH3_64bits_withSeed(record.data(), sizeof record, hash_);
  }

  void grow(Row& row) {
    const std::uint32_t need = (row.length + kBlock - 1) / kBlock;
    if (need == row.blocks) return;
    while (row.blocks < need) {
      tables_[row.table * kTableMax + row.blocks++] = ring_[head_++ % kIds];
      ++result_.blocks_acquired;
    }
    note(1, row.request, row.blocks);
  }

  void finish(const Row& row) {
    for (std::uint32_t n = row.blocks; n-- > 0;)
      ring_[tail_++ % kIds] = tables_[row.table * kTableMax + n];
    free_tables_.push_back(row.table);
    note(2, row.request, row.blocks);
  }

  void step() {
    const std::vector<sim::TraceRequest>& requests = trace_.requests;
    std::uint32_t budget = kBudget - static_cast<std::uint32_t>(rows_.size());
    std::int64_t cost = kBaseNs + kRowNs * static_cast<std::int64_t>(rows_.size());
    started_.clear();
    std::size_t done = 0;
    while (budget > 0) {
      if (done == prompts_.size()) {
        if (next_ == requests.size() || requests[next_].arrival_ns > now_) break;
        if (free_tables_.empty()) break;
        const sim::TraceRequest& asked = requests[next_];
        prompts_.push_back({static_cast<std::uint32_t>(next_++), 0, asked.output, 0, asked.prompt,
                            free_tables_.back()});
        free_tables_.pop_back();
        note(0, prompts_.back().request, asked.prompt);
      }
      Row& row = prompts_[done];
      const std::uint32_t count = std::min(budget, row.prompt_left);
      row.prompt_left -= count;
      row.length += count;
      budget -= count;
      cost += kPromptNs * count;
      grow(row);
      if (row.prompt_left > 0) break;
      started_.push_back(row);
      ++done;
    }
    prompts_.erase(prompts_.begin(), prompts_.begin() + static_cast<std::ptrdiff_t>(done));
    // One visit per running sequence: growth first, in join order, then the ends.
    for (Row& row : rows_) {
      ++row.length;
      grow(row);
      --row.left;
    }
    now_ += cost;
    ++result_.steps;
    result_.output_tokens += rows_.size() + started_.size();
    std::size_t kept = 0;
    for (const Row& row : rows_) {
      if (row.left == 0) {
        finish(row);
      } else {
        rows_[kept++] = row;
      }
    }
    rows_.resize(kept);
    for (Row& row : started_) {
      if (--row.left == 0) {
        finish(row);
      } else {
        rows_.push_back(row);
      }
    }
  }

  const sim::Trace& trace_;
  AnchorResult result_;
  std::vector<std::uint32_t> ring_;
  std::vector<std::uint32_t> tables_;
  std::vector<std::uint32_t> free_tables_;
  std::vector<Row> prompts_;
  std::vector<Row> rows_;
  std::vector<Row> started_;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
  std::uint64_t hash_ = 0;
  std::size_t next_ = 0;
  std::int64_t now_ = 0;
};

}  // namespace

AnchorResult run_anchor(const sim::Trace& trace) { return Anchor(trace).run(); }

}  // namespace pinfold::bench
