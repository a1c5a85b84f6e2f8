// Reuse of prefixes against a naive twin: a map from the whole text up to a block's end to that block, and
// plain lists of free and idle ids. The twin shares no code with the library beyond ids; it predicts every
// hit, every demand, every block that becomes findable, every eviction and every id that is taken, in
// random worlds with tiny pools, preemption, aborts, forks, drafts, failed steps and late fences. The
// journal is compared with the prediction record by record, and with that of the row-by-row path byte by
// byte. Decisions 13 and 14, rules O2, O3, O5 and O9.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tests/model/random_draws.h"
#include "tests/model/world.h"

namespace pinfold::model {
namespace {

using Tokens = std::vector<std::uint32_t>;
using Ids = std::vector<BlockId>;

std::uint32_t draw_acceptance(std::uint64_t seed, SequenceId sequence, std::uint32_t token) {
  RandomDraws draws(seed * 1'000'003 + value_of(sequence) * 8191ull + token);
  return draws.chance(60) ? 1 : 0;
}

// ---- texts -----------------------------------------------------------------------------------------

constexpr std::uint32_t kTextLength = 160;

/// Texts that share beginnings: each goes on from a random point of an earlier one. Some meet again, token
/// for token, behind what tells them apart.
std::vector<Tokens> draw_texts(RandomDraws& draws) {
  std::vector<Tokens> texts;
  const std::uint32_t count = 1 + draws.below(4);
  for (std::uint32_t n = 0; n < count; ++n) {
    Tokens text;
    if (n > 0) {
      const Tokens& from = texts[draws.below(n)];
      text.assign(from.begin(), from.begin() + draws.below(60));
    }
    const std::size_t own_until =
        text.size() + (draws.chance(50) ? 1 + draws.below(8) : kTextLength);
    while (text.size() < kTextLength) {
      const std::uint32_t position = static_cast<std::uint32_t>(text.size());
      text.push_back(1 + position + (position < own_until ? (n + 1) * kTextLength : 0));
    }
    texts.push_back(text);
  }
  return texts;
}

/// A key says what its own block holds and nothing of what is before it.
std::uint64_t key_of(const Tokens& text, std::uint32_t begin, std::uint32_t end) {
  std::uint64_t key = 0;
  for (std::uint32_t n = begin; n < end; ++n) key = key * 1'000'003 + text[n];
  return key;
}

struct Request {
  Wish wish;
  std::uint32_t text = 0;
};

void give_keys(RandomDraws& draws, Request& request, const std::vector<Tokens>& texts,
               std::uint32_t block_size) {
  const Tokens& text = texts[request.text];
  Wish& wish = request.wish;
  if (draws.chance(10)) return;
  // Short of the prompt, as far as it goes, or beyond it.
  std::uint32_t end = wish.prompt;
  if (draws.chance(15)) end = draws.below(wish.prompt + 1);
  if (draws.chance(30)) end = wish.prompt + draws.below(20);
  for (std::uint32_t n = 0; (n + 1) * block_size <= end; ++n) {
    wish.keys.push_back(key_of(text, n * block_size, (n + 1) * block_size));
  }
  const std::uint32_t tail_end = draws.chance(70) ? std::min(wish.prompt, end) : 0;
  if (tail_end % block_size == 0) return;
  wish.tail_end = tail_end;
  wish.tail = key_of(text, tail_end / block_size * block_size, tail_end);
}

// ---- scenarios -------------------------------------------------------------------------------------

enum class Act : std::uint8_t { kAdd, kFork, kAbort, kFail };

struct Action {
  std::uint32_t turn = 0;
  Act act = Act::kAdd;
  SequenceId id{};
  SequenceId parent{};
};

struct Scenario {
  SchedulerOptions options;
  std::vector<Tokens> texts;
  std::vector<Action> actions;
  std::vector<Request> requests;  // by id
  std::uint32_t poll_percent = 0;
};

Scenario draw_scenario(std::uint64_t seed) {
  RandomDraws draws(seed);
  Scenario scenario;
  SchedulerOptions& options = scenario.options;
  options.block_size = TokenCount(1 + draws.below(8));
  options.block_ids = 3 + draws.below(14);
  options.max_sequences = 1 + draws.below(4);
  options.token_budget = TokenCount(options.max_sequences + draws.below(20));
  options.overlap = draws.below(3);
  options.draft_ids = 1 + draws.below(4);
  options.max_model_len = TokenCount(kTextLength - 30);
  options.release_order = draws.chance(80) ? ReleaseOrder::kReverse : ReleaseOrder::kForward;
  options.free_order = draws.chance(80) ? FreeOrder::kFifo : FreeOrder::kLifo;
  options.fence = draws.chance(85) ? FenceMode::kAlways : FenceMode::kUnorderedWriters;
  options.sole_owner = draws.chance(70) ? SoleOwner::kCopy : SoleOwner::kAdopt;
  options.tail_copy = draws.chance(70) ? TailCopy::kWholeBlock : TailCopy::kValidRows;
  options.reuse = Switch::kOn;
  options.eviction = draws.chance(60) ? Eviction::kLru : Eviction::kFifo;
  scenario.poll_percent = draws.chance(30) ? 60 : 0;
  scenario.texts = draw_texts(draws);
  const bool hidden = draws.chance(60);
  const std::uint32_t drafts = draws.chance(40) ? draws.below(5) : 0;
  const std::uint32_t room = std::min(60u, (options.block_ids - 1) * options.block_size.value);
  const std::uint32_t count = 3 + draws.below(10);
  std::uint32_t turn = 0;
  for (std::uint32_t n = 0; n < count; ++n) {
    turn += draws.below(8);
    Request request;
    request.text = draws.below(static_cast<std::uint32_t>(scenario.texts.size()));
    Wish& wish = request.wish;
    wish.prompt = 1 + draws.below(std::max(1u, room * 2 / 3));
    wish.output = draws.below(std::max(2u, std::min(20u, room)));
    wish.stop = hidden ? StopMode::kHidden : StopMode::kKnown;
    wish.limit = hidden ? wish.output + draws.below(10) : wish.output;
    wish.drafts = drafts;
    wish.priority = draws.chance(10) ? draws.below(3) : 1;
    Action action{turn, Act::kAdd, {}, {}};
    if (n > 0 && draws.chance(20)) {
      action.act = Act::kFork;
      action.parent = SequenceId{draws.below(n)};
      request.text = scenario.requests[value_of(action.parent)].text;
    }
    give_keys(draws, request, scenario.texts, options.block_size.value);
    action.id = SequenceId{n};
    scenario.requests.push_back(request);
    scenario.actions.push_back(action);
    if (draws.chance(10)) {
      scenario.actions.push_back({turn, Act::kAbort, SequenceId{draws.below(n + 1)}, {}});
    }
    if (draws.chance(5)) scenario.actions.push_back({turn, Act::kFail, {}, {}});
  }
  return scenario;
}

// ---- the twin --------------------------------------------------------------------------------------

struct Counts {
  std::uint64_t hits = 0, tails = 0, tails_left_out = 0, revived = 0, evicted = 0, published = 0,
                duplicates = 0, resumed_hits = 0, beyond_prompt = 0, later = 0;
};

class Twin {
 public:
  Twin(const Scenario& scenario, World& world) : scenario_(scenario), world_(world) {
    const std::uint32_t ids = scenario.options.block_ids;
    owners_.resize(ids);
    for (std::uint32_t id = 1; id < ids; ++id) free_.push_back(BlockId{id});
    if (scenario.options.free_order == FreeOrder::kLifo) std::reverse(free_.begin(), free_.end());
  }

  const Counts& counts() const { return counts_; }

  /// What stands before an event that the twin follows.
  void before() {
    known_.clear();
    for (const SequenceId id : world_.scheduler.waiting()) {
      known_[id] = world_.scheduler.view(id).rows.history.value;
    }
    copies_wait_ = copies_ > 0;
  }

  /// The step that was just planned, and its records.
  void planned(bool dispatched) {
    read();
    if (!dispatched) return;
    std::map<SequenceId, Row> rows;
    for (const auto& [id, epoch] : world_.batch) rows[id] = {epoch, 0};
    for (const Chunk& chunk : world_.plan.chunks)
      rows[chunk.sequence] = {chunk.epoch, chunk.count.value};
    flying_.push_back(rows);
  }

  /// Around the result of the oldest step: `tokens` before it, then what it published.
  void before_result() {
    before();
    rows_before_.clear();
    running_ = world_.scheduler.running();
    for (const SequenceId id : running_) {
      const SequenceView view = world_.scheduler.view(id);
      rows_before_[id] = {view.epoch, view.rows.processed.value};
      emitted_before_[id] = world_.accounts.at(id).emitted;
      tables_[id].assign(view.table.begin(), view.table.end());
    }
  }
  void after_result(bool failed) {
    const std::map<SequenceId, Row> rows = flying_.front();
    flying_.pop_front();
    if (failed) {
      for (auto& behind : flying_) behind.clear();
    } else {
      for (const SequenceId id : running_) {
        const auto row = rows.find(id);
        if (row == rows.end() || row->second.epoch != rows_before_[id].first) continue;
        const std::uint32_t gained = row->second.chunk > 0
                                         ? row->second.chunk
                                         : world_.accounts.at(id).emitted - emitted_before_[id];
        expect_published(id, rows_before_[id].second + gained);
      }
    }
    read();
  }

  /// Records of any other event.
  void read() {
    const std::span<const std::byte> bytes = world_.scheduler.journal().unread();
    while (read_ < bytes.size()) {
      Record record;
      std::memcpy(&record, bytes.data() + read_, sizeof record);
      read_ += sizeof record;
      Ids ids(ids_after(record));
      if (!ids.empty()) std::memcpy(ids.data(), bytes.data() + read_, ids.size() * sizeof(BlockId));
      read_ += ids.size() * sizeof(BlockId);
      if (record.pool == PoolKind::kBlocks) take(record, ids);
    }
    REQUIRE(expected_.empty());
    REQUIRE(hits_.empty());
    check_pool();
  }

 private:
  struct Row {
    std::uint32_t epoch = 0;
    std::uint32_t chunk = 0;  // rows, 0: a decode row
  };
  struct Published {
    SequenceId id;
    std::uint32_t first;
    Ids ids;
    bool tail;
  };
  struct Hit {
    SequenceId id;
    Ids ids;
    std::uint32_t rows;
    bool tail;
  };

  std::uint32_t block_size() const { return scenario_.options.block_size.value; }
  const Request& request(SequenceId id) const { return scenario_.requests[value_of(id)]; }
  Tokens text(SequenceId id, std::uint32_t end) const {
    const Tokens& all = scenario_.texts[request(id).text];
    return {all.begin(), all.begin() + end};
  }
  bool is_idle(BlockId id) const {
    return std::find(idle_.begin(), idle_.end(), id) != idle_.end();
  }
  BlockId found(SequenceId id, std::uint32_t end) const {
    const auto block = content_.find(text(id, end));
    return block == content_.end() ? kNoBlock : block->second;
  }

  // ---- admission

  void admit(const Record& record) {
    const SequenceId id{record.sequence};
    const Answer answer{static_cast<Answer>(record.detail & 0xFF)};
    const Cause cause{static_cast<Cause>(record.detail >> 8)};
    if (known_.count(id) == 0) return;  // a fork's, or at arrival
    if (answer == Answer::kNever) return;
    if (answer == Answer::kLater && cause != Cause::kBlocks) return;
    const std::uint32_t known = known_.at(id);
    const Wish& wish = request(id).wish;
    const std::uint32_t size = block_size();
    Ids shared;
    BlockId tail = kNoBlock;
    std::uint32_t rows = 0;
    for (std::uint32_t n = 0; n < wish.keys.size() && (n + 1) * size <= known; ++n) {
      const BlockId block = found(id, (n + 1) * size);
      if (block == kNoBlock) break;
      if ((n + 1) * size == known) {
        tail = block;
        rows = known - 1;
        break;
      }
      shared.push_back(block);
    }
    const std::uint32_t whole = static_cast<std::uint32_t>(shared.size()) * size;
    if (tail == kNoBlock && wish.tail_end > 0 && wish.tail_end / size == shared.size() &&
        wish.tail_end <= known) {
      tail = found(id, wish.tail_end);
      rows = std::min(wish.tail_end, known - 1);
    }
    if (copies_wait_ || rows <= whole) tail = kNoBlock;
    std::uint32_t demand = (known + size - 1) / size - static_cast<std::uint32_t>(shared.size());
    for (const BlockId block : shared) demand += is_idle(block) ? 1u : 0u;
    const std::size_t available = free_.size() + idle_.size();
    if (tail != kNoBlock && is_idle(tail)) {
      if (demand + 1 <= available) {
        ++demand;
      } else {
        tail = kNoBlock;
        ++counts_.tails_left_out;
      }
    }
    REQUIRE(record.count == demand);
    if (answer == Answer::kLater) {
      ++counts_.later;
      CHECK(demand > available);
      return;
    }
    REQUIRE(demand <= available);
    if (!shared.empty()) hits_.push_back({id, shared, whole, false});
    if (tail != kNoBlock) hits_.push_back({id, {tail}, rows, true});
    cursor_[id] = static_cast<std::uint32_t>(shared.size());
    tail_done_.erase(id);
    known_.erase(id);
    counts_.hits += shared.size();
    counts_.tails += tail != kNoBlock ? 1u : 0u;
    if (seen_before_.count(id) > 0) counts_.resumed_hits += shared.size();
    if (whole > wish.prompt) ++counts_.beyond_prompt;
    seen_before_.insert(std::pair{id, true});
  }

  // ---- publishing

  void expect_published(SequenceId id, std::uint32_t processed) {
    const Wish& wish = request(id).wish;
    const std::uint32_t size = block_size();
    std::uint32_t& next = cursor_[id];
    Published run{id, next, {}, false};
    const auto flush = [&] {
      if (!run.ids.empty()) expected_.push_back(run);
      run.ids.clear();
      run.first = next;
    };
    while (true) {
      const BlockId block = next < tables_[id].size() ? tables_[id][next] : kNoBlock;
      if (wish.tail_end > 0 && wish.tail_end / size == next && processed >= wish.tail_end &&
          !tail_done_[id]) {
        tail_done_[id] = true;
        flush();
        if (found(id, wish.tail_end) == kNoBlock && !has_tail(block)) {
          keep(block, text(id, wish.tail_end));
          expected_.push_back({id, next, {block}, true});
        }
      } else if (next < wish.keys.size() && processed >= (next + 1) * size) {
        const Tokens prefix = text(id, (next + 1) * size);
        ++next;
        if (content_.count(prefix) == 0) {
          keep(block, prefix);
          run.ids.push_back(block);
        } else {
          ++counts_.duplicates;
          flush();
        }
      } else {
        break;
      }
    }
    flush();
  }

  // A fork that kept its parent's tail may know a longer one in the same block: the first stays.
  bool has_tail(BlockId block) const {
    const auto kept = kept_.find(block);
    if (kept == kept_.end()) return false;
    return std::any_of(kept->second.begin(), kept->second.end(),
                       [&](const Tokens& prefix) { return prefix.size() % block_size() != 0; });
  }

  void keep(BlockId block, const Tokens& prefix) {
    content_[prefix] = block;
    if (kept_[block].empty()) age_[block] = ++kept_count_;
    kept_[block].push_back(prefix);
    ++counts_.published;
  }

  // ---- the pool

  void drop(BlockId id) {
    REQUIRE(owners_[index_of(id)] > 0);
    if (--owners_[index_of(id)] > 0) return;
    if (kept_.count(id) == 0) {
      free_.push_back(id);
      return;
    }
    idle_.push_back(id);
    if (scenario_.options.eviction == Eviction::kFifo) {
      std::sort(idle_.begin(), idle_.end(),
                [&](BlockId a, BlockId b) { return age_.at(a) < age_.at(b); });
    }
  }

  BlockId issue() {
    BlockId id;
    if (!free_.empty()) {
      const bool fifo = scenario_.options.free_order == FreeOrder::kFifo;
      const auto at = fifo ? free_.begin() : free_.end() - 1;
      id = *at;
      free_.erase(at);
    } else {
      REQUIRE(!idle_.empty());
      id = idle_.front();
      idle_.erase(idle_.begin());
      for (const Tokens& prefix : kept_.at(id)) content_.erase(prefix);
      kept_.erase(id);
      evicted_.push_back(id);
    }
    owners_[index_of(id)] = 1;
    return id;
  }

  void take(const Record& record, const Ids& ids) {
    const SequenceId id{record.sequence};
    switch (record.verb) {
      case Verb::kAnswer: admit(record); break;
      case Verb::kHit: {
        REQUIRE(!hits_.empty());
        const Hit hit = hits_.front();
        hits_.pop_front();
        REQUIRE(hit.id == id);
        REQUIRE(hit.ids == ids);
        REQUIRE(hit.rows == record.aux);
        REQUIRE(hit.tail == (record.detail == 1));
        for (const BlockId block : ids) {
          if (const auto at = std::find(idle_.begin(), idle_.end(), block); at != idle_.end()) {
            idle_.erase(at);
            ++counts_.revived;
          }
          ++owners_[index_of(block)];
        }
        break;
      }
      case Verb::kEvict: announced_ = ids; break;
      case Verb::kAcquire: {
        Ids issued;
        for (std::size_t n = 0; n < ids.size(); ++n) issued.push_back(issue());
        REQUIRE(issued == ids);
        REQUIRE(announced_ == evicted_);
        counts_.evicted += evicted_.size();
        announced_.clear();
        evicted_.clear();
        break;
      }
      case Verb::kPin:
        for (const BlockId block : ids) {
          REQUIRE(owners_[index_of(block)] > 0);
          ++owners_[index_of(block)];
        }
        break;
      case Verb::kRelease: {
        Ids order = ids;
        if (scenario_.options.release_order == ReleaseOrder::kReverse) {
          std::reverse(order.begin(), order.end());
        }
        for (const BlockId block : order) drop(block);
        break;
      }
      case Verb::kUnpark:
        if (record.detail == 1) copies_ -= static_cast<std::uint32_t>(ids.size());
        for (const BlockId block : ids) drop(block);
        break;
      case Verb::kCopyQueued: ++copies_; break;
      case Verb::kPublish: {
        REQUIRE(!expected_.empty());
        const Published expected = expected_.front();
        expected_.pop_front();
        REQUIRE(expected.id == id);
        REQUIRE(expected.first == record.aux);
        REQUIRE(expected.ids == ids);
        REQUIRE(expected.tail == (record.detail == 1));
        break;
      }
      case Verb::kFork:
        cursor_[id] = 0;
        tail_done_.erase(id);
        break;
      case Verb::kPreempt:
      case Verb::kDemote: known_[id] = record.count; break;
      default: break;
    }
  }

  void check_pool() const {
    const Pool& pool = world_.scheduler.pools().blocks();
    REQUIRE(pool.idle_list() == idle_);
    Ids order = free_;
    if (scenario_.options.free_order == FreeOrder::kLifo) std::reverse(order.begin(), order.end());
    REQUIRE(pool.free_list() == order);
    for (std::uint32_t id = 1; id < owners_.size(); ++id) {
      REQUIRE(pool.owners(BlockId{id}) == owners_[id]);
    }
  }

  const Scenario& scenario_;
  World& world_;
  std::size_t read_ = 0;
  Counts counts_;

  std::vector<std::uint32_t> owners_;  // by id
  Ids free_, idle_;                    // idle: the next to be evicted first
  std::map<Tokens, BlockId> content_;
  std::map<BlockId, std::vector<Tokens>> kept_;
  std::map<BlockId, std::uint64_t> age_;
  std::uint64_t kept_count_ = 0;
  std::uint32_t copies_ = 0;
  bool copies_wait_ = false;

  std::map<SequenceId, std::uint32_t> known_;   // of those that wait: H
  std::map<SequenceId, std::uint32_t> cursor_;  // blocks published or found
  std::map<SequenceId, bool> tail_done_, seen_before_;
  std::deque<Published> expected_;
  std::deque<Hit> hits_;
  Ids announced_, evicted_;

  std::deque<std::map<SequenceId, Row>> flying_;
  std::vector<SequenceId> running_;
  std::map<SequenceId, std::pair<std::uint32_t, std::uint32_t>> rows_before_;  // epoch, C
  std::map<SequenceId, std::uint32_t> emitted_before_;
  std::map<SequenceId, Ids> tables_;
};

// ---- runs ------------------------------------------------------------------------------------------

struct Outcome {
  std::vector<std::byte> journal;
  std::vector<std::uint64_t> hashes;
  SchedulerStats stats;
  Counts counts;
};

Outcome run(const Scenario& scenario, std::uint64_t seed, Switch fast_path) {
  SchedulerOptions options = scenario.options;
  options.fast_path = fast_path;
  World world(options, seed, draw_acceptance);
  Twin twin(scenario, world);
  RandomDraws order(seed ^ 0xABCDEF);
  Outcome outcome;
  bool fail_next = false;
  std::size_t next = 0;
  for (std::uint32_t turn = 0;; ++turn) {
    REQUIRE(turn < 20'000);
    for (; next < scenario.actions.size() && scenario.actions[next].turn <= turn; ++next) {
      const Action& action = scenario.actions[next];
      const Wish& wish = scenario.requests[value_of(action.id)].wish;
      twin.before();
      if (action.act == Act::kAdd) world.add(action.id, wish);
      if (action.act == Act::kFork) world.fork(action.parent, action.id, wish);
      if (action.act == Act::kAbort && !world.accounts.at(action.id).ended) world.abort(action.id);
      if (action.act == Act::kFail) fail_next = true;
      twin.read();
    }
    bool planned = false;
    if (world.may_plan() && (world.flying.empty() || order.chance(70))) {
      twin.before();
      planned = world.turn();
      twin.planned(planned);
    }
    if (world.copies_pending() && !order.chance(scenario.poll_percent)) {
      world.pass_copies();
      twin.read();
    }
    if (!world.flying.empty() && (!planned || order.chance(40))) {
      twin.before_result();
      world.complete(fail_next);
      twin.after_result(fail_next);
      fail_next = false;
    }
    world.check();
    outcome.hashes.push_back(world.scheduler.state_hash());
    if (next < scenario.actions.size()) continue;
    if (world.drained()) break;
    if (!planned && world.flying.empty() && world.scheduler.nothing_pending()) {
      twin.before();
      const bool another = world.turn();
      twin.planned(another);
      if (another || world.drained()) continue;
      FAIL("stalled");
    }
  }
  const std::span<const std::byte> journal = world.scheduler.journal().unread();
  outcome.journal.assign(journal.begin(), journal.end());
  outcome.stats = world.scheduler.stats();
  outcome.counts = twin.counts();
  return outcome;
}

TEST_CASE("reuse of prefixes agrees with a naive map in random worlds, on both paths") {
  constexpr std::uint64_t kSeeds = 4'000;
  Counts all;
  std::uint64_t preempted = 0, forked = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    CAPTURE(seed);
    const Scenario scenario = draw_scenario(seed);
    const Outcome fast = run(scenario, seed, Switch::kOn);
    const Outcome slow = run(scenario, seed, Switch::kOff);
    REQUIRE(fast.hashes == slow.hashes);
    REQUIRE((fast.journal == slow.journal));
    REQUIRE(fast.stats.published == fast.counts.published);
    REQUIRE(fast.stats.evicted == fast.counts.evicted);
    all.hits += fast.counts.hits;
    all.tails += fast.counts.tails;
    all.tails_left_out += fast.counts.tails_left_out;
    all.revived += fast.counts.revived;
    all.evicted += fast.counts.evicted;
    all.published += fast.counts.published;
    all.duplicates += fast.counts.duplicates;
    all.resumed_hits += fast.counts.resumed_hits;
    all.beyond_prompt += fast.counts.beyond_prompt;
    all.later += fast.counts.later;
    preempted += fast.stats.preemptions;
    forked += fast.stats.forks;
  }
  const auto line = [](const char* what, std::uint64_t count) {
    std::printf("  %-44s %8llu\n", what, static_cast<unsigned long long>(count));
    CHECK(count > 100);  // or the worlds do not test it
  };
  line("blocks found", all.hits);
  line("of them idle, revived", all.revived);
  line("of them by a preempted request", all.resumed_hits);
  line("first rows found and copied", all.tails);
  line("the same, left out for want of a block", all.tails_left_out);
  line("admissions that found output", all.beyond_prompt);
  line("blocks published", all.published);
  line("computed a second time at once", all.duplicates);
  line("evicted", all.evicted);
  line("answered LATER for blocks", all.later);
  line("preemptions", preempted);
  line("forks", forked);
}

}  // namespace
}  // namespace pinfold::model
